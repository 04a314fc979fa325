/* The caller whom a thread works for: one that may want it to end early, and hears what it does meanwhile. The threads
 * of a pool work for the caller of the thread that made it. */
#ifndef REHEARSE_CORE_CALLER_H
#define REHEARSE_CORE_CALLER_H

#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>

struct progress;

struct caller {
    const atomic_bool *stop; /* true: it wishes an early end; NULL: it never does */
    _Atomic double deadline; /* so it does from this time of clock_now on (stop_deadline); 0: never */
    atomic_bool
        starved; /* memory was refused where no error could be returned: the answer is worth nothing */
    /* "searching", "12 of 96"; the detail is "" when something begins, and NULL when it ends. NULL: nobody listens. */
    void (*progress)(void *user, const char *what, const char *detail);
    void (*warning)(void *user, const char *text);
    void *user;
    _Atomic(struct progress *) open; /* what progress_tell tells */
};

/* From now on this thread works for `caller`, who outlives that (NULL: for nobody). Returns the one before. */
struct caller *caller_set(struct caller *caller);
struct caller *caller_now(void);

/* Gives the caller a warning: one line, as errors are. */
void caller_warn(const char *format, ...) PRINTF_LIKE(1, 2);

/* Tells the caller that memory was refused. Returns false if there is none. */
bool caller_starve(void);

#endif
