/* The planner's question from files, ready to search. */
#ifndef REHEARSE_PLAN_PLANNING_H
#define REHEARSE_PLAN_PLANNING_H

#include "cluster/cluster.h"
#include "core/error.h"
#include "model/profile.h"
#include "plan/problem.h"
#include "plan/search.h"

#include <stdint.h>

struct planning_options {
    const char *profile, *cluster;
    int64_t microbatches, microbatch_size;
    int objective, allreduce, memory; /* enum plan_objective, plan_allreduce, memory_model */
    double time_limit;
    int64_t threads;
};

/* Everything a search needs, ready to run. */
struct planning {
    struct profile profile;
    struct cluster cluster;
    struct plan_problem problem;
    struct progress progress;
    struct plan_search_options search; /* exact, with pool, progress and time limit set */
};

bool planning_open(struct planning *planning, const struct planning_options *options, struct error *err);
void planning_close(struct planning *planning);

#endif
