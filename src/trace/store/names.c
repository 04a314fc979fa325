#include "trace/store/names.h"

#include <stdlib.h>
#include <string.h>

/* Eight bytes at a time, mixed as in MurmurHash64A (public domain, Appleby): names come by the million. */
static uint64_t hash_bytes(const char *bytes, size_t length)
{
    const uint64_t m = 0xc6a4a7935bd1e995u;
    uint64_t hash = 0x9747b28cu ^ (length * m);
    while (length > 0) {
        uint64_t word = 0;
        size_t n = length < 8 ? length : 8;
        memcpy(&word, bytes, n);
        word *= m;
        word ^= word >> 47;
        hash = (hash ^ (word * m)) * m;
        bytes += n;
        length -= n;
    }
    hash ^= hash >> 47;
    hash *= m;
    return hash ^ (hash >> 47);
}

static struct trace_name *find(struct trace_name *places, size_t capacity, uint64_t hash, const void *bytes,
                               size_t length)
{
    size_t at = hash & (capacity - 1);
    for (;; at = (at + 1) & (capacity - 1)) {
        struct trace_name *place = &places[at];
        if (place->id == 0)
            return place;
        if (place->hash == hash && place->length == length && memcmp(place->bytes, bytes, length) == 0)
            return place;
    }
}

/* At most half full. */
static bool grow(struct trace_names *names)
{
    size_t capacity = names->capacity ? 2 * names->capacity : 64;
    struct trace_name *places = calloc(capacity, sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < names->capacity; i++) {
        const struct trace_name *old = &names->places[i];
        if (old->id)
            *find(places, capacity, old->hash, old->bytes, old->length) = *old;
    }
    free(names->places);
    names->places = places;
    names->capacity = capacity;
    return true;
}

uint32_t trace_names_id(struct trace_names *names, const void *bytes, size_t length, bool *added)
{
    *added = false;
    if (length > UINT32_MAX || names->count == UINT32_MAX ||
        (2 * (size_t)names->count >= names->capacity && !grow(names)))
        return 0;
    uint64_t hash = hash_bytes(bytes, length);
    struct trace_name *place = find(names->places, names->capacity, hash, bytes, length);
    if (place->id)
        return place->id;
    const char *copy = arena_copy(&names->arena, bytes, length);
    if (!copy)
        return 0;
    *place =
        (struct trace_name){.hash = hash, .bytes = copy, .length = (uint32_t)length, .id = ++names->count};
    *added = true;
    return place->id;
}

void trace_names_release(struct trace_names *names)
{
    free(names->places);
    arena_release(&names->arena);
    *names = (struct trace_names){0};
}
