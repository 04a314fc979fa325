/* Converts between DAPPLE's split and a plan. */
#ifndef REHEARSE_PLAN_DAPPLE_PLAN_H
#define REHEARSE_PLAN_DAPPLE_PLAN_H

#include "plan/dapple/report.h"
#include "plan/plan.h"

/* Fills in an initialised plan: `replicas` copies of a pipeline with data degrees. Releases it on failure. */
bool plan_of_dapple(struct plan *plan, const struct dapple_report *report, struct error *err);

/* Puts a plan's stages on the problem's machines and scores them. ERROR_INPUT if the plan is not DAPPLE's:
 * several kinds of pipelines, tensor degrees, unnamed devices. On failure *split holds nothing; on success
 * the caller releases it with dapple_split_release. */
bool dapple_of_plan(struct dapple_split *split, const struct dapple_problem *problem, const struct plan *plan,
                    struct error *err);

#endif
