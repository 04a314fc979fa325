/* PyTorch's caching allocator of a device's memory (c10/cuda/CUDACachingAllocator.cpp of PyTorch 2.0 to 2.8), without a
 * device: which segments it would ask the driver for.
 *
 * Sizes are rounded up to 512 bytes, or to a part of a power of two. Requests of at most 1 MiB share segments of 2 MiB,
 * those below 10 MiB segments of 20 MiB, larger ones have one of their own, in steps of 2 MiB. A request takes the
 * smallest free block of its stream that is large enough, of several the one with the lowest address; the rest of a
 * block is split off if it is worth it. Freed blocks join their free neighbours, and stay reserved. Expandable segments
 * grow at their end instead, by 2 or 20 MiB.
 *
 * Not modelled: private pools of CUDA graphs, garbage collection, and what is given back when a device has no more. */
#ifndef REHEARSE_COST_ALLOCATOR_H
#define REHEARSE_COST_ALLOCATOR_H

#include "core/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOCATOR_BLOCK         INT64_C(512)
#define ALLOCATOR_SMALL         (INT64_C(1) << 20) /* largest size that shares small segments */
#define ALLOCATOR_SMALL_SEGMENT (INT64_C(2) << 20)
#define ALLOCATOR_LARGE_SEGMENT (INT64_C(20) << 20)
#define ALLOCATOR_MAX_SIZE      (INT64_C(1) << 42) /* of a request */
#define ALLOCATOR_SIZES         16 /* powers of two from 1 MiB on, in roundup_power2_divisions */

/* As in PYTORCH_CUDA_ALLOC_CONF. */
struct allocator_settings {
    bool expandable;                    /* expandable_segments */
    int64_t max_split;                  /* bytes; larger blocks are not split; 0: all may be */
    int64_t divisions[ALLOCATOR_SIZES]; /* of [1, 2), [2, 4), … MiB; 0: multiples of 512 */
};

struct allocator_block {
    uint64_t address;
    int64_t size, requested; /* requested 0: free */
    uint32_t previous, next; /* in its segment; 0: none */
    uint32_t pool;
    bool grows; /* in an expandable segment */
};

struct allocator_pool {
    int64_t stream;
    bool small;
    uint32_t *free; /* blocks by size, then address */
    size_t count, capacity;
    uint32_t last; /* of its expandable segment; 0: none */
};

struct allocator {
    struct allocator_settings settings;
    struct allocator_block *blocks; /* blocks[0] is none */
    size_t block_count, block_capacity;
    uint32_t *unused; /* places of blocks that are gone */
    size_t unused_count, unused_capacity;
    struct allocator_pool *pools;
    size_t pool_count, pool_capacity;
    struct hash_map live;                                  /* from names of allocations to blocks */
    uint64_t end;                                          /* no address is beyond */
    int64_t reserved, allocated, requested;                /* bytes now, */
    int64_t most_reserved, most_allocated, most_requested; /* and the most so far */
};

/* Initialise with zero and settings. */
void allocator_release(struct allocator *allocator);

/* Allocates under a name, which is not 0. False: out of memory (of this program), or the name is in use. */
bool allocator_take(struct allocator *allocator, uint64_t name, int64_t size, int64_t stream);

/* Frees; a name that is not known is none of ours. */
bool allocator_give(struct allocator *allocator, uint64_t name);

/* Gives back all segments that are free: torch.cuda.empty_cache. */
void allocator_empty(struct allocator *allocator);

/* A segment that is there before the first request. */
struct allocator_segment {
    uint64_t address;
    int64_t size, stream;
    bool small, grows;
};

/* Puts it there, with allocations (by address, within it, in order), whose names are their addresses. */
struct allocator_held {
    uint64_t address;
    int64_t size, block; /* requested; of its block, 0: not known */
};
bool allocator_put(struct allocator *allocator, const struct allocator_segment *segment,
                   const struct allocator_held *held, size_t count);

/* Returns the bytes of a block for a request. */
int64_t allocator_round(const struct allocator_settings *settings, int64_t size);

#endif
