/* Options that `plan`, `templates` and `check-plan` share. */
#ifndef REHEARSE_API_PLAN_PLANNING_H
#define REHEARSE_API_PLAN_PLANNING_H

#include "api/choose.h"
#include "api/option.h"
#include "plan/planning.h"

/* The text of a macro's value. */
#define TEXT_OF(value)  TEXT_OF_(value)
#define TEXT_OF_(value) #value

/* The planners that take an option of `plan`, and whether it says something of models by name only. */
enum plan_taker {
    PLANS_LAYERS = 1,
    PLANS_DAPPLE = 2,
    PLANS_SPLIT = 4,
    PLANS_FLEET = 8,
    PLANS_JOB = PLANS_SPLIT | PLANS_FLEET,
    PLANS_MODEL = PLANS_LAYERS | PLANS_JOB,
    PLANS_ONLY_MODEL = 16
};

extern const char *const planning_allreduces[]; /* in the order of enum plan_allreduce */

/* The options of planning in a request of `plan`, or in what another has in common with it. The objective is not among
 * them. */
struct planning_options planning_of(const struct rh_plan_request *asked, const struct rh_call *how);

/* Looks up model and software, adds the user's tables to *chosen, and checks the sequence. The caller releases *chosen
 * in any case. */
bool model_choose(const struct rh_plan_request *given, struct cost_chosen *chosen,
                  struct model_options *pricing, struct error *err);

/* Opens the planning of a profile, or of the given model. */
bool planning_open_given(struct planning *planning, struct planning_options options,
                         const struct rh_plan_request *given, struct cost_chosen *chosen, struct error *err);

/* Rows of a request's table of options: those that name and price a model, of a member with the name of each option. */
#define PLANNING_MODEL(type)                                                                                 \
    OPTION(type, model, OPTION_TEXT, "model", .takers = PLANS_MODEL, .needers = PLANS_SPLIT, .letter = 'm',  \
           .argument = "NAME",                                                                               \
           .help = "the model instead of a profile: llama-3.1-405b, Qwen/Qwen3-8B, ..., or a file "          \
                   "(rehearse-architecture/1, or a config.json of Hugging Face)"),                           \
        OPTION(type, sequence, OPTION_INTEGER, "sequence", .takers = PLANS_MODEL | PLANS_ONLY_MODEL,         \
               .dimension = DIMENSION_LENGTH, .topic = "job", .argument = "N", .initial = "0",               \
               .max = 1 << 24, .help = "tokens of a sample; 0 is the model's own length"),                   \
        OPTION(type, precision, OPTION_WORD, "precision", .takers = PLANS_MODEL | PLANS_ONLY_MODEL,          \
               .topic = "job", .argument = "NAME", .initial = "mixed", .words = model_precisions,            \
               .help =                                                                                       \
                   "number format of matrix products: mixed is bf16 (fp16 where there is no bf16), fp32 is " \
                   "tf32 where there is tf32"),                                                              \
        OPTION(type, software, OPTION_TEXT, "software", .takers = PLANS_MODEL | PLANS_ONLY_MODEL,            \
               .topic = "job", .argument = "NAME", .initial = "megatron-core",                               \
               .help = "training software, by name ('rehearse cost --list') or as a file: it decides which " \
                       "kernels are fused, which transfers overlap and how a model can be split"),           \
        OPTION(type, links, OPTION_FILE, "links", .takers = PLANS_MODEL | PLANS_ONLY_MODEL, .topic = "job",  \
               .argument = "FILE",                                                                           \
               .help = "file of your own links, which replace known links of the same name"),                \
        OPTION(type, calibration, OPTION_FILE, "calibration", .takers = PLANS_MODEL | PLANS_ONLY_MODEL,      \
               .topic = "job", .argument = "FILE",                                                           \
               .help = "file written by 'rehearse calibrate', which replaces the calibration of a "          \
                       "generation")

/* The rows of a request that describe the devices and the room of a training job. */
#define PLANNING_JOB(type)                                                                                   \
    OPTION(type, devices_per_node, OPTION_INTEGER, "devices-per-node", .takers = PLANS_SPLIT,                \
           .topic = "job", .argument = "N", .initial = "0", .max = 1024,                                     \
           .help = "devices of a node; 0 is the usual number for the device type, 8 or 72"),                 \
        OPTION(type, inside, OPTION_TEXT, "inside", .takers = PLANS_SPLIT, .topic = "job",                   \
               .argument = "LINK", .help = "link inside a node, if it is not the device type's own"),        \
        OPTION(type, across, OPTION_TEXT, "across", .takers = PLANS_JOB | PLANS_ONLY_MODEL, .topic = "job",  \
               .argument = "LINK",                                                                           \
               .help = "link between nodes, if it is not the usual one of the device's generation"),         \
        OPTION(type, headroom, OPTION_NUMBER, "headroom", .takers = PLANS_JOB,                               \
               .dimension = DIMENSION_PERCENT, .topic = "job", .argument = "PERCENT",                        \
               .initial = TEXT_OF(PLAN_HEADROOM), .max = 90,                                                 \
               .help = "share of each device's memory to keep free"),                                        \
        OPTION(type, imbalance, OPTION_NUMBER, "imbalance", .takers = PLANS_JOB,                             \
               .dimension = DIMENSION_NUMBER, .topic = "job", .argument = "X", .initial = "1", .min = 1,     \
               .max = 100,                                                                                   \
               .help = "tokens on the busiest expert device, relative to the mean; 1: balanced routing")

#define PLANNING_ALLREDUCE(type)                                                                             \
    OPTION(type, allreduce, OPTION_WORD, "allreduce", .takers = PLANS_LAYERS | PLANS_FLEET,                  \
           .topic = "pipeline", .argument = "FROM", .initial = "profile", .words = planning_allreduces,      \
           .help = "source of all-reduce times within a node: the profile, a model of the intra_node link "  \
                   "where the profile has none, or none at all")

#define PLANNING_MEMORY(type)                                                                                \
    OPTION(                                                                                                  \
        type, memory, OPTION_WORD, "memory", .takers = PLANS_LAYERS, .topic = "pipeline",                    \
        .argument = "MODEL", .initial = "in-flight", .words = plan_memory_models,                            \
        .help =                                                                                              \
            "activations that a stage must hold: in-flight is those of every micro-batch in flight under "   \
            "1F1B, reference those of one, as in Oobleck's formula")

#endif
