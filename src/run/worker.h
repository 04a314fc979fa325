/* A thread that does jobs one after the other, beside the thread of a rank's messages. Private to run. */
#ifndef REHEARSE_RUN_WORKER_H
#define REHEARSE_RUN_WORKER_H

#include "core/error.h"

#include <stdbool.h>

/* The caller owns a job until it has ended. */
struct worker_job {
    bool (*run)(void *context, struct error *err);
    void *context;
    struct worker_job *next;
    double begin, end; /* by clock_now */
    bool ended, failed;
    struct error error;
};

/* Seconds of all jobs so far: of the clock, and CPU seconds of the thread. */
struct worker_seconds {
    double wall, processor;
};

struct worker;

/* `wake`: an eventfd that is written when a job has ended. NULL on failure. */
struct worker *worker_new(int wake, struct error *err);
void worker_free(
    struct worker *worker); /* after the job that it is at; others are not done. NULL is allowed */

void worker_ask(struct worker *worker, struct worker_job *job);

/* Returns whether the job has ended; the fields of the job are then its asker's again. */
bool worker_ended(struct worker *worker, const struct worker_job *job);

struct worker_seconds worker_seconds(struct worker *worker);

#endif
