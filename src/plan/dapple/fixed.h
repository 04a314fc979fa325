/* DAPPLE's objective with its listed defects corrected (docs/dapple.md).
 *
 * Stages and the links between them are resources in a row, each with its own forward and backward seconds
 * per micro-batch (a link: its transfer). Some resource q is the pivot, busy M times; before it the first
 * micro-batch comes forward, after it the last goes backward, and stage t <= q all-reduces when that has
 * passed it:
 *
 *     L = max over q, t <= q of   sum_{a < q} F_a + M (F_q + B_q) + sum_{t <= a < q} B_a + allreduce_t
 *
 * No 1F1B schedule is faster. From the last resource to the first it is two numbers: L, and W, the same
 * without any all-reduce down to the front. */
#ifndef REHEARSE_PLAN_DAPPLE_FIXED_H
#define REHEARSE_PLAN_DAPPLE_FIXED_H

#include "plan/dapple/model.h"

#include <math.h>

struct dapple_fixed {
    double latency, drained; /* L, W */
};

/* Returns the times with one more resource in front. */
static inline struct dapple_fixed dapple_fixed_prepend(struct dapple_fixed rest, double microbatches,
                                                       double forward, double backward, double allreduce)
{
    double pivot = microbatches * (forward + backward);
    double through = forward + rest.drained + backward, drained = through > pivot ? through : pivot;
    double before = forward + rest.latency, after = drained + allreduce;
    return (struct dapple_fixed){before > after ? before : after, drained};
}

/* Returns the forward seconds of layers first..last, whole batch on one device. */
static inline double dapple_forward(const struct dapple_problem *problem, int first, int last)
{
    const struct chain_load *until = problem->chain->until;
    double seconds = until[last].forward - (first > 0 ? until[first - 1].forward : 0);
    return seconds * ((double)problem->global_batch / problem->profile_batch);
}

/* Returns the bytes on each device of a stage with `after` stages behind it: state, and the activations of
 * all micro-batches that 1F1B holds at once. */
double dapple_fixed_memory(const struct dapple_problem *problem, int first, int last, int devices, int after,
                           int64_t microbatches);

#endif
