/* Arenas: memory for things that live and die together.
 *
 * Allocation returns zeroed, 16-byte aligned memory, or NULL when there is none left; sizes are checked for
 * overflow. Everything goes at once with arena_release. */
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
char *arena_copy(struct arena *arena, const char *text, size_t length); /* adds the final NUL */
char *arena_string(struct arena *arena, const char *text);
char *arena_format(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, type)          ((type *)arena_alloc((arena), 1, sizeof(type)))
#define ARENA_ARRAY(arena, count, type) ((type *)arena_alloc((arena), (count), sizeof(type)))

#endif
