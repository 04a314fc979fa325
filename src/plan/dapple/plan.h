/* DAPPLE's split as a plan, and back. */
#ifndef REHEARSE_PLAN_DAPPLE_PLAN_H
#define REHEARSE_PLAN_DAPPLE_PLAN_H

#include "plan/dapple/report.h"
#include "plan/plan.h"

/* Fills in an initialised plan: `replicas` copies of a pipeline whose stages have data degrees. On failure it is released. */
bool plan_of_dapple(struct plan *plan, const struct dapple_report *report, struct error *err);

/* A plan's stages on the problem's machines, scored. ERROR_INPUT where a plan is none of DAPPLE's: several kinds of
 * pipelines, tensor degrees, devices that are not named. On failure *split holds nothing; on success the caller ends it with
 * dapple_split_release. */
bool dapple_of_plan(struct dapple_split *split, const struct dapple_problem *problem, const struct plan *plan,
                    struct error *err);

#endif
