#include "sim/network/network.h"

#include "core/statistics.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SLACK     3000 /* ns: starts that lie so close, beside what clocks differ, are one */
#define LOOK_BACK 64   /* activities before one, of which one may have let it begin */

/* --- exchanges ------------------------------------------------------------------------------------------- */

static const struct replay_activity *activity_of(const struct network_rank *ranks,
                                                 const struct network_part *part)
{
    return &ranks[part->member].replay.activities[part->activity];
}

static int64_t start_of(const struct ranks *run, const struct network_rank *ranks,
                        const struct network_part *part)
{
    return ranks_time(run, part->member, &ranks[part->member].replay, activity_of(ranks, part)->start);
}

/* Does an activity begin at a time for which its own trace has no cause? */
static bool is_causeless(const struct replay_graph *graph, uint32_t activity)
{
    uint32_t event = graph->starts[activity];
    for (uint32_t i = graph->events[event].edges; i < graph->events[event + 1].edges; i++)
        if (graph->edges[i].stall > 0 || graph->edges[i].cause == CAUSE_ROOT)
            return true;
    return false;
}

static int32_t ended_before(const struct replay *replay, uint32_t activity)
{
    const struct replay_activity *at = &replay->activities[activity];
    int32_t best = -1;
    int64_t latest = INT64_MIN;
    for (uint32_t back = 1; back <= LOOK_BACK && back <= activity; back++) {
        const struct replay_activity *other = &replay->activities[activity - back];
        int64_t end = other->start + other->duration;
        bool beside = other->stream != at->stream &&
                      replay->streams[other->stream].device == replay->streams[at->stream].device;
        if (beside && end <= at->start && end > latest) {
            latest = end;
            best = (int32_t)(activity - back);
        }
    }
    return best;
}

/* Finds what each part of an exchange did, and how long its transfer took. */
static void measure(struct replay_network *network, const struct ranks *run, const struct network_rank *ranks,
                    bool message, struct network_exchange *exchange)
{
    struct network_part *parts = &network->parts[exchange->first];
    int64_t slack = SLACK + 2 * run->clocks.p90, end = INT64_MAX, begin = INT64_MIN;
    bool caused = false, timed = false;
    for (uint32_t i = 0; i < exchange->count; i++)
        timed |= activity_of(ranks, &parts[i])->duration > 1 || !run->priced;
    /* Its place is not its time. Of messages, senders are said to go on: ranks of a ring send before they receive. */
    for (uint32_t i = 0; !timed && i < exchange->count; i++) {
        parts[i].needed = i == 0 || !message;
        parts[i].after = -1;
    }
    if (!timed)
        return;
    for (uint32_t i = 0; i < exchange->count; i++) {
        int64_t own = start_of(run, ranks, &parts[i]) + activity_of(ranks, &parts[i])->duration;
        end = own < end ? own : end;
    }
    for (uint32_t i = 0; i < exchange->count; i++) {
        int64_t start = start_of(run, ranks, &parts[i]);
        parts[i].needed = start <= end + slack;
        begin = parts[i].needed && start > begin ? start : begin;
    }
    exchange->recorded = exchange->time = end > begin ? end - begin : 0;
    for (uint32_t i = 0; i < exchange->count; i++)
        caused |= parts[i].needed && begin - start_of(run, ranks, &parts[i]) <= slack &&
                  !is_causeless(&ranks[parts[i].member].graph, parts[i].activity);
    for (uint32_t i = 0; i < exchange->count; i++) {
        int64_t start = start_of(run, ranks, &parts[i]);
        int64_t from = begin + exchange->recorded > start ? begin + exchange->recorded : start;
        int64_t tail = start + activity_of(ranks, &parts[i])->duration - from;
        parts[i].tail = tail > 0 ? tail : 0;
        parts[i].after = -1;
        parts[i].freed = caused && parts[i].needed && begin - start <= slack &&
                         is_causeless(&ranks[parts[i].member].graph, parts[i].activity);
        if (parts[i].freed)
            parts[i].after = ended_before(&ranks[parts[i].member].replay, parts[i].activity);
    }
}

/* What a name holds tells what is done; bytes are of one rank's input, also where the collective is `gathered`. */
static const struct {
    const char *word;
    enum collective_kind kind;
    bool gathered;
} kinds[] = {
    {"allreduce", COLLECTIVE_ALL_REDUCE, false},
    {"reducescatter", COLLECTIVE_REDUCE_SCATTER, false},
    {"allgather", COLLECTIVE_ALL_GATHER, true},
    {"alltoall", COLLECTIVE_ALL_TO_ALL, false},
    {"broadcast", COLLECTIVE_ALL_GATHER, false},
    {"reduce", COLLECTIVE_REDUCE_SCATTER, false},
    {"send", COLLECTIVE_SEND, false},
    {"recv", COLLECTIVE_SEND, false},
};

static void classify(struct network_exchange *exchange, double bytes, int64_t ranks)
{
    char plain[128];
    size_t length = 0;
    for (const char *at = exchange->name; *at && length < sizeof plain - 1; at++)
        if (*at != '_' && *at != '-' && *at != ' ')
            plain[length++] = *at;
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!strcasestr(plain, kinds[i].word))
            continue;
        exchange->known = bytes >= 0;
        exchange->kind =
            kinds[i].kind == COLLECTIVE_SEND && exchange->count > 2 ? COLLECTIVE_ALL_TO_ALL : kinds[i].kind;
        exchange->bytes = bytes < 0 ? 0 : kinds[i].gathered ? bytes * (double)ranks : bytes;
        return;
    }
}

static bool add_part(struct replay_network *network, const struct ranks_collective *of, struct error *err)
{
    struct network_part part = {.member = of->member, .activity = of->activity};
    if (network->part_count >= UINT32_MAX - 1 ||
        !VECTOR_ADD(network->parts, network->part_count, network->part_capacity, part))
        return error_memory(err);
    network->part_of[of->member][of->activity] = (uint32_t)network->part_count;
    return true;
}

/* Adds an exchange of the parts that were added last. */
static bool add_exchange(struct replay_network *network, const struct ranks *run,
                         const struct network_rank *ranks, const struct ranks_collective *of, uint32_t count,
                         struct error *err)
{
    struct network_exchange exchange = {.first = network->part_count - count,
                                        .count = count,
                                        .group = of->group,
                                        .name = run->texts[of->name],
                                        .route = -1};
    measure(network, run, ranks, of->sends, &exchange);
    classify(&exchange, (double)of->bytes, network_group_size(run, &exchange));
    return VECTOR_ADD(network->exchanges, network->count, network->capacity, exchange) || error_memory(err);
}

int64_t network_group_size(const struct ranks *run, const struct network_exchange *exchange)
{
    size_t told = run->groups[exchange->group].rank_count;
    return told > exchange->count ? (int64_t)told : (int64_t)exchange->count;
}

/* --- sends and receives ---------------------------------------------------------------------------------- */

/* A send, a receive, or (side 0 and 1 by rank) a kernel that may do both. */
struct item {
    int64_t sender, receiver, sequence;
    uint32_t group;
    uint8_t both, side; /* side 1: of the receiver */
    const struct ranks_collective *of;
};

static int by_pair(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = order_of(x->sender, y->sender);
    order = order ? order : order_of(x->receiver, y->receiver);
    order = order ? order : order_of(x->group, y->group);
    order = order ? order : order_of(x->both, y->both);
    return order ? order : order_of(x->side, y->side);
}

static int by_begin(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = by_pair(a, b);
    return order ? order : order_of(x->of->begin, y->of->begin);
}

static int by_sequence(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = by_pair(a, b);
    order = order ? order : order_of(x->sequence, y->sequence);
    return order ? order : order_of(x->of->begin, y->of->begin);
}

/* A peer is told by its rank, or by its place in the group. */
static int64_t peer_rank(const struct ranks_group *group, int64_t peer, int64_t own)
{
    for (size_t i = 0; i < group->rank_count; i++)
        if (group->ranks[i] == peer && peer != own)
            return peer;
    if (peer >= 0 && (size_t)peer < group->rank_count)
        return group->ranks[peer];
    if (peer < 0 && group->rank_count == 2)
        return group->ranks[group->ranks[0] == own];
    return peer;
}

/* Returns whether the two ranks of a send or receive are known. */
static bool find_item(const struct ranks *run, const struct network_rank *ranks,
                      const struct ranks_collective *of, struct item *item)
{
    const struct replay *replay = &ranks[of->member].replay;
    const struct replay_collective *told = replay_collective_of(replay, &replay->activities[of->activity]);
    const char *name = replay->texts[told->name];
    bool receives = strcasestr(name, "recv") != NULL, sends = strcasestr(name, "send") != NULL;
    int64_t own = run->members[of->member].rank;
    int64_t peer = receives == sends ? -1 : receives ? told->source : told->destination;
    peer = peer_rank(&run->groups[of->group], peer, own);
    uint32_t group =
        run->groups[of->group].assumed ? UINT32_MAX : of->group; /* then only the ranks are known */
    *item = (struct item){.sequence = told->sequence, .group = group, .of = of};
    item->both = receives == sends;
    item->side = item->both ? own > peer : receives;
    item->sender = item->side ? peer : own;
    item->receiver = item->side ? own : peer;
    return peer >= 0 && peer != own;
}

/* Pairs the items of one sender and receiver: [0, count), those of the sender first. */
static bool pair(struct replay_network *network, const struct ranks *run, const struct network_rank *ranks,
                 struct item *items, size_t count, struct error *err)
{
    size_t sent = 0;
    while (sent < count && !items[sent].side)
        sent++;
    bool numbered = 2 * sent == count;
    qsort(items, count, sizeof *items, by_sequence);
    for (size_t i = 0; numbered && i < sent; i++)
        numbered = items[i].sequence >= 0 && items[i].sequence == items[sent + i].sequence;
    if (!numbered)
        qsort(items, count, sizeof *items, by_begin);
    size_t pairs = sent < count - sent ? sent : count - sent;
    for (size_t i = 0; i < pairs; i++) {
        if (!add_part(network, items[i].of, err) || !add_part(network, items[sent + i].of, err) ||
            !add_exchange(network, run, ranks, items[i].of, 2, err))
            return false;
        network->messages++;
        network->by_order += !numbered;
    }
    return true;
}

static bool match_sends(struct replay_network *network, const struct ranks *run,
                        const struct network_rank *ranks, size_t first, struct error *err)
{
    struct item *items = NULL, item;
    size_t count = 0, capacity = 0;
    bool done = true;
    for (size_t i = first; done && i < run->collective_count; i++)
        if (find_item(run, ranks, &run->collectives[i], &item))
            done = VECTOR_ADD(items, count, capacity, item) || error_memory(err);
    done = done && (count == 0 || sort_items(items, count, sizeof *items, by_begin, err));
    for (size_t at = 0, end; done && at < count; at = end) {
        for (end = at + 1; end < count;) {
            struct item same = items[end];
            same.side = items[at].side;
            if (by_pair(&items[at], &same) != 0)
                break;
            end++;
        }
        done = pair(network, run, ranks, items + at, end - at, err);
    }
    free(items);
    return done;
}

/* --- the whole ------------------------------------------------------------------------------------------- */

static bool match_collectives(struct replay_network *network, const struct ranks *run,
                              const struct network_rank *ranks, size_t *end, struct error *err)
{
    const struct ranks_collective *list = run->collectives;
    for (*end = 0; *end < run->collective_count && !list[*end].sends;) {
        size_t first = *end;
        for (++*end; *end < run->collective_count && !list[*end].sends &&
                     list[*end].group == list[first].group && list[*end].order == list[first].order &&
                     list[*end].again == list[first].again;)
            ++*end;
        if (*end - first < 2 || run->clocks.median > RANKS_MAX_MEDIAN)
            continue;
        for (size_t i = first; i < *end; i++)
            if (!add_part(network, &list[i], err))
                return false;
        if (!add_exchange(network, run, ranks, &list[first], (uint32_t)(*end - first), err))
            return false;
        network->collectives++;
    }
    return true;
}

bool network_make(struct replay_network *network, const struct ranks *run, const struct network_rank *ranks,
                  struct error *err)
{
    size_t end;
    *network = (struct replay_network){.members = run->count};
    network->part_of = calloc(run->count + 1, sizeof *network->part_of);
    bool done = network->part_of || error_memory(err);
    for (size_t i = 0; done && i < run->count; i++) {
        network->part_of[i] = calloc(ranks[i].replay.count + 1, sizeof **network->part_of);
        done = network->part_of[i] || error_memory(err);
    }
    done = done && match_collectives(network, run, ranks, &end, err) &&
           match_sends(network, run, ranks, end, err);
    if (done)
        network->alone = run->collective_count - network->part_count;
    else
        network_release(network);
    return done;
}

void network_release(struct replay_network *network)
{
    for (size_t i = 0; network->part_of && i < network->members; i++)
        free(network->part_of[i]);
    free(network->part_of);
    free(network->parts);
    free(network->exchanges);
    arena_release(&network->arena);
    *network = (struct replay_network){.members = 0};
}
