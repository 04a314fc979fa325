#include "core/arena.h"

#include "core/stop.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES ((size_t)64 << 10)
#define LARGE_BYTES ((size_t)4 << 20)  /* of blocks that are mapped */
#define LARGE_ARENA ((size_t)16 << 20) /* from here on all are */
#define HUGE_PAGE   ((size_t)2 << 20)
#define PIECE       ((size_t)1 << 20) /* of a list that is copied, between two looks for a stop */
#define ALIGNMENT   16

struct arena_block {
    struct arena_block *before;
    size_t used, size; /* of the memory that follows */
    size_t mapped;     /* bytes of the whole block, by mmap; 0: by malloc */
};

#define HEADER ((sizeof(struct arena_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

/* Maps a large block: its pages are freed by the hundred, so that a stop (core/stop.h) does not wait for them. NULL:
 * out of memory. */
static struct arena_block *map_block(size_t bytes)
{
    size_t size = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    char *found = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)found % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(found, before);
    munmap(found + before + size, HUGE_PAGE - before);
    struct arena_block *block = (void *)(found + before);
    madvise(block, size, MADV_HUGEPAGE); /* where there are none, usual pages will do */
    block->mapped = size;
    return block;
}

static void free_block(struct arena_block *block)
{
    if (block->mapped > 0)
        munmap(block, block->mapped);
    else
        free(block);
}

void arena_release(struct arena *arena)
{
    while (arena->last) {
        struct arena_block *before = arena->last->before;
        free_block(arena->last);
        arena->last = before;
    }
    arena->used = 0;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX / 2) / size)
        return NULL;
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_block *block = arena->last;
    if (!block || block->size - block->used < bytes) {
        bool large = arena->used >= LARGE_ARENA || bytes >= LARGE_BYTES;
        size_t least = large ? LARGE_BYTES - HEADER : BLOCK_BYTES, room = bytes > least ? bytes : least;
        block = large ? map_block(HEADER + room) : calloc(1, HEADER + room);
        if (!block)
            return NULL;
        block->size = room;
        block->before = arena->last;
        arena->last = block;
    }
    void *memory = (char *)block + HEADER + block->used;
    block->used += bytes;
    arena->used += bytes;
    return memory;
}

void *arena_grow(struct arena *arena, void *items, int count, int *room, size_t size)
{
    if (count < *room)
        return items;
    int more = *room ? 2 * *room : 16;
    void *copy = arena_alloc(arena, (size_t)more, size);
    if (!copy)
        return NULL;
    size_t bytes = (size_t)count * size;
    for (size_t at = 0; at < bytes; at += PIECE) {
        if (at > 0 && stop_wanted())
            return NULL;
        memcpy((char *)copy + at, (const char *)items + at, bytes - at < PIECE ? bytes - at : PIECE);
    }
    *room = more;
    return copy;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1, 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

char *arena_string(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text));
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, 1);
    if (text) {
        va_start(args, format);
        vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    return text;
}
