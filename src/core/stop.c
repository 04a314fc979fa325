#include "core/stop.h"

#include "core/clock.h"

#include <stddef.h>

static _Thread_local const atomic_bool *watched;

const atomic_bool *stop_watch(const atomic_bool *flag)
{
    const atomic_bool *before = watched;
    watched = flag;
    return before;
}

const atomic_bool *stop_watched(void)
{
    return watched;
}

bool stop_wanted(void)
{
    return watched && atomic_load_explicit(watched, memory_order_relaxed);
}

bool stop_is_late(double deadline)
{
    return stop_wanted() || (deadline > 0.0 && clock_now() > deadline);
}
