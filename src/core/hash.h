/* Hashes of bytes, and hash tables. Hashes differ between versions and kinds of machines: do not store them
 * in files. */
#ifndef REHEARSE_CORE_HASH_H
#define REHEARSE_CORE_HASH_H

#include "core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a 64-bit hash. `start` is 0 or the hash of the preceding bytes. */
uint64_t hash_bytes(uint64_t start, const void *bytes, size_t length);

/* Names (any bytes) and their ids 1, 2, 3, …. Initialise with zero. */
struct hash_names {
    struct arena arena;
    struct hash_name {
        uint64_t hash;
        const char *bytes;
        uint32_t length, id; /* id 0: the place is free */
    } * places;
    size_t capacity; /* a power of two, at least twice the count; or 0 */
    uint32_t count;
};

void hash_names_release(struct hash_names *names);

/* Returns the id of these bytes, and whether they were added; 0: out of memory. */
uint32_t hash_names_id(struct hash_names *names, const void *bytes, size_t length, bool *added);

/* A table from non-zero numbers to numbers. Initialise with zero. */
struct hash_map {
    struct hash_map_place {
        uint64_t key; /* 0: the place is free */
        int64_t value;
    } * places;
    size_t count, capacity; /* a power of two, at least twice the count; or 0 */
};

void hash_map_release(struct hash_map *map);

/* Returns a key's value, valid until another key is added; NULL: none. */
int64_t *hash_map_find(const struct hash_map *map, uint64_t key);

/* The same, but adds a new key with value 0. NULL: out of memory. */
int64_t *hash_map_place(struct hash_map *map, uint64_t key);

/* Adds or replaces; false: out of memory. */
bool hash_map_set(struct hash_map *map, uint64_t key, int64_t value);

#endif
