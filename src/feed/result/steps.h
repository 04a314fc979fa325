/* Stores every step's times (for DLIO's R_output.json) in an unnamed file on disk, with 10 KiB per
 * accelerator in memory. Calls for one accelerator come from one thread at a time. */
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
    struct result_step last[RESULT_STEPS_CHUNK]; /* steps since the last full chunk */
    int64_t count;
    int64_t *chunks; /* offsets of the full chunks in the file */
    size_t capacity;
};

struct result_steps {
    int fd;
    _Atomic int64_t end;
    int first, count;
    struct result_track *tracks;
};

/* Creates the file in `folder`; it vanishes at the end of the program. */
bool result_steps_init(struct result_steps *steps, const char *folder, int first, int count,
                       struct error *err);
void result_steps_release(struct result_steps *steps);

bool result_steps_add(struct result_steps *steps, int accelerator, const struct metrics_step *step,
                      struct error *err);

/* Returns the number of steps added for this accelerator. */
int64_t result_steps_count(const struct result_steps *steps, int accelerator);

/* Reads `count` steps of this accelerator from the index-th on. */
bool result_steps_read(const struct result_steps *steps, int accelerator, int64_t index, int64_t count,
                       struct result_step *to, struct error *err);

#endif
