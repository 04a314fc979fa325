/* The network of a trace: times of exchanges as recorded, or fitted. What its groups hold, as their names tell it, and
 * their sizes and times with another number of data-parallel replicas. */
#include "core/statistics.h"
#include "core/text.h"
#include "sim/network/network.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- replicas --------------------------------------------------------------------------------------------- */

/* Replicas of sharded parameters, and the shards of one, together are data-parallel. */
enum held { DATA, REPLICAS, SHARDS, TENSOR, PIPELINE, CONTEXT, EXPERT, MODEL, APART, HELD };

#define BIT(held) (1u << (held))
#define ALL_DATA  (BIT(DATA) | BIT(REPLICAS) | BIT(SHARDS))

/* By words: a short one is a whole word, of a longer one it may be the begin. Of parts of a degree ("intra", "inter")
 * it is not known how many there are. */
static unsigned held_by(const char *name)
{
    static const struct {
        const char *word;
        enum held held;
    } words[] = {{"data", DATA},       {"dp", DATA},           {"ddp", DATA},      {"gradient", DATA},
                 {"replic", REPLICAS}, {"shard", SHARDS},      {"fsdp", SHARDS},   {"tensor", TENSOR},
                 {"tp", TENSOR},       {"pipeline", PIPELINE}, {"pp", PIPELINE},   {"embedding", PIPELINE},
                 {"context", CONTEXT}, {"cp", CONTEXT},        {"expert", EXPERT}, {"ep", EXPERT},
                 {"model", MODEL},     {"intra", APART},       {"inter", APART}};
    unsigned held = 0;
    for (size_t length; *name; name += length) {
        for (length = 0; isalpha((unsigned char)name[length]);)
            length++;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            size_t of = strlen(words[i].word);
            if (strncasecmp(name, words[i].word, of) == 0 && (of == length || (of > 3 && of < length)))
                held |= BIT(words[i].held);
        }
        length += length == 0;
    }
    if (held & BIT(APART))
        return BIT(APART);
    unsigned parts = held & (BIT(REPLICAS) | BIT(SHARDS));
    if (parts == BIT(REPLICAS) || parts == BIT(SHARDS))
        held &= ~BIT(DATA);
    else if (parts)
        held = (held & ~parts) | BIT(DATA);
    return held;
}

static const char *called(const struct ranks_group *group)
{
    return *group->description ? group->description : group->name;
}

/* What groups are known by: messages, and collectives with bytes. A barrier may be over all ranks, whatever its group
 * is called. */
enum { MESSAGE = 1, COLLECTIVE = 2 };

/* Sets the sizes of degrees: by groups that hold one alone, then of data by those that hold others, too. Degrees
 * without a group are 1. */
static void find_degrees(const struct ranks *run, const int64_t *sizes, const uint8_t *seen, int64_t *degrees)
{
    for (int mixed = 0; mixed <= 1; mixed++)
        for (size_t g = 0; g < run->group_count; g++) {
            unsigned held = held_by(called(&run->groups[g]));
            int64_t rest = 1;
            for (int k = TENSOR; k <= CONTEXT; k++)
                rest *= mixed && (held & BIT(k)) && degrees[k] > 0 ? degrees[k] : 1;
            for (int k = DATA; k <= CONTEXT && seen[g] && !(held & BIT(EXPERT)); k++)
                if (mixed ? (BIT(k) & held & ALL_DATA) && degrees[k] == 0 && sizes[g] % rest == 0
                          : (held & ~BIT(MODEL)) == BIT(k) && sizes[g] > degrees[k])
                    degrees[k] = sizes[g] / rest;
        }
}

static bool not_known(const struct ranks *run, const uint8_t *seen, struct error *err)
{
    struct text names = {0};
    for (size_t g = 0; g < run->group_count && names.length < 200; g++)
        if (seen[g] & COLLECTIVE)
            text_format(&names, "%s'%.40s'", names.length > 0 ? ", " : "", called(&run->groups[g]));
    error_set(err, ERROR_USAGE,
              "--what-if dp: no group is known to be of data-parallel replicas (found: %s): their names "
              "hold 'dp', 'data', 'gradient' or 'shard', or there is only one group",
              names.length > 0 && !names.failed ? names.data : "none");
    text_release(&names);
    return false;
}

/* Replaces the sizes of groups by those with other replicas. Where replicas and their shards are told apart, shards
 * stay as they are. `only`: the one group of collectives holds replicas, though nothing tells it. */
static bool resize(const struct ranks *run, int64_t data, int64_t now, int64_t shards, bool only,
                   const uint8_t *seen, int64_t *sizes, struct error *err)
{
    for (size_t g = 0; g < run->group_count; g++) {
        unsigned held = held_by(called(&run->groups[g]));
        held &= shards == now ? ALL_DATA : BIT(DATA) | BIT(REPLICAS);
        int64_t size = only && !(seen[g] & COLLECTIVE) ? 0 : held || only ? sizes[g] : 0;
        sizes[g] = size * data / now;
        if (seen[g] && (size * data % now != 0 || sizes[g] > NETWORK_MAX_RANKS))
            return error_set(
                err, ERROR_USAGE,
                "--what-if dp=%lld: the run has %lld data-parallel replicas, and '%.40s' would have %g "
                "ranks instead of %lld: expected a whole number up to %d",
                (long long)data, (long long)now, called(&run->groups[g]),
                (double)size * (double)data / (double)now, (long long)size, NETWORK_MAX_RANKS);
    }
    return true;
}

bool network_find_data(const struct replay_network *network, const struct ranks *run, int64_t data,
                       int64_t **sizes, struct error *err)
{
    int64_t degrees[HELD] = {0};
    size_t count = 0, last = 0;
    uint8_t *seen = calloc(run->group_count + 1, sizeof *seen);
    *sizes = calloc(run->group_count + 1, sizeof **sizes);
    bool done = (seen && *sizes) || error_memory(err);
    for (size_t i = 0; done && i < network->count; i++) {
        const struct network_exchange *exchange = &network->exchanges[i];
        int64_t size = network_group_size(run, exchange), *largest = &(*sizes)[exchange->group];
        uint8_t by = i >= network->collectives ? MESSAGE : exchange->known ? COLLECTIVE : 0;
        *largest = size > *largest ? size : *largest;
        if (by == COLLECTIVE && !(seen[exchange->group] & by)) {
            count++;
            last = exchange->group;
        }
        seen[exchange->group] |= by;
    }
    if (done)
        find_degrees(run, *sizes, seen, degrees);
    bool only = done && count == 1 && held_by(called(&run->groups[last])) == 0;
    int64_t shards = degrees[SHARDS], replicas = degrees[REPLICAS];
    int64_t apart = shards > 0 && replicas > 0 ? shards * replicas : shards + replicas;
    int64_t now = only ? (*sizes)[last] : degrees[DATA] > 0 ? degrees[DATA] : apart;
    done = done && (now > 0 || not_known(run, seen, err)) &&
           resize(run, data, now, shards, only, seen, *sizes, err);
    free(seen);
    if (!done) {
        free(*sizes);
        *sizes = NULL;
    }
    return done;
}

/* --- times ------------------------------------------------------------------------------------------------ */

void network_record(struct replay_network *network)
{
    network->kept = 0;
    for (size_t i = 0; i < network->count; i++) {
        network->exchanges[i].time = network->exchanges[i].recorded;
        network->exchanges[i].route = -1;
    }
}

struct line {
    double latency, per_byte;
};

/* Least squares of time over bytes; neither part is negative. */
static struct line fit(const struct network_exchange *const *list, size_t count)
{
    double bytes = 0, time = 0, squares = 0, products = 0, n = (double)count;
    for (size_t i = 0; i < count; i++) {
        bytes += list[i]->bytes / n;
        time += (double)list[i]->recorded / n;
    }
    for (size_t i = 0; i < count; i++) {
        double by = list[i]->bytes - bytes;
        squares += by * by;
        products += by * ((double)list[i]->recorded - time);
    }
    struct line line = {.per_byte = squares > 0 && products > 0 ? products / squares : 0};
    line.latency = time - line.per_byte * bytes;
    if (line.latency < 0)
        line = (struct line){0, bytes > 0 ? time / bytes : 0};
    return line;
}

/* A ring's steps, and the bytes of a rank on the wire for each byte of the collective. */
static double steps(const struct network_exchange *exchange, double ranks)
{
    return (exchange->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (ranks - 1);
}

/* How the time on the line changes with the number of ranks. Where one size alone was seen, it is taken to be all
 * bandwidth if it has bytes. */
static double widened(const struct network_exchange *exchange, struct line line, double from, double to)
{
    if (exchange->kind == COLLECTIVE_SEND || from < 2)
        return line.latency + line.per_byte * exchange->bytes;
    double more = steps(exchange, to) / steps(exchange, from);
    double wire = line.per_byte * exchange->bytes;
    if (line.per_byte == 0 && exchange->bytes > 0)
        return line.latency * more * from / to;
    return line.latency * more + wire * more * from / to;
}

static int by_line(const void *a, const void *b)
{
    const struct network_exchange *x = *(const struct network_exchange *const *)a,
                                  *y = *(const struct network_exchange *const *)b;
    int order = order_of(x->group, y->group);
    order = order ? order : order_of(x->known, y->known);
    order = order ? order : strcmp(x->name, y->name);
    return order ? order : order_of(x->first, y->first);
}

bool network_fit(struct replay_network *network, const struct ranks *run, int64_t data, struct error *err)
{
    struct network_exchange **list = malloc((network->count + 1) * sizeof *list);
    int64_t *sizes = NULL;
    network->kept = 0;
    bool done = list || error_memory(err);
    for (size_t i = 0; done && i < network->count; i++) {
        list[i] = &network->exchanges[i];
        list[i]->route = -1;
    }
    done = done && (network->count == 0 || sort_items(list, network->count, sizeof *list, by_line, err)) &&
           (data == 0 || network_find_data(network, run, data, &sizes, err));
    for (size_t at = 0, end; done && at < network->count; at = end) {
        for (end = at + 1; end < network->count && list[end]->group == list[at]->group &&
                           list[end]->known == list[at]->known &&
                           strcmp(list[end]->name, list[at]->name) == 0;)
            end++;
        struct line line = fit((const struct network_exchange *const *)(list + at), end - at);
        double from = (double)network_group_size(run, list[at]);
        int64_t to = sizes && list[at]->kind != COLLECTIVE_SEND ? sizes[list[at]->group] : 0;
        for (size_t i = at; i < end; i++) {
            network->kept += to > 0 && !list[i]->known;
            double time = to > 0 && list[i]->known ? widened(list[i], line, from, (double)to)
                                                   : line.latency + line.per_byte * list[i]->bytes;
            list[i]->time = llround(time);
        }
    }
    free(sizes);
    free(list);
    return done;
}
