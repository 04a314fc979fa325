/* The critical path played alone: is it what decided when each step ended?
 *
 * Problem. The shares along the path (path.h) add up to the step by construction, so their sum proves nothing. A path
 * of causes can be tested: played without all else, it has to take as long as the step did.
 *
 * Definition. An activity begins when the last of its causes allows it (sim/replay/graph.h); a collective of several
 * ranks moves data from the begin on its last rank, a message from that of its last side. From the end of a step's
 * last activity the causes lead back through streams, the host and, at collectives, the rank that came last. Along
 * them count the durations of activities, work of the host, the transfer of a collective since its last rank came, and
 * of each lag between two events the typical one in this trace. Waits that the trace does not explain count nothing.
 * The step as played is the time from the end of the step before, played alike; the first one begins where it was
 * recorded.
 *
 * Method. While a rank is read, one pass over its events in the order of causes notes of each exchange and each step's
 * end where its causes lead: to the end of another exchange and how long after it, or to a time of the recording. When
 * all ranks are read, exchanges are played in the order in which their last ranks came. O(events), 16 bytes for each
 * event of the rank at hand, 40 for each exchange.
 *
 * Check in tests/explain/truth_test.c: made-up runs within 1 %, and equal to the longest path through the graph of all
 * ranks, found by relaxing all causes until nothing changes. */
#include "core/statistics.h"
#include "explain/explain.h"

#include <stdlib.h>

/* ---- one rank ---- */

/* What an edge takes without a wait that the trace does not explain. */
static int64_t typical(const struct replay_edge *edge)
{
    return edge->stall > 0 ? edge->more : edge->lag;
}

static struct explain_cause cause_of(const struct replay_graph *graph, uint32_t event,
                                     const struct explain_cause *causes)
{
    const struct replay *replay = graph->replay;
    const struct replay_event *at = &graph->events[event];
    int64_t since = 0;
    const struct replay_edge *edge = explain_deciding_edge(graph, event, &since);
    if (!edge) { /* the end of a call */
        struct explain_cause cause = causes[graph->begins[at->item]];
        cause.time += replay->calls[at->item].duration;
        return cause;
    }
    if (edge->cause == CAUSE_ROOT)
        return (struct explain_cause){.from = EXPLAIN_NONE, .time = replay_event_time(replay, at)};
    uint32_t item = graph->events[edge->source].item;
    if (edge->from_end && replay->activities[item].class == REPLAY_COMMUNICATION)
        return (struct explain_cause){.from = item, .time = typical(edge)};
    struct explain_cause cause = causes[edge->source];
    cause.time += typical(edge) + (edge->from_end ? replay->activities[item].duration : 0);
    return cause;
}

/* The activity that ends last; of a lane without steps. */
static uint32_t last_activity(const struct replay *replay, int64_t device)
{
    uint32_t last = EXPLAIN_NONE;
    int64_t latest = INT64_MIN;
    for (size_t i = 0; i < replay->count; i++) {
        int64_t end = replay_end(replay, i);
        if (replay->streams[replay->activities[i].stream].device == device && end > latest) {
            latest = end;
            last = (uint32_t)i;
        }
    }
    return last;
}

static bool note(struct arena *arena, struct explain_lane *lane, const struct replay_graph *graph,
                 const struct explain_cause *causes, struct error *err)
{
    const struct replay *replay = graph->replay;
    size_t steps = lane->host_steps > 0 ? lane->host_steps : 1;
    lane->chains = ARENA_ARRAY(arena, lane->exchange_count + 1, struct explain_chain);
    lane->ends = ARENA_ARRAY(arena, steps, struct explain_chain);
    if (!lane->chains || !lane->ends)
        return error_memory(err);
    for (size_t i = 0; i < lane->exchange_count; i++) {
        uint32_t activity = lane->exchanges[i];
        lane->chains[i] =
            (struct explain_chain){causes[graph->starts[activity]], replay_end(replay, activity), INT64_MIN};
    }
    for (size_t i = 0; i < steps; i++) {
        uint32_t last = lane->host_steps > 0 ? lane->lasts[i] : last_activity(replay, lane->device);
        lane->ends[i] = (struct explain_chain){.end = INT64_MIN, .played = INT64_MIN};
        if (last == EXPLAIN_NONE)
            continue;
        const struct replay_activity *at = &replay->activities[last];
        lane->ends[i].end = at->start + at->duration;
        lane->ends[i].start = causes[graph->starts[last]];
        lane->ends[i].start.time += at->duration;
        if (at->class == REPLAY_COMMUNICATION)
            lane->ends[i].start = (struct explain_cause){.from = last};
    }
    return true;
}

bool explain_chains_note(struct explain *explain, size_t first, const struct replay_graph *graph,
                         struct error *err)
{
    struct explain_cause *causes = calloc(graph->count + 1, sizeof *causes);
    bool done = causes || error_memory(err);
    for (uint32_t i = 0; done && i < graph->count; i++)
        causes[i] = cause_of(graph, i, causes);
    for (size_t i = first; done && i < explain->lane_count; i++)
        done = note(&explain->arena, &explain->lanes[i], graph, causes, err);
    free(causes);
    return done;
}

/* ---- all ranks ---- */

/* A collective on all its ranks: run.collectives[first … end). */
struct meeting {
    int64_t time; /* when its last rank came */
    size_t first, end;
};

static int by_meeting_time(const void *a, const void *b)
{
    const struct meeting *first = a, *second = b;
    int order = order_of(first->time, second->time);
    return order ? order : order_of(first->first, second->first);
}

static int compare_activities(const void *a, const void *b)
{
    return order_of(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* The chain of an exchange, on this or another device of the rank; NULL: none. */
static struct explain_chain *chain_of(const struct explain *explain, size_t lane, uint32_t activity)
{
    uint32_t member = explain->lanes[lane].member;
    while (lane > 0 && explain->lanes[lane - 1].member == member)
        lane--;
    for (; lane < explain->lane_count && explain->lanes[lane].member == member; lane++) {
        const struct explain_lane *at = &explain->lanes[lane];
        const uint32_t *found = at->exchange_count > 0 ? bsearch(&activity, at->exchanges, at->exchange_count,
                                                                 sizeof *at->exchanges, compare_activities)
                                                       : NULL;
        if (found)
            return &at->chains[found - at->exchanges];
    }
    return NULL;
}

/* When a chain arrives, in the job's clock. */
static int64_t arrive(const struct explain *explain, size_t lane, const struct explain_cause *cause)
{
    int64_t shift = explain->lanes[lane].shift;
    if (cause->from == EXPLAIN_NONE)
        return cause->time + shift;
    const struct explain_chain *chain = chain_of(explain, lane, cause->from);
    if (!chain)
        return cause->time + shift;
    return cause->time + (chain->played != INT64_MIN ? chain->played : chain->end + shift);
}

static void play(const struct explain *explain, const struct meeting *meeting)
{
    const struct ranks *run = &explain->run;
    size_t last = meeting->first;
    for (size_t i = meeting->first; i < meeting->end; i++) {
        const struct explain_lane *lane = &explain->lanes[explain->lane_of[i]];
        const struct explain_arrival *arrival =
            explain_arrival_of(lane->arrivals, lane->arrival_count, run->collectives[i].activity);
        if (arrival && arrival->lane == explain->lane_of[i])
            last = i;
    }
    const struct explain_chain *first =
        chain_of(explain, explain->lane_of[last], run->collectives[last].activity);
    if (!first)
        return;
    int64_t start = arrive(explain, explain->lane_of[last], &first->start);
    for (size_t i = meeting->first; i < meeting->end; i++) {
        size_t lane = explain->lane_of[i];
        struct explain_chain *chain = chain_of(explain, lane, run->collectives[i].activity);
        int64_t transfer = chain ? chain->end + explain->lanes[lane].shift - meeting->time : 0;
        if (chain && explain_is_over(explain, i, meeting->time))
            chain->played =
                arrive(explain, lane, &chain->start) + run->collectives[i].end - run->collectives[i].begin;
        else if (chain && transfer >= 0)
            chain->played = start + transfer;
    }
}

static bool play_meetings(const struct explain *explain, struct error *err)
{
    const struct ranks *run = &explain->run;
    struct meeting *meetings = calloc(run->collective_count + 1, sizeof *meetings);
    size_t count = 0;
    if (!meetings)
        return error_memory(err);
    for (size_t i = 0, end; i < run->collective_count; i = end) {
        int64_t time = explain_began(explain, i);
        for (end = i + 1;
             end < run->collective_count && explain_is_same(&run->collectives[i], &run->collectives[end]);
             end++)
            time = explain_began(explain, end) > time ? explain_began(explain, end) : time;
        meetings[count++] = (struct meeting){time, i, end};
    }
    bool sorted = sort_items(meetings, count, sizeof *meetings, by_meeting_time, err);
    for (size_t i = 0; sorted && i < count; i++)
        play(explain, &meetings[i]);
    free(meetings);
    return sorted;
}

/* Of a lane's own steps: that of the job's; NULL: it has none. */
static const struct explain_chain *end_of_step(const struct explain *explain, const struct explain_lane *lane,
                                               size_t step)
{
    if (!explain->numbers)
        return lane->host_steps == 0 ? &lane->ends[0] : &lane->ends[lane->host_steps - 1];
    for (size_t i = 0; i < lane->host_steps; i++)
        if (lane->step_of[i] == (int32_t)(step + explain->first_step))
            return &lane->ends[i];
    return NULL;
}

bool explain_chains_play(struct explain *explain, struct error *err)
{
    int64_t before = explain->path.begins[0], recorded_before = before;
    explain->played = ARENA_ARRAY(&explain->arena, explain->step_count, struct explain_played);
    if (!explain->played)
        return error_memory(err);
    if (!play_meetings(explain, err))
        return false;
    for (size_t step = 0; step < explain->step_count; step++) {
        int64_t recorded = INT64_MIN, played = before;
        for (size_t lane = 0; lane < explain->lane_count; lane++) {
            const struct explain_chain *end = end_of_step(explain, &explain->lanes[lane], step);
            if (!end || end->end == INT64_MIN || end->end + explain->lanes[lane].shift <= recorded)
                continue;
            recorded = end->end + explain->lanes[lane].shift;
            played = arrive(explain, lane, &end->start);
        }
        if (recorded == INT64_MIN) /* nothing was launched in it */
            continue;
        explain->played[step] = (struct explain_played){played - before, recorded - recorded_before};
        before = played;
        recorded_before = recorded;
    }
    return true;
}

double explain_played_share(const struct explain *explain)
{
    int64_t played = 0, recorded = 0;
    for (size_t i = 0; i < explain->step_count; i++) {
        played += explain->played[i].played;
        recorded += explain->played[i].recorded;
    }
    return recorded > 0 ? (double)played / (double)recorded : 0;
}
