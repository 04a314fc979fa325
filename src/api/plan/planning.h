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

#endif
