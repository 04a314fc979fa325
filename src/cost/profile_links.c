#include "cost/profile_links.h"

#include "cost/collective.h"

#include <string.h>

static bool fill(struct arena *arena, struct profile_allreduce *table, double bytes, int most,
                 const struct cost_link *inside, const struct cost_link *across)
{
    table->devices = ARENA_ARRAY(arena, (size_t)most, int);
    table->seconds = ARENA_ARRAY(arena, (size_t)most, double);
    if (!table->devices || !table->seconds)
        return false;
    for (int devices = 1; devices <= most; devices++) {
        struct collective_group group = {
            .devices = devices,
            .devices_per_node = across ? 1 : devices,
            .inside = inside,
            .across = across,
        };
        table->devices[table->count] = devices;
        table->seconds[table->count++] = collective_time(COLLECTIVE_ALL_REDUCE, &group, bytes).seconds;
    }
    return true;
}

/* Layers with as many bytes share one table. */
static struct profile_allreduce *tables(struct profile *profile, int most, const struct cost_link *inside,
                                        const struct cost_link *across)
{
    struct profile_allreduce *list =
        ARENA_ARRAY(&profile->arena, (size_t)profile->layer_count, struct profile_allreduce);
    for (int i = 0; list && i < profile->layer_count; i++) {
        int64_t bytes = profile->layers[i].parameter_bytes;
        if (i > 0 && profile->layers[i - 1].parameter_bytes == bytes)
            list[i] = list[i - 1];
        else if (!fill(&profile->arena, &list[i], (double)bytes, most, inside, across))
            return NULL;
    }
    return list;
}

bool profile_fill_allreduce(struct profile *profile, struct profile_device *device,
                            const struct cost_link *inside, const struct cost_link *across,
                            int devices_per_node, int nodes)
{
    if (devices_per_node > 0 && inside &&
        !(device->in_node = tables(profile, devices_per_node, inside, NULL)))
        return false;
    return nodes <= 0 || !across || (device->across_nodes = tables(profile, nodes, inside, across));
}
