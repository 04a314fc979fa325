/* Binary heaps: the first item in constant time, the next one in logarithmic time.
 *
 * Items of at most HEAP_MAX_ITEM bytes lie in the caller's array; no item comes before item 0. Everything is
 * inline, including the comparison. */
#ifndef REHEARSE_CORE_HEAP_H
#define REHEARSE_CORE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define HEAP_MAX_ITEM 64
#define HEAP_INLINE   static inline __attribute__((always_inline))

/* Returns whether a comes before b. */
typedef bool heap_before(const void *a, const void *b, const void *context);

/* Makes a heap of all `count` items, of which all but the last are one. */
HEAP_INLINE void heap_push(void *items, size_t count, size_t size, heap_before *before, const void *context)
{
    char *all = items, item[HEAP_MAX_ITEM];
    size_t at = count - 1;
    memcpy(item, all + at * size, size);
    for (; at > 0 && before(item, all + (at - 1) / 2 * size, context); at = (at - 1) / 2)
        memcpy(all + at * size, all + (at - 1) / 2 * size, size);
    memcpy(all + at * size, item, size);
}

/* Moves the first of `count` >= 1 items of a heap to the end; those in front of it are a heap. */
HEAP_INLINE void heap_pop(void *items, size_t count, size_t size, heap_before *before, const void *context)
{
    char *all = items, first[HEAP_MAX_ITEM], *last = all + (count - 1) * size;
    size_t at = 0;
    memcpy(first, all, size);
    for (size_t child = 1; child < count - 1; at = child, child = 2 * at + 1) {
        if (child + 1 < count - 1 && before(all + (child + 1) * size, all + child * size, context))
            child++;
        if (!before(all + child * size, last, context))
            break;
        memcpy(all + at * size, all + child * size, size);
    }
    memmove(all + at * size, last, size);
    memcpy(last, first, size);
}

#endif
