/* The emulated accelerators of a process: hundreds, by one thread.
 *
 * A step of each: it asks for its batch (load), copies it (copy), computes until an absolute deadline of
 * CLOCK_MONOTONIC (compute), and meets all others of all processes (barrier). No processor is kept busy:
 * one thread has a heap of deadlines and waits for the loader. A deadline counts from the time when the
 * batch was ready, not when this thread noticed it; only the end of the compute can be noticed late, and
 * this delay is measured: `late`.
 *
 * Without a barrier at each step accelerators go on alone, and meet at the end of the block. */
#ifndef REHEARSE_FEED_LOADER_ACCELERATOR_H
#define REHEARSE_FEED_LOADER_ACCELERATOR_H

#include "comm/comm.h"
#include "core/histogram.h"
#include "feed/loader/loader.h"
#include "feed/result/metrics.h"
#include "feed/result/steps.h"
#include "feed/watch.h"
#include "feed/workload/distribution.h"

#include <stdatomic.h>

struct accelerators;

struct accelerators_options {
    struct loader *loader;
    struct comm *comm;
    struct metrics *metrics;
    int first, count;          /* of this process */
    uint64_t seed;             /* of compute times */
    double copy_rate;          /* bytes/s; 0: copies take no time */
    double copy_sample;        /* bytes of a sample that are copied; 0: those that were read */
    bool no_barrier;           /* accelerators wait for each other at the end of a block only */
    struct result_steps *each; /* collects every step; may be NULL */
    struct watch *watch;       /* may be NULL */
    const atomic_bool *stop;   /* set to true (SIGINT): end after the step; may be NULL */
    int epochs;                /* for the watch */
};

/* The steps of one pass of the loader between two checkpoints or evaluations. */
struct accelerators_block {
    enum metrics_phase phase;
    int epoch, block;            /* as metrics_block_start takes them */
    int64_t first, last;         /* steps [first, last) of the pass */
    int64_t steps;               /* of the pass, which has so many */
    struct distribution compute; /* seconds of a step */
};

struct accelerators *accelerators_new(const struct accelerators_options *options, struct error *err);
void accelerators_free(struct accelerators *all);

/* Runs a block; all ranks call it. *stopped: it ended before its last step, with barriers after the same
 * step on all ranks. If a rank fails, all fail. */
bool accelerators_run(struct accelerators *all, const struct accelerators_block *block, bool *stopped,
                      struct error *err);

/* Returns the nanoseconds from each deadline until it was noticed. */
const struct histogram *accelerators_late(const struct accelerators *all);

#endif
