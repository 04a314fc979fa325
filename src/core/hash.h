/* Hashes of bytes, and tables that find numbers by them. Values of hashes differ between versions and kinds of machines: they
 * are not for files. */
#ifndef REHEARSE_CORE_HASH_H
#define REHEARSE_CORE_HASH_H

#include "core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64 bits of these bytes. `start` is 0 or the hash of what comes before them. */
uint64_t hash_bytes(uint64_t start, const void *bytes, size_t length);

/* Names, which are any bytes, and the ids they got: 1, 2, 3, …. Set to zero it is ready for use. */
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

/* The id of these bytes; *added when they are new. 0 when there is no memory for them. */
uint32_t hash_names_id(struct hash_names *names, const void *bytes, size_t length, bool *added);

/* A table from numbers that are not 0 to numbers. Set to zero it is ready for use. */
struct hash_map {
    struct hash_map_place {
        uint64_t key; /* 0: the place is free */
        int64_t value;
    } * places;
    size_t count, capacity; /* a power of two, at least twice the count; or 0 */
};

void hash_map_release(struct hash_map *map);

/* The value of a key, which stays where it is until another is added; NULL when there is none. */
int64_t *hash_map_find(const struct hash_map *map, uint64_t key);

/* The same, but a key that is new is added, with value 0. NULL when memory ran out. */
int64_t *hash_map_place(struct hash_map *map, uint64_t key);

/* Adds or replaces; false when memory ran out. */
bool hash_map_set(struct hash_map *map, uint64_t key, int64_t value);

#endif
