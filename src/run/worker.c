#include "run/worker.h"

#include "core/clock.h"
#include "core/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct worker {
    pthread_t thread;
    int wake;
    pthread_mutex_t lock; /* of all below, and of jobs that were asked for */
    pthread_cond_t asked;
    struct worker_job *first, *last;
    bool closes;
    struct worker_seconds seconds;
};

static double own_processor(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void do_first(struct worker *worker)
{
    const uint64_t one = 1;
    struct worker_job *job = worker->first;
    worker->first = job->next;
    pthread_mutex_unlock(&worker->lock);
    job->begin = clock_now();
    job->failed = !job->run(job->context, &job->error);
    job->end = clock_now();
    pthread_mutex_lock(&worker->lock);
    worker->seconds.processor = own_processor();
    worker->seconds.wall += job->end - job->begin;
    job->ended = true;
    while (write(worker->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void *work(void *context)
{
    struct worker *worker = context;
    text_use_plain_locale();
    pthread_mutex_lock(&worker->lock);
    while (!worker->closes)
        if (worker->first)
            do_first(worker);
        else
            pthread_cond_wait(&worker->asked, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* With the usual priority, also where the rank has a higher one: messages go on meanwhile. */
static int start(struct worker *worker)
{
    pthread_attr_t how;
    const struct sched_param usual = {.sched_priority = 0};
    int result = pthread_attr_init(&how);
    if (result != 0)
        return result;
    (void)pthread_attr_setinheritsched(&how, PTHREAD_EXPLICIT_SCHED);
    (void)pthread_attr_setschedpolicy(&how, SCHED_OTHER);
    (void)pthread_attr_setschedparam(&how, &usual);
    result = pthread_create(&worker->thread, &how, work, worker);
    pthread_attr_destroy(&how);
    return result;
}

static void release(struct worker *worker)
{
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->asked);
    free(worker);
}

struct worker *worker_new(int wake, struct error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker) {
        error_memory(err);
        return NULL;
    }
    worker->wake = wake;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->asked, NULL);
    int result = start(worker);
    if (result == 0)
        return worker;
    error_set(err, ERROR_FAILED, "cannot start a thread: %s", strerror(result));
    release(worker);
    return NULL;
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->closes = true;
    pthread_cond_signal(&worker->asked);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    release(worker);
}

void worker_ask(struct worker *worker, struct worker_job *job)
{
    pthread_mutex_lock(&worker->lock);
    job->next = NULL;
    job->ended = job->failed = false;
    if (worker->first)
        worker->last->next = job;
    else
        worker->first = job;
    worker->last = job;
    pthread_cond_signal(&worker->asked);
    pthread_mutex_unlock(&worker->lock);
}

bool worker_ended(struct worker *worker, const struct worker_job *job)
{
    pthread_mutex_lock(&worker->lock);
    bool ended = job->ended;
    pthread_mutex_unlock(&worker->lock);
    return ended;
}

struct worker_seconds worker_seconds(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    const struct worker_seconds seconds = worker->seconds;
    pthread_mutex_unlock(&worker->lock);
    return seconds;
}
