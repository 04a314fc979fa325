/* Arrays that grow.
 *
 * An array is three variables: a pointer to its items, their count, and the capacity (a size_t). NULL, 0, 0
 * is an array without items, and free() of the pointer ends it:
 *
 *     return VECTOR_ADD(search->marks, search->mark_count, search->mark_capacity, mark) || error_memory(err);
 *
 * Room grows by doubling, to 16 items or more. Where there is no memory all stays as it was. */
#ifndef REHEARSE_CORE_VECTOR_H
#define REHEARSE_CORE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for at least `wanted` items. False: out of memory. */
#define VECTOR_ROOM(items, capacity, wanted) vector_room(&(items), &(capacity), (wanted), sizeof *(items))

/* The same; new items are zero. */
#define VECTOR_ROOM_ZEROED(items, capacity, wanted)                                                          \
    vector_room_zeroed(&(items), &(capacity), (wanted), sizeof *(items))

/* Adds an item (the last argument), which must not lie in the array itself. False: out of memory. */
#define VECTOR_ADD(items, count, capacity, ...)                                                              \
    (VECTOR_ROOM(items, capacity, (size_t)(count) + 1) && ((items)[(count)++] = __VA_ARGS__, true))

/* `items` is the address of the pointer to the items, `size` the bytes of an item. */
bool vector_grow(void *items, size_t *capacity, size_t wanted, size_t size);
bool vector_room_zeroed(void *items, size_t *capacity, size_t wanted, size_t size);

static inline bool vector_room(void *items, size_t *capacity, size_t wanted, size_t size)
{
    return wanted <= *capacity || vector_grow(items, capacity, wanted, size);
}

#endif
