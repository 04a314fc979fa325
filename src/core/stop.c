#include "core/stop.h"

#include "core/caller.h"

#include <stddef.h>

const atomic_bool *stop_watched(void)
{
    const struct caller *caller = caller_now();
    return caller ? caller->stop : NULL;
}

bool stop_wanted(void)
{
    const atomic_bool *flag = stop_watched();
    return flag && atomic_load_explicit(flag, memory_order_relaxed);
}
