/* The emulated accelerators of a process: hundreds, by one thread.
 *
 * A step of each: it asks for its batch (load), copies it (copy), computes until an absolute deadline of CLOCK_MONOTONIC
 * (compute), and meets all others of all processes (barrier). Nobody is kept busy: what remains is a heap of deadlines
 * and the loader's word that a batch is there. A deadline counts from when the batch was there, not from when this
 * thread noticed; only a late end of the compute is the emulation's own doing, and is measured: `late`.
 *
 * Without a barrier at each step accelerators go on alone, and meet at the end of the block. */
#ifndef REHEARSE_FEED_LOADER_ACCELERATOR_H
#define REHEARSE_FEED_LOADER_ACCELERATOR_H

#include "core/histogram.h"
#include "feed/comm/comm.h"
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
    int first, count;   /* of this process */
    uint64_t seed;      /* of compute times */
    double copy_rate;   /* bytes/s; 0: copies take no time */
    double copy_sample; /* bytes of a sample that are copied; 0: those that were read */
    bool no_barrier;
    struct result_steps *each; /* may be NULL */
    struct watch *watch;       /* may be NULL */
    const atomic_bool *stop;   /* may be NULL */
    int epochs;                /* for the watch */
};

/* Steps of one pass of the loader, between two checkpoints or evaluations. */
struct accelerators_block {
    enum metrics_phase phase;
    int epoch, block;            /* as metrics_block_start takes them */
    int64_t first, last;         /* steps [first, last) of the pass */
    int64_t steps;               /* of the pass, which has so many */
    struct distribution compute; /* seconds of a step */
};

struct accelerators *accelerators_new(const struct accelerators_options *options, struct error *err);
void accelerators_free(struct accelerators *all);

/* All ranks call it together. *stopped: it ended before its last step, after the same step everywhere (with a barrier
 * at each step). A rank's failure is that of all. */
bool accelerators_run(struct accelerators *all, const struct accelerators_block *block, bool *stopped,
                      struct error *err);

/* Nanoseconds from a deadline to when it was noticed, of all steps so far. */
const struct histogram *accelerators_late(const struct accelerators *all);

#endif
