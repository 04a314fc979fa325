/* Exchanges of a recorded run, priced over a described cluster: their time when they are alone by cost/collective.h,
 * and the links that they share by sim/engine/fabric.h, as sim/play does for plans. */
#include "core/error.h"
#include "cost/collective.h"
#include "sim/network/network.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#define LARGE 0x1p30 /* bytes: beyond, a message's rate does not grow */

struct pricing {
    struct replay_network *network;
    const struct ranks *run;
    const struct cluster *cluster;
    struct fabric fabric;
    int *seats;
    int64_t world, needed; /* ranks of the run; devices */
};

/* What a link carries of large messages: a wire that several share has its headers and fences for each of them. */
static double goodput(const struct cluster_group *group, bool inside)
{
    const struct collective_group ranks = {
        .devices = 2, .devices_per_node = inside ? 2 : 1, .inside = group->inside, .across = group->across};
    struct collective_time time = collective_time(COLLECTIVE_SEND, &ranks, LARGE);
    return LARGE / (time.seconds - time.latency_seconds);
}

static bool make_fabric(struct pricing *pricing, struct error *err)
{
    const struct cluster *cluster = pricing->cluster;
    struct replay_network *network = pricing->network;
    const struct cluster_network *above = cluster->network;
    struct fabric_group *groups =
        ARENA_ARRAY(&network->arena, (size_t)cluster->group_count + 1, struct fabric_group);
    struct fabric_level *levels = ARENA_ARRAY(&network->arena, FABRIC_LEVELS + 1, struct fabric_level);
    if (!groups || !levels)
        return error_memory(err);
    for (int g = 0; g < cluster->group_count; g++) {
        const struct cluster_group *group = &cluster->groups[g];
        groups[g] = (struct fabric_group){.nodes = group->nodes.count,
                                          .devices_per_node = group->nodes.devices,
                                          .devices_per_card = 1,
                                          .device = goodput(group, true),
                                          .card = goodput(group, false)};
    }
    for (int i = 0; above && i < above->level_count; i++)
        levels[i] = (struct fabric_level){above->levels[i].nodes, above->levels[i].oversubscription};
    pricing->fabric = (struct fabric){.groups = groups,
                                      .levels = levels,
                                      .group_count = cluster->group_count,
                                      .level_count = above ? above->level_count : 0};
    if (!fabric_make(&pricing->fabric, &network->arena))
        return error_memory(err);
    network->link_count = pricing->fabric.link_count;
    network->links = ARENA_ARRAY(&network->arena, (size_t)network->link_count + 1, struct engine_link);
    network->routes = ARENA_ARRAY(&network->arena, network->count + 1, struct engine_route);
    network->route_count = 0;
    pricing->seats = ARENA_ARRAY(&network->arena, NETWORK_MAX_RANKS + 1, int);
    if (!network->links || !network->routes || !pricing->seats)
        return error_memory(err);
    fabric_links(&pricing->fabric, network->links);
    return true;
}

/* The group of nodes that a device is in; its node. */
static const struct cluster_group *seat_of(const struct cluster *cluster, int64_t device, int64_t *node)
{
    *node = 0;
    for (int g = 0; g < cluster->group_count; g++) {
        const struct equal_nodes *nodes = &cluster->groups[g].nodes;
        if (device < (int64_t)nodes->count * nodes->devices) {
            *node += device / nodes->devices;
            return &cluster->groups[g];
        }
        device -= (int64_t)nodes->count * nodes->devices;
        *node += nodes->count;
    }
    return NULL;
}

/* A rank that no cluster has stands for all of these. */
static int seat_number(int64_t rank)
{
    return rank >= 0 && rank < INT_MAX ? (int)rank : INT_MAX;
}

/* Lists the ranks of an exchange: those told of its group, else those that came. Ranks of more replicas are those of
 * whole further runs, behind this one: so no other rank has their devices, whatever the order of the degrees. */
static int list_ranks(struct pricing *pricing, const struct network_exchange *exchange, int64_t wanted)
{
    const struct ranks_group *group = &pricing->run->groups[exchange->group];
    bool told = exchange->kind != COLLECTIVE_SEND && group->rank_count >= exchange->count;
    const struct network_part *parts = &pricing->network->parts[exchange->first];
    int64_t own = told ? (int64_t)group->rank_count : (int64_t)exchange->count, count = wanted ? wanted : own;
    count = count < NETWORK_MAX_RANKS ? count : NETWORK_MAX_RANKS;
    for (int64_t i = 0; i < count; i++) {
        int64_t rank = told ? group->ranks[i % own] : pricing->run->members[parts[i % own].member].rank;
        pricing->seats[i] = seat_number(seat_number(rank) + i / own * pricing->world);
    }
    return (int)count;
}

static bool route(struct pricing *pricing, struct network_exchange *exchange, int count, struct error *err)
{
    struct replay_network *network = pricing->network;
    struct fabric *fabric = &pricing->fabric;
    struct engine_route *to = &network->routes[network->route_count];
    const int *seats = pricing->seats;
    bool made = exchange->kind == COLLECTIVE_SEND
                    ? fabric_send(fabric, seats[0], seats + 1, 1, exchange->rate, &network->arena, to)
                : exchange->kind == COLLECTIVE_ALL_TO_ALL
                    ? fabric_exchange(fabric, seats, count, exchange->rate, &network->arena, to)
                    : fabric_ring(fabric, seats, count, exchange->rate, &network->arena, to);
    exchange->route = made && to->count > 0 ? network->route_count++ : -1;
    return made || error_memory(err);
}

static bool price(struct pricing *pricing, struct network_exchange *exchange, int64_t wanted,
                  struct error *err)
{
    int count = list_ranks(pricing, exchange, wanted), here = 0, most = 0;
    int64_t node, last = -1;
    const struct cluster_group *first = seat_of(pricing->cluster, pricing->seats[0], &node);
    for (int i = 0; i < count; i++) {
        const struct cluster_group *group = seat_of(pricing->cluster, pricing->seats[i], &node);
        if (!group)
            return error_set(
                err, ERROR_INPUT, "%s: has %d devices, but the run%s has ranks for %lld: describe more nodes",
                pricing->cluster->path, pricing->fabric.devices,
                pricing->needed > pricing->world ? " with so many replicas" : "", (long long)pricing->needed);
        here = node == last ? here + 1 : 1;
        most = here > most ? here : most;
        last = node;
        first =
            group->across->bandwidth < first->across->bandwidth ? group : first; /* the slowest one decides */
    }
    const struct collective_group ranks = {
        .devices = count, .devices_per_node = most, .inside = first->inside, .across = first->across};
    struct collective_time time = collective_time(exchange->kind, &ranks, exchange->bytes);
    double n = count, rounds = exchange->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
    double sent =
        exchange->kind == COLLECTIVE_SEND ? exchange->bytes : rounds * (n - 1) / n * exchange->bytes;
    double moving = time.seconds - time.latency_seconds;
    exchange->time = llround(time.seconds * 1e9);
    exchange->latency = time.latency_seconds;
    exchange->rate = moving > 0 ? sent / moving : 0;
    return !(exchange->rate > 0) || route(pricing, exchange, count, err);
}

/* Finds the ranks of the whole run, and what the given sizes of groups need; NULL: their own. */
static void count_devices(struct pricing *pricing, const int64_t *sizes)
{
    const struct ranks *run = pricing->run;
    int64_t last = run->world - 1, runs = 1;
    for (size_t i = 0; i < run->count; i++)
        last = run->members[i].rank > last ? run->members[i].rank : last;
    for (size_t g = 0; g < run->group_count; g++) {
        const struct ranks_group *group = &run->groups[g];
        int64_t own = (int64_t)group->rank_count;
        last = own > 0 && group->ranks[own - 1] > last ? group->ranks[own - 1] : last;
        runs = own > 0 && sizes && (sizes[g] + own - 1) / own > runs ? (sizes[g] + own - 1) / own : runs;
    }
    pricing->world = seat_number(last) + INT64_C(1);
    pricing->needed = pricing->world * runs;
}

bool network_price(struct replay_network *network, const struct ranks *run, const struct cluster *cluster,
                   int64_t data, struct error *err)
{
    struct pricing pricing = {.network = network, .run = run, .cluster = cluster};
    int64_t *sizes = NULL;
    network->kept = 0;
    bool done =
        make_fabric(&pricing, err) && (data == 0 || network_find_data(network, run, data, &sizes, err));
    count_devices(&pricing, sizes);
    for (size_t i = 0; done && i < network->count; i++) {
        struct network_exchange *exchange = &network->exchanges[i];
        int64_t wanted = sizes && exchange->kind != COLLECTIVE_SEND ? sizes[exchange->group] : 0;
        exchange->route = -1;
        exchange->time = exchange->recorded;
        network->kept += !exchange->known;
        done = !exchange->known || price(&pricing, exchange, wanted, err);
    }
    free(sizes);
    return done;
}
