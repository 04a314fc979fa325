/* Parallel loops over a pool of threads.
 *
 * The pool is started once and reused: loops of some tens of microseconds are worth sharing. Indices must be
 * independent of each other, so that results are equal for any number of threads. */
#ifndef REHEARSE_CORE_PARALLEL_H
#define REHEARSE_CORE_PARALLEL_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct parallel;

/* Returns a pool that runs loops on `threads` threads, including the caller's (0: one per processor); NULL if
 * memory or threads are out. One thread makes plain loops. */
struct parallel *parallel_new(int threads, struct error *err);
void parallel_free(struct parallel *pool);
int parallel_threads(const struct parallel *pool);

/* Runs body(context, first, last, thread) over pieces [first, last) of 0..count-1, each at most `grain` long,
 * and returns when all are done. A NULL pool is one thread. `thread` is in 0..parallel_threads-1, for scratch
 * memory. Not reentrant: a body must not start another loop. */
typedef void parallel_body(void *context, size_t first, size_t last, int thread);
void parallel_for(struct parallel *pool, size_t count, size_t grain, parallel_body *body, void *context);

/* The same, but starts no piece once go_on(context) is false, which every thread checks before each piece. */
typedef bool parallel_go_on(void *context);
void parallel_while(struct parallel *pool, size_t count, size_t grain, parallel_body *body,
                    parallel_go_on *go_on, void *context);

#endif
