#include "core/once.h"

#include "core/caller.h"

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

bool once_needed(struct once *once, bool (*read)(struct error *err))
{
    struct error err;
    bool done = once_read(once, read, &err);
    if (!done && !caller_starve())
        abort();
    return done;
}

bool once_needed_of(struct once *once, bool (*read)(void *of), void *of)
{
    if (atomic_load(&once->done))
        return true;
    pthread_mutex_lock(&once->lock);
    bool done = atomic_load(&once->done) || read(of);
    atomic_store(&once->done, done);
    pthread_mutex_unlock(&once->lock);
    if (!done && !caller_starve())
        abort();
    return done;
}
