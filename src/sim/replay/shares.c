/* Which share of a device's time is compute, communication, both, or neither: the union of the intervals of each class, as
 * HolisticTraceAnalysis counts. */
#include "sim/replay/play.h"

#include "core/statistics.h"

#include <stdlib.h>

/* Activities by device and time of their starts, or of their ends. */
struct edges {
    const struct replay *replay;
    const struct replay_result *result;
    uint32_t *starts, *ends;
};

static int64_t device_of(const struct edges *edges, uint32_t activity)
{
    return edges->replay->streams[edges->replay->activities[activity].stream].device;
}

static int64_t end_of(const struct edges *edges, uint32_t activity)
{
    return edges->result->starts[activity] + edges->result->durations[activity];
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_start(const void *a, const void *b, void *context)
{
    const struct edges *edges = context;
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    int order = compare(device_of(edges, first), device_of(edges, second));
    return order ? order : compare(edges->result->starts[first], edges->result->starts[second]);
}

static int by_end(const void *a, const void *b, void *context)
{
    const struct edges *edges = context;
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    int order = compare(device_of(edges, first), device_of(edges, second));
    return order ? order : compare(end_of(edges, first), end_of(edges, second));
}

static void add_time(struct replay_shares *shares, const int64_t *running, int64_t time)
{
    bool compute = running[REPLAY_COMPUTE] > 0, communication = running[REPLAY_COMMUNICATION] > 0;
    bool memory = running[REPLAY_MEMORY] > 0;
    shares->span += time;
    shares->compute += compute ? time : 0;
    shares->communication += communication ? time : 0;
    shares->memory += memory ? time : 0;
    shares->overlap += compute && communication ? time : 0;
    shares->idle += !compute && !communication && !memory ? time : 0;
}

/* Merges starts and ends; at the same time starts come first, so that no count falls below zero. */
static void sweep(const struct edges *edges, struct replay_result *result)
{
    int64_t running[REPLAY_CLASSES] = {0}, last = 0;
    size_t count = edges->replay->count, started = 0;
    for (size_t ended = 0; ended < count;) {
        uint32_t next = edges->ends[ended];
        int64_t time = end_of(edges, next);
        bool starts = started < count;
        if (starts) {
            uint32_t other = edges->starts[started];
            starts = device_of(edges, other) == device_of(edges, next) && result->starts[other] <= time;
            next = starts ? other : next;
            time = starts ? result->starts[other] : time;
        }
        if (starts &&
            (started == 0 || device_of(edges, next) != result->shares[result->device_count - 1].device))
            result->shares[result->device_count++] = (struct replay_shares){.device = device_of(edges, next)};
        else
            add_time(&result->shares[result->device_count - 1], running, time - last);
        last = time;
        running[edges->replay->activities[next].class] += starts ? 1 : -1;
        *(starts ? &started : &ended) += 1;
    }
}

bool replay_shares_find(const struct replay *replay, struct replay_result *result, struct error *err)
{
    uint32_t *lists = malloc(2 * replay->count * sizeof *lists);
    result->shares = calloc(replay->stream_count, sizeof *result->shares);
    if (!lists || !result->shares) {
        free(lists);
        return error_memory(err);
    }
    struct edges edges = {replay, result, lists, lists + replay->count};
    for (size_t i = 0; i < replay->count; i++)
        edges.starts[i] = edges.ends[i] = (uint32_t)i;
    bool sorted = sort_items_with(edges.starts, replay->count, sizeof *lists, by_start, &edges, err) &&
                  sort_items_with(edges.ends, replay->count, sizeof *lists, by_end, &edges, err);
    if (sorted)
        sweep(&edges, result);
    free(lists);
    return sorted;
}
