/* How far a long work is, for the caller of the thread that does it (core/caller.h). */
#ifndef REHEARSE_CORE_PROGRESS_H
#define REHEARSE_CORE_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

struct caller;

struct progress {
    struct caller *caller; /* who listens; NULL: nobody */
    pthread_t thread;      /* that began: the others say nothing */
    const char *what;      /* "searching" */
    double shown;          /* seconds, clock_now */
};

void progress_start(struct progress *progress, const char *what);

/* The same for work of one part: how far it is, those rooms tell that do it, on the caller's own thread
 * (progress_tell). */
void progress_start_open(struct progress *progress, const char *what);

/* Tells the open progress of this thread's caller how far its work is; without one, nobody. */
void progress_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Tells "what … detail", at most ten times a second. NULL: nobody listens. Any thread may call it. */
void progress_show(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

void progress_end(struct progress *progress);

#endif
