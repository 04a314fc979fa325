/* The best pipelines where the time after them depends on their number: gradients are exchanged between them,
 * and optimizer states may be sharded over them. */
#ifndef REHEARSE_PLAN_FLEET_CLASSES_H
#define REHEARSE_PLAN_FLEET_CLASSES_H

#include "plan/fleet/fleet.h"
#include "plan/plan.h"

/* Properties of the pipelines that are known or assumed. */
struct fleet_spread {
    double states; /* number of pipelines that optimizer states are sharded over */
    int gradients; /* number of pipelines that exchange gradients */
    int alike;     /* of these, pipelines with equal stages: they share a node as far as it has devices */
    int max;       /* of pipelines; 0: any number */
};

/* The spread with the lowest time afterwards. */
#define FLEET_SPREAD_ANY ((struct fleet_spread){INFINITY, 1, 1, 0})

/* Returns the number of replicas of a stage that reduce gradients within a node first. */
int fleet_together(const struct fleet_spread *spread, int devices_per_node, int tensor);

/* Sums of an option over its layers; as in struct fleet_option. */
struct fleet_sums {
    double *seconds, *kept, *held, *after, *send, *forward, *updated;
};

/* Adds an option with zeroed sums to the problem, for the caller to fill in. NULL: out of memory. */
struct fleet_option *fleet_add_option(struct fleet_problem *problem, struct fleet_sums *sums,
                                      struct arena *arena);

/* Makes the same problem for any spread of pipelines; options live in the arena. */
struct fleet_maker {
    const void *context;
    bool (*make)(const void *context, const struct fleet_spread *spread, struct fleet_problem *problem,
                 struct arena *arena);
};

/* As fleet_search. *problem becomes the plan's problem, with options in plan->arena; the bound holds for any
 * number of pipelines. */
bool fleet_search_classes(struct fleet_choice *plan, struct fleet_problem *problem,
                          const struct fleet_maker *maker, double enough, struct error *err);

/* Scores chosen pipelines with the spread that they really have: sets `after` of the plan, and the gradients of
 * each stage. *problem becomes that of the last kind of pipeline, with options in plan->arena. False: out of
 * memory. */
bool fleet_rescore(struct fleet_choice *plan, struct fleet_problem *problem, const struct fleet_maker *maker);

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
