/* Data that is read once and lives as long as the program. Unlike pthread_once() it can fail. */
#ifndef REHEARSE_CORE_ONCE_H
#define REHEARSE_CORE_ONCE_H

#include "core/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct once {
    pthread_mutex_t lock;
    atomic_bool done;
};

#define ONCE_INIT                                                                                            \
    {                                                                                                        \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                                    \
    }

/* Calls read() unless an earlier call has succeeded; read() must leave nothing on failure, as the next call
 * tries again. Any number of threads may call. */
bool once_read(struct once *once, bool (*read)(struct error *err), struct error *err);

/* The same for a lookup without an error to return. False: the data is not there, and the caller of this thread knows
 * that memory is out (core/caller.h); without a caller, the program ends. */
bool once_needed(struct once *once, bool (*read)(struct error *err));

/* The same for one of several of a kind, which read() receives; it fails for want of memory alone. */
bool once_needed_of(struct once *once, bool (*read)(void *of), void *of);

#endif
