/* Regions: parts of a system that cannot disturb each other for a while.
 *
 * Devices of a region share messages, links and groups; of other regions they know only through groups that cross
 * regions, such as those that sum gradients over the copies of a pipeline. Until one of its devices comes to such a
 * group, a region can be played alone, at its own time: whatever another region does reaches it no sooner than a
 * meeting that both have come to. So regions are played one after the other up to there, each in memory that stays in
 * the processor's caches, and from there on all together. Times are the same bits as if all had been played together:
 * they are functions of the flows on links that depend on each other, not of the order in which devices run.
 *
 * Which groups cross regions is a choice: all channels and links, then groups from the smallest to the largest are
 * joined, while a region has at most so many devices as fit into caches. */
#include "sim/engine/inner.h"

#include <stdlib.h>
#include <string.h>

#define REGION_DEVICES 1024 /* a few MiB */

/* Sets of devices: `parent` leads to a set's first device, which knows its size. */
struct sets {
    uint32_t *parent, *size, *channel, *link;
};

static uint32_t find(const struct sets *sets, uint32_t device)
{
    while (sets->parent[device] != device)
        device = sets->parent[device] = sets->parent[sets->parent[device]];
    return device;
}

static void unite(const struct sets *sets, uint32_t a, uint32_t b)
{
    a = find(sets, a);
    b = find(sets, b);
    if (a == b)
        return;
    uint32_t first = a < b ? a : b, other = a < b ? b : a;
    sets->parent[other] = first;
    sets->size[first] += sets->size[other];
}

/* Joins a device with the one that first used a thing. */
static void share(const struct sets *sets, uint32_t *first, uint32_t device)
{
    if (*first == NOBODY)
        *first = device;
    else
        unite(sets, *first, device);
}

static void share_route(const struct sets *sets, const struct engine_route *route, uint32_t device)
{
    for (int i = 0; i < route->count; i++)
        share(sets, &sets->link[route->uses[i].link], device);
}

/* The devices that come to each group: those of group g are members[first[g]] to members[first[g + 1] - 1]. */
struct rolls {
    uint32_t *first, *members;
};

static bool make_rolls(const struct engine *engine, struct rolls *rolls)
{
    size_t groups = (size_t)engine->system->group_count, devices = (size_t)engine->system->device_count;
    rolls->first = calloc(groups + 2, sizeof *rolls->first);
    for (int fill = 0; fill < 2 && rolls->first != NULL; fill++) {
        /* counted two places on, then filled one place on, where a first is the end of the group before */
        for (size_t d = 0; d < devices; d++) {
            const struct device *device = &engine->devices[d];
            for (int i = 0; i < device->order->groups; i++) {
                uint32_t *at = &rolls->first[device->source->groups[i] + 2 - fill];
                if (!device->order->uses_group[i + 1])
                    continue;
                if (fill)
                    rolls->members[*at] = (uint32_t)d;
                ++*at;
            }
        }
        for (size_t g = 0; !fill && g < groups; g++)
            rolls->first[g + 2] += rolls->first[g + 1];
        if (!fill)
            rolls->members = malloc((rolls->first[groups + 1] + (size_t)1) * sizeof *rolls->members);
        if (rolls->members == NULL)
            return false;
    }
    return rolls->first != NULL;
}

static void join_group(const struct engine *engine, const struct sets *sets, const struct rolls *rolls,
                       uint32_t group)
{
    struct meeting *meeting = &engine->meetings[group];
    const uint32_t *member = &rolls->members[rolls->first[group]];
    uint32_t count = rolls->first[group + 1] - rolls->first[group];
    uint64_t size = 0;
    bool apart = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t set = find(sets, member[i]);
        apart |= set != find(sets, member[0]);
        size += i == 0 || set != find(sets, member[i - 1]) ? sets->size[set] : 0;
    }
    int most = engine->system->region > 0 ? engine->system->region : REGION_DEVICES;
    meeting->crosses = apart && size > (uint64_t)most;
    if (meeting->crosses)
        return;
    for (uint32_t i = 1; i < count; i++)
        unite(sets, member[0], member[i]);
    if (meeting->route >= 0)
        share_route(sets, &engine->system->routes[meeting->route], member[0]);
}

static void join(const struct engine *engine, const struct sets *sets, const struct rolls *rolls)
{
    const struct engine_system *system = engine->system;
    for (uint32_t d = 0; d < (uint32_t)system->device_count; d++) {
        const struct engine_device *device = &system->devices[d];
        for (int i = 0; i < device->port_count; i++)
            share(sets, &sets->channel[device->ports[i]], d);
        for (int i = 0; i < device->route_count; i++)
            share_route(sets, &system->routes[device->routes[i]], d);
    }
    for (uint32_t most = 1; most != 0 && most < 2 * (uint32_t)system->device_count; most *= 2)
        for (uint32_t g = 0; g < (uint32_t)system->group_count; g++) {
            uint32_t count = rolls->first[g + 1] - rolls->first[g];
            if (count > most / 2 && count <= most)
                join_group(engine, sets, rolls, g);
        }
}

bool engine_regions_find(struct engine *engine)
{
    const struct engine_system *system = engine->system;
    size_t devices = (size_t)system->device_count, things = (size_t)system->channel_count + 1;
    struct sets sets = {.parent = calloc(devices, sizeof *sets.parent),
                        .size = calloc(devices, sizeof *sets.size),
                        .channel = malloc(things * sizeof *sets.channel),
                        .link = malloc(((size_t)system->link_count + 1) * sizeof *sets.link)};
    struct rolls rolls = {.first = NULL};
    engine->region_first = malloc(devices * sizeof *engine->region_first);
    engine->region_next = malloc(devices * sizeof *engine->region_next);
    bool ok = sets.parent != NULL && sets.size != NULL && sets.channel != NULL && sets.link != NULL &&
              engine->region_first != NULL && engine->region_next != NULL && make_rolls(engine, &rolls);
    if (ok) {
        memset(sets.channel, 0xff, things * sizeof *sets.channel);
        memset(sets.link, 0xff, ((size_t)system->link_count + 1) * sizeof *sets.link);
        for (size_t d = 0; d < devices; d++) {
            sets.parent[d] = (uint32_t)d;
            sets.size[d] = 1;
        }
        join(engine, &sets, &rolls);
        for (size_t d = 0; d < devices; d++)
            engine->region_first[d] = NOBODY;
        for (size_t d = 0; d < devices; d++) { /* the last one first: work is a stack */
            uint32_t *first = &engine->region_first[find(&sets, (uint32_t)d)];
            engine->region_next[d] = *first;
            *first = (uint32_t)d;
        }
    }
    free(sets.parent);
    free(sets.size);
    free(sets.channel);
    free(sets.link);
    free(rolls.first);
    free(rolls.members);
    return ok || engine_no_memory(engine);
}
