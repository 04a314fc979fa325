/* Arrows of our own traces (chrome.c), which lead from sends to receives and along causes. */
#include "core/statistics.h"
#include "core/vector.h"
#include "sim/replay/parts.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    const struct replay_flow *first = a, *second = b;
    if (first->id != second->id)
        return first->id < second->id ? -1 : 1;
    return (int)first->target - (int)second->target;
}

/* Activities of each stream in order of their starts. */
struct index {
    const struct replay *replay;
    uint32_t *by_stream;
    size_t *first; /* of each stream, stream_count + 2 */
    size_t last_stream;
};

static bool make_index(struct index *index, const struct replay *replay)
{
    *index = (struct index){.replay = replay};
    index->by_stream = malloc((replay->count + 1) * sizeof *index->by_stream);
    index->first = calloc(replay->stream_count + 2, sizeof *index->first);
    if (!index->by_stream || !index->first)
        return false;
    for (size_t i = 0; i < replay->count; i++)
        index->first[replay->activities[i].stream + 2]++;
    for (size_t i = 1; i < replay->stream_count + 1; i++)
        index->first[i + 1] += index->first[i];
    for (size_t i = 0; i < replay->count; i++) /* moves each first place, one to the right, to the end */
        index->by_stream[index->first[replay->activities[i].stream + 1]++] = (uint32_t)i;
    return true;
}

/* Returns the last activity of a stream that starts at a time or before; -1: none. */
static int64_t find(struct index *index, const struct replay_flow *flow)
{
    const struct replay *replay = index->replay;
    int64_t time = flow->time - replay->origin;
    size_t stream = index->last_stream;
    for (size_t tried = 0;
         replay->streams[stream].device != flow->device || replay->streams[stream].number != flow->number;
         stream = (stream + 1) % replay->stream_count)
        if (++tried > replay->stream_count)
            return -1;
    index->last_stream = stream;
    size_t low = index->first[stream], high = index->first[stream + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (replay->activities[index->by_stream[middle]].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low > index->first[stream] ? (int64_t)index->by_stream[low - 1] : -1;
}

/* An arrow begins within its source, a nanosecond before its end or at its start, and ends where its target starts. */
static bool add_flow(struct replay *replay, struct index *index, const struct replay_flow *from,
                     const struct replay_flow *to, struct error *err)
{
    int64_t source = find(index, from), target = find(index, to);
    if (source < 0 || target < 0 || source == target ||
        replay->activities[target].start != to->time - replay->origin)
        return true;
    const struct replay_activity *at = &replay->activities[source];
    bool start = at->start == from->time - replay->origin && at->duration > 1;
    struct replay_dep dep = {(uint32_t)target, (uint32_t)source, start};
    return VECTOR_ADD(replay->deps, replay->dep_count, replay->dep_capacity, dep) || error_memory(err);
}

static void drop_formal_launches(struct replay *replay)
{
    for (size_t i = 0; i < replay->call_count; i++)
        if (replay->calls[i].kind != CALL_LAUNCH || replay->calls[i].duration != 0)
            return;
    for (size_t i = 0; i < replay->count; i++)
        if (replay->activities[i].call >= 0 &&
            replay->calls[replay->activities[i].call].begin != replay->activities[i].start)
            return;
    for (size_t i = 0; i < replay->count; i++)
        replay->activities[i].call = -1;
    replay->call_count = 0;
}

bool replay_apply_flows(struct replay *replay, struct replay_flow *flows, size_t count, struct error *err)
{
    struct index index;
    drop_formal_launches(replay);
    if (count < 2)
        return true;
    if (!sort_items(flows, count, sizeof *flows, by_id, err))
        return false;
    bool done = make_index(&index, replay) || error_memory(err);
    for (size_t i = 1; done && i < count; i++)
        if (flows[i].id == flows[i - 1].id && flows[i].target && !flows[i - 1].target)
            done = add_flow(replay, &index, &flows[i - 1], &flows[i], err);
    free(index.by_stream);
    free(index.first);
    return done;
}
