#include "core/once.h"

#include "core/caller.h"

#include <stdlib.h>

/* Whoever waits for the data needs them, whatever this caller wishes meanwhile: it is not stopped while it reads. */
struct patience {
    struct caller *caller, patient;
};

static void be_patient(struct patience *patience)
{
    struct caller *caller = caller_now();
    *patience = (struct patience){.caller = caller};
    if (!caller)
        return;
    patience->patient.warning = caller->warning;
    patience->patient.user = caller->user;
    caller_set(&patience->patient);
}

static void end_patience(const struct patience *patience)
{
    caller_set(patience->caller);
    if (atomic_load(&patience->patient.starved))
        caller_starve();
}

bool once_read(struct once *once, bool (*read)(struct error *err), struct error *err)
{
    if (atomic_load(&once->done))
        return true;
    struct patience patience;
    be_patient(&patience);
    pthread_mutex_lock(&once->lock);
    bool done = atomic_load(&once->done) || read(err);
    atomic_store(&once->done, done);
    pthread_mutex_unlock(&once->lock);
    end_patience(&patience);
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
    struct patience patience;
    be_patient(&patience);
    pthread_mutex_lock(&once->lock);
    bool done = atomic_load(&once->done) || read(of);
    atomic_store(&once->done, done);
    pthread_mutex_unlock(&once->lock);
    end_patience(&patience);
    if (!done && !caller_starve())
        abort();
    return done;
}
