#include "cost/profile_devices.h"

#include "core/progress.h"
#include "cost/collective.h"

static bool fill(struct arena *arena, struct profile_allreduce *table, double bytes, int max,
                 const struct cost_link *inside, const struct cost_link *across)
{
    table->devices = ARENA_ARRAY(arena, (size_t)max, int);
    table->seconds = ARENA_ARRAY(arena, (size_t)max, double);
    if (!table->devices || !table->seconds)
        return false;
    for (int devices = 1; devices <= max; devices++) {
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
static struct profile_allreduce *tables(struct profile *profile, int max, const struct cost_link *inside,
                                        const struct cost_link *across)
{
    struct profile_allreduce *list =
        ARENA_ARRAY(&profile->arena, (size_t)profile->layer_count, struct profile_allreduce);
    for (int i = 0; list && i < profile->layer_count; i++) {
        int64_t bytes = profile->layers[i].parameter_bytes;
        if (i > 0 && profile->layers[i - 1].parameter_bytes == bytes)
            list[i] = list[i - 1];
        else if (!fill(&profile->arena, &list[i], (double)bytes, max, inside, across))
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

bool profile_make_devices(const struct profile_maker *maker, const struct cost_device *const *devices,
                          int count)
{
    struct profile *profile = maker->profile;
    struct arena *arena = &profile->arena;
    profile->devices = ARENA_ARRAY(arena, (size_t)count, struct profile_device);
    for (int d = 0; profile->devices && d < count; d++, profile->device_count++) {
        struct profile_device *to = &profile->devices[d];
        to->name = arena_string(arena, devices[d]->name);
        to->path = profile->path;
        to->forward = ARENA_ARRAY(arena, (size_t)profile->layer_count, double);
        to->backward = ARENA_ARRAY(arena, (size_t)profile->layer_count, double);
        if (!to->name || !to->forward || !to->backward)
            return false;
        for (int i = 0; i < profile->layer_count; i++) {
            progress_tell("%s, %d of %d layers", devices[d]->name, i, profile->layer_count);
            maker->time_layer(maker->context, to, i, devices[d]);
        }
        if (!profile_fill_allreduce(profile, to, tables_link(maker->tables, devices[d]->link),
                                    maker->reach.across, maker->reach.devices_per_node, maker->reach.nodes))
            return false;
    }
    return profile->devices;
}
