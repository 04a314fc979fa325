#include "core/hash.h"

#include "core/random.h"

#include <stdlib.h>
#include <string.h>

/* Eight bytes at a time, mixed as in MurmurHash64A (public domain, Appleby): names come by the million. */
uint64_t hash_bytes(uint64_t start, const void *bytes, size_t length)
{
    const uint64_t m = 0xc6a4a7935bd1e995u;
    const char *at = bytes;
    uint64_t hash = start ^ 0x9747b28cu ^ (length * m), word;
    for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        memcpy(&word, at, sizeof word);
        word *= m;
        word ^= word >> 47;
        hash = (hash ^ (word * m)) * m;
    }
    if (length > 0) {
        word = 0;
        memcpy(&word, at, length);
        word *= m;
        word ^= word >> 47;
        hash = (hash ^ (word * m)) * m;
    }
    hash ^= hash >> 47;
    hash *= m;
    return hash ^ (hash >> 47);
}

/* ---- names ---- */

static struct hash_name *find_name(struct hash_name *places, size_t capacity, uint64_t hash,
                                   const void *bytes, size_t length)
{
    size_t at = hash & (capacity - 1);
    for (;; at = (at + 1) & (capacity - 1)) {
        struct hash_name *place = &places[at];
        if (place->id == 0)
            return place;
        if (place->hash == hash && place->length == length && memcmp(place->bytes, bytes, length) == 0)
            return place;
    }
}

/* At most half full. */
static bool grow_names(struct hash_names *names)
{
    size_t capacity = names->capacity ? 2 * names->capacity : 64;
    struct hash_name *places = calloc(capacity, sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < names->capacity; i++) {
        const struct hash_name *old = &names->places[i];
        if (old->id)
            *find_name(places, capacity, old->hash, old->bytes, old->length) = *old;
    }
    free(names->places);
    names->places = places;
    names->capacity = capacity;
    return true;
}

uint32_t hash_names_id(struct hash_names *names, const void *bytes, size_t length, bool *added)
{
    *added = false;
    if (length > UINT32_MAX || names->count == UINT32_MAX ||
        (2 * (size_t)names->count >= names->capacity && !grow_names(names)))
        return 0;
    uint64_t hash = hash_bytes(0, bytes, length);
    struct hash_name *place = find_name(names->places, names->capacity, hash, bytes, length);
    if (place->id)
        return place->id;
    const char *copy = arena_copy(&names->arena, bytes, length);
    if (!copy)
        return 0;
    *place =
        (struct hash_name){.hash = hash, .bytes = copy, .length = (uint32_t)length, .id = ++names->count};
    *added = true;
    return place->id;
}

void hash_names_release(struct hash_names *names)
{
    free(names->places);
    arena_release(&names->arena);
    *names = (struct hash_names){0};
}

/* ---- numbers ---- */

static struct hash_map_place *place_of(const struct hash_map *map, uint64_t key)
{
    size_t at = random_mix(key) & (map->capacity - 1);
    while (map->places[at].key != 0 && map->places[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return &map->places[at];
}

static bool grow_map(struct hash_map *map)
{
    struct hash_map larger = {.count = map->count, .capacity = map->capacity ? 2 * map->capacity : 256};
    larger.places = calloc(larger.capacity, sizeof *larger.places);
    if (!larger.places)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->places[i].key != 0)
            *place_of(&larger, map->places[i].key) = map->places[i];
    free(map->places);
    *map = larger;
    return true;
}

int64_t *hash_map_find(const struct hash_map *map, uint64_t key)
{
    if (map->capacity == 0)
        return NULL;
    struct hash_map_place *place = place_of(map, key);
    return place->key == key ? &place->value : NULL;
}

int64_t *hash_map_place(struct hash_map *map, uint64_t key)
{
    if (2 * map->count >= map->capacity && !grow_map(map))
        return NULL;
    struct hash_map_place *place = place_of(map, key);
    map->count += place->key == 0;
    place->key = key;
    return &place->value;
}

bool hash_map_set(struct hash_map *map, uint64_t key, int64_t value)
{
    int64_t *place = hash_map_place(map, key);
    if (place)
        *place = value;
    return place;
}

void hash_map_release(struct hash_map *map)
{
    free(map->places);
    *map = (struct hash_map){0};
}
