/* Parallel loops over a pool of threads.
 *
 * The pool is started once and reused, so that a loop of some tens of microseconds is worth sharing. What
 * each index does must not depend on the others: results are then the same for any number of threads. */
#ifndef REHEARSE_CORE_PARALLEL_H
#define REHEARSE_CORE_PARALLEL_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct parallel;

/* A pool that runs loops on `threads` threads, the caller's included (0: one per processor). NULL when
 * memory or threads cannot be had. One thread makes plain loops. */
struct parallel *parallel_new(int threads, struct error *err);
void parallel_free(struct parallel *pool);
int parallel_threads(const struct parallel *pool);

/* Runs body(context, first, last, thread) over pieces [first, last) of 0..count-1, each piece at most
 * `grain` long, and returns when all are done. A NULL pool is one thread. `thread` is in
 * 0..parallel_threads-1, for scratch memory. Not reentrant: a body does not start another loop. */
typedef void parallel_body(void *context, size_t first, size_t last, int thread);
void parallel_for(struct parallel *pool, size_t count, size_t grain, parallel_body *body, void *context);

/* The same, but begins no further piece once go_on(context) is false: every thread asks before each of its pieces. */
typedef bool parallel_go_on(void *context);
void parallel_while(struct parallel *pool, size_t count, size_t grain, parallel_body *body,
                    parallel_go_on *go_on, void *context);

#endif
