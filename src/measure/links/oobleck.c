/* Oobleck's all-reduce times: those of each layer's parameters, by devices of a node and by nodes. */
#include "measure/links/write.h"

/* Is the place a group that Oobleck's file counts? It takes one device of each node between nodes. */
static bool counts(const struct study_place *place, int host, bool across)
{
    if (across)
        return place->host < 0 && place->kind != PLACE_PAIR && place->devices == place->nodes;
    return place->kind == PLACE_GROUP && place->host == host;
}

static int first_host(const struct study *study)
{
    for (int i = 0; i < study->place_count; i++)
        if (study->places[i].kind == PLACE_GROUP && study->places[i].host >= 0)
            return study->places[i].host;
    return -1;
}

static bool fill_layer(const struct study *study, struct profile *profile,
                       struct profile_allreduce *allreduce, int64_t bytes, bool across)
{
    int host = first_host(study);
    size_t room = (size_t)study->place_count + 1;
    *allreduce = (struct profile_allreduce){1, ARENA_ARRAY(&profile->arena, room, int),
                                            ARENA_ARRAY(&profile->arena, room, double)};
    if (!allreduce->devices || !allreduce->seconds)
        return false;
    allreduce->devices[0] = 1; /* alone: nothing is sent */
    bytes = bytes / (int64_t)sizeof(float) * (int64_t)sizeof(float);
    for (int i = 0; i < study->place_count; i++) {
        const struct study_place *place = &study->places[i];
        const struct study_row *row = counts(place, host, across)
                                          ? study_find(study, i, LINK_COLLECTIVE, COLLECTIVE_ALL_REDUCE,
                                                       bytes > 0 ? bytes : (int64_t)sizeof(float))
                                          : NULL;
        if (!row)
            continue;
        allreduce->devices[allreduce->count] = place->devices;
        allreduce->seconds[allreduce->count++] = row->time.median;
    }
    return true;
}

bool study_fill_profile(const struct study *study, struct profile *profile, struct error *err)
{
    for (int d = 0; d < profile->device_count; d++) {
        struct profile_device *device = &profile->devices[d];
        size_t layers = (size_t)profile->layer_count;
        device->in_node = ARENA_ARRAY(&profile->arena, layers, struct profile_allreduce);
        device->across_nodes = ARENA_ARRAY(&profile->arena, layers, struct profile_allreduce);
        if (!device->in_node || !device->across_nodes)
            return error_memory(err);
        for (int i = 0; i < profile->layer_count; i++) {
            int64_t bytes = profile->layers[i].parameter_bytes;
            if (!fill_layer(study, profile, &device->in_node[i], bytes, false) ||
                !fill_layer(study, profile, &device->across_nodes[i], bytes, true))
                return error_memory(err);
        }
    }
    return true;
}
