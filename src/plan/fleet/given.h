/* Pipelines given by a plan instead of searched. */
#ifndef REHEARSE_PLAN_FLEET_GIVEN_H
#define REHEARSE_PLAN_FLEET_GIVEN_H

#include "plan/fleet/classes.h"
#include "plan/plan.h"

struct fleet_given {
    const struct plan *plan;
    int type_of[PLAN_MAX_TYPES]; /* index in the problem of each device type of the plan */
};

/* As fleet_search_classes, without a bound and without a check of memory. Micro-batches that the plan does
 * not distribute go to the pipeline that ends them first. ERROR_INPUT or ERROR_INFEASIBLE if a stage is
 * impossible or the number of micro-batches differs from the problem's. */
bool fleet_take_given(struct fleet_choice *choice, struct fleet_problem *problem,
                      const struct fleet_maker *maker, const struct fleet_given *given, struct error *err);

#endif
