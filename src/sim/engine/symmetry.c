/* Refinement of colours (as in Paige, Tarjan: Three partition refinement algorithms, SIAM J. Comput. 1987, in rounds
 * over all nodes rather than with a queue: colours spread along a pipeline in as many rounds as it has stages).
 *
 * Nodes are devices, channels, groups and links. A round gives each node a signature of its colour and those of its
 * neighbours, and equal signatures a new colour: first channels, groups and links, then devices. It is the last one
 * when the first three have no more colours than before. A device sees its channels, groups and routes in order; the
 * others see a set of devices, each with the number under which it knows the node, added up. Signatures are hashes of
 * 64 bits: for a million nodes, two different ones are taken for equal once in 10^7 systems.
 *
 * The result is an equitable partition. Each class of devices comes to a class of groups once for each number under
 * which it knows it, sends one message over a channel for each number, and a link of a class carries the same flows as
 * each other one of it: the weight of a class of flows on its one link is the sum over all flows of the class that
 * cross that link. The rounds of flow.c take integer sums of such weights, so that levels are the same bits. */
#include "sim/engine/symmetry.h"

#include "core/hash.h"
#include "core/random.h"
#include "core/stop.h"
#include "sim/engine/inner.h"

#include <stdlib.h>
#include <string.h>

#define RECENT 256 /* signatures that are remembered */

enum node { NODE_DEVICE, NODE_CHANNEL, NODE_GROUP, NODE_LINK, NODES };

/* What the tasks of an order use. */
struct usage {
    bool *ports, *groups, *routes; /* by number, from 1 */
    int port_count, group_count, route_count;
};

struct refinement {
    const struct engine_system *whole;
    struct engine_symmetry *symmetry;
    struct error *err;
    struct usage *usages; /* of each order */
    int counts[NODES], classes[NODES];
    int *color[NODES];
    uint64_t *sum[NODES]; /* of what devices and groups say to a node in this round */
    struct hash_map map;
};

static uint64_t join(uint64_t a, uint64_t b)
{
    return random_mix(a * RANDOM_GOLDEN + b + 1);
}

/* ---- what is used ---- */

static bool note(struct refinement *refinement, struct usage *usage, const struct engine_task *task,
                 bool count)
{
    if (task->receive < 0 || task->send < 0 || task->group < 0 || task->route < 0)
        return error_set(refinement->err, ERROR_INPUT, "a task has a negative port, group or route");
    if (count) {
        int port = task->receive > task->send ? task->receive : task->send;
        usage->port_count = port > usage->port_count ? port : usage->port_count;
        usage->group_count = task->group > usage->group_count ? task->group : usage->group_count;
        usage->route_count = task->route > usage->route_count ? task->route : usage->route_count;
    } else {
        usage->ports[task->receive] = usage->ports[task->send] = true;
        usage->groups[task->group] = usage->routes[task->route] = true;
    }
    return true;
}

static bool find_usage(struct refinement *refinement, int number, bool count)
{
    const struct engine_system *whole = refinement->whole;
    const struct engine_order *order = &whole->orders[number];
    bool *seen = calloc((size_t)whole->template_count + 1, sizeof *seen);
    bool found = seen != NULL || error_memory(refinement->err);
    for (size_t pass = 0; pass < order->count && found; pass++) {
        uint32_t which = order->passes[pass].template;
        if (which >= (uint32_t)whole->template_count) {
            found = error_set(refinement->err, ERROR_INPUT, "order %d, pass %zu: no template %u", number,
                              pass, which);
            break;
        }
        for (int i = 0; i < whole->templates[which].count && !seen[which] && found; i++)
            found = note(refinement, &refinement->usages[number], &whole->templates[which].tasks[i], count);
        seen[which] = true;
    }
    free(seen);
    return found;
}

static bool find_usages(struct refinement *refinement)
{
    struct arena *arena = &refinement->symmetry->arena;
    refinement->usages = ARENA_ARRAY(arena, (size_t)refinement->whole->order_count + 1, struct usage);
    if (refinement->usages == NULL)
        return error_memory(refinement->err);
    for (int i = 0; i < refinement->whole->order_count; i++) {
        struct usage *usage = &refinement->usages[i];
        if (!find_usage(refinement, i, true))
            return false;
        usage->ports = ARENA_ARRAY(arena, (size_t)usage->port_count + 1, bool);
        usage->groups = ARENA_ARRAY(arena, (size_t)usage->group_count + 1, bool);
        usage->routes = ARENA_ARRAY(arena, (size_t)usage->route_count + 1, bool);
        if (usage->ports == NULL || usage->groups == NULL || usage->routes == NULL)
            return error_memory(refinement->err);
        if (!find_usage(refinement, i, false))
            return false;
    }
    return true;
}

static bool in_range(const int *numbers, const bool *used, int count, int limit)
{
    for (int i = 0; i < count; i++) {
        if (used[i + 1] && (numbers[i] < 0 || numbers[i] >= limit))
            return false;
    }
    return true;
}

static bool check(const struct refinement *refinement)
{
    const struct engine_system *whole = refinement->whole;
    for (int d = 0; d < whole->device_count; d++) {
        const struct engine_device *device = &whole->devices[d];
        if (device->order < 0 || device->order >= whole->order_count)
            return error_set(refinement->err, ERROR_INPUT, "device %d: no order %d", device->rank,
                             device->order);
        const struct usage *usage = &refinement->usages[device->order];
        if (usage->port_count > device->port_count || usage->group_count > device->group_count ||
            usage->route_count > device->route_count ||
            !in_range(device->ports, usage->ports, usage->port_count, whole->channel_count) ||
            !in_range(device->groups, usage->groups, usage->group_count, whole->group_count) ||
            !in_range(device->routes, usage->routes, usage->route_count, whole->route_count))
            return error_set(refinement->err, ERROR_INPUT,
                             "device %d: a port, group or route of its tasks is not in its lists",
                             device->rank);
    }
    return engine_check_links(whole, refinement->err);
}

/* ---- colours ---- */

/* Gives equal signatures (in `sum`) one colour, in the order of nodes. Neighbours in that order often have the
 * signatures of some that were met just before. */
static bool recolor(struct refinement *refinement, enum node node)
{
    struct {
        uint64_t signature;
        int color;
    } recent[RECENT] = {{0, 0}};
    hash_map_release(&refinement->map);
    refinement->map = (struct hash_map){.places = NULL};
    int classes = 0;
    for (int i = 0; i < refinement->counts[node]; i++) {
        uint64_t signature = refinement->sum[node][i];
        if (stop_obeyed_at((size_t)i, refinement->err))
            return false;
        if (signature != 0 && recent[signature % RECENT].signature == signature) {
            refinement->color[node][i] = recent[signature % RECENT].color;
            continue;
        }
        int64_t *color = hash_map_place(&refinement->map, signature == 0 ? 1 : signature);
        if (color == NULL)
            return error_memory(refinement->err);
        if (*color == 0)
            *color = ++classes;
        refinement->color[node][i] = (int)*color - 1;
        recent[signature % RECENT].signature = signature;
        recent[signature % RECENT].color = (int)*color - 1;
    }
    refinement->classes[node] = classes;
    return true;
}

static bool first_colors(struct refinement *refinement)
{
    const struct engine_system *whole = refinement->whole;
    for (int d = 0; d < whole->device_count; d++) {
        const struct engine_device *device = &whole->devices[d];
        const double slow[] = {device->factor == 0.0 ? 1.0 : device->factor, device->slow_from,
                               device->slow_until};
        uint64_t signature = hash_bytes(0, slow, sizeof slow);
        signature = hash_bytes(signature, device->memory, sizeof device->memory);
        signature = join(signature, (uint64_t)device->order);
        refinement->sum[NODE_DEVICE][d] = whole->jitter > 0.0 ? join(signature, device->key) : signature;
    }
    for (int g = 0; g < whole->group_count; g++)
        refinement->sum[NODE_GROUP][g] =
            join((uint64_t)whole->groups[g].members, whole->groups[g].route >= 0);
    for (int l = 0; l < whole->link_count; l++)
        refinement->sum[NODE_LINK][l] =
            hash_bytes(0, &whole->links[l].capacity, sizeof whole->links[l].capacity);
    for (int c = 0; c < whole->channel_count; c++)
        refinement->sum[NODE_CHANNEL][c] = 1;
    for (enum node node = NODE_DEVICE; node < NODES; node++) {
        if (!recolor(refinement, node))
            return false;
    }
    return true;
}

static void tell_links(struct refinement *refinement, const struct engine_route *route, uint64_t flow)
{
    for (int i = 0; i < route->count; i++)
        refinement->sum[NODE_LINK][route->uses[i].link] += join(flow, route->uses[i].weight);
}

static uint64_t see_links(const struct refinement *refinement, const struct engine_route *route)
{
    uint64_t sum = 0;
    for (int i = 0; i < route->count; i++)
        sum += join((uint64_t)refinement->color[NODE_LINK][route->uses[i].link], route->uses[i].weight);
    return sum;
}

static void begin_sums(struct refinement *refinement, enum node node)
{
    for (int i = 0; i < refinement->counts[node]; i++)
        refinement->sum[node][i] = join((uint64_t)node, (uint64_t)refinement->color[node][i]);
}

/* Channels, groups and links look at devices and at each other. */
static bool refine_others(struct refinement *refinement)
{
    const struct engine_system *whole = refinement->whole;
    for (enum node node = NODE_CHANNEL; node < NODES; node++)
        begin_sums(refinement, node);
    for (int d = 0; d < whole->device_count; d++) {
        const struct engine_device *device = &whole->devices[d];
        const struct usage *usage = &refinement->usages[device->order];
        uint64_t own = (uint64_t)refinement->color[NODE_DEVICE][d];
        uint64_t to_channel = join(1, own), to_group = join(2, own), to_link = join(3, own);
        for (int i = 0; i < usage->port_count; i++)
            if (usage->ports[i + 1])
                refinement->sum[NODE_CHANNEL][device->ports[i]] += join(to_channel, (uint64_t)i);
        for (int i = 0; i < usage->group_count; i++)
            if (usage->groups[i + 1])
                refinement->sum[NODE_GROUP][device->groups[i]] += join(to_group, (uint64_t)i);
        for (int i = 0; i < usage->route_count; i++)
            if (usage->routes[i + 1])
                tell_links(refinement, &whole->routes[device->routes[i]], join(to_link, (uint64_t)i));
    }
    for (int g = 0; g < whole->group_count; g++) {
        if (whole->groups[g].route < 0)
            continue;
        const struct engine_route *route = &whole->routes[whole->groups[g].route];
        tell_links(refinement, route, join(4, (uint64_t)refinement->color[NODE_GROUP][g]));
        refinement->sum[NODE_GROUP][g] = join(refinement->sum[NODE_GROUP][g], see_links(refinement, route));
    }
    for (enum node node = NODE_CHANNEL; node < NODES; node++) {
        if (!recolor(refinement, node))
            return false;
    }
    return true;
}

/* Devices look at all that they use. */
static bool refine_devices(struct refinement *refinement)
{
    const struct engine_system *whole = refinement->whole;
    for (int d = 0; d < whole->device_count; d++) {
        const struct engine_device *device = &whole->devices[d];
        const struct usage *usage = &refinement->usages[device->order];
        uint64_t sum = join(0, (uint64_t)refinement->color[NODE_DEVICE][d]);
        for (int i = 0; i < usage->port_count; i++)
            if (usage->ports[i + 1])
                sum = join(sum, (uint64_t)refinement->color[NODE_CHANNEL][device->ports[i]]);
        for (int i = 0; i < usage->group_count; i++)
            if (usage->groups[i + 1])
                sum = join(sum, (uint64_t)refinement->color[NODE_GROUP][device->groups[i]]);
        for (int i = 0; i < usage->route_count; i++)
            if (usage->routes[i + 1])
                sum = join(sum, see_links(refinement, &whole->routes[device->routes[i]]));
        refinement->sum[NODE_DEVICE][d] = sum;
    }
    return recolor(refinement, NODE_DEVICE);
}

static int total(const struct refinement *refinement)
{
    int sum = 0;
    for (enum node node = NODE_DEVICE; node < NODES; node++)
        sum += refinement->classes[node];
    return sum;
}

/* ---- the smaller system ---- */

/* Returns the first node of each class. */
static int *firsts(struct refinement *refinement, enum node node)
{
    int *first = ARENA_ARRAY(&refinement->symmetry->arena, (size_t)refinement->classes[node] + 1, int);
    for (int i = refinement->counts[node]; first != NULL && i-- > 0;)
        first[refinement->color[node][i]] = i;
    return first;
}

/* Adds the weights of a flow on the first links of their classes. */
static bool weigh(struct refinement *refinement, const int *first_link, const struct engine_route *route,
                  int flow)
{
    for (int i = 0; i < route->count; i++) {
        int link = (int)route->uses[i].link, class = refinement->color[NODE_LINK][link];
        if (first_link[class] != link)
            continue;
        int64_t *weight = hash_map_place(&refinement->map, (uint64_t)(flow + 1) << 32 | (uint64_t) class);
        if (weight == NULL)
            return error_memory(refinement->err);
        *weight += route->uses[i].weight;
        if (*weight > UINT32_MAX)
            return error_set(refinement->err, ERROR_INPUT, "the weights of flows on link %d are too large",
                             link);
    }
    return true;
}

/* Makes the route of a class of flows from that of its first flow. */
static bool make_route(struct refinement *refinement, const struct engine_route *route, int flow,
                       struct engine_route *made)
{
    struct engine_use *uses =
        ARENA_ARRAY(&refinement->symmetry->arena, (size_t)route->count + 1, struct engine_use);
    if (uses == NULL)
        return error_memory(refinement->err);
    *made = (struct engine_route){.uses = uses};
    for (int i = 0; i < route->count; i++) {
        uint64_t class = (uint64_t)refinement->color[NODE_LINK][route->uses[i].link];
        int64_t *weight = hash_map_find(&refinement->map, (uint64_t)(flow + 1) << 32 | class);
        if (weight == NULL || *weight == 0)
            continue;
        uses[made->count++] = (struct engine_use){(uint32_t) class, (uint32_t)*weight};
        *weight = 0; /* another link of the same class */
    }
    return true;
}

/* Numbers the flows of devices first_flow[class of device] + route, and those of groups behind them. */
static bool make_routes(struct refinement *refinement, const int *first_flow, const int *first_link,
                        const int *first_group, struct engine_route *routes)
{
    const struct engine_system *whole = refinement->whole;
    int behind = first_flow[refinement->classes[NODE_DEVICE]];
    hash_map_release(&refinement->map);
    refinement->map = (struct hash_map){.places = NULL};
    for (int d = 0; d < whole->device_count; d++) {
        const struct usage *usage = &refinement->usages[whole->devices[d].order];
        int first = first_flow[refinement->color[NODE_DEVICE][d]];
        for (int i = 0; i < usage->route_count; i++) {
            if (usage->routes[i + 1] &&
                !weigh(refinement, first_link, &whole->routes[whole->devices[d].routes[i]], first + i))
                return false;
        }
    }
    for (int g = 0; g < whole->group_count; g++) {
        if (whole->groups[g].route >= 0 &&
            !weigh(refinement, first_link, &whole->routes[whole->groups[g].route],
                   behind + refinement->color[NODE_GROUP][g]))
            return false;
    }
    for (int class = 0; class < refinement->classes[NODE_DEVICE]; class ++) {
        const struct engine_device *device = &whole->devices[refinement->symmetry->device[class]];
        for (int i = 0; i < refinement->usages[device->order].route_count; i++) {
            if (refinement->usages[device->order].routes[i + 1] &&
                !make_route(refinement, &whole->routes[device->routes[i]], first_flow[class] + i,
                            &routes[first_flow[class] + i]))
                return false;
        }
    }
    for (int class = 0; class < refinement->classes[NODE_GROUP]; class ++) {
        int route = whole->groups[first_group[class]].route;
        if (route >= 0 &&
            !make_route(refinement, &whole->routes[route], behind + class, &routes[behind + class]))
            return false;
    }
    return true;
}

/* Returns the classes of what a device uses; others get 0. */
static int *translate(struct refinement *refinement, enum node node, const int *numbers, const bool *used,
                      int count)
{
    int *list = ARENA_ARRAY(&refinement->symmetry->arena, (size_t)count + 1, int);
    for (int i = 0; list != NULL && i < count; i++)
        list[i] = used[i + 1] ? refinement->color[node][numbers[i]] : 0;
    return list;
}

static bool make_device(struct refinement *refinement, int class, int first_flow, struct engine_device *made,
                        struct engine_group *groups)
{
    const struct engine_device *source = &refinement->whole->devices[refinement->symmetry->device[class]];
    const struct usage *usage = &refinement->usages[source->order];
    int *routes = ARENA_ARRAY(&refinement->symmetry->arena, (size_t)usage->route_count + 1, int);
    *made = *source;
    made->members = 0;
    made->ports = translate(refinement, NODE_CHANNEL, source->ports, usage->ports, usage->port_count);
    made->groups = translate(refinement, NODE_GROUP, source->groups, usage->groups, usage->group_count);
    made->routes = routes;
    made->port_count = usage->port_count;
    made->group_count = usage->group_count;
    made->route_count = usage->route_count;
    if (made->ports == NULL || made->groups == NULL || routes == NULL)
        return error_memory(refinement->err);
    for (int i = 0; i < usage->route_count; i++)
        routes[i] = first_flow + i;
    for (int i = 0; i < usage->group_count; i++)
        groups[made->groups[i]].members += usage->groups[i + 1];
    return true;
}

/* Routes that nothing uses must be right, too. */
static void fill_routes(struct engine_route *routes, int count)
{
    static const struct engine_use any = {0, 1};
    for (int i = 0; i < count; i++) {
        if (routes[i].count == 0)
            routes[i] = (struct engine_route){&any, 1};
    }
}

static bool make_system(struct refinement *refinement)
{
    const struct engine_system *whole = refinement->whole;
    struct engine_symmetry *symmetry = refinement->symmetry;
    struct arena *arena = &symmetry->arena;
    const int *classes = refinement->classes;
    symmetry->device = firsts(refinement, NODE_DEVICE);
    int *first_link = firsts(refinement, NODE_LINK), *first_group = firsts(refinement, NODE_GROUP);
    int *first_flow = ARENA_ARRAY(arena, (size_t)classes[NODE_DEVICE] + 1, int);
    struct engine_device *devices =
        ARENA_ARRAY(arena, (size_t)classes[NODE_DEVICE] + 1, struct engine_device);
    struct engine_group *groups = ARENA_ARRAY(arena, (size_t)classes[NODE_GROUP] + 1, struct engine_group);
    struct engine_link *links = ARENA_ARRAY(arena, (size_t)classes[NODE_LINK] + 1, struct engine_link);
    if (symmetry->device == NULL || first_link == NULL || first_group == NULL || first_flow == NULL ||
        devices == NULL || groups == NULL || links == NULL)
        return error_memory(refinement->err);
    for (int class = 0; class < classes[NODE_DEVICE]; class ++) {
        const struct engine_device *device = &whole->devices[symmetry->device[class]];
        first_flow[class + 1] = first_flow[class] + refinement->usages[device->order].route_count;
        if (!make_device(refinement, class, first_flow[class], &devices[class], groups))
            return false;
    }
    for (int d = 0; d < whole->device_count; d++)
        devices[refinement->color[NODE_DEVICE][d]].members += whole->devices[d].members;
    int behind = first_flow[classes[NODE_DEVICE]], route_count = behind + classes[NODE_GROUP];
    struct engine_route *routes = ARENA_ARRAY(arena, (size_t)route_count + 1, struct engine_route);
    if (routes == NULL)
        return error_memory(refinement->err);
    for (int class = 0; class < classes[NODE_GROUP]; class ++) {
        groups[class].route = whole->groups[first_group[class]].route >= 0 ? behind + class : -1;
        if (groups[class].members == 0)
            groups[class].members = 1; /* nobody comes */
    }
    for (int class = 0; class < classes[NODE_LINK]; class ++)
        links[class] = whole->links[first_link[class]];
    if (!make_routes(refinement, first_flow, first_link, first_group, routes))
        return false;
    fill_routes(routes, route_count);
    symmetry->system = *whole;
    symmetry->system.devices = devices;
    symmetry->system.groups = groups;
    symmetry->system.links = links;
    symmetry->system.routes = routes;
    symmetry->system.device_count = classes[NODE_DEVICE];
    symmetry->system.group_count = classes[NODE_GROUP];
    symmetry->system.link_count = classes[NODE_LINK];
    symmetry->system.route_count = whole->link_count > 0 ? route_count : 0;
    symmetry->system.channel_count = classes[NODE_CHANNEL];
    return true;
}

static bool find(struct refinement *refinement)
{
    const struct engine_system *whole = refinement->whole;
    int counts[NODES] = {whole->device_count, whole->channel_count, whole->group_count, whole->link_count};
    memcpy(refinement->counts, counts, sizeof counts);
    if (!find_usages(refinement) || !check(refinement))
        return false;
    for (enum node node = NODE_DEVICE; node < NODES; node++) {
        struct arena *arena = &refinement->symmetry->arena;
        refinement->color[node] = ARENA_ARRAY(arena, (size_t)counts[node] + 1, int);
        refinement->sum[node] = ARENA_ARRAY(arena, (size_t)counts[node] + 1, uint64_t);
        if (refinement->color[node] == NULL || refinement->sum[node] == NULL)
            return error_memory(refinement->err);
    }
    if (!first_colors(refinement))
        return false;
    for (int before = 0;;) {
        int devices = refinement->classes[NODE_DEVICE];
        if (!refine_others(refinement))
            return false;
        if (total(refinement) - devices == before)
            break; /* as when devices last looked at them */
        before = total(refinement) - devices;
        if (!refine_devices(refinement))
            return false;
    }
    refinement->symmetry->device_class = refinement->color[NODE_DEVICE];
    refinement->symmetry->link_class = refinement->color[NODE_LINK];
    return make_system(refinement);
}

bool engine_symmetry_find(const struct engine_system *whole, struct engine_symmetry *symmetry,
                          struct error *err)
{
    *symmetry = (struct engine_symmetry){.device = NULL};
    struct refinement refinement = {.whole = whole, .symmetry = symmetry, .err = err};
    bool found = find(&refinement);
    hash_map_release(&refinement.map);
    return found;
}

void engine_symmetry_release(struct engine_symmetry *symmetry)
{
    arena_release(&symmetry->arena);
    *symmetry = (struct engine_symmetry){.device = NULL};
}
