#include "cost/allocator.h"

#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

#define LARGE_ALONE (INT64_C(10) << 20) /* from here on a request has a segment of its own */
#define LARGE_STEP  (INT64_C(2) << 20)

static int64_t round_up(int64_t size, int64_t step)
{
    return (size + step - 1) / step * step;
}

int64_t allocator_round(const struct allocator_settings *settings, int64_t size)
{
    int at = 0;
    if (size < ALLOCATOR_BLOCK)
        return ALLOCATOR_BLOCK;
    while (at < ALLOCATOR_SIZES - 1 && size >> (21 + at) > 0)
        at++;
    int64_t divisions = settings->divisions[at], power = ALLOCATOR_BLOCK;
    if (divisions <= 1 || size <= ALLOCATOR_BLOCK * divisions)
        return round_up(size, ALLOCATOR_BLOCK);
    while (power * 2 <= size)
        power *= 2;
    return power / divisions == 0 ? power * 2 : round_up(size, power / divisions);
}

void allocator_release(struct allocator *allocator)
{
    for (size_t i = 0; i < allocator->pool_count; i++)
        free(allocator->pools[i].free);
    free(allocator->pools);
    free(allocator->blocks);
    free(allocator->unused);
    hash_map_release(&allocator->live);
    *allocator = (struct allocator){0};
}

static struct allocator_block *at(const struct allocator *allocator, uint32_t block)
{
    return &allocator->blocks[block];
}

/* Returns the index of a new block; 0: out of memory. */
static uint32_t add_block(struct allocator *a, struct allocator_block block)
{
    if (a->unused_count > 0) {
        uint32_t place = a->unused[--a->unused_count];
        a->blocks[place] = block;
        return place;
    }
    const struct allocator_block none = {0};
    if (a->block_count >= UINT32_MAX / 2 ||
        (a->block_count == 0 && !VECTOR_ADD(a->blocks, a->block_count, a->block_capacity, none)) ||
        !VECTOR_ADD(a->blocks, a->block_count, a->block_capacity, block) ||
        !VECTOR_ROOM(a->unused, a->unused_capacity, a->block_count))
        return 0;
    return (uint32_t)(a->block_count - 1);
}

/* Takes a block out of its segment. There is room for each block. */
static void drop_block(struct allocator *a, uint32_t block)
{
    a->unused[a->unused_count++] = block;
}

/* Returns the index of a stream's pool; pool_count: out of memory. */
static size_t pool_of(struct allocator *a, int64_t stream, bool small)
{
    for (size_t i = 0; i < a->pool_count; i++)
        if (a->pools[i].stream == stream && a->pools[i].small == small)
            return i;
    const struct allocator_pool pool = {.stream = stream, .small = small};
    return VECTOR_ADD(a->pools, a->pool_count, a->pool_capacity, pool) ? a->pool_count - 1 : a->pool_count;
}

/* Returns how many free blocks of a pool are before this size and address. */
static size_t place_of(const struct allocator *a, const struct allocator_pool *pool, int64_t size,
                       uint64_t address)
{
    size_t low = 0, high = pool->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct allocator_block *block = at(a, pool->free[middle]);
        if (block->size < size || (block->size == size && block->address < address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool add_free(struct allocator *a, uint32_t block)
{
    struct allocator_pool *pool = &a->pools[at(a, block)->pool];
    size_t place = place_of(a, pool, at(a, block)->size, at(a, block)->address);
    if (!VECTOR_ROOM(pool->free, pool->capacity, pool->count + 1))
        return false;
    memmove(pool->free + place + 1, pool->free + place, (pool->count - place) * sizeof *pool->free);
    pool->free[place] = block;
    pool->count++;
    return true;
}

static void take_free(struct allocator *a, uint32_t block)
{
    struct allocator_pool *pool = &a->pools[at(a, block)->pool];
    size_t place = place_of(a, pool, at(a, block)->size, at(a, block)->address);
    pool->count--;
    memmove(pool->free + place, pool->free + place + 1, (pool->count - place) * sizeof *pool->free);
}

static void reserve(struct allocator *a, int64_t size)
{
    a->reserved += size;
    if (a->reserved > a->most_reserved)
        a->most_reserved = a->reserved;
}

/* Returns the smallest free block that will do; 0: none. The end of an expandable segment counts as the largest. */
static uint32_t find_free(const struct allocator *a, const struct allocator_pool *pool, int64_t size)
{
    int64_t most = a->settings.max_split > 0 ? a->settings.max_split : INT64_MAX;
    size_t place = place_of(a, pool, size, 0);
    if (place < pool->count && pool->free[place] == pool->last && place + 1 < pool->count)
        place++;
    if (place == pool->count)
        return 0;
    int64_t found = at(a, pool->free[place])->size;
    bool oversized = size < most ? found >= most : found >= size && found - size >= ALLOCATOR_LARGE_SEGMENT;
    return oversized ? 0 : pool->free[place];
}

/* Adds a segment of its own. Returns its free block; 0: out of memory. */
static uint32_t add_segment(struct allocator *a, size_t pool, uint64_t address, int64_t size, bool grows)
{
    uint32_t block = add_block(
        a,
        (struct allocator_block){.address = address, .size = size, .pool = (uint32_t)pool, .grows = grows});
    if (address + (uint64_t)size > a->end)
        a->end = address + (uint64_t)size;
    if (block == 0 || !add_free(a, block))
        return 0;
    reserve(a, size);
    return block;
}

/* Lets the end of a pool's expandable segment grow until it holds this size. Returns its free block; 0: out of
 * memory. */
static uint32_t grow(struct allocator *a, size_t which, int64_t size)
{
    struct allocator_pool *pool = &a->pools[which];
    int64_t step = pool->small ? ALLOCATOR_SMALL_SEGMENT : ALLOCATOR_LARGE_SEGMENT;
    uint32_t last = pool->last;
    bool is_free = last != 0 && at(a, last)->requested == 0;
    int64_t more = round_up(size - (is_free ? at(a, last)->size : 0), step);
    if (is_free) {
        take_free(a, last);
        at(a, last)->size += more;
        reserve(a, more);
        return add_free(a, last) ? last : 0;
    }
    /* addresses of growing segments are far from each other */
    uint64_t address = last ? at(a, last)->address + (uint64_t)at(a, last)->size
                            : (uint64_t)round_up((int64_t)a->end + 1, INT64_C(1) << 45);
    uint32_t block = add_segment(a, which, address, more, true);
    if (block == 0)
        return 0;
    at(a, block)->previous = last;
    if (last)
        at(a, last)->next = block;
    a->pools[which].last = block;
    return block;
}

static uint32_t ask(struct allocator *a, size_t pool, int64_t size)
{
    if (a->settings.expandable)
        return grow(a, pool, size);
    int64_t segment = size <= ALLOCATOR_SMALL ? ALLOCATOR_SMALL_SEGMENT
                      : size < LARGE_ALONE    ? ALLOCATOR_LARGE_SEGMENT
                                              : round_up(size, LARGE_STEP);
    return add_segment(a, pool, (uint64_t)round_up((int64_t)a->end + 1, LARGE_STEP), segment, false);
}

/* Is what a request leaves of a block worth a block? */
static bool should_split(const struct allocator *a, const struct allocator_block *block, int64_t size)
{
    int64_t rest = block->size - size;
    if (a->pools[block->pool].small || block->grows)
        return rest >= ALLOCATOR_BLOCK;
    return rest > ALLOCATOR_SMALL && (a->settings.max_split == 0 || size < a->settings.max_split);
}

/* Leaves `size` bytes in a block that is in no list; the rest is a free block behind it. */
static bool split(struct allocator *a, uint32_t block, int64_t size)
{
    struct allocator_block rest = *at(a, block);
    rest.address += (uint64_t)size;
    rest.size -= size;
    rest.requested = 0;
    rest.previous = block;
    uint32_t behind = add_block(a, rest);
    if (behind == 0 || !add_free(a, behind))
        return false;
    at(a, block)->size = size;
    at(a, block)->next = behind;
    if (rest.next)
        at(a, rest.next)->previous = behind;
    if (a->pools[rest.pool].last == block)
        a->pools[rest.pool].last = behind;
    return true;
}

/* A block is in use from now on. */
static bool hold(struct allocator *a, uint32_t block, uint64_t name, int64_t size)
{
    at(a, block)->requested = size > 0 ? size : 1;
    a->allocated += at(a, block)->size;
    a->requested += size;
    if (a->allocated > a->most_allocated)
        a->most_allocated = a->allocated;
    if (a->requested > a->most_requested)
        a->most_requested = a->requested;
    return hash_map_set(&a->live, name, block);
}

bool allocator_take(struct allocator *a, uint64_t name, int64_t size, int64_t stream)
{
    int64_t rounded = allocator_round(&a->settings, size);
    size_t pool = pool_of(a, stream, rounded <= ALLOCATOR_SMALL);
    int64_t *known = hash_map_find(&a->live, name);
    if (pool == a->pool_count || (known && *known != 0))
        return false;
    uint32_t block = find_free(a, &a->pools[pool], rounded);
    if (block == 0)
        block = ask(a, pool, rounded);
    if (block == 0)
        return false;
    take_free(a, block);
    return (!should_split(a, at(a, block), rounded) || split(a, block, rounded)) &&
           hold(a, block, name, size);
}

/* Joins a free block that is in no list with the one behind it, if that is free, too. */
static void join(struct allocator *a, uint32_t block)
{
    uint32_t next = at(a, block)->next;
    if (next == 0 || at(a, next)->requested != 0)
        return;
    take_free(a, next);
    at(a, block)->size += at(a, next)->size;
    at(a, block)->next = at(a, next)->next;
    if (at(a, next)->next)
        at(a, at(a, next)->next)->previous = block;
    if (a->pools[at(a, block)->pool].last == next)
        a->pools[at(a, block)->pool].last = block;
    drop_block(a, next);
}

bool allocator_give(struct allocator *a, uint64_t name)
{
    int64_t *known = hash_map_find(&a->live, name);
    if (!known || *known == 0)
        return true;
    uint32_t block = (uint32_t)*known, before = at(a, block)->previous;
    *known = 0;
    a->allocated -= at(a, block)->size;
    a->requested -= at(a, block)->requested;
    at(a, block)->requested = 0;
    join(a, block);
    if (before && at(a, before)->requested == 0) {
        take_free(a, before);
        if (!add_free(a, block)) /* join takes it out again */
            return false;
        join(a, before);
        block = before;
    }
    return add_free(a, block);
}

void allocator_empty(struct allocator *a)
{
    for (size_t p = 0; p < a->pool_count; p++) {
        struct allocator_pool *pool = &a->pools[p];
        size_t kept = 0;
        for (size_t i = 0; i < pool->count; i++) {
            uint32_t free_block = pool->free[i];
            const struct allocator_block *block = at(a, free_block);
            bool end = block->grows && pool->last == free_block;
            if (block->next != 0 || (block->previous != 0 && !end)) {
                pool->free[kept++] = free_block;
                continue;
            }
            int64_t step = pool->small ? ALLOCATOR_SMALL_SEGMENT : ALLOCATOR_LARGE_SEGMENT;
            int64_t given = block->previous ? block->size / step * step : block->size;
            a->reserved -= given;
            if (given < block->size) { /* what shares the last step with blocks in use */
                at(a, free_block)->size -= given;
                pool->free[kept++] = free_block;
                continue;
            }
            if (block->previous)
                at(a, block->previous)->next = 0;
            if (end)
                pool->last = block->previous;
            drop_block(a, free_block);
        }
        pool->count = kept;
        if (pool->last &&
            at(a, pool->last)->requested == 0) { /* it is shorter now: put it where it belongs */
            uint32_t last = pool->last;
            size_t i = 0;
            while (pool->free[i] != last)
                i++;
            memmove(pool->free + i, pool->free + i + 1, (pool->count - i - 1) * sizeof *pool->free);
            pool->count--;
            add_free(a, last); /* there was room for it */
        }
    }
}

bool allocator_put(struct allocator *a, const struct allocator_segment *segment,
                   const struct allocator_held *held, size_t count)
{
    size_t pool = pool_of(a, segment->stream, segment->small);
    if (pool == a->pool_count)
        return false;
    uint32_t block = add_segment(a, pool, segment->address, segment->size, segment->grows);
    if (block == 0)
        return false;
    uint64_t end = segment->address + (uint64_t)segment->size;
    for (size_t i = 0; i < count; i++) {
        take_free(a, block);
        int64_t before = (int64_t)(held[i].address - at(a, block)->address);
        if (before > 0) {
            if (!split(a, block, before) || !add_free(a, block))
                return false;
            block = at(a, block)->next;
            take_free(a, block);
        }
        /* what is not worth a block belongs to it, where the next one allows it */
        uint64_t next = i + 1 < count ? held[i + 1].address : end;
        int64_t gap = (int64_t)(next - at(a, block)->address);
        int64_t size = held[i].block > 0 ? held[i].block : allocator_round(&a->settings, held[i].size);
        struct allocator_block tried = *at(a, block);
        tried.size = gap;
        if (size > gap || (held[i].block <= 0 && !should_split(a, &tried, size)))
            size = gap;
        bool rest = size < at(a, block)->size;
        if ((rest && !split(a, block, size)) || !hold(a, block, held[i].address, held[i].size))
            return false;
        if (rest)
            block = at(a, block)->next;
    }
    if (segment->grows) {
        while (at(a, block)->next)
            block = at(a, block)->next;
        struct allocator_pool *home = &a->pools[pool];
        if (!home->last || at(a, home->last)->address < at(a, block)->address)
            home->last = block;
    }
    return true;
}
