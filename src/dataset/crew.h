/* What generate, verify and scale share: a loop over files by several threads that ends early on a failure or when it is
 * told to, counts, and tells how far it is. */
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
    /* After each file, by any thread, one at a time: what is done so far. May be NULL. */
    void (*progress)(void *context, int64_t files, int64_t bytes);
    void *progress_context;
};

struct dataset_crew {
    const struct dataset_work *work;
    pthread_mutex_t lock; /* for what a body changes outside its own file */
    atomic_bool failed;
    struct error error;     /* the first */
    int64_t files, bytes;   /* done */
    struct parallel *inner; /* with fewer files than threads, these share each file; else NULL */

    /* One file; false with *err when it failed. */
    bool (*body)(struct dataset_crew *crew, int64_t number, struct error *err);
    void *context;
};

/* Runs the body for the numbers of this rank below `count`. */
bool dataset_crew_run(struct dataset_crew *crew, int64_t count, struct error *err);

/* Is it time to end? */
bool dataset_crew_stopped(const struct dataset_crew *crew);
bool dataset_crew_go_on(const struct dataset_crew *crew, struct error *err); /* else *err says "stopped" */

/* Adds to what is done and says so. */
void dataset_crew_done(struct dataset_crew *crew, int64_t files, int64_t bytes);

/* Runs body(context, at, n, buffer) for pieces of at most DATASET_BUFFER bytes of `bytes` bytes, by the crew's inner threads;
 * false when one failed, or it is time to end. */
typedef bool dataset_piece_fn(void *context, int64_t at, size_t n, unsigned char *buffer, struct error *err);
bool dataset_crew_pieces(const struct dataset_crew *crew, int64_t bytes, dataset_piece_fn *body,
                         void *context, struct error *err);

/* A sink in front of another that fails once the crew is to end. */
struct dataset_watched {
    const struct dataset_crew *crew;
    struct dataset_sink to;
};
struct dataset_sink dataset_crew_watch(struct dataset_watched *watched);

#endif
