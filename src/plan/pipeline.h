/* A plan: one pipeline, what it takes, and what is proven about it. */
#ifndef REHEARSE_PLAN_PIPELINE_H
#define REHEARSE_PLAN_PIPELINE_H

#include "core/error.h"
#include "core/text.h"
#include "plan/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct pipeline_stage {
    int first_layer, last_layer; /* inclusive */
    int group;                   /* index into problem.groups */
    int devices;
    int node;                 /* counted through the whole cluster, groups in order; -1: not known */
    double forward, backward; /* seconds per micro-batch; set by plan_score */
    int64_t memory;           /* bytes over all its devices; set by plan_score */
    int line;                 /* in the file it came from; 0: made here */
};

struct pipeline {
    const char *path; /* of the file it came from, for messages; not owned; NULL: made here */
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
    double lower_bound; /* seconds: no plan takes less; 0: nothing is known */
    bool proven_optimal;
    double planning_seconds;
    int64_t programs; /* dynamic programs solved */
    int64_t states;   /* states in the largest */
};

/* Seconds that a stage takes for a micro-batch, forward and backward. */
static inline double pipeline_stage_time(const struct pipeline_stage *stage)
{
    return stage->forward + stage->backward;
}

/* Micro-batches of an iteration: N, or the default of three for each stage. */
static inline int pipeline_microbatches(const struct pipeline *plan)
{
    return plan->microbatches > 0 ? plan->microbatches : 3 * plan->stage_count;
}

void pipeline_release(struct pipeline *plan);

/* (iteration_time - lower_bound) / iteration_time; 1 when nothing is known. */
double pipeline_gap(const struct pipeline *plan);

/* Fills in times and memory of every stage, the three terms, the bottleneck and iteration_time, from
 * the stages' layers, groups and devices. Sums run in the reference's order. Stages whose times differ by
 * less than one part in 10^10 count as equally slow. False when the objective is not defined for this plan
 * (oobleck: N <= 0). */
bool pipeline_score(const struct plan_problem *problem, struct pipeline *plan, struct error *err);

/* Does the plan use what there is? Layers covered once and in order, group sizes a power of two, no more
 * devices than the cluster and each node that is named have. Memory is checked where limits are given. */
bool pipeline_check(const struct plan_problem *problem, const struct pipeline *plan, struct error *err);

/* A table for people: who runs what, why it takes that long, and what is proven. */
void pipeline_print(const struct pipeline *plan, const struct plan_problem *problem, struct text *out);

const char *plan_objective_name(enum plan_objective objective);

/* Gives every stage a node of its group so that no node is over-full; -1 where that cannot be done. */
void pipeline_assign_nodes(const struct plan_problem *problem, struct pipeline *plan);

#endif
