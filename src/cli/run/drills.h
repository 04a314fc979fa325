/* `rehearse run` with losses. */
#ifndef REHEARSE_CLI_RUN_DRILLS_H
#define REHEARSE_CLI_RUN_DRILLS_H

#include "api/option.h"

struct drills_given {
    struct rh_list kill, cut, back;
    const char *failures, *cluster;
    int64_t random, only, faults, seed;
    double time_share, silence;
    bool survive;
};

/* Options of a command whose options struct has a `struct drills_given drills`. */
#define DRILLS_TOPIC "drills"
#define DRILLS_OPTIONS(type)                                                                                 \
    OPTION(type, drills.kill, OPTION_TEXT, "kill", .topic = DRILLS_TOPIC, .argument = "NODE@TIME",           \
           .repeats = true, .help = "kill the rank of a node so many seconds after the beginning: 2@1.5s"),  \
        OPTION(type, drills.cut, OPTION_TEXT, "cut", .topic = DRILLS_TOPIC, .argument = "NODE@TIME",         \
               .repeats = true, .help = "cut a node off: nothing comes from it or goes to it any more"),     \
        OPTION(type, drills.back, OPTION_TEXT, "return", .topic = DRILLS_TOPIC, .argument = "NODE@TIME",     \
               .repeats = true, .help = "a new process comes in the place of a lost node"),                  \
        OPTION(type, drills.failures, OPTION_FILE, "failures", .topic = DRILLS_TOPIC, .argument = "FILE",    \
               .help = "losses and returns of a table (t_s,event,node), as 'rehearse elastic' takes it"),    \
        OPTION(type, drills.random, OPTION_INTEGER, "random", .topic = DRILLS_TOPIC, .argument = "N",        \
               .min = 1, .max = 100000, .help = "run N drills that are drawn by --seed"),                    \
        OPTION(type, drills.only, OPTION_INTEGER, "drill", .topic = DRILLS_TOPIC, .argument = "N",           \
               .initial = "-1", .min = -1, .max = 100000, .help = "of the random drills, only number N"),    \
        OPTION(type, drills.survive, OPTION_FLAG, "survive", .topic = DRILLS_TOPIC,                          \
               .help = "a drill whose losses come from elsewhere: whoever is lost, the others go on"),       \
        OPTION(type, drills.faults, OPTION_INTEGER, "faults", .topic = DRILLS_TOPIC, .argument = "F",        \
               .initial = "1", .max = 1000, .help = "lost nodes that leave a copy of every layer"),          \
        OPTION(type, drills.cluster, OPTION_FILE, "cluster", .letter = 'c', .topic = DRILLS_TOPIC,           \
               .argument = "FILE", .help = "the nodes there are; without it, those of the plan"),            \
        OPTION(type, drills.time_share, OPTION_NUMBER, "time-share", .topic = DRILLS_TOPIC,                  \
               .argument = "SHARE", .initial = "1", .max = 1e6,                                              \
               .help = "an iteration takes this share of its seconds"),                                      \
        OPTION(type, drills.silence, OPTION_QUANTITY, "silence", .topic = DRILLS_TOPIC, .argument = "TIME",  \
               .initial = "1s", .min = 0.05, .max = 3600, .unit = UNIT_TIME,                                 \
               .help = "a rank from which nothing comes for so long is lost")

bool drills_asked(const struct drills_given *given);

struct drills_more {
    struct rh_list plans;
    int iterations;
    double byte_share, timeout;
    bool json;
    const char *output;
    const char *checkpoints; /* folder; NULL: none are saved */
    int save_every;
};
bool drills_run(const struct drills_given *given, const struct drills_more *more, struct error *err);

#endif
