/* A table from a number that is not 0 to a number, for what capture.c asks at each event. */
#ifndef REHEARSE_TRACE_CAPTURE_MAP_H
#define REHEARSE_TRACE_CAPTURE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_map {
    struct capture_map_place {
        uint64_t key; /* 0: empty */
        int64_t value;
    } * places;
    size_t count, capacity; /* a power of two, at least twice the count */
};

/* NULL when it is not there. */
int64_t *capture_map_find(const struct capture_map *map, uint64_t key);

/* Adds or replaces; false when memory ran out. */
bool capture_map_set(struct capture_map *map, uint64_t key, int64_t value);

void capture_map_release(struct capture_map *map);

#endif
