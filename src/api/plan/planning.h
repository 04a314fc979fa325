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
    OPTION_SHARED(type, model, OPTION_TEXT, "model", .takers = PLANS_MODEL, .needers = PLANS_SPLIT),         \
        OPTION_SHARED(type, sequence, OPTION_INTEGER, "sequence", .takers = PLANS_MODEL | PLANS_ONLY_MODEL,  \
                      .max = 1 << 24),                                                                       \
        OPTION_SHARED(type, precision, OPTION_WORD, "precision", .takers = PLANS_MODEL | PLANS_ONLY_MODEL,   \
                      .words = model_precisions),                                                            \
        OPTION_SHARED(type, software, OPTION_TEXT, "software", .takers = PLANS_MODEL | PLANS_ONLY_MODEL),    \
        OPTION_SHARED(type, links, OPTION_FILE, "links", .takers = PLANS_MODEL | PLANS_ONLY_MODEL),          \
        OPTION_SHARED(type, calibration, OPTION_FILE, "calibration",                                         \
                      .takers = PLANS_MODEL | PLANS_ONLY_MODEL)

/* The rows of a request that describe the devices and the room of a training job. */
#define PLANNING_JOB(type)                                                                                   \
    OPTION_SHARED(type, devices_per_node, OPTION_INTEGER, "devices-per-node", .takers = PLANS_SPLIT,         \
                  .max = 1024),                                                                              \
        OPTION_SHARED(type, inside, OPTION_TEXT, "inside", .takers = PLANS_SPLIT),                           \
        OPTION_SHARED(type, across, OPTION_TEXT, "across", .takers = PLANS_JOB | PLANS_ONLY_MODEL),          \
        OPTION_SHARED(type, headroom, OPTION_NUMBER, "headroom", .takers = PLANS_JOB,                        \
                      .initial = TEXT_OF(PLAN_HEADROOM), .max = 90),                                         \
        OPTION_SHARED(type, imbalance, OPTION_NUMBER, "imbalance", .takers = PLANS_JOB, .min = 1,            \
                      .max = 100)

#define PLANNING_ALLREDUCE(type)                                                                             \
    OPTION_SHARED(type, allreduce, OPTION_WORD, "allreduce", .takers = PLANS_LAYERS | PLANS_FLEET,           \
                  .words = planning_allreduces)

#define PLANNING_MEMORY(type)                                                                                \
    OPTION_SHARED(type, memory, OPTION_WORD, "memory", .takers = PLANS_LAYERS, .words = plan_memory_models)

#endif
