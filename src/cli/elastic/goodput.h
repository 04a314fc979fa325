/* The part of `rehearse elastic` that plays policies over failures: its options, its run, its output. */
#ifndef REHEARSE_CLI_ELASTIC_GOODPUT_H
#define REHEARSE_CLI_ELASTIC_GOODPUT_H

#include "api/option.h"
#include "elastic/goodput.h"
#include "elastic/kit.h"

#define GOODPUT_TOPIC "failures"

struct goodput_given {
    const char *failures, *rate, *interval, *spares, *timeline;
    /* of the command */
    const char *figure, *output; /* NULL: none */
    bool json;
    int64_t batch; /* micro-batches over all pipelines; 0: 32 of each */
    struct rh_list policies;
    double mtbf, repair, together, shape, days, iteration;
    struct elastic_costs costs;
    int life;
    int64_t seeds, first_seed, threads, need, nodes, stages;
};

extern const char *const goodput_lives[]; /* ended by NULL */

/* One row of the answer. */
struct goodput_row {
    struct elastic_variant variant;
    struct goodput goodput;
};

struct goodput_answer {
    const struct goodput_given *given;
    struct elastic_rates rates;
    struct failure_trace *traces; /* as given, or of the first seed */
    int trace_count;
    struct failure_model model;
    const struct failure_fact *fact; /* NULL: no named system */
    double losses_per_second;        /* of all nodes */
    bool drawn;                      /* from the model */
    double copies;                   /* seconds of copies in a reconfiguration, by the plan */
    double checkpoints;              /* share of single losses for which the plan needs a checkpoint */
    bool exists_once;                /* state is sharded over all nodes of the plan */
    bool mixed;                      /* nodes of several kinds */
    int count;
    struct goodput_row *rows;
    size_t row_capacity;
};

/* Whether the options ask for this part at all. */
bool goodput_is_asked(const struct goodput_given *given);

/* Plays the policies and writes the answer. `kit`: the job's plans; NULL: equal pipelines of --nodes,
 * --stages and --iteration. */
bool goodput_run(const struct goodput_given *given, const struct elastic_kit *kit, int faults,
                 struct error *err);

void goodput_print(const struct goodput_answer *answer, struct text *out);
void goodput_write_json(const struct goodput_answer *answer, struct json *json);

/* Rows of the command's table of options; `record` has the struct goodput_given as its member `goodput`. */
#define GOODPUT_FIELD(record, field, its_kind, its_name, ...)                                                \
    OPTION(record, goodput.field, its_kind, its_name, .topic = GOODPUT_TOPIC, __VA_ARGS__)
#define GOODPUT_TIME(record, field, its_name, its_initial, its_help)                                         \
    GOODPUT_FIELD(record, field, OPTION_QUANTITY, its_name, .argument = "TIME", .initial = (its_initial),    \
                  .unit = UNIT_TIME, .max = 1e9, .help = (its_help))
#define GOODPUT_OPTIONS(record)                                                                              \
    GOODPUT_FIELD(record, failures, OPTION_FILE, "failures", .argument = "FILE",                             \
                  .help =                                                                                    \
                      "play this trace of nodes: a table t_s,event,node (add, remove) or t_s,available"),    \
        GOODPUT_FIELD(record, rate, OPTION_TEXT, "rate", .argument = "R",                                    \
                      .help =                                                                                \
                          "draw losses: so many per 1000 node-days, or those of a published system: rsc-1, " \
                          "rsc-2, llama-3, llama-3-all, bloom, aws-p3-spot"),                                \
        GOODPUT_TIME(record, mtbf, "mtbf", NULL, "draw losses: mean time between those of one node"),        \
        GOODPUT_TIME(record, repair, "repair", "0",                                                          \
                     "mean time until a lost node, or one in its place, is there; 0 is at once"),            \
        GOODPUT_FIELD(record, together, OPTION_NUMBER, "together", .argument = "N", .initial = "1",          \
                      .min = 1, .max = 65536,                                                                \
                      .help = "mean number of nodes that are lost at once, neighbours"),                     \
        GOODPUT_FIELD(record, life, OPTION_CHOICE, "life", .argument = "NAME", .initial = "exponential",     \
                      .words = goodput_lives, .help = "distribution of the time until a node is lost"),      \
        GOODPUT_FIELD(                                                                                       \
            record, shape, OPTION_NUMBER, "shape", .argument = "K", .initial = "0.7", .min = 0.1, .max = 20, \
            .help = "shape of the Weibull distribution: below 1, young nodes are lost more often"),          \
        GOODPUT_FIELD(record, days, OPTION_NUMBER, "days", .argument = "D", .initial = "365", .min = 0.001,  \
                      .max = 36500, .help = "length of a run that is drawn"),                                \
        GOODPUT_FIELD(record, seeds, OPTION_INTEGER, "seeds", .argument = "N", .initial = "20", .min = 1,    \
                      .max = GOODPUT_MAX_SEEDS, .help = "runs that are drawn, for the 90 % interval"),       \
        GOODPUT_FIELD(record, first_seed, OPTION_INTEGER, "seed", .argument = "N", .initial = "1",           \
                      .max = 1e9, .help = "seed of the first run"),                                          \
        GOODPUT_FIELD(                                                                                       \
            record, policies, OPTION_TEXT, "policy", .argument = "NAME,...", .repeats = true,                \
            .help = "play only these policies: restart, restart-async, restart-memory, spares, varuna, "     \
                    "bamboo, oobleck, parcae, recycle, torchft; with commas, or repeated"),                  \
        GOODPUT_FIELD(                                                                                       \
            record, interval, OPTION_TEXT, "save-interval", .argument = "TIME", .initial = "formula",        \
            .help = "training between saves; 'formula' is sqrt(2 w / (N r)), 'best' the best of a search, "  \
                    "'none' no saves"),                                                                      \
        GOODPUT_FIELD(                                                                                       \
            record, spares, OPTION_TEXT, "spares", .argument = "N", .initial = "0",                          \
            .help = "nodes that restarts and spares hold back; 'best' is the best number of a search"),      \
        GOODPUT_FIELD(record, need, OPTION_INTEGER, "need", .argument = "N", .initial = "0", .max = 65536,   \
                      .help = "nodes without which a restart waits; 0 is all but the spares"),               \
        GOODPUT_TIME(record, costs.detect, "detect", "30 s", "time until the job knows of a loss"),          \
        GOODPUT_TIME(record, costs.restart, "restart", "210 s",                                              \
                     "new processes and communicators of the job"),                                          \
        GOODPUT_TIME(record, costs.load, "load", "60 s", "reading a save"),                                  \
        GOODPUT_TIME(record, costs.swap, "swap", "60 s", "a spare takes a lost node's place"),               \
        GOODPUT_TIME(                                                                                        \
            record, costs.reconfigure, "reconfigure", "30 s",                                                \
            "new pipelines in running processes: oobleck, bamboo; with a plan, its copies are added"),       \
        GOODPUT_TIME(record, costs.migrate, "migrate", "20 s",                                               \
                     "copying a peer's state: parcae, recycle, torchft, restart-memory"),                    \
        GOODPUT_TIME(record, costs.reroute, "reroute", "10 s",                                               \
                     "peers take over a lost node's work: recycle, bamboo, torchft"),                        \
        GOODPUT_TIME(record, costs.notice, "notice", "0",                                                    \
                     "time that a loss is known in advance (spot instances): parcae"),                       \
        GOODPUT_TIME(record, costs.save_block, "save", "30 s",                                               \
                     "training waits for a save to disk: restart, spares"),                                  \
        GOODPUT_TIME(record, costs.copy_block, "copy", "2 s",                                                \
                     "training waits for the copy of a save that is written behind it: all others"),         \
        GOODPUT_TIME(record, costs.save_write, "write", "120 s", "until such a copy is on disk"),            \
        GOODPUT_FIELD(record, nodes, OPTION_INTEGER, "nodes", .argument = "N", .max = 65536,                 \
                      .help = "without a plan: nodes of the cluster (0: those of --failures)"),              \
        GOODPUT_FIELD(record, stages, OPTION_INTEGER, "stages", .argument = "N", .initial = "1", .min = 1,   \
                      .max = 65536, .help = "without a plan: nodes of a pipeline or replica"),               \
        GOODPUT_TIME(record, iteration, "iteration", "10 s", "without a plan: an iteration with all nodes"), \
        GOODPUT_FIELD(record, timeline, OPTION_FILE, "timeline", .argument = "FILE",                         \
                      .help = "write the speed over time of the first run to FILE, a table"),                \
        GOODPUT_FIELD(record, threads, OPTION_INTEGER, "threads", .argument = "N", .initial = "0",           \
                      .max = 1024,                                                                           \
                      .help = "threads for the runs; 0 is one per processor, the result is the same")

#endif
