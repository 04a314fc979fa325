/* Kernels: what a device runs one after another, and how long each takes.
 *
 * The HLO reader's fusions and the models' layers are both lists of kernels; this is the one place that turns
 * them into seconds. */
#ifndef REHEARSE_COST_KERNEL_H
#define REHEARSE_COST_KERNEL_H

#include "cost/device.h"

#include <stdbool.h>
#include <stdint.h>

enum kernel_kind {
    KERNEL_GEMM,      /* batch products of m x k by k x n */
    KERNEL_ATTENTION, /* scores, softmax and context in one kernel, scores never in memory */
    KERNEL_STREAM,    /* elementwise, reductions, normalisation, copies: memory or lanes bound it */
};

struct kernel {
    enum kernel_kind kind;
    enum cost_type type; /* of the operands */
    const char *name;
    double repeats; /* how often it runs */
    int64_t batch, m, n,
        k;       /* gemm. attention: batch = sequences x heads, m = queries, n = keys, k = width of a head */
    bool causal; /* attention: half of the scores are masked and skipped */
    bool backward;     /* attention: the backward pass, five products instead of two */
    double lane_flops; /* stream: arithmetic outside of the matrix units, in fp32 operations */
    double bytes;      /* read and written, each boundary tensor once. A gemm without epilogue traffic may
                               leave it 0: its operands are taken */
};

enum kernel_bound { BOUND_LAUNCH, BOUND_MATRIX, BOUND_LANES, BOUND_MEMORY };

struct kernel_time {
    double seconds; /* of all repeats */
    double flops;   /* of all repeats */
    double bytes;
    enum kernel_bound bound;
};

const char *kernel_bound_name(enum kernel_bound bound);

struct kernel_time kernel_time(const struct kernel *kernel, const struct cost_device *device);

#endif
