#include "core/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 16

bool vector_grow(void *items, size_t *capacity, size_t wanted, size_t size)
{
    void *old, *grown;
    size_t larger = *capacity < SMALLEST / 2 ? SMALLEST : 2 * *capacity;
    larger = larger < wanted ? wanted : larger;
    if (larger > PTRDIFF_MAX / size)
        return false; /* no object is larger */
    memcpy(&old, items, sizeof old);
    grown = realloc(old, larger * size);
    if (!grown)
        return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = larger;
    return true;
}

bool vector_room_zeroed(void *items, size_t *capacity, size_t wanted, size_t size)
{
    size_t before = *capacity;
    char *first;
    if (!vector_room(items, capacity, wanted, size))
        return false;
    memcpy(&first, items, sizeof first);
    if (*capacity > before)
        memset(first + before * size, 0, (*capacity - before) * size);
    return true;
}
