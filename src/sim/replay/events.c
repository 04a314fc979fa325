/* The events of a recorded run in the order of time. */
#include "core/statistics.h"
#include "core/stop.h"
#include "sim/replay/graph.h"

_Static_assert(sizeof(struct replay_event) == 8 && sizeof(struct replay_edge) == 16,
               "large traces need compact graphs");
/* Events of activities and of both ends of calls have to be told apart by the bits of an edge's source. */
_Static_assert(3 * REPLAY_MAX_RECORDS <= (size_t)1 << 25, "an edge's source has 25 bits");

int64_t replay_event_time(const struct replay *replay, const struct replay_event *event)
{
    if (event->part == PART_START)
        return replay->activities[event->item].start;
    const struct replay_call *call = &replay->calls[event->item];
    return event->part == PART_BEGIN ? call->begin : call->begin + call->duration;
}

/* In the order of time; at the same time calls come first, in their own order, and the begin of one before its end. */
static bool comes_first(const struct replay *replay, struct replay_event first, struct replay_event second)
{
    int64_t x = replay_event_time(replay, &first), y = replay_event_time(replay, &second);
    if (x != y)
        return x < y;
    if ((first.part == PART_START) != (second.part == PART_START))
        return second.part == PART_START;
    return first.item != second.item ? first.item < second.item : first.part < second.part;
}

static int by_call_end(const void *a, const void *b, void *context)
{
    const struct replay *replay = context;
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    int64_t x = replay->calls[first].begin + replay->calls[first].duration;
    int64_t y = replay->calls[second].begin + replay->calls[second].duration;
    return x != y ? (x > y) - (x < y) : (first > second) - (first < second);
}

/* Merges starts and begins, which are in order, with the ends, which are sorted in place. */
bool replay_list_events(struct replay_graph *graph, struct error *err)
{
    const struct replay *replay = graph->replay;
    size_t at[] = {0, 0, 0}, counts[] = {replay->count, replay->call_count, replay->call_count};
    uint32_t *ends = graph->ends;
    for (size_t i = 0; i < replay->call_count; i++)
        ends[i] = (uint32_t)i;
    if (!sort_items_with(ends, replay->call_count, sizeof *ends, by_call_end, (void *)(uintptr_t)replay, err))
        return false;
    for (size_t i = 0; i < graph->count; i++) {
        struct replay_event *event = &graph->events[i];
        bool found = false;
        if (stop_obeyed_at(i, err))
            return false;
        for (unsigned part = PART_START; part <= PART_END; part++) {
            if (at[part] == counts[part])
                continue;
            struct replay_event next = {part == PART_END ? ends[at[part]] : (uint32_t)at[part], part, 0};
            if (!found || comes_first(replay, next, *event))
                *event = next;
            found = true;
        }
        at[event->part]++;
    }
    for (size_t i = 0; i < graph->count; i++) {
        const struct replay_event *event = &graph->events[i];
        uint32_t *list = event->part == PART_START   ? graph->starts
                         : event->part == PART_BEGIN ? graph->begins
                                                     : graph->ends;
        if (stop_obeyed_at(i, err))
            return false;
        list[event->item] = (uint32_t)i;
    }
    return true;
}
