#include "core/once.h"

#include <stdlib.h>

bool once_read(struct once *once, bool (*read)(struct error *err), struct error *err)
{
    if (atomic_load(&once->done))
        return true;
    pthread_mutex_lock(&once->lock);
    bool done = atomic_load(&once->done) || read(err);
    atomic_store(&once->done, done);
    pthread_mutex_unlock(&once->lock);
    return done;
}

void once_needed(struct once *once, bool (*read)(struct error *err))
{
    struct error err;
    if (!once_read(once, read, &err))
        abort();
}
