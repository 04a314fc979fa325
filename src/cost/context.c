#include "cost/context.h"

#include <math.h>

static bool divides(int ranks, const struct context_exchange *exchange)
{
    return exchange->heads % ranks == 0 && exchange->kv_heads % ranks == 0;
}

int context_neighbours(const struct context_exchange *exchange)
{
    int ranks = exchange->group.devices, best = 1;
    for (int g = 2; g < ranks && g <= exchange->neighbours; g++)
        if (ranks % g == 0 && divides(g, exchange))
            best = g;
    return best;
}

bool context_allows(const struct context_exchange *exchange)
{
    switch (exchange->kind) {
    case CONTEXT_ULYSSES:
        return divides(exchange->group.devices, exchange);
    case CONTEXT_HIERARCHICAL:
        return context_neighbours(exchange) > 1;
    default:
        return true;
    }
}

/* Without a mask, of the tokens at which flash attention is at half its rate under one. */
#define UNMASKED_RAMP 0.4

/* Mean tokens of a piece's keys: all of a rank's, or half. */
#define PIECE_KEYS 0.75

/* Sums read two values and write one. */
#define SUM_PASSES 3.0

/* Putting in order reads and writes. */
#define COPY_PASSES 2.0

/* The attention of a ring of `ranks` in pieces, and their sums. */
static void add_pieces(const struct context_exchange *exchange, int ranks, struct context_seconds *seconds)
{
    double ramp = exchange->calibration->flash_ramp, own = exchange->tokens / ranks;
    double others = 1.0 + UNMASKED_RAMP * ramp / (PIECE_KEYS * own);
    double pieces = (1.0 + ramp / own + (ranks - 1) * others) / ranks;
    double longer = fmax(pieces / (1.0 + ramp / exchange->tokens) - 1.0, 0.0);
    double sums = (ranks - 1) * SUM_PASSES / exchange->stream;
    seconds->kernels[0] += longer * exchange->attention[0] + sums * exchange->queries_bytes;
    seconds->kernels[1] +=
        longer * exchange->attention[1] + sums * (exchange->queries_bytes + exchange->keys_bytes);
}

/* A ring of `group`, in which each rank has `bytes` of keys and values. The slowest of the links sets the pace, and the
 * first step's attention needs none. */
static void add_ring(const struct context_exchange *exchange, const struct collective_group *group,
                     double bytes, struct context_seconds *seconds)
{
    int ranks = group->devices;
    struct collective_group pair = *group;
    pair.devices = 2;
    pair.devices_per_node = group->devices_per_node < ranks ? 1 : 2;
    for (int back = 0; back < 2; back++) {
        double moved = (back + 1) * bytes;
        double step = transfer_seconds(COLLECTIVE_SEND, &pair, moved, exchange->calibration);
        double exposed = (ranks - 1) * fmax(step - exchange->attention[back] / ranks, 0.0);
        *(back ? &seconds->backward : &seconds->forward) += exposed;
        seconds->whole[back] += (ranks - 1) * step;
        seconds->moved[back] += (ranks - 1) * moved;
    }
    add_pieces(exchange, ranks, seconds);
}

static void add_gather(const struct context_exchange *exchange, struct context_seconds *seconds)
{
    const struct collective_group *group = &exchange->group;
    double bytes = exchange->keys_bytes * group->devices;
    double gather = transfer_seconds(COLLECTIVE_ALL_GATHER, group, bytes, exchange->calibration);
    double back = gather + transfer_seconds(COLLECTIVE_REDUCE_SCATTER, group, bytes, exchange->calibration);
    seconds->forward += gather;
    seconds->backward += back;
    seconds->whole[0] += gather;
    seconds->whole[1] += back;
    seconds->moved[0] += exchange->keys_bytes * (group->devices - 1);
    seconds->moved[1] += 2.0 * exchange->keys_bytes * (group->devices - 1);
    seconds->kernels[0] += COPY_PASSES * bytes / exchange->stream;
    seconds->kernels[1] += 2.0 * COPY_PASSES * bytes / exchange->stream;
}

/* Queries, keys and values before the attention, and its outputs after it; backward the gradients of the same. */
static void add_all_to_all(const struct context_exchange *exchange, const struct collective_group *group,
                           struct context_seconds *seconds)
{
    double before = transfer_seconds(COLLECTIVE_ALL_TO_ALL, group,
                                     exchange->queries_bytes + exchange->keys_bytes, exchange->calibration);
    double after =
        transfer_seconds(COLLECTIVE_ALL_TO_ALL, group, exchange->queries_bytes, exchange->calibration);
    double share = (group->devices - 1.0) / group->devices;
    for (int back = 0; back < 2; back++) {
        *(back ? &seconds->backward : &seconds->forward) += before + after;
        seconds->whole[back] += before + after;
        seconds->moved[back] += share * (2.0 * exchange->queries_bytes + exchange->keys_bytes);
        seconds->kernels[back] +=
            COPY_PASSES * (2.0 * exchange->queries_bytes + exchange->keys_bytes) / exchange->stream;
    }
}

/* The groups' ranks are as far apart as `neighbours` of this group are. */
static void add_hierarchy(const struct context_exchange *exchange, struct context_seconds *seconds)
{
    int neighbours = context_neighbours(exchange);
    struct collective_group inner = exchange->group, outer = exchange->group;
    inner.devices = neighbours;
    inner.devices_per_node = inner.devices_per_node < neighbours ? inner.devices_per_node : neighbours;
    outer.devices /= neighbours;
    outer.devices_per_node = exchange->group.devices_per_node / neighbours;
    if (outer.devices_per_node < 1)
        outer.devices_per_node = 1;
    add_all_to_all(exchange, &inner, seconds);
    add_ring(exchange, &outer, exchange->keys_bytes, seconds);
}

struct context_seconds context_seconds_of(const struct context_exchange *exchange)
{
    struct context_seconds seconds = {0};
    if (exchange->group.devices <= 1)
        return seconds;
    switch (exchange->kind) {
    case CONTEXT_GATHER:
        add_gather(exchange, &seconds);
        break;
    case CONTEXT_ULYSSES:
        add_all_to_all(exchange, &exchange->group, &seconds);
        break;
    case CONTEXT_HIERARCHICAL:
        add_hierarchy(exchange, &seconds);
        break;
    default:
        add_ring(exchange, &exchange->group, exchange->keys_bytes, &seconds);
    }
    return seconds;
}
