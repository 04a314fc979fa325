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

/* The same for a lookup without an error to return: ends the program if memory is out. */
void once_needed(struct once *once, bool (*read)(struct error *err));

#endif
