/* The live state of a run, for progress displays. */
#ifndef REHEARSE_FEED_WATCH_H
#define REHEARSE_FEED_WATCH_H

#include "feed/result/metrics.h"

#include <stdbool.h>
#include <stdint.h>

#define WATCH_LAGGARDS 5

struct watch_laggard {
    int rank;
    double wait; /* share of its accelerators' time spent waiting for batches, since the last exchange */
};

struct watch_view {
    enum metrics_phase phase;
    int epoch, epochs; /* from 1 */
    int64_t step, steps;
    double au;               /* of this process, all steps so far */
    double bytes_per_second; /* of this process, in the last second */
    double samples_per_second;
    int64_t bytes, samples;
    int queue;                                     /* batches not yet read */
    int ready;                                     /* batches read and waiting for their accelerator */
    int waiting;                                   /* accelerators waiting for a batch */
    struct watch_laggard laggards[WATCH_LAGGARDS]; /* the slowest ranks; on rank 0, in runs of several */
    int laggard_count;
    bool saving; /* a checkpoint is under way */
};

struct watch {
    void (*show)(void *context, const struct watch_view *view); /* by the thread of the run */
    void *context;
};

/* Called by the run. NULL is allowed. */
void watch_write(struct watch *watch, const struct watch_view *view);

#endif
