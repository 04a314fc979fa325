#include "core/stop.h"
#include "core/caller.h"

bool stop_wanted(void)
{
    const struct caller *caller = caller_now();
    if (!caller)
        return false;
    double deadline = atomic_load_explicit(&caller->deadline, memory_order_relaxed);
    return (caller->stop && atomic_load_explicit(caller->stop, memory_order_relaxed)) ||
           (deadline > 0.0 && clock_now() > deadline);
}

double stop_deadline(double deadline)
{
    struct caller *caller = caller_now();
    double before = caller ? atomic_load(&caller->deadline) : 0.0;
    if (caller && deadline > 0.0 && (before == 0.0 || deadline < before))
        atomic_store(&caller->deadline, deadline);
    return before;
}

void stop_restore(double before)
{
    if (caller_now())
        atomic_store(&caller_now()->deadline, before);
}
