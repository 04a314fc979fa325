/* Converts between a pipeline and a plan. */
#ifndef REHEARSE_PLAN_PIPELINE_PLAN_H
#define REHEARSE_PLAN_PIPELINE_PLAN_H

#include "plan/pipeline.h"
#include "plan/plan.h"

/* Makes the problem's groups the plan's device types; links are unknown if `cluster` is NULL. */
bool plan_take_groups(struct plan *plan, const struct plan_problem *problem, const struct cluster *cluster,
                      struct error *err);

/* Fills in an initialised plan. `profile` and `cluster` may be NULL: model name and links are unknown then.
 * On failure *plan is released. */
bool plan_of_pipeline(struct plan *plan, const struct pipeline *pipeline, const struct plan_problem *problem,
                      const struct profile *profile, const struct cluster *cluster, struct error *err);

/* Converts the single pipeline of a plan, on the problem's groups, without checks or scores. If groups share
 * a device type, the stage's node decides, else the first with free devices. ERROR_INPUT if the plan has
 * several pipelines or an unknown device type. On failure *pipeline holds nothing; on success the caller
 * releases it with pipeline_release. */
bool pipeline_of_plan(struct pipeline *pipeline, const struct plan_problem *problem, const struct plan *plan,
                      struct error *err);

#endif
