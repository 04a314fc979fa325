#include "trace/capture/map.h"

#include <stdlib.h>

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mixed(uint64_t key)
{
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return key ^ (key >> 31);
}

static struct capture_map_place *place_of(const struct capture_map *map, uint64_t key)
{
    size_t at = mixed(key) & (map->capacity - 1);
    while (map->places[at].key != 0 && map->places[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return &map->places[at];
}

static bool grow(struct capture_map *map)
{
    struct capture_map larger = {.count = map->count, .capacity = map->capacity ? 2 * map->capacity : 256};
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

int64_t *capture_map_find(const struct capture_map *map, uint64_t key)
{
    if (map->capacity == 0)
        return NULL;
    struct capture_map_place *place = place_of(map, key);
    return place->key == key ? &place->value : NULL;
}

bool capture_map_set(struct capture_map *map, uint64_t key, int64_t value)
{
    if (2 * map->count >= map->capacity && !grow(map))
        return false;
    struct capture_map_place *place = place_of(map, key);
    map->count += place->key == 0;
    *place = (struct capture_map_place){key, value};
    return true;
}

void capture_map_release(struct capture_map *map)
{
    free(map->places);
    *map = (struct capture_map){0};
}
