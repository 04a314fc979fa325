/* Internals of the DAPPLE planner: terms of the formulas for chain and cluster. */
#ifndef REHEARSE_PLAN_DAPPLE_MODEL_H
#define REHEARSE_PLAN_DAPPLE_MODEL_H

#include "plan/dapple/dapple.h"

/* Returns the first device of a machine. */
static inline int dapple_machine_start(const struct dapple_cluster *cluster, int machine)
{
    return machine > 0 ? cluster->machine_end[machine - 1] : 0;
}

static inline int dapple_machine_size(const struct dapple_cluster *cluster, int machine)
{
    return cluster->machine_end[machine] - dapple_machine_start(cluster, machine);
}

static inline int dapple_machine_of(const struct dapple_cluster *cluster, int device)
{
    int machine = 0;
    while (cluster->machine_end[machine] <= device)
        machine++;
    return machine;
}

static inline int dapple_largest_machine(const struct dapple_cluster *cluster)
{
    int largest = 0;
    for (int k = 0; k < cluster->machine_count; k++)
        if (dapple_machine_size(cluster, k) > largest)
            largest = dapple_machine_size(cluster, k);
    return largest;
}

/* Returns the number of a stage's devices in a machine; stage -1: idle devices. */
static inline int dapple_devices_in(const struct dapple_cluster *cluster, const struct dapple_split *split,
                                    int stage, int machine)
{
    int count = 0;
    for (int i = dapple_machine_start(cluster, machine); i < cluster->machine_end[machine]; i++)
        count += split->stage_of[i] == stage;
    return count;
}

/* Returns the seconds of layers first..last for the whole batch on one device: the difference of two cuts,
 * then scaled, as in HPGO's table. */
static inline double dapple_compute(const struct dapple_problem *problem, int first, int last)
{
    const struct chain_load *until = problem->chain->until;
    double seconds = first > 0 ? until[last].compute - until[first - 1].compute : until[last].compute;
    return seconds * ((double)problem->global_batch / problem->profile_batch);
}

/* Returns the bytes across the cut after a layer, whole batch, one way. */
static inline double dapple_crossing(const struct dapple_problem *problem, int layer)
{
    return (double)problem->chain->crossing_bytes[layer] *
           ((double)problem->global_batch / problem->profile_batch);
}

static inline double dapple_parameters(const struct dapple_problem *problem, int first, int last)
{
    const struct chain_load *until = problem->chain->until;
    return (double)(until[last].parameter_bytes - (first > 0 ? until[first - 1].parameter_bytes : 0));
}

/* Returns the bytes all-reduced for layers first..last. HPGO counts one layer too many for every stage but
 * the last. */
static inline double dapple_reduced(const struct dapple_problem *problem, int first, int last)
{
    bool one_more = problem->rules == DAPPLE_ORIGINAL && last < problem->chain->layer_count - 1;
    return dapple_parameters(problem, first, last + one_more);
}

static inline int64_t dapple_microbatches(const struct dapple_problem *problem, int replicas)
{
    return problem->global_batch / replicas / problem->microbatch;
}

/* Returns the seconds of a ring all-reduce: 2 w (g - 1) / g bytes through each; within a machine over floor(g
 * / 2) links. */
static inline double dapple_ring(const struct dapple_cluster *cluster, int devices, bool spans, double bytes)
{
    if (devices == 1)
        return 0;
    double through = 2 * bytes * (devices - 1) / devices;
    int links = devices / 2;
    return spans ? through / cluster->collective : through / (cluster->inside * links);
}

/* Returns the bytes/s into a stage that spans machines; HPGO's exceed a remote machine's. */
static inline double dapple_spanning_rate(const struct dapple_problem *problem)
{
    return problem->rules == DAPPLE_ORIGINAL ? problem->cluster->collective
                                             : problem->cluster->point_to_point;
}

/* DAPPLE_FIXED: the objective with its listed defects corrected (docs/dapple.md).
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
