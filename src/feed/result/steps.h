/* Every step's times, for who wants them all (DLIO's R_output.json lists them): kept on disk, in a file without a
 * name, 10 KiB per accelerator in memory. One accelerator's calls come from one thread at a time. */
#ifndef REHEARSE_FEED_RESULT_STEPS_H
#define REHEARSE_FEED_RESULT_STEPS_H

#include "core/error.h"
#include "feed/result/metrics.h"

#include <stdatomic.h>

#define RESULT_STEPS_CHUNK 256

/* Nanoseconds. */
struct result_step {
    int64_t start; /* of CLOCK_MONOTONIC */
    int64_t load;
    int64_t process; /* load, copy and compute: DLIO's proc */
    int64_t compute;
    int64_t barrier;
};

struct result_track {
    struct result_step last[RESULT_STEPS_CHUNK]; /* those since the last full chunk */
    int64_t count;
    int64_t *chunks; /* where in the file the full ones lie */
    size_t capacity;
};

struct result_steps {
    int fd;
    _Atomic int64_t end;
    int first, count;
    struct result_track *tracks;
};

/* The file is made in `folder`, and is gone when the program ends. */
bool result_steps_init(struct result_steps *steps, const char *folder, int first, int count,
                       struct error *err);
void result_steps_release(struct result_steps *steps);

bool result_steps_add(struct result_steps *steps, int accelerator, const struct metrics_step *step,
                      struct error *err);

/* How many were added for this accelerator. */
int64_t result_steps_count(const struct result_steps *steps, int accelerator);

/* The index-th step that was added for this accelerator, and those after it. */
bool result_steps_read(const struct result_steps *steps, int accelerator, int64_t index, int64_t count,
                       struct result_step *to, struct error *err);

#endif
