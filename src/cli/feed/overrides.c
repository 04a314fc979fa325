#include "cli/feed/overrides.h"

#include "core/vector.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool feed_overrides_add(struct feed_overrides *overrides, struct error *err, const char *format, ...)
{
    va_list args;
    char *item;
    va_start(args, format);
    bool made = vasprintf(&item, format, args) >= 0;
    va_end(args);
    if (!made)
        return error_memory(err);
    if (VECTOR_ADD(overrides->items, overrides->count, overrides->capacity, item))
        return true;
    free(item);
    return error_memory(err);
}

bool feed_overrides_init(struct feed_overrides *overrides, const struct workload_given *given,
                         struct error *err)
{
    *overrides = (struct feed_overrides){0};
    for (int i = 0; i < given->planned_count; i++)
        if (!feed_overrides_add(overrides, err, "%s", given->planned[i]))
            return false;
    for (size_t i = 0; i < given->words.count; i++)
        if (workload_given_is_override(given->words.items[i]) &&
            !feed_overrides_add(overrides, err, "%s", given->words.items[i]))
            return false;
    for (size_t i = 0; i < given->set.count; i++)
        if (!feed_overrides_add(overrides, err, "%s", given->set.items[i]))
            return false;
    return true;
}

void feed_overrides_release(struct feed_overrides *overrides)
{
    for (int i = 0; i < overrides->count; i++)
        free(overrides->items[i]);
    free(overrides->items);
    *overrides = (struct feed_overrides){0};
}
