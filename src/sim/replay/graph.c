#include "sim/replay/graph.h"

#include "core/progress.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"
#include "sim/replay/waits.h"

#include <stdlib.h>
#include <string.h>

const char *const replay_cause_names[CAUSE_KINDS] = {"begin of the trace",
                                                     "activity before on the stream",
                                                     "launch",
                                                     "awaited stream",
                                                     "inferred stream",
                                                     "host",
                                                     "synchronisation",
                                                     "thread",
                                                     "unexplained wait",
                                                     "launched graph",
                                                     "calls left out",
                                                     "launch left out",
                                                     "event of other work"};

#define MICROSECOND INT64_C(1000)
#define SHORT_CALL  (3 * MICROSECOND) /* of a call that awaits: its own part */
#define LONG_CALL                                                                                            \
    (200 * MICROSECOND) /* a launch that takes longer waited for room in the queue, or for its copy */
#define LONG_GAP                                                                                             \
    (200 * MICROSECOND) /* of a thread, after which another thread or the GPU may have woken it */
#define SHORT_GAP                                                                                            \
    (50 * MICROSECOND) /* the same of a thread that had just begun: of few launches, as of graphs */
#define NEAR_MAX (20 * MICROSECOND) /* before a start: an end that may have let it begin */
#define DRAIN_MAX                                                                                            \
    (100 * MICROSECOND)   /* after a start: an end of an activity that left it room, which still ran */
#define DRAIN_SHARE   20  /* for at most this part of its time: 1/20 */
#define FULL_QUEUE    512 /* launches in flight: GPUs have queues of 1,024 */
#define MAX_STREAMS   64  /* that one call awaits */
#define MAX_LOOK_BACK 16  /* activities that ended before one, of which one may be its cause */
#define NO_EVENT      0
#define MAX_KNOWN     INT32_MAX /* ns of a lag beside a stall: typical lags are microseconds */
#define MAX_CAUSES    (MAX_STREAMS + 8)

struct maker {
    struct replay_graph *graph;
    const struct replay *replay;
    struct replay_order order;
    struct replay_wait *waits;
    size_t wait_count, next_wait;
    uint32_t *by_end; /* activities in order of their ends */
    size_t ended;     /* of them, until now */
    int32_t *latest;  /* by stream: the activity that started last; -1 */
    int32_t last_end; /* the call that ended last; -1 */
    size_t in_flight; /* activities that were launched and did not start */
    struct error *err;
};

/* A cause of the event at hand, before lags are chosen. */
struct candidate {
    uint32_t source;
    enum replay_cause cause;
    bool from_end;
    int64_t time, lag; /* lag: the typical one, but never more than there was time */
};

struct causes {
    struct candidate list[MAX_CAUSES];
    int count;
};

static int64_t time_of(const struct maker *maker, uint32_t event)
{
    return replay_event_time(maker->replay, &maker->graph->events[event]);
}

/* --- typical lags --------------------------------------------------------------------------------------- */

/* Of values in their order. */
static int64_t quantile(const int64_t *values, size_t count, double share, int64_t otherwise)
{
    return count == 0 ? otherwise : values[(size_t)(share * (double)(count - 1))];
}

/* Gaps between activities of a stream whose launches lay far back, and latencies of launches onto idle streams. */
static bool find_typical(struct maker *maker)
{
    const struct replay *replay = maker->replay;
    int64_t *gaps = malloc(2 * replay->count * sizeof *gaps), *latencies = gaps + replay->count;
    size_t gap_count = 0, latency_count = 0;
    if (!gaps)
        return error_memory(maker->err);
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        int32_t before = maker->latest[activity->stream];
        int64_t gap = before >= 0 ? activity->start - replay_end(replay, (size_t)before) : INT64_MAX;
        int64_t latency = activity->start - replay_launched(replay, (uint32_t)i);
        if (gap >= 0 && gap < 20 * MICROSECOND && (activity->call < 0 || latency > 50 * MICROSECOND))
            gaps[gap_count++] = gap;
        if (activity->call >= 0 && gap > 20 * MICROSECOND && latency >= 0 && latency < 50 * MICROSECOND)
            latencies[latency_count++] = latency;
        maker->latest[activity->stream] = (int32_t)i;
    }
    for (size_t i = 0; i < replay->stream_count; i++)
        maker->latest[i] = -1;
    bool sorted = sort_items(gaps, gap_count, sizeof *gaps, order_int64s, maker->err) &&
                  sort_items(latencies, latency_count, sizeof *latencies, order_int64s, maker->err);
    maker->graph->stream_lag = quantile(gaps, gap_count, 0.5, MICROSECOND);
    maker->graph->near = quantile(gaps, gap_count, 0.95, 5 * MICROSECOND);
    maker->graph->launch_lag = quantile(latencies, latency_count, 0.5, 5 * MICROSECOND);
    if (maker->graph->near < 3 * MICROSECOND)
        maker->graph->near = 3 * MICROSECOND;
    free(gaps);
    return sorted;
}

/* --- causes --------------------------------------------------------------------------------------------- */

static void add_cause(const struct maker *maker, struct causes *causes, uint32_t event, uint32_t source,
                      bool from_end, int64_t lag, enum replay_cause cause)
{
    if (source >= event || causes->count == MAX_CAUSES)
        return;
    int64_t time = time_of(maker, source);
    if (from_end)
        time += maker->replay->activities[maker->graph->events[source].item].duration;
    int64_t room = time_of(maker, event) - time;
    causes->list[causes->count++] =
        (struct candidate){source, cause, from_end, time, lag < room ? lag : room};
}

/* The measured lag of the cause that decided is longer than its typical one by `rest`. */
static void set_rest(const struct maker *maker, uint32_t event, int64_t rest, struct replay_edge *edge)
{
    struct replay_graph *graph = maker->graph;
    if (rest <= graph->near) {
        edge->more = (int32_t)rest;
        return;
    }
    enum replay_cause kind = CAUSE_STALL;
    uint32_t item = graph->events[event].item;
    if (graph->events[event].part == PART_START && !maker->replay->played)
        kind = replay_stall_of(maker->replay, &maker->order, item,
                               maker->latest[maker->replay->activities[item].stream]);
    edge->stall = 1 + (unsigned)kind - CAUSE_STALL;
    edge->more = (int32_t)(edge->lag < MAX_KNOWN ? edge->lag : MAX_KNOWN);
    edge->lag += rest;
    graph->stalled[kind] += rest;
    graph->causes[kind]++;
}

/* Writes the causes of an event: that which decided gets the lag that was measured. */
static bool write_causes(struct maker *maker, struct causes *causes, uint32_t event)
{
    struct replay_graph *graph = maker->graph;
    int64_t recorded = time_of(maker, event);
    int last = 0;
    if (causes->count == 0) {
        graph->causes[CAUSE_ROOT]++;
        struct replay_edge root = {.lag = recorded, .source = NO_EVENT, .cause = CAUSE_ROOT};
        return VECTOR_ADD(graph->edges, graph->edge_count, graph->edge_capacity, root) ||
               error_memory(maker->err);
    }
    for (int i = 1; i < causes->count; i++)
        if (causes->list[i].time + causes->list[i].lag > causes->list[last].time + causes->list[last].lag)
            last = i;
    for (int i = 0; i < causes->count; i++) {
        const struct candidate *candidate = &causes->list[i];
        struct replay_edge edge = {.lag = candidate->lag,
                                   .source = candidate->source,
                                   .cause = candidate->cause,
                                   .from_end = candidate->from_end};
        if (i == last)
            set_rest(maker, event, recorded - candidate->time - candidate->lag, &edge);
        graph->causes[edge.cause]++;
        if (!VECTOR_ADD(graph->edges, graph->edge_count, graph->edge_capacity, edge))
            return error_memory(maker->err);
    }
    return true;
}

static int64_t latest_cause(const struct causes *causes)
{
    int64_t latest = -1 - INT32_MAX; /* long before anything */
    for (int i = 0; i < causes->count; i++)
        if (causes->list[i].time + causes->list[i].lag > latest)
            latest = causes->list[i].time + causes->list[i].lag;
    return latest;
}

/* Returns whether another activity may hold up one: on another stream of its device. */
static bool is_beside(const struct replay *replay, size_t other, const struct replay_activity *activity)
{
    unsigned stream = replay->activities[other].stream;
    return stream != activity->stream &&
           replay->streams[stream].device == replay->streams[activity->stream].device;
}

/* Looks for an activity that ended right before this one began, at most `window` ns, and after all known causes. */
static bool infer_ended(struct maker *maker, struct causes *causes, uint32_t event, int64_t known,
                        int64_t window)
{
    const struct replay *replay = maker->replay;
    const struct replay_activity *activity = &replay->activities[maker->graph->events[event].item];
    for (size_t back = 1; back <= MAX_LOOK_BACK && back <= maker->ended; back++) {
        uint32_t other = maker->by_end[maker->ended - back];
        int64_t end = replay_end(replay, other);
        if (end <= known || activity->start - end > window)
            return false;
        if (!is_beside(replay, other, activity))
            continue;
        add_cause(maker, causes, event, maker->graph->starts[other], true, INT64_MAX, CAUSE_INFERRED);
        return true;
    }
    return false;
}

/* Looks for an activity that was about to end: one that fills the device leaves room for the next while its last blocks
 * run, a few hundredths of its time. */
static void infer_draining(struct maker *maker, struct causes *causes, uint32_t event)
{
    const struct replay *replay = maker->replay;
    const struct replay_activity *activity = &replay->activities[maker->graph->events[event].item];
    int32_t best = -1;
    int64_t best_rest = DRAIN_MAX;
    for (size_t i = 0; i < replay->stream_count && i < MAX_STREAMS; i++) {
        int32_t other = maker->latest[i];
        if (other < 0 || !is_beside(replay, (size_t)other, activity))
            continue;
        int64_t rest = replay_end(replay, (size_t)other) - activity->start;
        if (rest >= 0 && rest < best_rest && rest * DRAIN_SHARE <= replay->activities[other].duration) {
            best = other;
            best_rest = rest;
        }
    }
    if (best >= 0)
        add_cause(maker, causes, event, maker->graph->starts[best], true, INT64_MAX, CAUSE_INFERRED);
}

/* An activity that began later than its causes tell. The longer it waited, the longer the time in which an end may have
 * let it begin: by chance, an end rarely lies there. */
static void infer_stream(struct maker *maker, struct causes *causes, uint32_t event)
{
    const struct replay *replay = maker->replay;
    const struct replay_activity *activity = &replay->activities[maker->graph->events[event].item];
    int64_t known = latest_cause(causes), near = maker->graph->near, window = (activity->start - known) / 4;
    while (maker->ended < replay->count && replay_end(replay, maker->by_end[maker->ended]) <= activity->start)
        maker->ended++;
    if (activity->start - known <= near || replay->played)
        return;
    window = window > NEAR_MAX ? NEAR_MAX : window;
    if (!infer_ended(maker, causes, event, known, window > near ? window : near))
        infer_draining(maker, causes, event);
}

static bool make_start(struct maker *maker, uint32_t event)
{
    const struct replay *replay = maker->replay;
    const struct replay_graph *graph = maker->graph;
    uint32_t index = graph->events[event].item;
    const struct replay_activity *activity = &replay->activities[index];
    struct causes causes = {.count = 0};
    int32_t before = maker->latest[activity->stream];
    if (before >= 0) {
        /* where two overlap (launched by a program, or rounded), the later one still does not overtake */
        add_cause(maker, &causes, event, graph->starts[before], true, graph->stream_lag, CAUSE_STREAM);
        if (replay_end(replay, (size_t)before) > activity->start)
            add_cause(maker, &causes, event, graph->starts[before], false, 0, CAUSE_STREAM);
    }
    if (activity->call >= 0) {
        add_cause(maker, &causes, event, graph->begins[activity->call], false, graph->launch_lag,
                  CAUSE_LAUNCH);
        maker->in_flight -= maker->in_flight > 0;
    }
    while (maker->next_wait < maker->wait_count && maker->waits[maker->next_wait].target < index)
        maker->next_wait++;
    for (; maker->next_wait < maker->wait_count && maker->waits[maker->next_wait].target == index;
         maker->next_wait++) {
        const struct replay_wait *wait = &maker->waits[maker->next_wait];
        add_cause(maker, &causes, event, graph->starts[wait->source], !wait->start,
                  wait->start ? 0 : graph->stream_lag, wait->inferred ? CAUSE_INFERRED : CAUSE_WAIT);
    }
    infer_stream(maker, &causes, event);
    bool written = write_causes(maker, &causes, event);
    maker->latest[activity->stream] = (int32_t)index;
    return written;
}

/* Host work is a duration of its own: it has no typical lag, and is never a stall. */
static void add_host(const struct maker *maker, struct causes *causes, uint32_t event, uint32_t source,
                     bool from_end, enum replay_cause cause)
{
    add_cause(maker, causes, event, source, from_end, INT64_MAX, cause);
}

/* A thread that was silent while another one worked, which then fell silent: it was woken by it. Returns false if it
 * was not. */
static bool infer_thread(const struct maker *maker, struct causes *causes, uint32_t event, int64_t since)
{
    const struct replay *replay = maker->replay;
    const struct replay_call *call = &replay->calls[maker->graph->events[event].item];
    if (maker->last_end < 0 || call->begin - since < LONG_GAP)
        return false;
    const struct replay_call *other = &replay->calls[maker->last_end];
    int64_t end = other->begin + other->duration;
    int32_t next = maker->order.next_of_thread[maker->last_end];
    if (other->thread == call->thread || end <= since || 2 * (call->begin - end) > call->begin - since)
        return false;
    int64_t silent = next >= 0 ? replay->calls[next].begin - end : LONG_GAP;
    if (silent < LONG_GAP && (silent < SHORT_GAP || silent < 4 * (call->begin - end)))
        return false;
    add_host(maker, causes, event, maker->graph->ends[maker->last_end], false, CAUSE_THREAD);
    return true;
}

/* Where no call that awaits the GPU was recorded: a thread that goes on right after its last activity ended has awaited
 * that. */
static bool infer_sync(const struct maker *maker, struct causes *causes, uint32_t event, int64_t since)
{
    const struct replay *replay = maker->replay;
    uint32_t index = maker->graph->events[event].item;
    const struct replay_call *call = &replay->calls[index];
    int32_t launch = maker->order.launch_before[index];
    int32_t activity = launch >= 0 ? maker->order.last_of_call[launch] : -1;
    if (replay->awaits || activity < 0 || call->begin - since < LONG_GAP)
        return false;
    int64_t end = replay_end(replay, (size_t)activity);
    if (end <= since || end > call->begin || 2 * (call->begin - end) > call->begin - since)
        return false;
    add_host(maker, causes, event, maker->graph->starts[activity], true, CAUSE_SYNC);
    return true;
}

static bool make_begin(struct maker *maker, uint32_t event)
{
    const struct replay *replay = maker->replay;
    const struct replay_graph *graph = maker->graph;
    uint32_t index = graph->events[event].item;
    const struct replay_call *call = &replay->calls[index];
    int32_t before = maker->order.before_of_thread[index];
    struct causes causes = {.count = 0};
    int64_t since = before >= 0 ? replay->calls[before].begin + replay->calls[before].duration : 0;
    bool woken = infer_thread(maker, &causes, event, since) || infer_sync(maker, &causes, event, since);
    if (before >= 0 && since > call->begin)
        add_host(maker, &causes, event, graph->begins[before], false, CAUSE_HOST);
    else if (before >= 0)
        add_cause(maker, &causes, event, graph->ends[before], false, woken ? 0 : INT64_MAX, CAUSE_HOST);
    maker->in_flight += call->kind == CALL_LAUNCH;
    return write_causes(maker, &causes, event);
}

/* --- ends of calls -------------------------------------------------------------------------------------- */

/* Returns the last activity of a stream that a call may have awaited: launched before it, and ended by its end; -1:
 * none. */
static int64_t awaited_on(const struct maker *maker, const struct replay_call *call, int32_t stream)
{
    int64_t activity = replay_last_launched(maker->replay, &maker->order, stream, call->begin);
    bool ended = activity >= 0 && replay_end(maker->replay, (size_t)activity) <= call->begin + call->duration;
    return ended ? activity : -1;
}

/* Adds what a call awaits on streams [from, to). Returns whether the call lasted until then. */
static bool await_streams(const struct maker *maker, struct causes *causes, uint32_t event, int32_t from,
                          int32_t to)
{
    const struct replay *replay = maker->replay;
    const struct replay_call *call = &replay->calls[maker->graph->events[event].item];
    int64_t latest = call->begin, activity;
    for (int32_t i = from; i < to; i++)
        if ((activity = awaited_on(maker, call, i)) >= 0 && replay_end(replay, (size_t)activity) > latest)
            latest = replay_end(replay, (size_t)activity);
    bool decided = latest > call->begin;
    for (int32_t i = from; i < to; i++)
        if ((activity = awaited_on(maker, call, i)) >= 0)
            add_cause(maker, causes, event, maker->graph->starts[activity], true,
                      decided ? call->begin + call->duration - latest : 0, CAUSE_SYNC);
    return decided;
}

/* The stream of the activity that ended last within a call; else that of the thread's last launch; -1: neither. */
static int32_t guess_stream(const struct maker *maker, uint32_t index)
{
    const struct replay *replay = maker->replay;
    const struct replay_call *call = &replay->calls[index];
    int32_t launch = maker->order.launch_before[index], best = -1;
    int32_t own = launch >= 0 ? maker->order.last_of_call[launch] : -1;
    int64_t best_end = call->begin;
    if (own >= 0)
        best = (int32_t)replay->activities[own].stream;
    for (size_t i = 0; i < replay->stream_count && i < MAX_STREAMS; i++) {
        int64_t activity = awaited_on(maker, call, (int32_t)i);
        if (activity >= 0 && replay_end(replay, (size_t)activity) > best_end) {
            best_end = replay_end(replay, (size_t)activity);
            best = (int32_t)i;
        }
    }
    return best;
}

static bool await(const struct maker *maker, struct causes *causes, uint32_t event)
{
    const struct replay *replay = maker->replay;
    uint32_t index = maker->graph->events[event].item;
    const struct replay_call *call = &replay->calls[index];
    if (call->kind == CALL_DEVICE_SYNC || call->kind == CALL_FREE) {
        size_t streams = replay->stream_count < MAX_STREAMS ? replay->stream_count : MAX_STREAMS;
        bool decided = await_streams(maker, causes, event, 0, (int32_t)streams);
        if (call->kind == CALL_FREE && !decided)
            causes->count = 0; /* freeing takes its time without the GPU, too */
        return decided;
    }
    if (call->kind != CALL_STREAM_SYNC && call->kind != CALL_EVENT_SYNC)
        return false;
    const struct replay_sync *sync = replay_sync_of(replay, call);
    int32_t stream = sync->awaited >= 0 ? sync->awaited : sync->stream;
    if (stream < 0)
        stream = guess_stream(maker, index);
    return stream >= 0 && await_streams(maker, causes, event, stream, stream + 1);
}

/* A launch that took long: a copy from or to memory that the GPU cannot reach itself, or a full queue. */
static bool await_launch(const struct maker *maker, struct causes *causes, uint32_t event)
{
    const struct replay *replay = maker->replay;
    uint32_t index = maker->graph->events[event].item;
    const struct replay_call *call = &replay->calls[index];
    int64_t end = call->begin + call->duration;
    int32_t own = maker->order.last_of_call[index];
    if (own >= 0 && replay->activities[own].category == REPLAY_MEMCPY &&
        replay_end(replay, (size_t)own) <= end &&
        2 * (end - replay_end(replay, (size_t)own)) < call->duration) {
        add_cause(maker, causes, event, maker->graph->starts[own], true, INT64_MAX, CAUSE_SYNC);
        return true;
    }
    if (call->duration < LONG_CALL || maker->in_flight < FULL_QUEUE)
        return false;
    size_t last = maker->ended;
    while (last < replay->count && replay_end(replay, maker->by_end[last]) <= end)
        last++;
    if (last == 0 || end - replay_end(replay, maker->by_end[last - 1]) > 20 * MICROSECOND)
        return false;
    add_cause(maker, causes, event, maker->graph->starts[maker->by_end[last - 1]], true, INT64_MAX,
              CAUSE_SYNC);
    return true;
}

static bool make_end(struct maker *maker, uint32_t event)
{
    const struct replay_graph *graph = maker->graph;
    uint32_t index = graph->events[event].item;
    const struct replay_call *call = &maker->replay->calls[index];
    struct causes causes = {.count = 0};
    bool decided =
        call->kind == CALL_LAUNCH ? await_launch(maker, &causes, event) : await(maker, &causes, event);
    maker->last_end = (int32_t)index;
    if (causes.count == 0)
        return true; /* as most are: the call takes its time */
    add_cause(maker, &causes, event, graph->begins[index], false, decided ? SHORT_CALL : INT64_MAX,
              CAUSE_HOST);
    return write_causes(maker, &causes, event);
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static int by_activity_end(const void *a, const void *b, void *context)
{
    const struct replay *replay = context;
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    int64_t x = replay_end(replay, first), y = replay_end(replay, second);
    return x != y ? (x > y) - (x < y) : (first > second) - (first < second);
}

static bool sort_ends(struct maker *maker)
{
    for (size_t i = 0; i < maker->replay->count; i++)
        maker->by_end[i] = (uint32_t)i;
    return sort_items_with(maker->by_end, maker->replay->count, sizeof *maker->by_end, by_activity_end,
                           (void *)(uintptr_t)maker->replay, maker->err);
}

static bool make_events(struct maker *maker)
{
    struct replay_graph *graph = maker->graph;
    /* room for more edges than most runs have: growing would need old and new room at once */
    if (!VECTOR_ROOM(graph->edges, graph->edge_capacity, 3 * maker->replay->count + graph->count))
        return error_memory(maker->err);
    for (size_t i = 0; i < graph->count; i++) {
        if (stop_obeyed_at(i, maker->err))
            return false;
        if (i % STOP_STEPS == 0)
            progress_tell("%zu of %zu events", i, graph->count);
        if (graph->edge_count > UINT32_MAX - MAX_CAUSES)
            return error_set(maker->err, ERROR_INPUT, "%s: too many causes", maker->replay->path);
        graph->events[i].edges = (uint32_t)graph->edge_count;
        bool made = graph->events[i].part == PART_START   ? make_start(maker, (uint32_t)i)
                    : graph->events[i].part == PART_BEGIN ? make_begin(maker, (uint32_t)i)
                                                          : make_end(maker, (uint32_t)i);
        if (!made)
            return false;
    }
    graph->events[graph->count].edges = (uint32_t)graph->edge_count;
    struct replay_edge *edges = realloc(graph->edges, (graph->edge_count + 1) * sizeof *edges);
    graph->edges = edges ? edges : graph->edges;
    return true;
}

static bool make_graph(struct maker *maker)
{
    const struct replay *replay = maker->replay;
    struct replay_graph *graph = maker->graph;
    graph->count = replay->count + 2 * replay->call_count;
    graph->events = calloc(graph->count + 1, sizeof *graph->events);
    graph->starts = malloc((graph->count + 1) * sizeof *graph->starts);
    maker->by_end = malloc((replay->count + 1) * sizeof *maker->by_end);
    maker->latest = malloc((replay->stream_count + 1) * sizeof *maker->latest);
    if (!graph->events || !graph->starts || !maker->by_end || !maker->latest)
        return error_memory(maker->err);
    graph->begins = graph->starts + replay->count;
    graph->ends = graph->begins + replay->call_count;
    for (size_t i = 0; i < replay->stream_count; i++)
        maker->latest[i] = -1;
    return replay_list_events(graph, maker->err) && sort_ends(maker) && find_typical(maker) &&
           replay_waits_find(replay, &maker->order, &maker->waits, &maker->wait_count, maker->err) &&
           make_events(maker);
}

bool replay_graph_make(struct replay_graph *graph, const struct replay *replay, struct error *err)
{
    *graph = (struct replay_graph){.replay = replay};
    struct maker maker = {.graph = graph, .replay = replay, .last_end = -1, .err = err};
    bool made = replay_order_make(&maker.order, replay, err) && make_graph(&maker);
    replay_order_release(&maker.order);
    free(maker.waits);
    free(maker.by_end);
    free(maker.latest);
    if (!made)
        replay_graph_release(graph);
    return made;
}

void replay_graph_release(struct replay_graph *graph)
{
    free(graph->events);
    free(graph->edges);
    free(graph->starts);
    *graph = (struct replay_graph){0};
}
