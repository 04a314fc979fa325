/* Shared by generate, verify and scale: a loop over files with several threads that stops early on a failure
 * or on request, counts, and reports progress. */
#ifndef REHEARSE_DATASET_CREW_H
#define REHEARSE_DATASET_CREW_H

#include "core/error.h"
#include "core/parallel.h"
#include "dataset/format.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dataset_work {
    struct parallel *pool;   /* NULL: one thread */
    int64_t rank, ranks;     /* this process makes files rank, rank + ranks, …; {0, 1} all of them */
    const atomic_bool *stop; /* set: end early, with an error and nothing half written; may be NULL */
    /* Called with the progress after each file, by any thread, one at a time. May be NULL. */
    void (*progress)(void *context, int64_t files, int64_t bytes);
    void *progress_context;
};

struct dataset_crew {
    const struct dataset_work *work;
    pthread_mutex_t lock; /* guards data that a body changes outside its own file */
    atomic_bool failed;
    struct error error;     /* the first */
    int64_t files, bytes;   /* done */
    struct parallel *inner; /* with fewer files than threads, these share each file; else NULL */

    /* Handles one file; false with *err on failure. */
    bool (*body)(struct dataset_crew *crew, int64_t number, struct error *err);
    void *context;
};

/* Runs the body for this rank's numbers below `count`. */
bool dataset_crew_run(struct dataset_crew *crew, int64_t count, struct error *err);

/* Returns true if the crew should stop. */
bool dataset_crew_stopped(const struct dataset_crew *crew);
bool dataset_crew_go_on(const struct dataset_crew *crew, struct error *err); /* else *err says "stopped" */

/* Adds to the progress and reports it. */
void dataset_crew_done(struct dataset_crew *crew, int64_t files, int64_t bytes);

/* Runs body(context, at, n, buffer) for pieces of at most DATASET_BUFFER bytes of `bytes` bytes, on the inner
 * threads; false if one failed or the crew should stop. */
typedef bool dataset_piece_fn(void *context, int64_t at, size_t n, unsigned char *buffer, struct error *err);

/* A sink in front of another one that counts the bytes and fails once the crew should stop. With inner
 * threads, and where `to` takes bytes at any offset, large runs of content are made by all of these
 * threads. */
struct dataset_watched {
    const struct dataset_crew *crew;
    struct dataset_sink to;
    int64_t bytes;
};
struct dataset_sink dataset_crew_watch(struct dataset_watched *watched);

/* Calls body for each part of the layout's file `number`, with its path, until one fails. */
typedef bool dataset_part_fn(struct dataset_crew *crew, const struct dataset_file *file, int part,
                             const char *path, struct error *err);
bool dataset_crew_parts(struct dataset_crew *crew, const struct dataset_layout *layout, int64_t number,
                        dataset_part_fn *body, struct error *err);

#endif
