/* Pipelines over devices of several types as a plan. */
#ifndef REHEARSE_PLAN_FLEET_PLAN_H
#define REHEARSE_PLAN_FLEET_PLAN_H

#include "plan/fleet/of_job.h"
#include "plan/plan.h"

/* Fills in a plan whose device types are those of the answer, in their order; the caller also sets what the answer does not
 * know: model, software, batch, sequence, headroom. Pipelines that are alike but for one micro-batch become two entries. On
 * failure *plan is released. */
bool plan_of_fleet(struct plan *plan, const struct fleet_answer *answer, struct error *err);

#endif
