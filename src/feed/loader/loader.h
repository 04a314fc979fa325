/* The loader: reads the batches of all accelerators of a process ahead of time, with threads that they share.
 *
 * Every accelerator has a window of `prefetch` batches that are read or being read; the one it computes on is not among
 * them. When it takes a batch, the next one of its window is asked for. Threads work on the batch that will be needed
 * earliest, several on one batch where it is large. (With prefetch 0 reading begins when the accelerator asks.)
 *
 * Threads: reader.read_threads × accelerators of the process, as DLIO has them as processes, but at most
 * `threads_most`. A thread that waits for storage costs no processor, and more of them keep more requests in flight.
 *
 * Files are read as the framework reads them (dataset/format.h): what opening takes, then the sample. PyTorch's readers
 * open the file for every sample; others keep it open. Pieces of a file that lie close together are read as one. The
 * bytes are let go once they have been read, as DLIO does: it returns one constant array for every sample. With `hold`
 * they stay in memory until the batch has been taken, in buffers that are used again.
 *
 * Preprocessing takes place on emulated workers of each accelerator, after the read; no processor is kept
 * busy for it. A batch is ready when the last of its samples is. */
#ifndef REHEARSE_FEED_LOADER_LOADER_H
#define REHEARSE_FEED_LOADER_LOADER_H

#include "core/error.h"
#include "dataset/layout.h"
#include "feed/loader/order.h"
#include "feed/workload/distribution.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

#define LOADER_THREADS     128 /* at most, unless said otherwise */
#define LOADER_MAX_THREADS 4096
#define LOADER_NEVER       INT64_MAX

struct loader;

struct loader_options {
    struct storage *storage;
    const struct dataset_layout *layout;
    int first, count;               /* accelerators of this process, as struct order numbers them */
    int read_threads;               /* of each; 0 counts as 1 */
    int workers;                    /* of each, that preprocess; 0: as many as read_threads */
    int threads_most;               /* 0: LOADER_THREADS */
    int prefetch;                   /* batches */
    bool reopen;                    /* the file for every sample */
    bool once;                      /* a file that was read stays in memory: reader.read_type memory */
    bool hold;                      /* bytes of a batch stay until it is taken */
    bool decode;                    /* into arrays; the time is counted apart */
    bool verify;                    /* that content is what was generated; decodes */
    bool exact;                     /* files have the sizes that the layout says; others are an error */
    struct distribution preprocess; /* seconds of a sample */
    uint64_t seed;                  /* of its draws */
};

/* What there is to read: `steps` batches of each accelerator in the order of an epoch. */
struct loader_pass {
    const struct order *order;
    bool eval;
    int64_t epoch; /* from 0 */
    int64_t steps;
    int64_t interval; /* nanoseconds that a step takes, about: which batch is needed earlier */
    int64_t excluded; /* the first so many steps are not measured: see loader_batch.ahead */
};

struct loader_batch {
    int64_t ready; /* nanoseconds of CLOCK_MONOTONIC; may be yet to come: preprocessing */
    int64_t samples, bytes;
    uint64_t mark; /* sum of order_mark */
    /* Of an excluded step: nanoseconds of the wait for it in which threads read for steps that are measured; of the wait
     * so much as of the threads' time. */
    int64_t ahead;
    bool caught_up; /* the batches that may be read ahead of it have been; of the last, none may: false */
};

struct loader_counts {
    int64_t samples, bytes;
    int64_t opened;  /* files */
    double read_cpu; /* seconds of the threads without the two below */
    double decode_cpu, verify_cpu;
    double busy;    /* seconds that the threads took for reading, together */
    double delayed; /* of these, about, that they were ready to run and had no processor */
    int threads;
    int64_t held; /* bytes of buffers of all batches */
};

struct loader_depth {
    int queue; /* batches not yet begun or under way */
    int ready; /* read, not yet taken */
};

struct loader *loader_new(const struct loader_options *options, struct error *err);
void loader_free(struct loader *loader);

/* Reads no further. False: after so many nanoseconds a thread still waits for storage; then neither the loader nor what its
 * options name can be freed as long as the program runs. */
bool loader_give_up(struct loader *loader, int64_t patience);

/* Begins a pass; the one before has been taken to its end, or is given up. */
bool loader_start(struct loader *loader, const struct loader_pass *pass, struct error *err);

/* By one thread, for each accelerator the steps in order. False: not yet; then the accelerator will be told by
 * loader_wait, once. */
bool loader_take(struct loader *loader, int accelerator, int64_t step, struct loader_batch *batch);

/* Waits until an accelerator that loader_take refused can have its batch, a thread failed, or CLOCK_MONOTONIC is at
 * `until`. Returns how many accelerators' numbers it has put into `accelerators` (room for `count`); -1 on failure. */
int loader_wait(struct loader *loader, int64_t until, int *accelerators, int count, struct error *err);

struct loader_counts loader_counts(struct loader *loader);
struct loader_depth loader_depth(struct loader *loader);

#endif
