#include "explain/timeline.h"

#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"
#include "texts.h"

#include <stdlib.h>
#include <string.h>

const struct explain_share_words explain_shares[EXPLAIN_SHARES] = {ROWS_explain_share};

/* Activities that run, in order of their starts: a list for each class, through all activities. */
struct running {
    uint32_t first[REPLAY_CLASSES], last[REPLAY_CLASSES];
    uint32_t *next, *before;
};

struct maker {
    struct explain_timeline *timeline;
    const struct explain_source *source;
    const struct replay *replay;
    uint32_t *starts, *ends; /* the device's activities in order of start and of end */
    size_t count;
    struct running running;
    struct explain_piece *gap; /* pieces of a gap, the last one first */
    size_t gap_count, gap_capacity;
    int64_t paused;     /* since then no compute kernel runs */
    size_t pause_piece; /* and the pieces from here on are of that time */
    struct error *err;
};

static int64_t start_of(const struct maker *maker, uint32_t activity)
{
    return maker->replay->activities[activity].start;
}

static int64_t end_of(const struct maker *maker, uint32_t activity)
{
    return replay_end(maker->replay, activity);
}

/* ---- what runs ---- */

static void begin(struct maker *maker, uint32_t activity)
{
    struct running *running = &maker->running;
    unsigned class = maker->replay->activities[activity].class;
    running->next[activity] = EXPLAIN_NONE;
    running->before[activity] = running->last[class];
    if (running->last[class] == EXPLAIN_NONE)
        running->first[class] = activity;
    else
        running->next[running->last[class]] = activity;
    running->last[class] = activity;
}

static void end(struct maker *maker, uint32_t activity)
{
    struct running *running = &maker->running;
    unsigned class = maker->replay->activities[activity].class;
    uint32_t next = running->next[activity], before = running->before[activity];
    if (before == EXPLAIN_NONE)
        running->first[class] = next;
    else
        running->next[before] = next;
    if (next == EXPLAIN_NONE)
        running->last[class] = before;
    else
        running->before[next] = before;
}

/* ---- pieces ---- */

static bool add_piece(struct maker *maker, int64_t from, int64_t to, enum explain_share share, uint32_t what,
                      uint32_t exchange)
{
    struct explain_timeline *timeline = maker->timeline;
    struct explain_piece *last = timeline->count > 0 ? &timeline->pieces[timeline->count - 1] : NULL;
    if (from >= to || (last && last->share == share && last->what == what && last->exchange == exchange))
        return true;
    struct explain_piece piece = {from, what, share, exchange};
    return VECTOR_ADD(timeline->pieces, timeline->count, timeline->capacity, piece) ||
           error_memory(maker->err);
}

/* ---- why nothing runs ---- */

static bool add_to_gap(struct maker *maker, int64_t from, enum explain_share share, uint32_t what)
{
    struct explain_piece piece = {from, what, share, EXPLAIN_NONE};
    return VECTOR_ADD(maker->gap, maker->gap_count, maker->gap_capacity, piece) || error_memory(maker->err);
}

/* Work of the host in [from, to), with the spans of the data loader cut out, the last one first. */
static bool add_host(struct maker *maker, int64_t from, int64_t to, uint32_t what)
{
    const struct explain_source *source = maker->source;
    size_t low = 0, high = source->data_count;
    while (low < high) { /* the first span that begins at `to` or later */
        size_t middle = low + (high - low) / 2;
        if (source->data[middle].begin < to)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- > 0 && source->data[i].end > from;) {
        const struct explain_span *span = &source->data[i];
        if (span->end < to && !add_to_gap(maker, span->end, SHARE_HOST, what))
            return false;
        to = span->begin > from ? span->begin : from;
        if (!add_to_gap(maker, to, SHARE_DATA, what))
            return false;
    }
    return from >= to || add_to_gap(maker, from, SHARE_HOST, what);
}

const struct replay_edge *explain_deciding_edge(const struct replay_graph *graph, uint32_t event,
                                                int64_t *since)
{
    const struct replay *replay = graph->replay;
    const struct replay_edge *best = NULL;
    int64_t best_time = INT64_MIN;
    for (uint32_t i = graph->events[event].edges; i < graph->events[event + 1].edges; i++) {
        const struct replay_edge *edge = &graph->edges[i];
        int64_t time = 0, lag = edge->stall > 0 ? edge->lag : edge->lag + edge->more;
        if (edge->cause != CAUSE_ROOT)
            time = replay_event_time(replay, &graph->events[edge->source]);
        if (edge->from_end)
            time += replay->activities[graph->events[edge->source].item].duration;
        if (time + lag > best_time) {
            best = edge;
            best_time = time + lag;
            *since = time;
        }
    }
    return best;
}

static bool add_cause(struct maker *maker, const struct replay_edge *edge, int64_t from, int64_t to,
                      uint32_t what)
{
    int64_t stall = replay_edge_stall(edge), until = to - stall > from ? to - stall : from;
    if (stall > 0 && until < to && !add_to_gap(maker, until, SHARE_UNKNOWN, what))
        return false;
    if (from >= until)
        return true;
    switch ((enum replay_cause)edge->cause) {
    case CAUSE_LAUNCH:
        return add_to_gap(maker, from, SHARE_LAUNCH, what);
    case CAUSE_HOST:
    case CAUSE_THREAD:
    case CAUSE_SYNC:
        return add_host(maker, from, until, what);
    case CAUSE_STREAM:
    case CAUSE_WAIT:
    case CAUSE_INFERRED:
        return add_to_gap(maker, from, SHARE_STREAM, what);
    default:
        return add_to_gap(maker, from, SHARE_UNKNOWN, what);
    }
}

/* Walks back from the start that ends a gap, until its begin or the end of an activity; tells which in *reached. */
static bool walk_causes(struct maker *maker, int64_t from, int64_t to, uint32_t activity, int64_t *reached)
{
    const struct replay_graph *graph = maker->source->graph;
    uint32_t event = graph->starts[activity];
    maker->gap_count = 0;
    *reached = from;
    while (to > from) {
        int64_t since = from, until = to;
        const struct replay_edge *edge = explain_deciding_edge(graph, event, &since);
        const struct replay_event *at = &graph->events[event];
        if (!edge) { /* the end of a call */
            since = maker->replay->calls[at->item].begin;
            event = graph->begins[at->item];
            to = since > from ? since : from;
            if (!add_host(maker, to, until, activity))
                return false;
            continue;
        }
        if (edge->cause == CAUSE_ROOT)
            return at->part == PART_START ? add_to_gap(maker, from, SHARE_UNKNOWN, activity)
                                          : add_host(maker, from, to, activity);
        to = since > from ? since : from;
        to = to < until ? to : until;
        if (to < until && !add_cause(maker, edge, to, until, activity))
            return false;
        event = edge->source;
        uint32_t source = graph->events[event].item;
        if (edge->from_end && to > from &&
            maker->replay->streams[maker->replay->activities[source].stream].device !=
                maker->source->device) {
            to = start_of(maker, source) > from ? start_of(maker, source) : from;
            if (!add_to_gap(maker, to, SHARE_PEER, source))
                return false;
        } else if (edge->from_end && to > from) {
            *reached = to;
            return true;
        }
    }
    return true;
}

/* Of an activity that was launched late: what it would have awaited on its device, had it been launched in time. That
 * ended at *since, and lets it begin at *until. False: nothing after `from`. */
static bool find_other(const struct maker *maker, uint32_t activity, int64_t from, int64_t *since,
                       int64_t *until)
{
    const struct replay_graph *graph = maker->source->graph;
    uint32_t event = graph->starts[activity];
    const struct replay_edge *decided = explain_deciding_edge(graph, event, since);
    *until = from;
    if (!decided || decided->cause != CAUSE_LAUNCH)
        return false;
    for (uint32_t i = graph->events[event].edges; i < graph->events[event + 1].edges; i++) {
        const struct replay_edge *edge = &graph->edges[i];
        uint32_t source = edge->from_end ? graph->events[edge->source].item : EXPLAIN_NONE;
        if (source == EXPLAIN_NONE || end_of(maker, source) + edge->lag <= *until ||
            maker->replay->streams[maker->replay->activities[source].stream].device != maker->source->device)
            continue;
        *since = end_of(maker, source);
        *until = *since + edge->lag;
    }
    return *until > from;
}

/* The same; a late launch costs only what lies behind other causes. */
static bool walk_gap(struct maker *maker, int64_t from, int64_t to, uint32_t activity, int64_t *reached)
{
    int64_t since, until;
    if (!find_other(maker, activity, from, &since, &until) || until >= to)
        return walk_causes(maker, from, to, activity, reached);
    if (!walk_causes(maker, until, to, activity, reached))
        return false;
    *reached = since > from ? since : from;
    return *reached >= until || add_to_gap(maker, *reached, SHARE_STREAM, activity);
}

/* Moves the pieces of a gap that ends at a time. */
static bool take_gap(struct maker *maker, int64_t to)
{
    for (size_t i = maker->gap_count; i-- > 0;) {
        const struct explain_piece *piece = &maker->gap[i];
        if (!add_piece(maker, piece->begin, i > 0 ? maker->gap[i - 1].begin : to, piece->share, piece->what,
                       EXPLAIN_NONE))
            return false;
    }
    return true;
}

/* `activity` ends the gap; EXPLAIN_NONE: nothing does, and the host launched nothing more, or the file is cut. */
static bool add_gap(struct maker *maker, int64_t from, int64_t to, uint32_t activity)
{
    const struct explain_source *source = maker->source;
    if (from >= to)
        return true;
    if (!source->causes || (activity == EXPLAIN_NONE && maker->replay->cut_at > 0))
        return add_piece(maker, from, to, SHARE_UNKNOWN, activity, EXPLAIN_NONE);
    int64_t reached = from;
    maker->gap_count = 0;
    if (!(activity == EXPLAIN_NONE || maker->replay->host_only
              ? add_host(maker, from, to, activity)
              : walk_gap(maker, from, to, activity, &reached)))
        return false;
    return add_piece(maker, from, reached, SHARE_UNKNOWN, activity, EXPLAIN_NONE) && take_gap(maker, to);
}

/* A compute kernel begins: what ran before without any was in its way only if it waited for that. Else the time is its
 * cause's: a launch that came late while an exchange ran. */
static bool end_pause(struct maker *maker, int64_t now, uint32_t activity)
{
    struct explain_timeline *timeline = maker->timeline;
    int64_t reached, from = maker->paused;
    size_t kept = timeline->count;
    uint32_t exchange = EXPLAIN_NONE;
    bool runs = false;
    while (kept > maker->pause_piece) {
        const struct explain_piece *piece = &timeline->pieces[--kept];
        runs |= piece->exchange != EXPLAIN_NONE || piece->share == SHARE_COPY;
        exchange = piece->exchange != EXPLAIN_NONE ? piece->exchange : exchange;
    }
    if (!runs || !maker->source->causes || maker->replay->host_only)
        return true;
    if (!walk_gap(maker, from, now, activity, &reached))
        return false;
    while (timeline->count > maker->pause_piece && timeline->pieces[timeline->count - 1].begin >= reached)
        timeline->count--;
    kept = timeline->count;
    if (!take_gap(maker, now))
        return false;
    for (; kept < timeline->count; kept++) /* for which others may wait */
        timeline->pieces[kept].exchange = exchange;
    return true;
}

/* ---- the whole ---- */

static bool add_running(struct maker *maker, int64_t from, int64_t to, uint32_t next)
{
    const struct running *running = &maker->running;
    uint32_t compute = running->first[REPLAY_COMPUTE], exchange = running->first[REPLAY_COMMUNICATION];
    if (compute != EXPLAIN_NONE)
        return add_piece(maker, from, to, exchange != EXPLAIN_NONE ? SHARE_COVERED : SHARE_COMPUTE, compute,
                         exchange);
    if (exchange != EXPLAIN_NONE)
        return add_piece(maker, from, to, SHARE_TRANSFER, exchange, exchange);
    if (running->first[REPLAY_MEMORY] != EXPLAIN_NONE)
        return add_piece(maker, from, to, SHARE_COPY, running->first[REPLAY_MEMORY], EXPLAIN_NONE);
    return add_gap(maker, from, to, next);
}

/* Merges starts and ends; at the same time starts come first, so that nothing ends before it begins. */
static bool sweep(struct maker *maker)
{
    size_t started = 0, ended = 0;
    int64_t now = maker->timeline->begin;
    maker->paused = now;
    while (ended < maker->count) {
        bool starts = started < maker->count &&
                      start_of(maker, maker->starts[started]) <= end_of(maker, maker->ends[ended]);
        uint32_t next = starts ? maker->starts[started] : maker->ends[ended];
        int64_t time = starts ? start_of(maker, next) : end_of(maker, next);
        if (stop_obeyed_at(ended, maker->err) || !add_running(maker, now, time, next))
            return false;
        bool computed = maker->running.first[REPLAY_COMPUTE] != EXPLAIN_NONE;
        now = time;
        if (starts) {
            begin(maker, next);
            started++;
        } else {
            end(maker, next);
            ended++;
        }
        bool computes = maker->running.first[REPLAY_COMPUTE] != EXPLAIN_NONE;
        if (computed && !computes) {
            maker->paused = now;
            maker->pause_piece = maker->timeline->count;
        } else if (!computed && computes && !end_pause(maker, now, next)) {
            return false;
        }
    }
    return add_gap(maker, now, maker->timeline->end, EXPLAIN_NONE);
}

static int by_end(const void *a, const void *b, void *context)
{
    const struct maker *maker = context;
    return order_of(end_of(maker, *(const uint32_t *)a), end_of(maker, *(const uint32_t *)b));
}

static bool is_chosen(const struct maker *maker, uint32_t index)
{
    const struct explain_source *source = maker->source;
    const struct replay_activity *activity = &maker->replay->activities[index];
    if (maker->replay->streams[activity->stream].device != source->device)
        return false;
    if (source->launched == source->launched_end)
        return true;
    int64_t launched = activity->call >= 0 ? maker->replay->calls[activity->call].begin : INT64_MIN;
    return launched >= source->launched && launched < source->launched_end;
}

static bool list(struct maker *maker)
{
    const struct replay *replay = maker->replay;
    uint32_t *lists = malloc((4 * replay->count + 1) * sizeof *lists);
    if (!lists)
        return error_memory(maker->err);
    maker->starts = lists;
    maker->ends = lists + replay->count;
    maker->running.next = maker->ends + replay->count;
    maker->running.before = maker->running.next + replay->count;
    for (int i = 0; i < REPLAY_CLASSES; i++)
        maker->running.first[i] = maker->running.last[i] = EXPLAIN_NONE;
    for (uint32_t i = 0; i < replay->count; i++)
        if (is_chosen(maker, i))
            maker->starts[maker->count++] = i;
    memcpy(maker->ends, maker->starts, maker->count * sizeof *lists);
    return sort_items_with(maker->ends, maker->count, sizeof *lists, by_end, maker, maker->err);
}

static bool make(struct maker *maker)
{
    const struct explain_source *source = maker->source;
    struct explain_timeline *timeline = maker->timeline;
    if (!list(maker))
        return false;
    if (maker->count == 0)
        return true;
    timeline->begin = start_of(maker, maker->starts[0]);
    timeline->end = end_of(maker, maker->ends[maker->count - 1]);
    if (source->from != source->to && source->from < timeline->begin)
        timeline->begin = source->from;
    if (source->from != source->to && source->to > timeline->end)
        timeline->end = source->to;
    return sweep(maker);
}

bool explain_timeline_make(struct explain_timeline *timeline, const struct explain_source *source,
                           struct error *err)
{
    *timeline = (struct explain_timeline){0};
    struct maker maker = {
        .timeline = timeline, .source = source, .replay = source->graph->replay, .err = err};
    bool made = make(&maker);
    free(maker.starts); /* and the lists behind them */
    free(maker.gap);
    if (!made)
        explain_timeline_release(timeline);
    return made;
}

void explain_timeline_release(struct explain_timeline *timeline)
{
    free(timeline->pieces);
    free(timeline->sums);
    *timeline = (struct explain_timeline){0};
}

/* ---- skew, and sums ---- */

const struct explain_arrival *explain_arrival_of(const struct explain_arrival *arrivals, size_t count,
                                                 uint32_t activity)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (arrivals[middle].activity < activity)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && arrivals[low].activity == activity ? &arrivals[low] : NULL;
}

/* Exposed communication only waits until the last rank arrived, or the other side. */
static bool part_exchanges(struct explain_timeline *timeline, const struct explain_arrival *arrivals,
                           size_t count, struct error *err)
{
    struct explain_piece *pieces = timeline->pieces;
    size_t before = timeline->count, most = 0;
    for (size_t i = 0; i < count; i++)
        most = arrivals[i].members > most ? arrivals[i].members : most;
    timeline->pieces = NULL;
    timeline->count = timeline->capacity = 0;
    bool done = true;
    for (size_t i = 0; done && i < before; i++) {
        struct explain_piece piece = pieces[i];
        int64_t end = i + 1 < before ? pieces[i + 1].begin : timeline->end;
        bool gap = piece.share == SHARE_UNKNOWN && piece.what != EXPLAIN_NONE;
        const struct explain_arrival *arrival =
            gap || piece.share == SHARE_TRANSFER ? explain_arrival_of(arrivals, count, piece.what) : NULL;
        enum explain_share waits = arrival && arrival->message ? SHARE_PEER : SHARE_SKEW;
        if (gap && arrival && arrival->together) {
            piece.share = waits;
            piece.exchange = piece.what;
        } else if (gap && arrival && arrival->time == INT64_MIN && arrival->message) {
            piece.share = SHARE_PEER; /* a collective alone may await anything */
        }
        arrival = gap ? NULL : arrival;
        if (arrival && arrival->time > piece.begin) { /* not where it is unknown */
            struct explain_piece wait = piece;
            wait.share = waits;
            done = VECTOR_ADD(timeline->pieces, timeline->count, timeline->capacity, wait);
            piece.begin = arrival->time;
        }
        if (arrival && arrival->members < most)
            piece.share = SHARE_INNER;
        if (done && piece.begin < end)
            done = VECTOR_ADD(timeline->pieces, timeline->count, timeline->capacity, piece);
    }
    free(pieces);
    return done || error_memory(err);
}

static bool add_up(struct explain_timeline *timeline, struct error *err)
{
    int64_t sums[EXPLAIN_SHARES] = {0};
    struct explain_piece last = {.begin = timeline->end, .what = EXPLAIN_NONE, .exchange = EXPLAIN_NONE};
    timeline->sums = malloc((timeline->count / EXPLAIN_BLOCK + 1) * sizeof *timeline->sums);
    if (!timeline->sums || !VECTOR_ROOM(timeline->pieces, timeline->capacity, timeline->count + 1))
        return error_memory(err);
    timeline->pieces[timeline->count] = last;
    for (size_t i = 0; i < timeline->count; i++) {
        const struct explain_piece *piece = &timeline->pieces[i];
        if (i % EXPLAIN_BLOCK == 0)
            memcpy(timeline->sums[i / EXPLAIN_BLOCK], sums, sizeof sums);
        sums[piece->share] += piece[1].begin - piece->begin;
    }
    return true;
}

bool explain_timeline_finish(struct explain_timeline *timeline, int64_t shift,
                             const struct explain_arrival *arrivals, size_t count, struct error *err)
{
    for (size_t i = 0; i < timeline->count; i++)
        timeline->pieces[i].begin += shift;
    timeline->begin += shift;
    timeline->end += shift;
    return (count == 0 || part_exchanges(timeline, arrivals, count, err)) && add_up(timeline, err);
}

size_t explain_piece_at(const struct explain_timeline *timeline, int64_t time)
{
    size_t low = 0, high = timeline->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (timeline->pieces[middle].begin <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Adds `sign` times the shares before a time. */
static void add_before(const struct explain_timeline *timeline, int64_t time, int sign,
                       int64_t sums[EXPLAIN_SHARES])
{
    size_t at = explain_piece_at(timeline, time), block = at / EXPLAIN_BLOCK;
    for (int i = 0; i < EXPLAIN_SHARES; i++)
        sums[i] += sign * timeline->sums[block][i];
    for (size_t i = block * EXPLAIN_BLOCK; i < at; i++)
        sums[timeline->pieces[i].share] += sign * (timeline->pieces[i + 1].begin - timeline->pieces[i].begin);
    sums[timeline->pieces[at].share] += sign * (time - timeline->pieces[at].begin);
}

void explain_sums(const struct explain_timeline *timeline, int64_t from, int64_t to,
                  int64_t sums[EXPLAIN_SHARES])
{
    from = from > timeline->begin ? from : timeline->begin;
    to = to < timeline->end ? to : timeline->end;
    if (timeline->count == 0 || from >= to)
        return;
    add_before(timeline, to, 1, sums);
    add_before(timeline, from, -1, sums);
}
