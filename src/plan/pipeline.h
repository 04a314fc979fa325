/* A pipeline: its stages, its times, and what is proven about it. */
#ifndef REHEARSE_PLAN_PIPELINE_H
#define REHEARSE_PLAN_PIPELINE_H

#include "core/error.h"
#include "core/text.h"
#include "devices/degrees.h"
#include "plan/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct pipeline_stage {
    struct layer_range layers;
    int group; /* index into problem.groups */
    int devices;
    int node;                 /* numbered across the cluster, groups in order; -1: unknown */
    double forward, backward; /* seconds per micro-batch; set by plan_score */
    int64_t memory;           /* bytes over all its devices; set by plan_score */
    int line;                 /* in the input file; 0: none */
};

struct pipeline {
    const char *path; /* of the input file, for messages; not owned; NULL: none */
    int stage_count;
    struct pipeline_stage *stages; /* malloc'ed */
    enum plan_objective objective;
    const char *search; /* "exact", "divide", …; a string constant; NULL: made by hand */
    int microbatches;

    /* set by plan_score */
    double iteration_time; /* seconds: t1 + t2 + t3 */
    double t1, t2, t3;     /* oobleck: its three terms; pipeline: sum, (N-1) x slowest, 0 */
    int bottleneck;        /* index of the slowest stage; the last one on ties */

    /* set by the searches */
    double lower_bound; /* seconds; no plan is faster; 0: unknown */
    bool proven_optimal;
    const char *proof_over; /* of which plans that is proven, a string constant; NULL: of all */
    double planning_seconds;
    int64_t programs; /* dynamic programs solved */
    int64_t states;   /* states in the largest */
};

/* Returns a stage's seconds per micro-batch, forward and backward. */
static inline double pipeline_stage_time(const struct pipeline_stage *stage)
{
    return stage->forward + stage->backward;
}

/* Returns the micro-batches per iteration: N, or by default three per stage. */
static inline int pipeline_microbatches(const struct pipeline *plan)
{
    return plan->microbatches > 0 ? plan->microbatches : 3 * plan->stage_count;
}

void pipeline_release(struct pipeline *plan);

/* Fills in every stage's times and memory, the three terms, the bottleneck and iteration_time from the
 * stages' layers, groups and devices, with sums in the reference's order. Stage times within one part in
 * 10^10 are equal. False: the objective is undefined for this plan (oobleck: N <= 0). */
bool pipeline_score(const struct plan_problem *problem, struct pipeline *plan, struct error *err);

/* Checks that layers are covered once and in order, group sizes are powers of two, no cluster or named node
 * is exceeded, and memory suffices if limited. */
bool pipeline_check(const struct plan_problem *problem, const struct pipeline *plan, struct error *err);

/* Appends a readable table: layers of each stage, why it takes that long, and what is proven. */
void pipeline_print(const struct pipeline *plan, const struct plan_problem *problem, struct text *out);

const char *plan_objective_name(enum plan_objective objective);

/* Gives every stage a node of its group so that no node is over-full; -1 where none has room. False: out of memory. */
bool pipeline_assign_nodes(const struct plan_problem *problem, struct pipeline *plan, struct error *err);

#endif
