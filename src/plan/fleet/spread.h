/* What depends on all pipelines of a plan together: the exchange of gradients and the sharding of optimizer states on
 * their number, the wait for the slowest device on the number of their nodes. */
#ifndef REHEARSE_PLAN_FLEET_SPREAD_H
#define REHEARSE_PLAN_FLEET_SPREAD_H

#include "plan/fleet/fleet.h"

/* Properties of the pipelines that are known or assumed. */
struct fleet_spread {
    double states; /* number of pipelines that optimizer states are sharded over */
    int gradients; /* number of pipelines that exchange gradients */
    int alike;     /* of these, pipelines with equal stages: they share a node as far as it has devices */
    int max;       /* of pipelines; 0: any number */
    /* whose devices wait for each other, which only stages' seconds depend on; 0: as many as the search assumes (nodes.h) */
    int nodes;
};

/* The spread with the lowest time afterwards. */
#define FLEET_SPREAD_ANY ((struct fleet_spread){INFINITY, 1, 1, 0, 1})

/* Returns the number of replicas of a stage that reduce gradients within a node first. */
int fleet_together(const struct fleet_spread *spread, int devices_per_node, int tensor);

/* Adds an option with zeroed sums to the problem, for the caller to fill in. NULL: out of memory. */
struct fleet_option *fleet_add_option(struct fleet_problem *problem, struct arena *arena);

/* Makes the same problem for any spread of pipelines; options live in the arena. */
struct fleet_maker {
    const void *context;
    bool (*make)(const void *context, const struct fleet_spread *spread, struct fleet_problem *problem,
                 struct arena *arena);
    double effort; /* operations to prove that a plan is the best; about 1e9 take a second */
};

/* Scores chosen pipelines, whose micro-batches are shared out, with the spread that they really have: sets seconds and
 * `after` of the plan, and the gradients of each stage, of which kernels hide no more than there are (a search counts
 * on all that could). *problem, which has the types and options, becomes that of the last kind of pipeline, with
 * options in plan->arena. False: out of memory. */
bool fleet_rescore(struct fleet_choice *plan, struct fleet_problem *problem, const struct fleet_maker *maker);

#endif
