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

/* The same for a measured profile: model and device types come from the question. */
bool plan_of_fleet_profile(struct plan *plan, const struct fleet_answer *answer,
                           const struct fleet_profile_question *question, struct error *err);

/* Notes that so many devices of a type stay idle. `with`: seconds of the best plan found that uses one; INFINITY: none
 * fits; NAN: another number of them is not faster. */
bool plan_add_idle(struct plan *plan, int type, int devices, double with, struct error *err);

/* Returns the number of devices of a type that no pipeline uses. */
int fleet_idle(const struct fleet_answer *answer, int type);

/* ---- other plans that a search found beside its best one ---- */

#define FLEET_MAX_RIVALS 64

/* One by the devices that work, the way and the settings: of plans that do not differ in these, the fastest. */
struct fleet_rival {
    struct plan_fleet plan;       /* without `works` and `way` */
    bool jobs;                    /* of their own on the types; else pipelines over them */
    int devices[FLEET_MAX_TYPES]; /* that work */
};

/* The fastest first. */
struct fleet_rivals {
    int count;
    struct fleet_rival items[FLEET_MAX_RIVALS];
};

void fleet_rivals_add(struct fleet_rivals *rivals, const struct fleet_rival *rival);

/* Makes at most `max` of them the plan's other fleets. */
bool plan_add_rivals(struct plan *plan, const struct fleet_rivals *rivals, int max, struct error *err);

#endif
