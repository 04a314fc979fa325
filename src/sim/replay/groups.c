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
        collective.sends = is_send(name, kernel, all_to_all);
        int64_t bytes = bytes_of(replay->texts[told->dtype]);
        if (bytes > 0 && told->elements >= 0 && told->elements < INT64_MAX / 8)
            collective.bytes = bytes * told->elements;
        done = find_group(run, replay, activity, &collective.group, err) &&
               add_text(run, *name ? name : kernel, &collective.name, err) &&
               (VECTOR_ROOM_ZEROED(orders, capacity, run->group_count + 1) || error_memory(err));
        if (!done)
            break;
        collective.numbered = !collective.sends && told->sequence >= 0 && told->sequence < UINT32_MAX;
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
