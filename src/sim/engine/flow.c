/* Flows that share links: max-min fairness by progressive filling (Bertsekas, Gallager: Data Networks, 6.5.2).
 *
 * When flows begin or end, their links are dirty. Before time passes, the flows and links that can be reached from
 * dirty links get new rates; no other flow's rate can change. All rates grow alike. At the level at which the first
 * link is full, its flows stop growing; at the level of a flow's own rate, that flow does. A round gives all flows of
 * one level their rate, and takes the level times the integer sum of their weights from each link. The levels, and so
 * all bits, are functions of the set of flows, and n flows of weight w are one flow of weight n w.
 *
 * A link that cannot be filled, though all its flows go at their own rates, holds nobody back: it joins no flows to
 * others, and a flow over such links alone has its own rate at once. Only where a sink is told what links carry do
 * rates go through these links, too; they are the same.
 *
 * A flow whose rate changes notes the seconds that are left; one that was never slowed ends exactly `seconds` after its
 * beginning. */
#include "core/vector.h"
#include "sim/engine/inner.h"

#include <math.h>
#include <stdlib.h>

/* A share this close to a flow's own rate is that rate: capacities are computed from rates. */
#define NEARLY (1.0 + 1e-12)

bool engine_network_init(struct engine *engine)
{
    struct network *network = &engine->network;
    size_t count = (size_t)engine->system->link_count;
    for (int i = 0; i < 32; i++)
        network->free_lanes[i] = NOBODY;
    network->links = calloc(count + 1, sizeof *network->links);
    if (network->links == NULL)
        return engine_no_memory(engine);
    for (size_t i = 0; i < count; i++)
        network->links[i].capacity = engine->system->links[i].capacity;
    return true;
}

void engine_network_release(struct engine *engine)
{
    struct network *network = &engine->network;
    for (int i = 0; network->links != NULL && i < engine->system->link_count; i++)
        free(network->links[i].lanes);
    free(network->links);
    free(network->flows);
    free(network->free_flows);
    free(network->lanes);
    free(network->dirty);
    free(network->part_links);
    free(network->part_flows);
}

/* ---- flows come and go ---- */

static int block_of(uint32_t count)
{
    int block = 0;
    while (UINT32_C(1) << block < count)
        block++;
    return block;
}

static bool get_lanes(struct engine *engine, struct flow *flow, uint32_t count)
{
    struct network *network = &engine->network;
    int block = block_of(count);
    flow->lane_count = count;
    flow->lanes = network->free_lanes[block];
    if (flow->lanes != NOBODY) {
        network->free_lanes[block] = network->lanes[flow->lanes].flow;
        return true;
    }
    flow->lanes = (uint32_t)network->lane_count;
    if (!VECTOR_ROOM(network->lanes, network->lane_capacity, network->lane_count + (UINT32_C(1) << block)))
        return engine_no_memory(engine);
    network->lane_count += UINT32_C(1) << block;
    return true;
}

static void free_flow(struct engine *engine, uint32_t number)
{
    struct network *network = &engine->network;
    struct flow *flow = &network->flows[number];
    int block = block_of(flow->lane_count);
    network->lanes[flow->lanes].flow = network->free_lanes[block];
    network->free_lanes[block] = flow->lanes;
    if (!VECTOR_ADD(network->free_flows, network->free_count, network->free_capacity, number))
        engine_no_memory(engine);
}

uint32_t engine_flow_start(struct engine *engine, uint32_t timer, uint32_t route, double begin,
                           double seconds, double latency, double rate, double bytes)
{
    struct network *network = &engine->network;
    const struct engine_route *source = &engine->system->routes[route];
    uint32_t number;
    if (network->free_count > 0) {
        number = network->free_flows[--network->free_count];
    } else {
        number = (uint32_t)network->flow_count;
        if (!VECTOR_ROOM_ZEROED(network->flows, network->flow_capacity, network->flow_count + 1)) {
            engine_no_memory(engine);
            return 0;
        }
        network->flow_count++;
    }
    struct flow *flow = &network->flows[number];
    *flow = (struct flow){.begin = begin,
                          .seconds = seconds,
                          .latency = latency,
                          .rate = rate,
                          .bytes = llround(fmin(bytes, 9e15)),
                          .timer = timer,
                          .stamp = network->stamp};
    if (!get_lanes(engine, flow, (uint32_t)source->count))
        return number;
    for (int i = 0; i < source->count; i++)
        network->lanes[flow->lanes + (uint32_t)i] =
            (struct lane){.flow = number, .link = source->uses[i].link, .weight = source->uses[i].weight};
    engine_timer_set(engine, timer, begin + latency);
    return number;
}

static void make_dirty(struct engine *engine, uint32_t number)
{
    struct network *network = &engine->network;
    if (network->links[number].dirty)
        return;
    network->links[number].dirty = true;
    if (!VECTOR_ADD(network->dirty, network->dirty_count, network->dirty_capacity, number))
        engine_no_memory(engine);
}

static bool is_told(const struct engine *engine)
{
    return engine->sink != NULL && engine->sink->link != NULL;
}

/* Sums of rates below a link's capacity by more than they are wrong. */
#define SPARE (1.0 - 1e-9)

/* Lets two lanes of a flow that is on change places. */
static void swap_lanes(struct network *network, uint32_t a, uint32_t b)
{
    struct lane moved = network->lanes[a];
    network->lanes[a] = network->lanes[b];
    network->lanes[b] = moved;
    network->links[network->lanes[a].link].lanes[network->lanes[a].place] = a;
    network->links[network->lanes[b].link].lanes[network->lanes[b].place] = b;
}

/* Sets whether a link may hold its flows back. The rate of one flow is compared as rounds do. */
static void count_link(struct engine *engine, struct link_state *link)
{
    struct network *network = &engine->network;
    const struct lane *first = link->count == 1 ? &network->lanes[link->lanes[0]] : NULL;
    bool counts =
        is_told(engine) || (first != NULL ? network->flows[first->flow].rate >
                                                link->capacity / first->weight * ENGINE_WEIGHT * NEARLY
                                          : link->demand > link->capacity * SPARE);
    for (uint32_t i = 0; i < link->count; i++) {
        uint32_t lane = link->lanes[i];
        struct flow *flow = &network->flows[network->lanes[lane].flow];
        bool counted = lane - flow->lanes < flow->counted;
        if (counts && !counted)
            swap_lanes(network, lane, flow->lanes + flow->counted++);
        else if (!counts && counted)
            swap_lanes(network, lane, flow->lanes + --flow->counted);
    }
    link->counts = counts;
}

/* A flow that no link slows, or slowed before, ends after its own seconds. */
static void go_undisturbed(struct engine *engine, struct flow *flow)
{
    flow->since = engine->now;
    engine_timer_set(engine, flow->timer, flow->begin + flow->seconds);
}

static void join_links(struct engine *engine, uint32_t number)
{
    struct network *network = &engine->network;
    struct flow *flow = &network->flows[number];
    bool held_back = false;
    for (uint32_t i = flow->lanes; i < flow->lanes + flow->lane_count; i++) {
        struct lane *lane = &network->lanes[i];
        struct link_state *link = &network->links[lane->link];
        size_t room = link->room;
        if (!VECTOR_ROOM(link->lanes, room, link->count + 1)) {
            engine_no_memory(engine);
            return;
        }
        link->room = (uint32_t)room;
        lane->place = link->count;
        link->lanes[link->count++] = i;
        link->weight += lane->weight;
        link->demand += flow->rate * lane->weight / ENGINE_WEIGHT;
        link->whole += (flow->bytes / ENGINE_WEIGHT) * lane->weight;
        link->parts += (flow->bytes % ENGINE_WEIGHT) * lane->weight;
        uint32_t joined = lane->link;
        count_link(engine, link);
        if (link->counts) {
            make_dirty(engine, joined);
            held_back = true;
        }
    }
    if (!held_back)
        go_undisturbed(engine, flow);
}

/* Links on which all other flows have their own rates stay clean, since nobody can become faster, unless they were full
 * or what they carry is told. */
static void leave_links(struct engine *engine, const struct flow *flow)
{
    struct network *network = &engine->network;
    for (uint32_t i = flow->lanes; i < flow->lanes + flow->lane_count; i++) {
        struct lane *lane = &network->lanes[i];
        struct link_state *link = &network->links[lane->link];
        bool counted = link->counts;
        uint32_t last = link->lanes[--link->count];
        link->lanes[lane->place] = last;
        network->lanes[last].place = lane->place;
        link->weight -= lane->weight;
        link->demand = link->count > 0 ? link->demand - flow->rate * lane->weight / ENGINE_WEIGHT : 0.0;
        link->slow_flows -= flow->level < flow->rate;
        count_link(engine, link);
        if (counted && (link->slow_flows > 0 || link->full || is_told(engine)))
            make_dirty(engine, lane->link);
    }
}

double engine_flow_fire(struct engine *engine, uint32_t number)
{
    struct flow *flow = &engine->network.flows[number];
    engine->result->flow_changes++;
    if (!flow->on) {
        flow->on = true;
        flow->level = flow->rate; /* so far it counts as undisturbed */
        flow->since = NEVER;
        join_links(engine, number);
        return NEVER;
    }
    leave_links(engine, flow);
    free_flow(engine, number);
    return engine->now;
}

/* ---- rates ---- */

/* Adds a link to the part. */
static bool collect_link(struct engine *engine, uint32_t number)
{
    struct network *network = &engine->network;
    struct link_state *link = &network->links[number];
    if (link->stamp == network->stamp)
        return true;
    link->stamp = network->stamp;
    link->left = link->capacity;
    link->unfixed = link->weight;
    link->used = 0.0;
    link->fills = false;
    return VECTOR_ADD(network->part_links, network->part_link_count, network->part_link_capacity, number) ||
           engine_no_memory(engine);
}

/* Adds the flows of a link, and the links that may hold these back. */
static bool collect_flows(struct engine *engine, const struct link_state *link)
{
    struct network *network = &engine->network;
    for (uint32_t i = 0; i < link->count; i++) {
        uint32_t number = network->lanes[link->lanes[i]].flow;
        struct flow *flow = &network->flows[number];
        if (flow->stamp == network->stamp)
            continue;
        flow->stamp = network->stamp;
        flow->fair = 0.0;
        if (!VECTOR_ADD(network->part_flows, network->part_flow_count, network->part_flow_capacity, number))
            return engine_no_memory(engine);
        for (uint32_t j = flow->lanes; j < flow->lanes + flow->counted; j++)
            if (!collect_link(engine, network->lanes[j].link))
                return false;
    }
    return true;
}

/* Collects the links and flows that depend on a link. */
static bool collect(struct engine *engine, uint32_t from)
{
    struct network *network = &engine->network;
    network->part_link_count = network->part_flow_count = 0;
    if (!collect_flows(engine, &network->links[from]))
        return false;
    for (size_t at = 0; at < network->part_link_count; at++)
        if (!collect_flows(engine, &network->links[network->part_links[at]]))
            return false;
    return true;
}

static void fix(struct network *network, struct flow *flow, double level)
{
    flow->fair = level;
    for (uint32_t i = flow->lanes; i < flow->lanes + flow->counted; i++)
        network->links[network->lanes[i].link].taken += network->lanes[i].weight;
}

/* One round. Returns its level. */
static double fill(struct network *network, double reached)
{
    double full = INFINITY, own = INFINITY;
    for (size_t i = 0; i < network->part_link_count; i++) {
        struct link_state *link = &network->links[network->part_links[i]];
        link->taken = 0;
        if (link->unfixed == 0)
            continue;
        link->quotient = link->left / (double)link->unfixed * ENGINE_WEIGHT;
        full = fmin(full, link->quotient);
    }
    for (size_t i = 0; i < network->part_flow_count; i++) {
        const struct flow *flow = &network->flows[network->part_flows[i]];
        if (flow->fair == 0.0)
            own = fmin(own, flow->rate);
    }
    double level = fmax(reached, full);
    bool by_rate = own <= level * NEARLY;
    if (by_rate) {
        level = own;
        for (size_t i = 0; i < network->part_flow_count; i++) {
            struct flow *flow = &network->flows[network->part_flows[i]];
            if (flow->fair == 0.0 && flow->rate == own)
                fix(network, flow, level);
        }
    }
    for (size_t i = 0; i < network->part_link_count && !by_rate; i++) {
        struct link_state *link = &network->links[network->part_links[i]];
        if (link->unfixed == 0 || link->quotient != full)
            continue;
        link->fills = true;
        for (uint32_t j = 0; j < link->count; j++) {
            struct flow *flow = &network->flows[network->lanes[link->lanes[j]].flow];
            if (flow->fair == 0.0)
                fix(network, flow, level);
        }
    }
    for (size_t i = 0; i < network->part_link_count; i++) {
        struct link_state *link = &network->links[network->part_links[i]];
        link->unfixed -= link->taken;
        double taken = level * ((double)link->taken / ENGINE_WEIGHT);
        link->left = fmax(0.0, link->left - taken);
        link->used += taken;
    }
    return level;
}

static bool is_unfixed(const struct network *network)
{
    for (size_t i = 0; i < network->part_link_count; i++) {
        if (network->links[network->part_links[i]].unfixed > 0)
            return true;
    }
    return false;
}

static void change_rate(struct engine *engine, struct flow *flow)
{
    struct network *network = &engine->network;
    bool was_slow = flow->level < flow->rate, is_slow = flow->fair < flow->rate;
    bool first = !flow->throttled && flow->since < 0.0;
    if (flow->fair == flow->level && !first)
        return;
    for (uint32_t i = flow->lanes; was_slow != is_slow && i < flow->lanes + flow->lane_count; i++) {
        uint32_t *slow = &network->links[network->lanes[i].link].slow_flows;
        *slow = is_slow ? *slow + 1 : *slow - 1;
    }
    flow->level = flow->fair;
    if (!flow->throttled && !is_slow) {
        go_undisturbed(engine, flow);
        return;
    }
    if (!flow->throttled)
        flow->left = flow->begin + flow->seconds - engine->now;
    else
        flow->left -= (engine->now - flow->since) * flow->speed;
    flow->left = fmax(0.0, flow->left);
    flow->throttled = true;
    flow->since = engine->now;
    flow->speed = is_slow ? flow->level / flow->rate : 1.0;
    engine_timer_set(engine, flow->timer, flow->since + flow->left / flow->speed);
}

/* Notes since when a link is full, and tells what it carries from now on. */
static void tell(struct engine *engine, uint32_t number)
{
    struct link_state *link = &engine->network.links[number];
    if (link->full)
        link->full_seconds += engine->now - link->since;
    link->full = link->fills;
    link->since = engine->now;
    if (engine->failed || !is_told(engine) || link->used == link->told)
        return;
    const struct engine_link *source = &engine->system->links[number];
    double unit = source->unit > 0.0 ? source->unit : 1.0;
    const struct timeline_link shown = {.number = (int)number,
                                        .device = source->rank,
                                        .name = source->name,
                                        .time = engine->now,
                                        .rate = link->used * unit,
                                        .capacity = source->capacity * unit};
    link->told = link->used;
    engine->failed = !engine->sink->link(engine->sink->context, &shown, engine->err);
}

void engine_share_links(struct engine *engine)
{
    struct network *network = &engine->network;
    network->stamp++;
    for (size_t i = 0; i < network->dirty_count && !engine->failed; i++) {
        struct link_state *link = &network->links[network->dirty[i]];
        link->dirty = false;
        if (link->stamp == network->stamp)
            continue;
        if (link->count == 0 || !link->counts) {
            link->used = 0.0;
            link->fills = false;
            tell(engine, network->dirty[i]);
        }
        if (!collect(engine, network->dirty[i]))
            return;
        double level = 0.0;
        while (is_unfixed(network))
            level = fill(network, level);
        for (size_t j = 0; j < network->part_flow_count; j++) {
            struct flow *flow = &network->flows[network->part_flows[j]];
            if (flow->fair == 0.0)
                flow->fair = flow->rate;
            change_rate(engine, flow);
        }
        for (size_t j = 0; j < network->part_link_count; j++)
            tell(engine, network->part_links[j]);
    }
    network->dirty_count = 0;
}
