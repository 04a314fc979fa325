#include "sim/replay/waits.h"

#include "core/statistics.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CANDIDATES 64 /* streams that are looked at for one wait */

void replay_order_release(struct replay_order *order)
{
    free(order->by_stream);
    free(order->first_of_stream);
    free(order->next_of_thread); /* the start of all five */
    *order = (struct replay_order){0};
}

static void sort_streams(struct replay_order *order, const struct replay *replay)
{
    for (size_t i = 0; i < replay->count; i++)
        order->first_of_stream[replay->activities[i].stream + 1]++;
    for (size_t i = 0; i < replay->stream_count; i++)
        order->first_of_stream[i + 1] += order->first_of_stream[i];
    for (size_t i = 0; i < replay->count; i++) /* moves each first place to the end */
        order->by_stream[order->first_of_stream[replay->activities[i].stream]++] = (uint32_t)i;
    for (size_t i = replay->stream_count; i > 0; i--)
        order->first_of_stream[i] = order->first_of_stream[i - 1];
    order->first_of_stream[0] = 0;
}

/* `last` has two numbers for each thread: its last call and its last launch so far, plus 1. */
static void chain_calls(struct replay_order *order, const struct replay *replay, int32_t *last)
{
    for (size_t i = 0; i < replay->call_count; i++) {
        int32_t *at = &last[2 * (size_t)replay->calls[i].thread];
        order->before_of_thread[i] = at[0] - 1;
        order->launch_before[i] = at[1] - 1;
        order->last_of_call[i] = -1;
        at[0] = (int32_t)i + 1;
        if (replay->calls[i].kind == CALL_LAUNCH)
            at[1] = at[0];
    }
    memset(last, 0, 2 * (size_t)replay->host_count * sizeof *last);
    for (size_t i = replay->call_count; i-- > 0;) {
        int32_t *at = &last[2 * (size_t)replay->calls[i].thread];
        order->next_of_thread[i] = at[0] - 1;
        order->next_launch[i] = at[1] - 1;
        at[0] = (int32_t)i + 1;
        if (replay->calls[i].kind == CALL_LAUNCH)
            at[1] = at[0];
    }
    for (size_t i = 0; i < replay->count; i++)
        if (replay->activities[i].call >= 0)
            order->last_of_call[replay->activities[i].call] = (int32_t)i;
}

bool replay_order_make(struct replay_order *order, const struct replay *replay, struct error *err)
{
    size_t calls = replay->call_count + 1;
    int32_t *last = calloc(2 * (size_t)replay->host_count + 2, sizeof *last);
    *order = (struct replay_order){0};
    order->by_stream = malloc((replay->count + 1) * sizeof *order->by_stream);
    order->first_of_stream = calloc(replay->stream_count + 2, sizeof *order->first_of_stream);
    order->next_of_thread = malloc(5 * calls * sizeof *order->next_of_thread);
    bool made = last && order->by_stream && order->first_of_stream && order->next_of_thread;
    if (made) {
        order->before_of_thread = order->next_of_thread + calls;
        order->next_launch = order->before_of_thread + calls;
        order->launch_before = order->next_launch + calls;
        order->last_of_call = order->launch_before + calls;
        sort_streams(order, replay);
        chain_calls(order, replay, last);
    } else {
        replay_order_release(order);
    }
    free(last);
    return made || error_memory(err);
}

int64_t replay_launched(const struct replay *replay, uint32_t activity)
{
    const struct replay_activity *at = &replay->activities[activity];
    return at->call >= 0 ? replay->calls[at->call].begin : at->start;
}

/* Returns the place in by_stream of the first activity of a stream that was launched at a time or later. Streams begin
 * their activities in the order of launches, so that these times grow along them. */
static uint32_t first_launched(const struct replay *replay, const struct replay_order *order, int32_t stream,
                               int64_t from)
{
    uint32_t low = order->first_of_stream[stream], high = order->first_of_stream[stream + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (replay_launched(replay, order->by_stream[middle]) < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t replay_last_launched(const struct replay *replay, const struct replay_order *order, int32_t stream,
                             int64_t before)
{
    uint32_t at = first_launched(replay, order, stream, before);
    return at > order->first_of_stream[stream] ? (int64_t)order->by_stream[at - 1] : -1;
}

struct search {
    const struct replay *replay;
    /* [a][b]: 1 + the last activity of stream b that stream a awaited */
    int64_t awaited[MAX_CANDIDATES][MAX_CANDIDATES];
    const struct replay_order *order;
    struct replay_wait *waits;
    size_t count, capacity;
};

static bool ends_before(const struct replay *replay, int64_t source, int64_t target)
{
    const struct replay_activity *from = &replay->activities[source], *to = &replay->activities[target];
    return source < target && from->start + from->duration <= to->start;
}

static bool add(struct search *search, int64_t target, int64_t source, bool inferred, struct error *err)
{
    struct replay_wait wait = {(uint32_t)target, (uint32_t)source, inferred, false};
    return VECTOR_ADD(search->waits, search->count, search->capacity, wait) || error_memory(err);
}

/* Returns the last activity of a launch; -1: there is none. */
static int64_t launched_by(const struct search *search, int32_t launch)
{
    return launch >= 0 ? search->order->last_of_call[launch] : -1;
}

/* A wait whose streams were recorded. */
static bool take_told(struct search *search, const struct replay_call *call, int64_t recorded,
                      struct error *err)
{
    const struct replay *replay = search->replay;
    const struct replay_sync *sync = replay_sync_of(replay, call);
    uint32_t at = first_launched(replay, search->order, sync->stream, call->begin);
    int64_t source = replay_last_launched(replay, search->order, sync->awaited, recorded);
    if (at == search->order->first_of_stream[sync->stream + 1] || source < 0)
        return true;
    int64_t target = search->order->by_stream[at];
    return !ends_before(replay, source, target) || add(search, target, source, false, err);
}

/* A wait of unknown streams. The stream that waits is that of the thread's next launch. It awaits the stream of the
 * thread's last launch; or, if that is the same one, the stream on which something was launched last that it did not
 * await yet. */
static bool take_untold(struct search *search, size_t index, struct error *err)
{
    const struct replay *replay = search->replay;
    const struct replay_call *call = &replay->calls[index];
    int64_t target = launched_by(search, search->order->next_launch[index]);
    int64_t source = launched_by(search, search->order->launch_before[index]), best = -1;
    if (target < 0)
        return true;
    int32_t stream = (int32_t)replay->activities[target].stream;
    if (source >= 0 && replay->activities[source].stream != stream)
        return !ends_before(replay, source, target) || add(search, target, source, false, err);
    for (size_t i = 0; i < replay->stream_count && i < MAX_CANDIDATES && stream < MAX_CANDIDATES; i++) {
        if ((int32_t)i == stream || replay->streams[i].device != replay->streams[stream].device)
            continue;
        source = replay_last_launched(replay, search->order, (int32_t)i, call->begin);
        if (source >= search->awaited[stream][i] && ends_before(replay, source, target) &&
            (best < 0 || replay_launched(replay, (uint32_t)source) > replay_launched(replay, (uint32_t)best)))
            best = source;
    }
    if (best < 0)
        return true;
    search->awaited[stream][replay->activities[best].stream] = best + 1;
    return add(search, target, best, false, err);
}

/* PyTorch lets the stream of a collective await the stream that the thread works on. */
static bool take_collective(struct search *search, size_t target, struct error *err)
{
    const struct replay *replay = search->replay;
    const struct replay_activity *activity = &replay->activities[target];
    int64_t source = launched_by(search, search->order->launch_before[activity->call]);
    if (source < 0 || replay->activities[source].stream == activity->stream ||
        replay->streams[replay->activities[source].stream].device !=
            replay->streams[activity->stream].device ||
        !ends_before(replay, source, (int64_t)target))
        return true;
    return add(search, (int64_t)target, source, true, err);
}

static int by_target(const void *a, const void *b)
{
    const struct replay_wait *first = a, *second = b;
    int order = (first->target > second->target) - (first->target < second->target);
    order = order ? order : (first->inferred > second->inferred) - (first->inferred < second->inferred);
    return order ? order : (first->source > second->source) - (first->source < second->source);
}

/* By correlation, when events were recorded. */
static bool find_records(const struct replay *replay, struct hash_map *records)
{
    bool done = true;
    for (size_t i = 0; done && i < replay->call_count; i++)
        if (replay->calls[i].kind == CALL_EVENT_RECORD && replay->calls[i].correlation > 0)
            done = hash_map_set(records, (uint64_t)replay->calls[i].correlation, (int64_t)i);
    return done;
}

static bool take_wait(struct search *search, const struct hash_map *records, size_t index, struct error *err)
{
    const struct replay_call *call = &search->replay->calls[index];
    const struct replay_sync *sync = replay_sync_of(search->replay, call);
    const int64_t *record =
        sync->recorded_by > 0 ? hash_map_find(records, (uint64_t)sync->recorded_by) : NULL;
    if (sync->stream < 0 || sync->awaited < 0)
        return take_untold(search, index, err);
    return take_told(search, call, record ? search->replay->calls[*record].begin : call->begin, err);
}

bool replay_waits_find(const struct replay *replay, const struct replay_order *order,
                       struct replay_wait **waits, size_t *count, struct error *err)
{
    struct search search = {.replay = replay, .order = order}; /* 32 KiB */
    struct hash_map records = {0};
    bool found = find_records(replay, &records) || error_memory(err);
    for (size_t i = 0; found && i < replay->call_count; i++)
        if (replay->calls[i].kind == CALL_STREAM_WAIT)
            found = take_wait(&search, &records, i, err);
    for (size_t i = 0; found && i < replay->count; i++)
        if (replay->activities[i].class == REPLAY_COMMUNICATION && replay->activities[i].call >= 0)
            found = take_collective(&search, i, err);
    for (size_t i = 0; found && i < replay->dep_count; i++) {
        const struct replay_dep *dep = &replay->deps[i];
        found = add(&search, dep->target, dep->source, false, err);
        if (found)
            search.waits[search.count - 1].start = dep->start;
    }
    hash_map_release(&records);
    found = found && sort_items(search.waits, search.count, sizeof *search.waits, by_target, err);
    if (!found)
        free(search.waits);
    *waits = found ? search.waits : NULL;
    *count = search.count;
    return found;
}

/* --- stalls --------------------------------------------------------------------------------------------- */

static const struct replay_call *launch_of(const struct replay *replay, int64_t activity)
{
    int32_t call = activity >= 0 ? replay->activities[activity].call : -1;
    return call >= 0 ? &replay->calls[call] : NULL;
}

/* Returns whether the thread of a launch let a stream await something between an earlier launch and this one. */
static bool awaits_event(const struct replay *replay, const struct replay_order *order, int32_t call,
                         int64_t since)
{
    for (int32_t i = order->before_of_thread[call]; i >= 0 && replay->calls[i].begin > since;
         i = order->before_of_thread[i]) {
        if (replay->calls[i].kind == CALL_STREAM_WAIT)
            return true;
        if (replay->calls[i].kind == CALL_LAUNCH) /* what it awaited is of that launch */
            return false;
    }
    return false;
}

enum replay_cause replay_stall_of(const struct replay *replay, const struct replay_order *order,
                                  uint32_t activity, int32_t before)
{
    const struct replay_activity *at = &replay->activities[activity];
    const struct replay_call *own = launch_of(replay, activity), *other = launch_of(replay, before);
    if ((own && own->graph) || (other && other->graph) || (own && own == other))
        return CAUSE_STALL_GRAPH; /* tables have no names of calls; there, two of one launch show it */
    if (replay_is_sampled(replay))
        return CAUSE_STALL_SAMPLED;
    if (!own && replay->call_count > 0)
        return CAUSE_STALL_LAUNCH;
    if (own && awaits_event(replay, order, at->call, other ? other->begin : INT64_MIN))
        return CAUSE_STALL_EVENT;
    return CAUSE_STALL;
}
