/* The best pipelines where what comes after them depends on how many there are: gradients are exchanged between them, and
 * optimizer states may be spread over them. */
#ifndef REHEARSE_PLAN_FLEET_CLASSES_H
#define REHEARSE_PLAN_FLEET_CLASSES_H

#include "plan/fleet/fleet.h"

/* What is known, or taken, of the pipelines. */
struct fleet_spread {
    double states; /* pipelines that optimizer states are spread over, */
    int gradients; /* and those that exchange gradients; */
    int alike; /* of these, with the same stages: theirs stand side by side in a node, as far as it has devices */
    int most; /* that are allowed; 0: any number */
};

/* No pipelines take less afterwards. */
#define FLEET_SPREAD_ANY ((struct fleet_spread){INFINITY, 1, 1, 0})

/* Replicas of a stage that reduce gradients within a node before they do between nodes. */
int fleet_together(const struct fleet_spread *spread, int devices_per_node, int tensor);

/* The same problem for any pipelines; options live in the arena. */
struct fleet_maker {
    const void *context;
    bool (*make)(const void *context, const struct fleet_spread *spread, struct fleet_problem *problem,
                 struct arena *arena);
};

/* As fleet_search. *problem is that of the plan, its options live in plan->arena; the plan's bound holds for any number of
 * pipelines. */
bool fleet_search_classes(struct fleet_choice *plan, struct fleet_problem *problem,
                          const struct fleet_maker *maker, double enough, struct error *err);

#endif
