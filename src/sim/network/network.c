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

static const struct network_word network_words[] = {
    {"allreduce", COLLECTIVE_ALL_REDUCE, false, false},
    {"reducescatter", COLLECTIVE_REDUCE_SCATTER, false, false},
    {"allgather", COLLECTIVE_ALL_GATHER, true, false},
    {"alltoall", COLLECTIVE_ALL_TO_ALL, false, false},
    {"broadcast", COLLECTIVE_ALL_GATHER, false, true},
    {"reduce", COLLECTIVE_REDUCE_SCATTER, false, true},
    {"send", COLLECTIVE_SEND, false, false},
    {"recv", COLLECTIVE_SEND, false, false},
};

const struct network_word *network_word_of(const char *name)
{
    char plain[128];
    size_t length = 0;
    for (const char *at = name; *at && length < sizeof plain - 1; at++)
        if (*at != '_' && *at != '-' && *at != ' ')
            plain[length++] = *at;
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof network_words / sizeof *network_words; i++)
        if (strcasestr(plain, network_words[i].word))
            return &network_words[i];
    return NULL;
}

static void classify(struct network_exchange *exchange, double bytes, int64_t ranks)
{
    const struct network_word *word = network_word_of(exchange->name);
    if (!word)
        return;
    exchange->known = bytes >= 0;
    exchange->kind =
        word->kind == COLLECTIVE_SEND && exchange->count > 2 ? COLLECTIVE_ALL_TO_ALL : word->kind;
    exchange->bytes = bytes < 0 ? 0 : word->gathered ? bytes * (double)ranks : bytes;
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
    for (uint32_t i = 0; i < count; i++)
        network->parts[exchange.first + i].exchange = (uint32_t)network->count;
    measure(network, run, ranks, of->sends, &exchange);
    classify(&exchange, (double)of->bytes, network_group_size(run, &exchange));
    return VECTOR_ADD(network->exchanges, network->count, network->capacity, exchange) || error_memory(err);
}

int64_t network_group_size(const struct ranks *run, const struct network_exchange *exchange)
{
    size_t told = run->groups[exchange->group].rank_count;
    return told > exchange->count ? (int64_t)told : (int64_t)exchange->count;
}

static bool add_messages(struct replay_network *network, const struct ranks *run,
                         const struct network_rank *ranks, size_t first, struct error *err)
{
    const struct ranks_collective *list = run->collectives;
    for (size_t i = first; i < run->collective_count && list[i].again > 0; i += 2) {
        if (!add_part(network, &list[i], err) || !add_part(network, &list[i + 1], err) ||
            !add_exchange(network, run, ranks, &list[i], 2, err))
            return false;
        network->messages++;
        network->by_order += !list[i].numbered;
    }
    return true;
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
    *network = (struct replay_network){.count = 0};
    network->part_of = ARENA_ARRAY(&network->arena, run->count + 1, uint32_t *);
    bool done = network->part_of || error_memory(err);
    for (size_t i = 0; done && i < run->count; i++) {
        network->part_of[i] = ARENA_ARRAY(&network->arena, ranks[i].replay.count + 1, uint32_t);
        done = network->part_of[i] || error_memory(err);
    }
    done = done && match_collectives(network, run, ranks, &end, err) &&
           add_messages(network, run, ranks, end, err);
    if (done)
        network->alone = run->collective_count - network->part_count;
    else
        network_release(network);
    return done;
}

void network_release(struct replay_network *network)
{
    free(network->parts);
    free(network->exchanges);
    arena_release(&network->arena);
    *network = (struct replay_network){.count = 0};
}
