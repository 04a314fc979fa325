/* The best pipelines where the time after them depends on their number: gradients are exchanged between them,
 * and optimizer states may be sharded over them. */
#ifndef REHEARSE_PLAN_FLEET_CLASSES_H
#define REHEARSE_PLAN_FLEET_CLASSES_H

#include "plan/fleet/spread.h"
#include "plan/plan.h"

/* As fleet_search. *problem becomes the plan's problem, with options in plan->arena; the bound holds for any
 * number of pipelines. */
bool fleet_search_classes(struct fleet_choice *plan, struct fleet_problem *problem,
                          const struct fleet_maker *maker, double enough, struct error *err);

struct fleet_given {
    const struct plan *plan;
    int type_of[PLAN_MAX_TYPES]; /* index in the problem of each device type of the plan */
};

/* As fleet_search_classes, without a bound and without a check of memory. Micro-batches that the plan does
 * not distribute are shared out so that the last pipeline ends earliest. ERROR_INPUT or ERROR_INFEASIBLE if a stage is
 * impossible or the number of micro-batches differs from the problem's. */
bool fleet_take_given(struct fleet_choice *choice, struct fleet_problem *problem,
                      const struct fleet_maker *maker, const struct fleet_given *given, struct error *err);

#endif
