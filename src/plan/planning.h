/* The planner's question from files and names, ready to search. */
#ifndef REHEARSE_PLAN_PLANNING_H
#define REHEARSE_PLAN_PLANNING_H

#include "cluster/cluster.h"
#include "core/error.h"
#include "cost/model_profile.h"
#include "model/profile.h"
#include "plan/plan.h"
#include "plan/problem.h"
#include "plan/search.h"

#include <stdint.h>

#define PLAN_HEADROOM 5 /* percent of each device's memory that stays free, where nothing is said */

struct planning_options {
    const char *profile, *cluster;
    bool join_alike; /* groups of equal nodes are one (cluster_join_alike) */
    const struct architecture
        *model; /* its layers are priced instead of read from a profile; NULL: the profile */
    struct model_options pricing; /* of the model; micro-batch, devices and nodes follow from the rest */
    int64_t microbatches, microbatch_size;
    int objective, allreduce, memory; /* enum plan_objective, plan_allreduce, memory_model */
    double time_limit;
    int64_t threads;
};

/* Everything a search needs, ready to run. */
struct planning {
    struct model_options pricing; /* of the layers; software NULL: they are a profile's */
    struct profile profile;
    struct cluster cluster;
    struct plan_problem problem;
    struct progress progress;
    struct plan_search_options search; /* exact, with pool, progress and time limit set */
};

/* Loads the cluster, and loads or prices the layers on it. On failure *planning holds nothing. */
bool planning_open(struct planning *planning, const struct planning_options *options, struct error *err);
void planning_close(struct planning *planning);

/* Returns cluster_not_counted of a single pipeline. */
const char *planning_not_counted(const struct planning *planning, struct arena *arena);

/* plan_of_pipeline with all that the planning knows: model, links and, if it was priced, how. */
bool plan_of_planning(struct plan *plan, const struct planning *planning, const struct plan_problem *problem,
                      const struct pipeline *pipeline, struct error *err);

#endif
