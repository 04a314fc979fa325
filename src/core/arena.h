/* Arenas: memory for objects that are freed together.
 *
 * Allocation returns zeroed, 16-byte aligned memory, or NULL when memory is out; sizes are checked for
 * overflow. arena_release frees everything at once. */
#ifndef REHEARSE_CORE_ARENA_H
#define REHEARSE_CORE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *last;
    size_t used; /* bytes handed out, for statistics */
};

/* An arena set to zero ({0}) is ready for use. */
void arena_release(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t count, size_t size);
/* Returns a list of `count` items with room for one more: in its place, or copied to twice the room. NULL if memory
 * is out, or a stop is wanted (core/stop.h) while much is copied. */
void *arena_grow(struct arena *arena, void *items, int count, int *room, size_t size);
char *arena_copy(struct arena *arena, const char *text, size_t length); /* adds the final NUL */
char *arena_string(struct arena *arena, const char *text);
char *arena_format(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, type)          ((type *)arena_alloc((arena), 1, sizeof(type)))
#define ARENA_ARRAY(arena, count, type) ((type *)arena_alloc((arena), (count), sizeof(type)))

#endif
