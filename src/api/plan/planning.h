/* Options that `plan`, `templates` and `check-plan` share. */
#ifndef REHEARSE_API_PLAN_PLANNING_H
#define REHEARSE_API_PLAN_PLANNING_H

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
    PLANNING_MODEL_IN(type, OPTION_CHOICE, model.name, model.sequence, model.precision, model.software,      \
                      model.links, model.calibration)

/* The same of a request, whose choices are words. */
#define PLANNING_MODEL_IN(type, choice, name, sequence, precision, software, links, calibration)             \
    OPTION(type, name, OPTION_TEXT, "model", .letter = 'm', .argument = "NAME",                              \
           .help = "the model instead of a profile: llama-3.1-405b, Qwen/Qwen3-8B, ..., or a file "          \
                   "(rehearse-architecture/1, or a config.json of Hugging Face)"),                           \
        OPTION(type, sequence, OPTION_INTEGER, "sequence", .topic = "job", .argument = "N", .initial = "0",  \
               .max = 1 << 24, .help = "tokens of a sample; 0 is the model's own length"),                   \
        OPTION(type, precision, choice, "precision", .topic = "job", .argument = "NAME", .initial = "mixed", \
               .words = model_precisions,                                                                    \
               .help =                                                                                       \
                   "number format of the products: mixed is bf16 (fp16 where there is no bf16), fp32 is "    \
                   "tf32 where there is tf32"),                                                              \
        OPTION(type, software, OPTION_TEXT, "software", .topic = "job", .argument = "NAME",                  \
               .initial = "megatron-core",                                                                   \
               .help = "training software: it decides which kernels are fused, which transfers overlap and " \
                       "how a model can be split ('rehearse cost --list')"),                                 \
        OPTION(type, links, OPTION_FILE, "links", .topic = "job", .argument = "FILE",                        \
               .help = "file of your own links, which replace known links of the same name"),                \
        OPTION(type, calibration, OPTION_FILE, "calibration", .topic = "job", .argument = "FILE",            \
               .help = "file written by 'rehearse calibrate --runs', which replaces the calibration of a "   \
                       "generation")

#define PLANNING_ALLREDUCE(type) PLANNING_ALLREDUCE_IN(type, OPTION_CHOICE, planning.allreduce)
#define PLANNING_ALLREDUCE_IN(type, choice, its_field)                                                       \
    {                                                                                                        \
        .field = #its_field, .name = "allreduce", .topic = "pipeline", .kind = (choice),                     \
        .at = offsetof(type, its_field), .argument = "FROM", .initial = "profile",                           \
        .words = planning_allreduces,                                                                        \
        .help = "source of all-reduce times within a node: the profile, a model of the intra_node link "     \
                "where the "                                                                                 \
                "profile has none, or none at all"                                                           \
    }

#define PLANNING_MEMORY(type) PLANNING_MEMORY_IN(type, OPTION_CHOICE, planning.memory)
#define PLANNING_MEMORY_IN(type, choice, its_field)                                                          \
    {                                                                                                        \
        .field = #its_field, .name = "memory", .topic = "pipeline", .kind = (choice),                        \
        .at = offsetof(type, its_field), .argument = "MODEL", .initial = "in-flight",                        \
        .words = plan_memory_models,                                                                         \
        .help =                                                                                              \
            "activations that a stage must hold: in-flight is those of every micro-batch in flight under "   \
            "1F1B, reference those of one, as in Oobleck's formula"                                          \
    }

#define PLANNING_TIME_LIMIT(type) OPTION_TIME_LIMIT(type, planning.time_limit)

#define PLANNING_THREADS(type)                                                                               \
    {                                                                                                        \
        .name = "threads", .kind = OPTION_INTEGER, .at = offsetof(type, planning.threads), .argument = "N",  \
        .initial = "0", .max = 1024,                                                                         \
        .help = "threads to use; 0 is one per processor, the result is the same"                             \
    }

#endif
