/* A pipeline as a plan, and a plan's pipeline. */
#ifndef REHEARSE_PLAN_PIPELINE_PLAN_H
#define REHEARSE_PLAN_PIPELINE_PLAN_H

#include "plan/pipeline.h"
#include "plan/plan.h"

/* Makes the problem's groups the plan's device types; links are known where the cluster is given (else NULL). */
bool plan_take_groups(struct plan *plan, const struct plan_problem *problem, const struct cluster *cluster,
                      struct error *err);

/* Fills in an initialised plan. `profile` and `cluster` may be NULL: names of models and links are not known then. On
 * failure *plan is released. */
bool plan_of_pipeline(struct plan *plan, const struct pipeline *pipeline, const struct plan_problem *problem,
                      const struct profile *profile, const struct cluster *cluster, struct error *err);

/* The one pipeline of a plan, on the problem's groups; neither checked nor scored. Groups may share a device type: the
 * stage's node tells which is meant, else the first one that has devices left. ERROR_INPUT where the plan has several
 * pipelines, or a device type that the problem lacks. On failure *pipeline holds nothing; on success the caller ends it with
 * pipeline_release. */
bool pipeline_of_plan(struct pipeline *pipeline, const struct plan_problem *problem, const struct plan *plan,
                      struct error *err);

/* False: the objective is none of a pipeline's. */
bool pipeline_objective_find(const char *name, enum plan_objective *objective);

#endif
