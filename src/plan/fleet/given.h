/* Pipelines that are given, by a plan, instead of searched. */
#ifndef REHEARSE_PLAN_FLEET_GIVEN_H
#define REHEARSE_PLAN_FLEET_GIVEN_H

#include "plan/fleet/classes.h"
#include "plan/plan.h"

struct fleet_given {
    const struct plan *plan;
    int type_of[PLAN_MAX_TYPES]; /* of the problem, for each device type of the plan */
};

/* As fleet_search_classes, without a bound. Whether there is memory is not looked at. Micro-batches that the plan does not
 * share out go where they are done first. ERROR_INPUT or ERROR_INFEASIBLE where a stage cannot be had, or the micro-batches are
 * not those of the problem. */
bool fleet_take_given(struct fleet_choice *choice, struct fleet_problem *problem,
                      const struct fleet_maker *maker, const struct fleet_given *given, struct error *err);

#endif
