/* Collectives of a rank, and the groups they belong to. */
#include "core/statistics.h"
#include "core/vector.h"
#include "sim/replay/ranks.h"

#include <stdlib.h>
#include <string.h>

#define MAX_COLLECTIVES ((size_t)1 << 26)
#define MAX_APART       (INT64_C(1) << 58) /* ns: nine years */

static bool add_text(struct ranks *run, const char *text, uint32_t *id, struct error *err)
{
    bool added;
    *id = hash_names_id(&run->names, text, strlen(text) + 1, &added); /* with the NUL: "" has an id, too */
    if (*id == 0)
        return error_memory(err);
    --*id;
    if (!added)
        return true;
    const char *copy = arena_string(&run->arena, text);
    return (copy && VECTOR_ADD(run->texts, run->text_count, run->text_capacity, copy)) || error_memory(err);
}

/* The ranks of "[0, 1, 2]"; count 0: a list that was shortened, or none. The caller frees *ranks. */
static bool parse_ranks(const char *text, int64_t **ranks, size_t *count, struct error *err)
{
    size_t capacity = 0;
    *ranks = NULL;
    *count = 0;
    if (strstr(text, "..."))
        return true;
    for (const char *at = text + strcspn(text, "0123456789"); *at; at += strcspn(at, "0123456789")) {
        char *end;
        int64_t rank = strtoll(at, &end, 10);
        if (!VECTOR_ADD(*ranks, *count, capacity, rank))
            return error_memory(err);
        at = end;
    }
    return true;
}

static const struct replay_group *find_config(const struct replay *replay, int64_t name)
{
    for (size_t i = 0; name > 0 && i < replay->group_count; i++)
        if (replay->groups[i].name == name)
            return &replay->groups[i];
    return NULL;
}

/* Keeps a group by its name and ranks, or by its name and the shortened list of them. */
static bool keep_group(struct ranks *run, struct ranks_group group, const char *shortened, uint32_t *id,
                       struct error *err)
{
    struct text key = {0};
    bool added = false;
    text_add(&key, group.assumed ? "stream " : "group ");
    text_add(&key, group.name);
    text_add_bytes(&key, "", 1);
    if (group.rank_count > 0)
        text_add_bytes(&key, (const char *)group.ranks, group.rank_count * sizeof *group.ranks);
    else
        text_add(&key, shortened);
    *id = key.failed ? 0 : hash_names_id(&run->group_ids, key.data, key.length, &added);
    text_release(&key);
    if (*id == 0)
        return error_memory(err);
    --*id;
    if (!added)
        return true;
    group.name = arena_string(&run->arena, group.name);
    group.description = arena_string(&run->arena, group.description);
    int64_t *ranks = NULL;
    if (group.rank_count > 0) {
        if (!(ranks = ARENA_ARRAY(&run->arena, group.rank_count, int64_t)))
            return error_memory(err);
        memcpy(ranks, group.ranks, group.rank_count * sizeof *ranks);
    }
    group.ranks = ranks;
    return (group.name && group.description &&
            VECTOR_ADD(run->groups, run->group_count, run->group_capacity, group)) ||
           error_memory(err);
}

static bool find_group(struct ranks *run, const struct replay *replay, const struct replay_activity *activity,
                       uint32_t *id, struct error *err)
{
    const struct replay_collective *told = replay_collective_of(replay, activity);
    const struct replay_group *config = find_config(replay, told->group);
    int64_t *parsed = NULL;
    struct ranks_group group = {.name = replay->texts[told->group],
                                .description = replay->texts[told->description]};
    if (told->group == 0 && told->ranks == 0 && replay->host_only && replay->group_count == 1) {
        const struct replay_group *only =
            &replay->groups[0]; /* gloo and MPI tell nothing, on any of their threads */
        group = (struct ranks_group){.name = replay->texts[only->name],
                                     .description = replay->texts[only->description],
                                     .ranks = only->ranks,
                                     .rank_count = only->rank_count};
        return keep_group(run, group, "", id, err);
    }
    if (told->group == 0 && told->ranks == 0) {
        char stream[32];
        snprintf(stream, sizeof stream, "%lld", (long long)replay->streams[activity->stream].number);
        return keep_group(run, (struct ranks_group){.name = stream, .description = "", .assumed = true}, "",
                          id, err);
    }
    if (!parse_ranks(replay->texts[told->ranks], &parsed, &group.rank_count, err)) {
        free(parsed);
        return false;
    }
    group.ranks = parsed;
    if (group.rank_count == 0 && config) {
        group.ranks = config->ranks;
        group.rank_count = config->rank_count;
    }
    if (!*group.description && config)
        group.description = replay->texts[config->description];
    bool kept = keep_group(run, group, replay->texts[told->ranks], id, err);
    free(parsed);
    return kept;
}

/* Bytes of an element, by PyTorch's names; 0: unknown. */
static int64_t bytes_of(const char *dtype)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {{"Float", 4}, {"Half", 2},  {"BFloat16", 2}, {"Double", 8}, {"Long", 8},
                 {"Int", 4},   {"Short", 2}, {"Byte", 1},     {"Char", 1},   {"Bool", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(dtype, types[i].name) == 0)
            return types[i].bytes;
    return text_starts_with(dtype, "Float8") ? 1 : 0;
}

/* A kernel of sends and receives that tells no more may be one of all to all: the program names that. */
static bool names_all_to_all(const struct replay *replay)
{
    for (size_t i = 0; i < replay->mark_count; i++)
        if (strstr(replay->texts[replay->marks[i].name], "all_to_all"))
            return true;
    return false;
}

static bool is_send(const char *told, const char *kernel, bool all_to_all)
{
    if (*told)
        return strcasestr(told, "send") || strcasestr(told, "recv");
    return strstr(kernel, "SendRecv") && !all_to_all;
}

bool ranks_collect(struct ranks *run, size_t i, const struct replay *replay, struct error *err)
{
    uint32_t *orders = NULL;
    size_t capacity = 0;
    int64_t shift = replay->origin + replay->base;
    if (!run->has_origin)
        run->origin = shift;
    run->has_origin = true;
    if (shift / 4 - run->origin / 4 > MAX_APART / 4 || run->origin / 4 - shift / 4 > MAX_APART / 4)
        return error_set(err, ERROR_INPUT, "%s: recorded years apart from %s: not the same run",
                         run->members[i].path, run->members[0].path);
    shift -= run->origin;
    bool done = true, all_to_all = names_all_to_all(replay);
    for (size_t k = 0; done && k < replay->count; k++) {
        const struct replay_activity *activity = &replay->activities[k];
        const struct replay_collective *told = replay_collective_of(replay, activity);
        const char *name = replay->texts[told->name], *kernel = replay->texts[activity->name];
        struct ranks_collective collective = {.member = (uint32_t)i, .activity = (uint32_t)k, .bytes = -1};
        if (activity->class != REPLAY_COMMUNICATION || run->collective_count == MAX_COLLECTIVES)
            continue;
        collective.begin = activity->start + shift;
        collective.end = collective.begin + activity->duration;
        collective.message = collective.sends = is_send(name, kernel, all_to_all);
        int64_t peer = strcasestr(name, "recv") ? told->source : told->destination;
        collective.peer = peer >= 0 && peer <= INT32_MAX ? (int32_t)peer : -1;
        int64_t bytes = bytes_of(replay->texts[told->dtype]);
        if (bytes > 0 && told->elements >= 0 && told->elements < INT64_MAX / 8)
            collective.bytes = bytes * told->elements;
        done = find_group(run, replay, activity, &collective.group, err) &&
               add_text(run, *name ? name : kernel, &collective.name, err) &&
               (VECTOR_ROOM_ZEROED(orders, capacity, run->group_count + 1) || error_memory(err));
        if (!done)
            break;
        collective.numbered = told->sequence >= 0 && told->sequence < UINT32_MAX;
        if (collective.numbered)
            collective.order = (uint32_t)told->sequence;
        else if (!collective.sends)
            collective.order = orders[collective.group]++;
        done = VECTOR_ADD(run->collectives, run->collective_count, run->collective_capacity, collective) ||
               error_memory(err);
    }
    free(orders);
    return done;
}

/* --- messages -------------------------------------------------------------------------------------------- */

/* A send, a receive, or (side 0 and 1 by rank) a kernel that may do both. */
struct item {
    int64_t sender, receiver;
    uint32_t group;
    uint8_t both, side; /* side 1: of the receiver */
    struct ranks_collective *of;
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
    order = order ? order : order_of(x->of->order, y->of->order);
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
static bool find_item(const struct ranks *run, struct ranks_collective *of, struct item *item)
{
    const char *name = run->texts[of->name];
    bool receives = strcasestr(name, "recv") != NULL, sends = strcasestr(name, "send") != NULL;
    int64_t own = run->members[of->member].rank;
    int64_t peer = peer_rank(&run->groups[of->group], receives == sends ? -1 : of->peer, own);
    /* of an assumed group only the ranks are known */
    *item = (struct item){.group = run->groups[of->group].assumed ? UINT32_MAX : of->group, .of = of};
    item->both = receives == sends;
    item->side = item->both ? own > peer : receives;
    item->sender = item->side ? peer : own;
    item->receiver = item->side ? own : peer;
    return of->message && peer >= 0 && peer != own;
}

/* Pairs the items of one sender and receiver: [0, count), those of the sender first. Returns the end of `pairs`. */
static struct ranks_collective *pair(struct item *items, size_t count, uint32_t *number,
                                     struct ranks_collective *pairs)
{
    size_t sent = 0;
    while (sent < count && !items[sent].side)
        sent++;
    bool numbered = 2 * sent == count;
    qsort(items, count, sizeof *items, by_sequence);
    for (size_t i = 0; numbered && i < sent; i++)
        numbered = items[i].of->numbered && items[sent + i].of->numbered &&
                   items[i].of->order == items[sent + i].of->order;
    if (!numbered)
        qsort(items, count, sizeof *items, by_begin);
    for (size_t i = 0; i < sent && i < count - sent; i++) {
        ++*number;
        for (size_t side = 0; side < 2; side++) {
            struct ranks_collective *of = items[side * sent + i].of;
            of->again = *number;
            of->numbered = numbered;
            *pairs++ = *of;
        }
    }
    return pairs;
}

/* Those of a message follow each other, the send first; then come those without another side. */
static void arrange(struct ranks_collective *list, size_t count, struct item *items, size_t item_count,
                    struct ranks_collective *sorted)
{
    struct ranks_collective *to = sorted;
    uint32_t number = 0;
    for (size_t at = 0, end; at < item_count; at = end) {
        for (end = at + 1; end < item_count;) {
            struct item same = items[end];
            same.side = items[at].side;
            if (by_pair(&items[at], &same) != 0)
                break;
            end++;
        }
        to = pair(items + at, end - at, &number, to);
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].again == 0)
            *to++ = list[i];
    memcpy(list, sorted, count * sizeof *list);
}

bool ranks_match_messages(struct ranks *run, struct error *err)
{
    size_t first = 0, count = 0, messages = 0;
    while (first < run->collective_count && !run->collectives[first].sends)
        first++;
    size_t all = run->collective_count - first;
    if (all == 0)
        return true;
    struct ranks_collective *list = run->collectives + first;
    struct ranks_collective *sorted = malloc(all * sizeof *sorted);
    struct item *items = malloc(all * sizeof *items);
    bool done = (sorted && items) || error_memory(err);
    for (size_t i = 0; done && i < all; i++) {
        list[i].again = 0;
        messages += list[i].message;
        count += find_item(run, &list[i], &items[count]);
    }
    done = done && (count == 0 || sort_items(items, count, sizeof *items, by_begin, err));
    if (done)
        arrange(list, all, items, count, sorted);
    free(items);
    free(sorted);
    return done &&
           (messages == count || run->count == 1 ||
            ranks_fault(
                run, FAULT_UNMATCHED, -1, err,
                "%zu of %zu sends and receives do not tell their other side (Src Rank, Dst Rank): what "
                "they wait for counts as transfer",
                messages - count, messages));
}
