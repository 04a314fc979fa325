/* The options that `plan`, `templates` and `check-plan` have in common. */
#ifndef REHEARSE_CLI_PLAN_PLANNING_H
#define REHEARSE_CLI_PLAN_PLANNING_H

#include "cli/option.h"
#include "plan/planning.h"

extern const char *const planning_objectives[]; /* in the order of enum plan_objective */
extern const char *const planning_allreduces[]; /* of enum plan_allreduce */
extern const char *const planning_memories[];   /* of enum memory_model */

/* The entries of an options table; `type` has its struct planning_options in a member `planning`. */
#define PLANNING_OPTIONS(type)                                                                               \
    {.name = "profile",                                                                                      \
     .letter = 'p',                                                                                          \
     .kind = OPTION_FILE,                                                                                    \
     .required = true,                                                                                       \
     .at = offsetof(type, planning.profile),                                                                 \
     .argument = "P",                                                                                        \
     .help =                                                                                                 \
         "layer times: a rehearse-profile/1 file, an Oobleck profile folder, or a folder of those named "    \
         "by device type"},                                                                                  \
        {.name = "cluster",                                                                                  \
         .letter = 'c',                                                                                      \
         .kind = OPTION_FILE,                                                                                \
         .required = true,                                                                                   \
         .at = offsetof(type, planning.cluster),                                                             \
         .argument = "FILE",                                                                                 \
         .help = "the cluster, rehearse-cluster/1"},                                                         \
        {.name = "microbatch-size",                                                                          \
         .kind = OPTION_INTEGER,                                                                             \
         .at = offsetof(type, planning.microbatch_size),                                                     \
         .argument = "N",                                                                                    \
         .initial = "0",                                                                                     \
         .most = PROFILE_MAX_MICROBATCH,                                                                     \
         .help = "which mb{N}.json of an Oobleck folder to read; 0 where there is only one"},                \
        PLANNING_ALLREDUCE(type), PLANNING_MEMORY(type)

#define PLANNING_ALLREDUCE(type)                                                                             \
    {                                                                                                        \
        .name = "allreduce", .topic = "pipeline", .kind = OPTION_CHOICE,                                     \
        .at = offsetof(type, planning.allreduce), .argument = "FROM", .initial = "profile",                  \
        .words = planning_allreduces,                                                                        \
        .help = "source of all-reduce times within a node: the profile, a model of the intra_node link "     \
                "where the "                                                                                 \
                "profile has none, or none at all"                                                           \
    }

#define PLANNING_MEMORY(type)                                                                                \
    {                                                                                                        \
        .name = "memory", .topic = "pipeline", .kind = OPTION_CHOICE, .at = offsetof(type, planning.memory), \
        .argument = "MODEL", .initial = "in-flight", .words = planning_memories,                             \
        .help =                                                                                              \
            "activations that a stage must hold: in-flight is those of every micro-batch in flight under "   \
            "1F1B, reference those of one, as in Oobleck's formula"                                          \
    }

#define PLANNING_OBJECTIVE(type)                                                                             \
    {                                                                                                        \
        .name = "objective", .kind = OPTION_CHOICE, .at = offsetof(type, planning.objective),                \
        .argument = "NAME", .initial = "pipeline", .words = planning_objectives,                             \
        .help = "what is minimised: pipeline is the sum of stage times + (N - 1) x the slowest; oobleck is " \
                "the reference's T1 + T2 + T3"                                                               \
    }

#define PLANNING_TIME_LIMIT(type)                                                                            \
    {                                                                                                        \
        .name = "time-limit", .kind = OPTION_QUANTITY, .at = offsetof(type, planning.time_limit),            \
        .argument = "TIME", .initial = "0", .unit = UNIT_TIME,                                               \
        .help = "stop a search after this long (60, 500 ms) with the best plan so far, a lower bound and "   \
                "the gap; "                                                                                  \
                "0 is no limit"                                                                              \
    }

#define PLANNING_THREADS(type)                                                                               \
    {                                                                                                        \
        .name = "threads", .kind = OPTION_INTEGER, .at = offsetof(type, planning.threads), .argument = "N",  \
        .initial = "0", .most = 1024,                                                                        \
        .help = "threads to use; 0 is one per processor, the result is the same"                             \
    }

#endif
