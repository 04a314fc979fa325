#include "sim/replay/parts.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"
#include "sim/replay/classes.h"

#include <stdlib.h>
#include <string.h>

const char *const replay_class_names[REPLAY_CLASSES] = {"compute", "communication", "memory"};
const char *const replay_category_names[REPLAY_CATEGORIES] = {"kernel", "gpu_memcpy", "gpu_memset"};

#define SAMPLED_FROM 20 /* numbers of calls for one that was recorded */
#define ROUNDING                                                                                             \
    INT64_C(                                                                                                 \
        2000) /* ns: of shorter ones, two that follow each other may look like one in whole microseconds */

/* The sizes that the page promises; the fields of one more byte would be eight. */
_Static_assert(sizeof(struct replay_activity) == 48 && sizeof(struct replay_call) == 40,
               "large traces need compact records");

bool replay_add_text(struct replay *replay, const char *text, size_t length, uint32_t *id, struct error *err)
{
    bool added = false;
    *id = length > 0 ? hash_names_id(&replay->names, text, length, &added) : 0;
    if (length > 0 && *id == 0)
        return error_memory(err);
    if (replay->text_count == 0 && !VECTOR_ADD(replay->texts, replay->text_count, replay->text_capacity, ""))
        return error_memory(err);
    if (!added)
        return true;
    const char *copy = arena_copy(&replay->arena, text, length);
    return (copy && VECTOR_ADD(replay->texts, replay->text_count, replay->text_capacity, copy)) ||
           error_memory(err);
}

bool replay_add_process_stream(struct replay *replay, int64_t device, int64_t number, uint32_t process,
                               int32_t *stream, struct error *err)
{
    int64_t key[3] = {device, number, process};
    bool added;
    uint32_t id = hash_names_id(&replay->stream_ids, key, sizeof key, &added);
    *stream = (int32_t)id - 1;
    if (id > 0 && !added)
        return true;
    if (id > REPLAY_MAX_STREAMS)
        return error_set(err, ERROR_INPUT, "%s: more than %d streams of GPUs", replay->path,
                         REPLAY_MAX_STREAMS);
    return (id > 0 && VECTOR_ADD(replay->streams, replay->stream_count, replay->stream_capacity,
                                 (struct replay_stream){device, number, process, 0})) ||
           error_memory(err);
}

bool replay_add_stream(struct replay *replay, int64_t device, int64_t number, int32_t *stream,
                       struct error *err)
{
    return replay_add_process_stream(replay, device, number, 0, stream, err);
}

bool replay_add_thread(struct replay *replay, int64_t process, int64_t thread, int32_t *id, struct error *err)
{
    int64_t pair[2] = {process, thread};
    bool added;
    uint32_t found = hash_names_id(&replay->threads, pair, sizeof pair, &added);
    *id = (int32_t)found - 1;
    return (found > 0 &&
            (!added || VECTOR_ADD(replay->hosts, replay->host_count, replay->host_capacity,
                                  (struct replay_thread){(uint32_t)process, (uint32_t)thread, -1}))) ||
           error_memory(err);
}

static bool too_many(const struct replay *replay, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: more than the limit of %zu activities or calls", replay->path,
                     REPLAY_MAX_RECORDS);
}

bool replay_add_activity(struct replay *replay, const struct replay_activity *activity, struct error *err)
{
    if (replay->count == REPLAY_MAX_RECORDS)
        return too_many(replay, err);
    return VECTOR_ADD(replay->activities, replay->count, replay->capacity, *activity) || error_memory(err);
}

bool replay_add_collective(struct replay *replay, const struct replay_collective *collective, uint32_t *id,
                           struct error *err)
{
    const struct replay_collective nothing = REPLAY_NO_COLLECTIVE;
    bool added;
    *id = 0;
    if (memcmp(collective, &nothing, sizeof nothing) == 0)
        return true;
    if (replay->collective_count == 0 &&
        !VECTOR_ADD(replay->collectives, replay->collective_count, replay->collective_capacity, nothing))
        return error_memory(err);
    *id = hash_names_id(&replay->collective_ids, collective, sizeof *collective, &added);
    return (*id > 0 && (!added || VECTOR_ADD(replay->collectives, replay->collective_count,
                                             replay->collective_capacity, *collective))) ||
           error_memory(err);
}

bool replay_add_mark(struct replay *replay, const struct replay_mark *mark, struct error *err)
{
    return replay->mark_count == REPLAY_MAX_MARKS ||
           VECTOR_ADD(replay->marks, replay->mark_count, replay->mark_capacity, *mark) || error_memory(err);
}

bool replay_add_sync(struct replay *replay, const struct replay_sync *sync, uint32_t *id, struct error *err)
{
    const struct replay_sync nothing = {.stream = -1, .awaited = -1};
    if (replay->sync_count == 0 &&
        !VECTOR_ADD(replay->syncs, replay->sync_count, replay->sync_capacity, nothing))
        return error_memory(err);
    *id = (uint32_t)replay->sync_count;
    return VECTOR_ADD(replay->syncs, replay->sync_count, replay->sync_capacity, *sync) || error_memory(err);
}

const struct replay_collective *replay_collective_of(const struct replay *replay,
                                                     const struct replay_activity *activity)
{
    static const struct replay_collective nothing = REPLAY_NO_COLLECTIVE;
    return activity->collective > 0 ? &replay->collectives[activity->collective] : &nothing;
}

const struct replay_sync *replay_sync_of(const struct replay *replay, const struct replay_call *call)
{
    static const struct replay_sync nothing = {.stream = -1, .awaited = -1};
    return call->sync > 0 ? &replay->syncs[call->sync] : &nothing;
}

bool replay_is_sampled(const struct replay *replay)
{
    return replay->numbers_seen > 0 &&
           replay->numbers_seen < (replay->last_number - replay->first_number) / SAMPLED_FROM;
}

bool replay_add_call(struct replay *replay, const struct replay_call *call, struct error *err)
{
    if (replay->call_count == REPLAY_MAX_RECORDS)
        return too_many(replay, err);
    return VECTOR_ADD(replay->calls, replay->call_count, replay->call_capacity, *call) || error_memory(err);
}

/* --- putting it together -------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct replay_activity *first = a, *second = b;
    int order = order_of(first->start, second->start);
    return order ? order : order_of(first->place, second->place);
}

/* Of marks within each other the outer one comes first. */
static int by_mark(const void *a, const void *b)
{
    const struct replay_mark *first = a, *second = b;
    int order = order_of(first->begin, second->begin);
    return order ? order : order_of(second->duration, first->duration);
}

/* Of a call within another one, which begins with it, the outer one comes first. */
static int by_begin(const void *a, const void *b)
{
    const struct replay_call *first = a, *second = b;
    int order = order_of(first->begin, second->begin);
    order = order ? order : order_of(second->duration, first->duration);
    return order ? order : order_of(first->place, second->place);
}

/* Sorts large items with few bytes beside them: their order is found first, then each cycle of it is moved. */
struct sorting {
    const char *items;
    size_t size;
    int (*compare)(const void *, const void *);
};

static int by_item(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    const uint32_t *first = a, *second = b;
    return sorting->compare(sorting->items + *first * sorting->size,
                            sorting->items + *second * sorting->size);
}

static bool sort(void *items, size_t count, size_t size, int (*compare_items)(const void *, const void *),
                 struct error *err)
{
    struct sorting sorting = {items, size, compare_items};
    char *bytes = items, kept[sizeof(struct replay_activity)];
    uint32_t *order = malloc((count + 1) * sizeof *order);
    if (!order)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if (!sort_items_with(order, count, sizeof *order, by_item, &sorting, err)) {
        free(order);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (order[i] == i)
            continue;
        size_t at = i;
        memcpy(kept, bytes + i * size, size);
        while (order[at] != i) {
            size_t next = order[at];
            memcpy(bytes + at * size, bytes + next * size, size);
            order[at] = (uint32_t)at;
            at = next;
        }
        memcpy(bytes + at * size, kept, size);
        order[at] = (uint32_t)at;
    }
    free(order);
    return true;
}

/* Launches in order of their correlation; of those with the same one the first. */
struct launches {
    const struct replay *replay;
    uint32_t *list;
    size_t count;
};

static int by_correlation(const void *a, const void *b, void *context)
{
    const struct replay *replay = context;
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    int order = order_of(replay->calls[first].correlation, replay->calls[second].correlation);
    return order ? order : (first > second) - (first < second);
}

static bool list_launches(struct launches *launches, struct replay *replay, struct error *err)
{
    *launches = (struct launches){replay, malloc((replay->call_count + 1) * sizeof *launches->list), 0};
    if (!launches->list)
        return error_memory(err);
    for (size_t i = 0; i < replay->call_count; i++)
        if (replay->calls[i].kind == CALL_LAUNCH && replay->calls[i].correlation != 0)
            launches->list[launches->count++] = (uint32_t)i;
    if (sort_items_with(launches->list, launches->count, sizeof *launches->list, by_correlation, replay, err))
        return true;
    free(launches->list);
    return false;
}

/* Returns the first launch with a correlation; -1: none. */
static int32_t find_launch(const struct launches *launches, int64_t correlation)
{
    size_t low = 0, high = launches->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (launches->replay->calls[launches->list[middle]].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    bool found =
        low < launches->count && launches->replay->calls[launches->list[low]].correlation == correlation;
    return found && correlation != 0 ? (int32_t)launches->list[low] : -1;
}

/* Ties activities to calls of the same correlation, and leaves out launches of nothing. A launch by the driver's
 * interface within a call of the runtime bears the same number: the outer one counts. */
static bool tie(struct replay *replay, struct error *err)
{
    struct launches launches;
    if (!list_launches(&launches, replay, err))
        return false;
    int32_t *moved = calloc(replay->call_count + 1, sizeof *moved);
    if (!moved) {
        free(launches.list);
        return error_memory(err);
    }
    for (size_t i = 0; i < replay->count; i++) {
        struct replay_activity *activity = &replay->activities[i];
        if (stop_obeyed_at(i, err)) {
            free(launches.list);
            free(moved);
            return false;
        }
        activity->call = find_launch(&launches, activity->correlation);
        replay->no_launch += activity->call < 0;
        if (activity->call >= 0)
            moved[activity->call] = 1;
    }
    free(launches.list);
    size_t kept = 0;
    for (size_t i = 0; i < replay->call_count; i++) {
        bool keep = moved[i] != 0 || replay->calls[i].kind != CALL_LAUNCH;
        replay->no_activity += !keep && replay->calls[i].launches;
        moved[i] = (int32_t)kept;
        replay->calls[kept] = replay->calls[i];
        kept += keep;
    }
    replay->call_count = kept;
    for (size_t i = 0; i < replay->count; i++)
        if (replay->activities[i].call >= 0)
            replay->activities[i].call = moved[replay->activities[i].call];
    free(moved);
    return true;
}

/* Activities that lie at the same place on a stream, of the same launch, are one that was recorded twice. */
static bool check_doubles(const struct replay *replay, const char *what, struct error *err)
{
    for (size_t i = 1; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i], *other = activity;
        if (stop_obeyed_at(i, err))
            return false;
        for (size_t back = 1; back <= i && back <= 64 && (--other)->start == activity->start; back++)
            if (other->stream == activity->stream && other->duration == activity->duration &&
                other->duration > ROUNDING && other->name == activity->name &&
                other->correlation == activity->correlation)
                return error_set(err, ERROR_INPUT, "%s: %s[%lld] repeats [%lld]: '%.60s' on stream %lld",
                                 replay->path, what, (long long)activity->place, (long long)other->place,
                                 replay->texts[activity->name],
                                 (long long)replay->streams[activity->stream].number);
    }
    return true;
}

static bool check_launches(struct replay *replay, const char *what, struct error *err)
{
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        if (stop_obeyed_at(i, err))
            return false;
        int64_t early = activity->call >= 0 ? replay->calls[activity->call].begin - activity->start : 0;
        if (early > REPLAY_MAX_SKEW)
            return error_set(err, ERROR_INPUT,
                             "%s: %s[%lld]: time goes backwards: '%.60s' begins %.3f ms before its launch",
                             replay->path, what, (long long)activity->place, replay->texts[activity->name],
                             (double)early / 1e6);
        replay->skewed += early > 0;
    }
    return true;
}

/* Times from the first event on; all of them within 2^61 ns. */
static bool move_origin(struct replay *replay, struct error *err)
{
    int64_t first = replay->activities[0].start, last = first;
    if (replay->call_count > 0 && replay->calls[0].begin < first)
        first = replay->calls[0].begin;
    for (size_t i = 0; i < replay->count; i++) {
        struct replay_activity *activity = &replay->activities[i];
        if (stop_obeyed_at(i, err))
            return false;
        if (activity->start + activity->duration > last)
            last = activity->start + activity->duration;
        activity->start -= first;
    }
    for (size_t i = 0; i < replay->call_count; i++)
        replay->calls[i].begin -= first;
    for (size_t i = 0; i < replay->mark_count; i++)
        replay->marks[i].begin -= first;
    for (size_t i = 0; i < replay->operation_count; i++) {
        replay->operations[i].begin -= first;
        replay->operations[i].end -= first;
    }
    replay->origin = first;
    if (last - first > INT64_C(1000000000) * 86400 * 366)
        return error_set(err, ERROR_INPUT, "%s: its first and last event lie more than a year apart",
                         replay->path);
    return true;
}

/* Gives back the room for more; where that fails, it stays. */
static void drop_room(struct replay *replay)
{
    void *activities = realloc(replay->activities, replay->count * sizeof *replay->activities);
    replay->activities = activities ? activities : replay->activities;
    void *calls = realloc(replay->calls, (replay->call_count + 1) * sizeof *replay->calls);
    replay->calls = calls ? calls : replay->calls;
}

bool replay_finish(struct replay *replay, const char *what, struct error *err)
{
    if (replay->count == 0)
        return error_set(
            err, ERROR_INPUT,
            "%s: no activity of a GPU (category kernel, gpu_memcpy or gpu_memset) in its %zu events",
            replay->path, replay->events);
    if (!sort(replay->activities, replay->count, sizeof *replay->activities, by_start, err) ||
        !sort(replay->calls, replay->call_count, sizeof *replay->calls, by_begin, err) ||
        !sort_items(replay->marks, replay->mark_count, sizeof *replay->marks, by_mark, err) ||
        !tie(replay, err))
        return false;
    drop_room(replay);
    return check_doubles(replay, what, err) && check_launches(replay, what, err) &&
           move_origin(replay, err) && replay_classify(replay, NULL, err);
}

void replay_release(struct replay *replay)
{
    free(replay->activities);
    free(replay->calls);
    free(replay->streams);
    free(replay->deps);
    free(replay->collectives);
    free(replay->syncs);
    free(replay->marks);
    free(replay->operations);
    free(replay->groups);
    free(replay->devices);
    free(replay->hosts);
    free(replay->parts);
    free((void *)replay->texts);
    free((void *)replay->rules);
    hash_names_release(&replay->names);
    hash_names_release(&replay->threads);
    hash_names_release(&replay->stream_ids);
    hash_names_release(&replay->collective_ids);
    arena_release(&replay->arena);
    *replay = (struct replay){0};
}
