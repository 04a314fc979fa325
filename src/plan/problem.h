/* The planner's question: the model's layers on the cluster's groups, as plain numbers.
 *
 * Made from a profile and a cluster by plan_problem_init, or filled in by hand (tests, benchmarks).
 *
 * A stage is layers [a, b) on g devices of one node of a group, g a power of two. It takes
 *     forward  = sum of (forward_i  / g + allreduce_i(g))
 *     backward = sum of (backward_i / g + allreduce_i(g))           allreduce only if g > 1
 * per micro-batch (the stage model of Oobleck, SOSP'23; see docs/objectives.md). */
#ifndef REHEARSE_PLAN_PROBLEM_H
#define REHEARSE_PLAN_PROBLEM_H

#include "cluster/cluster.h"
#include "core/arena.h"
#include "core/error.h"
#include "model/profile.h"
#include "plan/score/memory.h"

#include <stdbool.h>
#include <stdint.h>

#define PLAN_MAX_GROUPS       32
#define PLAN_MAX_MICROBATCHES 1000000
#define PLAN_MAX_SPLITS       11 /* log2 of the maximum devices of a stage, plus 1: 1, 2, 4, …, 1024 */

enum plan_objective {
    OBJECTIVE_PIPELINE, /* sum of stage times + (N - 1) x the slowest */
    OBJECTIVE_OOBLECK,  /* T1 + T2 + T3 of the reference */
};

extern const char
    *const plan_memory_models[]; /* "in-flight", "reference", NULL: in the order of enum memory_model */

enum plan_allreduce {
    ALLREDUCE_PROFILE, /* from the profile; a missing size is an error */
    ALLREDUCE_MODEL,   /* from the profile, else ring over the group's intra_node link */
    ALLREDUCE_NONE,    /* left out */
};

/* Identical nodes. */
struct plan_group {
    const char *device;
    const char *place; /* "cluster.yaml:4:5: groups[1]", for messages; NULL: not from a file */
    struct equal_nodes nodes;
    int splits;                       /* group sizes 1, 2, 4, … 2^(splits-1) are possible for a stage */
    const double *forward, *backward; /* [layer] seconds on one device */
    const double *forward_ms, *backward_ms;   /* exactly the reference's milliseconds; may be NULL */
    const double *allreduce[PLAN_MAX_SPLITS]; /* [log2 g][layer] seconds; [0] is NULL */
};

struct plan_problem {
    struct arena arena; /* owns the arrays if made by plan_problem_init */
    int layer_count;
    const int64_t *parameter_bytes, *activation_bytes; /* [layer] */
    int group_count;
    struct plan_group groups[PLAN_MAX_GROUPS];
    int microbatches; /* N; 0: a multiple of the stages, as each objective defines it */
    enum plan_objective objective;
    enum memory_model memory; /* plan_problem_init leaves MEMORY_IN_FLIGHT */
    unsigned used;            /* enum cluster_key: of the cluster file, so far */
};

/* Makes a problem; copies everything from profile and cluster. Errors: a group whose device type the profile
 * does not cover and no speed leads to, devices that do not halve, a missing all-reduce time. */
bool plan_problem_init(struct plan_problem *problem, const struct profile *profile,
                       const struct cluster *cluster, enum plan_objective objective,
                       enum plan_allreduce allreduce, int microbatches, struct error *err);

void plan_problem_release(struct plan_problem *problem);

/* Returns the bytes of a stage over all its devices, in equal shares (score/memory.h). `from_end`: stages
 * from this one to the end of the pipeline, including it. */
int64_t plan_stage_memory(const struct plan_problem *problem, int first_layer, int last_layer, int from_end);

/* Returns whether the stage fits into the memory of so many of the group's devices. */
bool plan_stage_fits(const struct plan_problem *problem, int group, int devices, int first_layer,
                     int last_layer, int from_end);

/* Checks that the group's nodes can be split by halving. ERROR_INFEASIBLE if not. */
bool plan_group_check(const struct plan_group *group, struct error *err);

/* May devices be idle? Not by the reference's objective, nor where the micro-batches follow from the stages. */
static inline bool plan_may_idle(const struct plan_problem *problem)
{
    return problem->objective == OBJECTIVE_PIPELINE && problem->microbatches > 0;
}

/* Devices and nodes of the whole cluster. */
int plan_problem_devices(const struct plan_problem *problem);
int plan_problem_nodes(const struct plan_problem *problem);

#endif
