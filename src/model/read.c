#include "model/read.h"

#include <float.h>
#include <math.h>

/* Wide enough for anything that can be measured, narrow enough that sums neither overflow nor vanish. */
#define MIN_SECONDS 1e-12
#define MAX_SECONDS 1e9

bool profile_read_time(const struct profile_reader *r, const struct doc_node *node, double *seconds)
{
    double value;
    if (!doc_number(r->doc, node, DOC_POSITIVE, DBL_MAX, &value, r->err))
        return false;
    *seconds = value / r->per_second;
    if (*seconds < MIN_SECONDS || *seconds > MAX_SECONDS)
        return doc_error(r->doc, node, r->err, "expected a time from 1 ps to 1e9 s, found '%s'", node->text);
    return true;
}

bool profile_read_bytes(const struct profile_reader *r, const struct doc_node *node, int64_t *bytes)
{
    double value;
    if (!doc_number(r->doc, node, 0, DBL_MAX, &value, r->err))
        return false;
    value = nearbyint(value);
    if (value >= 0x1p53)
        return doc_error(r->doc, node, r->err, "expected less than 2^53 bytes, found '%s'", node->text);
    *bytes = (int64_t)value;
    return true;
}

bool profile_check_count(const struct profile_reader *r, const struct doc_node *list, const char *item,
                         int max)
{
    if (list->count == 0)
        return doc_error(r->doc, list, r->err, "expected at least one %s", item);
    return (int64_t)list->count <= max ||
           doc_error(r->doc, list, r->err, "expected at most %d %ss, found %u", max, item, list->count);
}

bool profile_make_layers(const struct profile_reader *r, const struct doc_node *list)
{
    if (!profile_check_count(r, list, "layer", PROFILE_MAX_LAYERS))
        return false;
    r->profile->layer_count = (int)list->count;
    r->profile->layers = ARENA_ARRAY(&r->profile->arena, list->count, struct profile_layer);
    return r->profile->layers || error_memory(r->err);
}

/* Returns the number of devices (or nodes) in a key; -1: it is no number. */
static int group_size(const char *key)
{
    int size = 0;
    if (key[0] == '\0' || (key[0] == '0' && key[1] != '\0'))
        return -1;
    for (; *key; key++) {
        if (*key < '0' || *key > '9')
            return -1;
        size = size * 10 + (*key - '0');
        if (size > PROFILE_MAX_GROUP)
            return -1;
    }
    return size;
}

static void insert(struct profile_allreduce *allreduce, int devices, double seconds)
{
    int at = allreduce->count++;
    for (; at > 0 && allreduce->devices[at - 1] > devices; at--) {
        allreduce->devices[at] = allreduce->devices[at - 1];
        allreduce->seconds[at] = allreduce->seconds[at - 1];
    }
    allreduce->devices[at] = devices;
    allreduce->seconds[at] = seconds;
}

static bool read_map(const struct profile_reader *r, const struct doc_node *map,
                     struct profile_allreduce *allreduce)
{
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        int size = group_size(node->key);
        double value;
        if (size < 0)
            return doc_error(r->doc, node, r->err, "expected a group size from 1 to %d as key, found '%s'",
                             PROFILE_MAX_GROUP, node->key);
        if (size == 0)
            continue;
        if (!doc_number(r->doc, node, 0, DBL_MAX, &value, r->err))
            return false;
        value /= r->per_second;
        if (value > MAX_SECONDS)
            return doc_error(r->doc, node, r->err, "expected a time of at most 1e9 s, found '%s'",
                             node->text);
        insert(allreduce, size, value);
    }
    return true;
}

bool profile_read_allreduce(const struct profile_reader *r, const struct doc_node *list, const char *key,
                            struct profile_allreduce **allreduce)
{
    struct arena *arena = &r->profile->arena;
    size_t total = 0;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        const struct doc_node *map = key ? doc_find(node, key) : node;
        if (map && !doc_is_map(r->doc, map, r->err))
            return false;
        total += map ? map->count : 0;
    }
    struct profile_allreduce *entries = ARENA_ARRAY(arena, list->count, struct profile_allreduce);
    int *devices = ARENA_ARRAY(arena, total + 1, int);
    double *seconds = ARENA_ARRAY(arena, total + 1, double);
    if (!entries || !devices || !seconds)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        const struct doc_node *map = key ? doc_find(node, key) : node;
        struct profile_allreduce *entry = &entries[node->index];
        entry->devices = devices;
        entry->seconds = seconds;
        if (map && !read_map(r, map, entry))
            return false;
        devices += entry->count;
        seconds += entry->count;
    }
    *allreduce = entries;
    return true;
}
