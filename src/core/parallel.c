/* One loop at a time. The caller publishes the loop under a new generation number, works on it like everyone
 * else, and waits until the last piece is done. Pieces are taken from one counter, so uneven ones balance. A
 * worker with nothing to do spins for a moment (loops tend to follow one another closely), then sleeps. */
#include "core/parallel.h"

#include "core/caller.h"
#include "core/text.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPINS       2000
#define MAX_THREADS 256

struct parallel {
    int threads; /* the caller's included */
    pthread_t *workers;
    struct caller *caller; /* of the thread that made the pool */

    /* the loop */
    parallel_body *body;
    parallel_go_on *go_on; /* NULL: to the end */
    void *context;
    size_t count, grain;
    atomic_size_t next;     /* first index not yet taken */
    atomic_int working;     /* workers that have not left the loop yet */
    atomic_uint generation; /* of the loop; odd steps do not matter, only that it changes */
    atomic_bool ending;

    pthread_mutex_t lock; /* for sleeping only */
    pthread_cond_t wake;
};

struct worker {
    struct parallel *pool;
    int thread;
};

static void take_pieces(struct parallel *pool, int thread)
{
    while (!pool->go_on || pool->go_on(pool->context)) {
        size_t first = atomic_fetch_add(&pool->next, pool->grain);
        if (first >= pool->count)
            return;
        size_t last = pool->count - first > pool->grain ? first + pool->grain : pool->count;
        pool->body(pool->context, first, last, thread);
    }
}

static void await_loop(struct parallel *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&pool->generation) != seen)
            return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->wake, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct parallel *pool = worker->pool;
    int thread = worker->thread;
    free(worker);
    caller_set(pool->caller);
    text_use_plain_locale();
    for (unsigned seen = 0;; seen++) {
        await_loop(pool, seen);
        if (atomic_load(&pool->ending))
            return NULL;
        take_pieces(pool, thread);
        atomic_fetch_sub(&pool->working, 1);
    }
}

static void publish(struct parallel *pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

static bool start_worker(struct parallel *pool, int thread, struct error *err)
{
    struct worker *worker = malloc(sizeof *worker);
    if (!worker)
        return error_memory(err);
    *worker = (struct worker){pool, thread};
    int result = pthread_create(&pool->workers[thread - 1], NULL, work, worker);
    if (result == 0)
        return true;
    free(worker);
    return error_set(err, ERROR_FAILED, "cannot start thread %d: %s", thread + 1, strerror(result));
}

struct parallel *parallel_new(int threads, struct error *err)
{
    if (threads <= 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        threads = processors > 0 ? (int)processors : 1;
    }
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    struct parallel *pool = calloc(1, sizeof *pool);
    pthread_t *workers = calloc((size_t)threads, sizeof *workers);
    if (!pool || !workers) {
        free(pool);
        free(workers);
        return error_memory_null(err);
    }
    pool->threads = 1;
    pool->workers = workers;
    pool->caller = caller_now();
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (int thread = 1; thread < threads; thread++) {
        if (!start_worker(pool, thread, err)) {
            parallel_free(pool);
            return NULL;
        }
        pool->threads++;
    }
    return pool;
}

void parallel_free(struct parallel *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->ending, true);
    publish(pool);
    for (int i = 0; i < pool->threads - 1; i++)
        pthread_join(pool->workers[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    free(pool->workers);
    free(pool);
}

int parallel_threads(const struct parallel *pool)
{
    return pool ? pool->threads : 1;
}

static void plain_loop(size_t count, size_t grain, parallel_body *body, parallel_go_on *go_on, void *context)
{
    for (size_t first = 0, last; first < count && (!go_on || go_on(context)); first = last) {
        last = count - first > grain ? first + grain : count;
        body(context, first, last, 0);
    }
}

void parallel_for(struct parallel *pool, size_t count, size_t grain, parallel_body *body, void *context)
{
    parallel_while(pool, count, grain, body, NULL, context);
}

void parallel_while(struct parallel *pool, size_t count, size_t grain, parallel_body *body,
                    parallel_go_on *go_on, void *context)
{
    if (count == 0)
        return;
    if (grain == 0)
        grain = 1;
    if (!pool || pool->threads == 1 || count <= grain) {
        plain_loop(count, grain, body, go_on, context);
        return;
    }
    pool->body = body;
    pool->go_on = go_on;
    pool->context = context;
    pool->count = count;
    pool->grain = grain;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->working, pool->threads - 1);
    publish(pool);
    take_pieces(pool, 0);
    for (int i = 0; atomic_load(&pool->working) > 0; i++)
        if (i >= SPINS)
            sched_yield();
}
