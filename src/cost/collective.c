#include "cost/collective.h"

#include <math.h>

/* A tree moves a little less than a ring (NCCL src/graph/tuning.cc: busBw of trees times 0.92). */
#define TREE_RATE 0.92

/* One- and two-shot kernels: their launch, and the maximum bytes they are used for (openxla/xla
 * xla/service/gpu/model/all_reduce_analysis and xla/backends/gpu/runtime/all_reduce.h). */
#define SHOT_LAUNCH    1e-6
#define ONE_SHOT_BYTES (256.0 * 1024)
#define TWO_SHOT_BYTES (4.0 * 1024 * 1024)

static struct collective_time faster(struct collective_time a, struct collective_time b)
{
    return b.seconds < a.seconds ? b : a;
}

/* Steps and bytes overlap in a pipeline: neither hides the other wholly where they are alike. */
static struct collective_time pipelined(double base, double steps, double transfer,
                                        enum collective_algorithm algorithm)
{
    return (struct collective_time){
        .seconds = base + hypot(steps, transfer),
        .algorithm = algorithm,
        .latency_seconds = base + steps,
    };
}

static const struct collective_time never = {.seconds = INFINITY};

/* ---- devices and links ---- */

struct route {
    enum collective_kind kind;
    int devices, per_node, nodes;
    const struct cost_link *inside; /* NULL: no two devices are in one node */
    const struct cost_link *across; /* NULL: all are in one node */
};

static struct route route_of(enum collective_kind kind, const struct collective_group *group)
{
    struct route route = {kind, group->devices, group->devices_per_node, 1, group->inside, group->across};
    if (kind == COLLECTIVE_SEND)
        route.devices = 2;
    if (route.per_node > route.devices || route.per_node < 1 || !route.across)
        route.per_node = route.devices;
    route.nodes = (route.devices + route.per_node - 1) / route.per_node;
    if (route.nodes == 1)
        route.across = NULL;
    if (route.per_node == 1)
        route.inside = NULL;
    return route;
}

/* The cost of a protocol's steps and bytes on a route: the slowest link limits it, and the devices of a node share all
 * ports of the node. */
struct lane {
    double base, inside_hop, across_hop; /* seconds */
    double inside_later, across_later;   /* of each step, which no bytes hide */
    double rate;                         /* bytes/s, of a ring through all devices */
    double own;                          /* seconds per byte that stays */
    double upto;                         /* bytes per device */
};

static bool lane_of(const struct route *route, enum link_protocol_name name, struct lane *lane)
{
    *lane = (struct lane){.rate = INFINITY, .upto = INFINITY};
    if (route->inside) {
        const struct link_transfer *transfer = &route->inside->transfers[route->kind];
        const struct link_protocol *protocol = &transfer->protocols[name];
        lane->base = protocol->base;
        lane->inside_hop = protocol->hop;
        lane->inside_later = route->inside->later;
        lane->rate =
            protocol->rate * route->inside->bandwidth * link_transfer_share(transfer, route->per_node);
        lane->own = transfer->own / route->inside->bandwidth;
        lane->upto = protocol->upto;
    }
    if (route->across) {
        const struct link_protocol *protocol = &route->across->transfers[route->kind].protocols[name];
        lane->base = fmax(lane->base, protocol->base);
        lane->across_hop = protocol->hop;
        lane->across_later = route->across->later;
        lane->rate = fmin(lane->rate, protocol->rate * route->across->bandwidth * route->per_node);
        lane->upto = fmin(lane->upto, protocol->upto);
    }
    return lane->rate > 0.0;
}

/* ---- algorithms, under one protocol ---- */

/* Returns the time of so many steps and bytes. */
static struct collective_time stepped(const struct lane *lane, double inside, double across, double transfer,
                                      enum collective_algorithm algorithm)
{
    double base = lane->base + inside * lane->inside_later + across * lane->across_later;
    return pipelined(fmax(0.0, base), inside * lane->inside_hop + across * lane->across_hop, transfer,
                     algorithm);
}

/* nccl-tests doc/PERFORMANCE.md: each device sends (n-1)/n of the bytes, twice to reduce and then to gather. */
static struct collective_time ring(const struct route *route, const struct lane *lane, double bytes)
{
    double n = route->devices;
    double rounds = route->kind == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0;
    double across = route->nodes > 1 ? rounds * (route->nodes - 1) : 0.0;
    double inside = rounds * (n - 1.0) - across;
    return stepped(lane, inside, across, rounds * (n - 1.0) / n * bytes / lane->rate + bytes / n * lane->own,
                   ALGORITHM_RING);
}

/* Two binary trees over the nodes, each with half of the bytes; in a node a chain (NCCL 2.4). Up, then down. */
static struct collective_time tree(const struct route *route, const struct lane *lane, double bytes)
{
    double depth = ceil(log2(route->nodes));
    return stepped(lane, 2.0 * (route->per_node - 1), 2.0 * depth, 2.0 * bytes / (TREE_RATE * lane->rate),
                   ALGORITHM_TREE);
}

/* Each device sends every peer its part, inside and between nodes at the same time. */
static struct collective_time direct(const struct route *route, const struct lane *lane,
                                     enum link_protocol_name name, double bytes)
{
    double n = route->devices;
    double near = route->per_node - 1.0;
    double far = n - route->per_node;
    double transfer = 0.0;
    if (route->inside) {
        const struct link_transfer *inside = &route->inside->transfers[route->kind];
        transfer = near / n * bytes /
                   (inside->protocols[name].rate * route->inside->bandwidth *
                    link_transfer_share(inside, route->per_node));
    }
    if (route->across)
        transfer = fmax(transfer, far / n * bytes /
                                      (route->across->transfers[route->kind].protocols[name].rate *
                                       route->across->bandwidth));
    return stepped(lane, near, far, transfer + bytes / n * lane->own, ALGORITHM_DIRECT);
}

static struct collective_time send(const struct lane *lane, double bytes)
{
    return stepped(lane, 1.0, 1.0, bytes / lane->rate, ALGORITHM_DIRECT);
}

static struct collective_time under(const struct route *route, enum link_protocol_name name, double bytes)
{
    struct lane lane;
    if (!lane_of(route, name, &lane) || bytes > lane.upto * route->devices)
        return never;
    switch (route->kind) {
    case COLLECTIVE_SEND:
        return send(&lane, bytes);
    case COLLECTIVE_ALL_TO_ALL:
        return direct(route, &lane, name, bytes);
    case COLLECTIVE_ALL_REDUCE:
        if (route->nodes > 1)
            return faster(ring(route, &lane, bytes), tree(route, &lane, bytes));
        break;
    default:
        break;
    }
    return ring(route, &lane, bytes);
}

/* The library takes the protocol that is faster, of those it allows for the size. Fewer of them for more bytes, each
 * slower for more bytes: so the minimum grows with the bytes, too. */
static struct collective_time by_protocol(const struct route *route, double bytes)
{
    struct collective_time best = never;
    for (int p = 0; p < LINK_PROTOCOLS; p++)
        best = faster(best, under(route, (enum link_protocol_name)p, bytes));
    return best;
}

/* ---- algorithms without protocols ---- */

/* The switch reduces: every byte goes up once and comes down once. */
static struct collective_time nvls(const struct route *route, double bytes)
{
    if (!route->inside || route->nodes > 1)
        return never;
    const struct link_switch *in_switch = &route->inside->transfers[route->kind].nvls;
    if (in_switch->rate <= 0.0 || route->devices < in_switch->from)
        return never;
    return pipelined(fmax(0.0, in_switch->base + route->inside->later), 0.0,
                     bytes / (in_switch->rate * route->inside->bandwidth), ALGORITHM_NVLS);
}

/* One kernel that reads all peers' memory; in two shots each device reduces its part, then all gather. */
static struct collective_time shots(const struct route *route, double bytes)
{
    if (!route->inside || route->nodes > 1 || route->kind != COLLECTIVE_ALL_REDUCE ||
        route->inside->barrier <= 0.0 || bytes > TWO_SHOT_BYTES)
        return never;
    double n = route->devices;
    double barrier = fmax(0.0, route->inside->barrier + route->inside->later);
    double rate = route->inside->bandwidth *
                  link_transfer_share(&route->inside->transfers[route->kind], route->devices);
    double two_latency = SHOT_LAUNCH + 2.0 * barrier;
    struct collective_time two = {.seconds = two_latency + 2.0 * (n - 1.0) / n * bytes / rate,
                                  .algorithm = ALGORITHM_TWO_SHOT,
                                  .latency_seconds = two_latency};
    struct collective_time one = {.seconds = SHOT_LAUNCH + barrier + (n - 1.0) * bytes / rate,
                                  .algorithm = ALGORITHM_ONE_SHOT,
                                  .latency_seconds = SHOT_LAUNCH + barrier};
    return bytes <= ONE_SHOT_BYTES ? faster(one, two) : two;
}

static struct collective_time fastest(const struct route *route, double bytes);

static struct collective_time part(const struct route *route, enum collective_kind kind, bool inside,
                                   double bytes)
{
    struct route only = *route;
    only.kind = kind;
    only.devices = inside ? route->per_node : route->nodes;
    only.per_node = inside ? route->per_node : 1;
    only.nodes = inside ? 1 : route->nodes;
    only.across = inside ? NULL : route->across;
    only.inside = inside ? route->inside : NULL;
    return fastest(&only, bytes);
}

/* All-reduce: reduce-scatter in each node, all-reduce of each part across nodes, all-gather in each node. What a
 * library gains over a ring in bytes that overlap it loses here, in steps it wins. */
static struct collective_time hierarchical(const struct route *route, double bytes)
{
    if (route->kind != COLLECTIVE_ALL_REDUCE || route->nodes == 1 || route->per_node == 1 ||
        route->nodes * route->per_node != route->devices)
        return never;
    struct collective_time scatter = part(route, COLLECTIVE_REDUCE_SCATTER, true, bytes);
    struct collective_time reduce = part(route, COLLECTIVE_ALL_REDUCE, false, bytes / route->per_node);
    struct collective_time gather = part(route, COLLECTIVE_ALL_GATHER, true, bytes);
    return (struct collective_time){
        .seconds = scatter.seconds + reduce.seconds + gather.seconds,
        .algorithm = ALGORITHM_HIERARCHICAL,
        .latency_seconds = scatter.latency_seconds + reduce.latency_seconds + gather.latency_seconds,
    };
}

static struct collective_time fastest(const struct route *route, double bytes)
{
    struct collective_time best = faster(by_protocol(route, bytes), nvls(route, bytes));
    return faster(faster(best, shots(route, bytes)), hierarchical(route, bytes));
}

struct collective_time collective_time(enum collective_kind kind, const struct collective_group *group,
                                       double bytes)
{
    struct route route = route_of(kind, group);
    if (group->devices <= 1)
        return (struct collective_time){0};
    return fastest(&route, bytes);
}

double transfer_seconds_of(const struct collective_time *time, enum collective_kind kind,
                           const struct collective_group *group, const struct calibration *calibration)
{
    double share = kind == COLLECTIVE_ALL_TO_ALL              ? calibration->exchange
                   : group->devices_per_node < group->devices ? calibration->across
                                                              : calibration->inside;
    return time->latency_seconds + (time->seconds - time->latency_seconds) / share;
}

double transfer_seconds(enum collective_kind kind, const struct collective_group *group, double bytes,
                        const struct calibration *calibration)
{
    if (group->devices <= 1 || bytes <= 0.0)
        return 0.0;
    struct collective_time time = collective_time(kind, group, bytes);
    return transfer_seconds_of(&time, kind, group, calibration);
}

double transfer_gradient_seconds(enum collective_kind kind, const struct collective_group *group,
                                 double bytes, const struct calibration *calibration)
{
    struct calibration own = *calibration;
    own.inside = own.gradients;
    return transfer_seconds(kind, group, bytes, &own);
}
