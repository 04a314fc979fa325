/* Pipelines over several device types as a plan, and as a readable report. */
#ifndef REHEARSE_PLAN_FLEET_PLAN_H
#define REHEARSE_PLAN_FLEET_PLAN_H

#include "core/text.h"
#include "plan/fleet/of_job.h"
#include "plan/plan.h"

/* Fills in a plan that has the answer's device types in order; the caller sets model, software, batch,
 * sequence and headroom. Pipelines that differ by one micro-batch become two entries. On failure *plan is
 * released. */
bool plan_of_fleet(struct plan *plan, const struct fleet_answer *answer, struct error *err);

/* The same for a training job: model, software, batch and device types come from the question. */
bool plan_of_fleet_job(struct plan *plan, const struct fleet_answer *answer,
                       const struct fleet_question *question, struct error *err);

/* Sets model, software, batch and device types; on failure the caller releases the plan. */
bool plan_take_question(struct plan *plan, const struct fleet_question *question, struct error *err);

/* Sets the slowest stage of all pipelines. */
void plan_find_bottleneck(struct plan *plan);

/* Appends model, devices with their links, and batch. */
void fleet_print_question(const struct plan *plan, struct text *out);

/* The same for a measured profile: model and device types come from the question. */
bool plan_of_fleet_profile(struct plan *plan, const struct fleet_answer *answer,
                           const struct fleet_profile_question *question, struct error *err);

/* `plan`: made of the answer; names of model, software and device types, memory, batch and sequence are its own. */
void fleet_print(const struct fleet_answer *answer, const struct plan *plan, struct text *out);

/* Notes that so many devices of a type stay idle. `with`: seconds of the best plan found that uses one; INFINITY: none fits;
 * NAN: another number of them is not faster. */
bool plan_add_idle(struct plan *plan, int type, int devices, double with, struct error *err);

/* Returns the number of devices of a type that no pipeline uses. */
int fleet_idle(const struct fleet_answer *answer, int type);

#endif
