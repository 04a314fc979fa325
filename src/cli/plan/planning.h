/* Options that `plan`, `templates` and `check-plan` share. */
#ifndef REHEARSE_CLI_PLAN_PLANNING_H
#define REHEARSE_CLI_PLAN_PLANNING_H

#include "api/choose.h"
#include "api/option.h"
#include "plan/planning.h"

extern const char *const planning_allreduces[]; /* in the order of enum plan_allreduce */

/* A model as options name it. */
struct model_given {
    const char *name; /* or a file; NULL: none is given */
    const char *software, *links, *calibration;
    int64_t sequence;
    int precision; /* enum model_precision */
};

/* Looks up model and software, adds the user's tables to *chosen, and checks the sequence. The caller releases *chosen in
 * any case. */
bool model_choose(const struct model_given *given, struct cost_chosen *chosen, struct model_options *pricing,
                  struct error *err);

/* Opens the planning of a profile, or of the given model. */
bool planning_open_given(struct planning *planning, struct planning_options options,
                         const struct model_given *given, struct cost_chosen *chosen, struct error *err);

/* Rows of an options table; `type` has its struct planning_options in a member `planning`, and for the rows that name and
 * price a model a struct model_given in a member `model`. */
#define PLANNING_MODEL(type)                                                                                 \
    OPTION(type, model.name, OPTION_TEXT, "model", .letter = 'm', .argument = "NAME",                        \
           .help = "the model instead of a profile: llama-3.1-405b, Qwen/Qwen3-8B, ..., or a file "          \
                   "(rehearse-architecture/1, or a config.json of Hugging Face)"),                           \
        OPTION(type, model.sequence, OPTION_INTEGER, "sequence", .topic = "job", .argument = "N",            \
               .initial = "0", .max = 1 << 24, .help = "tokens of a sample; 0 is the model's own length"),   \
        OPTION(type, model.precision, OPTION_CHOICE, "precision", .topic = "job", .argument = "NAME",        \
               .initial = "mixed", .words = model_precisions,                                                \
               .help =                                                                                       \
                   "number format of the products: mixed is bf16 (fp16 where there is no bf16), fp32 is "    \
                   "tf32 where there is tf32"),                                                              \
        OPTION(type, model.software, OPTION_TEXT, "software", .topic = "job", .argument = "NAME",            \
               .initial = "megatron-core",                                                                   \
               .help = "training software: it decides which kernels are fused, which transfers overlap and " \
                       "how a model can be split ('rehearse cost --list')"),                                 \
        OPTION(type, model.links, OPTION_FILE, "links", .topic = "job", .argument = "FILE",                  \
               .help = "file of your own links, which replace known links of the same name"),                \
        OPTION(type, model.calibration, OPTION_FILE, "calibration", .topic = "job", .argument = "FILE",      \
               .help = "file written by 'rehearse calibrate --runs', which replaces the calibration of a "   \
                       "generation")

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
        .argument = "MODEL", .initial = "in-flight", .words = plan_memory_models,                            \
        .help =                                                                                              \
            "activations that a stage must hold: in-flight is those of every micro-batch in flight under "   \
            "1F1B, reference those of one, as in Oobleck's formula"                                          \
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
        .initial = "0", .max = 1024,                                                                         \
        .help = "threads to use; 0 is one per processor, the result is the same"                             \
    }

#endif
