/* Pipelines over devices of several types as a plan. */
#ifndef REHEARSE_PLAN_FLEET_PLAN_H
#define REHEARSE_PLAN_FLEET_PLAN_H

#include "plan/fleet/of_job.h"
#include "plan/fleet/of_profile.h"
#include "plan/plan.h"

/* Fills in a plan whose device types are those of the answer, in their order; the caller also sets what the answer does not
 * know: model, software, batch, sequence, headroom. Pipelines that are alike but for one micro-batch become two entries. On
 * failure *plan is released. */
bool plan_of_fleet(struct plan *plan, const struct fleet_answer *answer, struct error *err);

/* The same for a training job: model, software, batch and device types are the question's. */
bool plan_of_fleet_job(struct plan *plan, const struct fleet_answer *answer,
                       const struct fleet_question *question, struct error *err);

/* The same for a measured profile: model and device types are the question's. */
bool plan_of_fleet_profile(struct plan *plan, const struct fleet_answer *answer,
                           const struct fleet_profile_question *question, struct error *err);

/* "mixed", "fp32", "fp8": in the order of enum model_precision, NULL behind them. */
extern const char *const fleet_precisions[];

#endif
