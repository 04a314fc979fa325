/* Ranks are read one after the other; of each remain its timelines, the times of its steps, and sums by name. */
#include "explain/explain.h"

#include "core/stop.h"
#include "core/vector.h"
#include "sim/replay/waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 4096
#define MAX_CELLS ((size_t)1 << 26) /* names times steps */

/* ---- one rank ---- */

struct reading {
    struct explain_loading *loading;
    struct replay replay;
    struct replay_graph graph;
    struct ranks_step *steps;
    size_t step_count;
    struct explain_span *data;
    size_t data_count, data_capacity;
    int32_t *step_of; /* of its steps: index in the job's; -1: none */
    struct error *err;
};

/* The step in which a time of the host lies; -1: none. */
static int32_t step_at(const struct reading *reading, int64_t time)
{
    size_t low = 0, high = reading->step_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reading->steps[middle].begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && (low < reading->step_count || time < reading->steps[low - 1].end) ? (int32_t)low - 1
                                                                                        : -1;
}

/* Spans in which the program awaits its data loader, as PyTorch names them, merged. */
static bool list_data(struct reading *reading)
{
    const struct replay *replay = &reading->replay;
    for (size_t i = 0; i < replay->mark_count; i++) {
        const struct replay_mark *mark = &replay->marks[i];
        const char *name = replay->texts[mark->name];
        int64_t end = mark->begin + mark->duration;
        if (mark->thread < 0 || (!strstr(name, "DataLoader") && !strstr(name, "dataloader")))
            continue;
        if (reading->data_count > 0 && mark->begin <= reading->data[reading->data_count - 1].end) {
            struct explain_span *last = &reading->data[reading->data_count - 1];
            last->end = end > last->end ? end : last->end;
            continue;
        }
        struct explain_span span = {mark->begin, end};
        if (!VECTOR_ADD(reading->data, reading->data_count, reading->data_capacity, span))
            return error_memory(reading->err);
    }
    return true;
}

/* Steps without marks bear the numbers of the first rank's steps that began when they did, as its clock tells. */
static bool find_steps(struct reading *reading, uint32_t member)
{
    struct explain_loading *loading = reading->loading;
    struct explain *explain = loading->explain;
    const struct replay *replay = &reading->replay;
    struct ranks_period found;
    if (!ranks_steps(replay, &reading->steps, &reading->step_count, reading->err))
        return false;
    if (reading->step_count == 0) {
        if (!ranks_period(replay, &reading->steps, &reading->step_count, &found, reading->err))
            return false;
        if (reading->step_count > 0 && (explain->period.length == 0 || found.fit < explain->period.fit))
            explain->period = found;
        int64_t ahead =
            reading->step_count > 0 && loading->length > 0
                ? ranks_time(&explain->run, member, replay, reading->steps[0].begin) - loading->begin
                : 0;
        int64_t shift = loading->length > 0 ? llround((double)ahead / (double)loading->length) : 0;
        shift = llabs(shift) < (int64_t)loading->step_count ? shift
                                                            : 0; /* else the clocks have nothing in common */
        for (size_t i = 0; i < reading->step_count; i++)
            reading->steps[i].number += shift + (loading->step_count > 0 ? loading->numbers[0] : 0);
    }
    if (loading->lanes_seen == 0 && reading->step_count > 0) {
        const struct ranks_step *first = &reading->steps[0], *last = &first[reading->step_count - 1];
        loading->begin = ranks_time(&explain->run, member, replay, first->begin);
        loading->length = (last->end - first->begin) / (int64_t)reading->step_count;
    }
    return true;
}

/* The first rank with steps tells which the job has. */
static bool match_steps(struct reading *reading)
{
    struct explain_loading *loading = reading->loading;
    size_t count = reading->step_count;
    if (count > MAX_STEPS)
        return error_set(reading->err, ERROR_INPUT,
                         "%s: %zu steps, at most %d are explained at once: cut the trace",
                         reading->replay.path, count, MAX_STEPS);
    reading->step_of = malloc((count + 1) * sizeof *reading->step_of);
    if (!reading->step_of)
        return error_memory(reading->err);
    if (loading->lanes_seen == 0 && count > 0) {
        loading->numbers = calloc(count, sizeof *loading->numbers);
        loading->seen = calloc(count, sizeof *loading->seen);
        if (!loading->numbers || !loading->seen)
            return error_memory(reading->err);
        loading->step_count = count;
        for (size_t i = 0; i < count; i++)
            loading->numbers[i] = reading->steps[i].number;
    }
    for (size_t i = 0, at = 0; i < count; i++) {
        while (at < loading->step_count && loading->numbers[at] < reading->steps[i].number)
            at++;
        bool known = at < loading->step_count && loading->numbers[at] == reading->steps[i].number;
        reading->step_of[i] = known ? (int32_t)at : -1;
        if (known)
            loading->seen[at]++;
    }
    return true;
}

static bool add_name(struct reading *reading, uint32_t text, unsigned class, uint32_t *id)
{
    struct explain *explain = reading->loading->explain;
    const char *name = reading->replay.texts[text];
    bool added;
    *id = hash_names_id(&reading->loading->names, name, strlen(name), &added);
    if (*id == 0)
        return error_memory(reading->err);
    if (!added)
        return true;
    size_t stride = reading->loading->step_count;
    const struct kernel_rule *rule = reading->replay.rules ? reading->replay.rules[text] : NULL;
    struct explain_name made = {.kind = rule ? rule->class : CLASS_UNKNOWN,
                                .name = arena_string(&explain->arena, name),
                                .class = class,
                                .row = explain->name_count};
    if ((explain->name_count + 1) * stride > MAX_CELLS)
        return error_set(reading->err, ERROR_INPUT, "%s: too many names of kernels (%zu) in %zu steps",
                         reading->replay.path, explain->name_count, stride);
    if (!made.name || !VECTOR_ADD(explain->names, explain->name_count, explain->name_capacity, made) ||
        !VECTOR_ROOM_ZEROED(explain->name_times, reading->loading->cell_capacity,
                            explain->name_count * stride + 1))
        return error_memory(reading->err);
    return true;
}

static void add_unnamed(struct explain_unnamed *unnamed, const struct replay *replay,
                        const struct replay_activity *activity)
{
    unnamed->whole += activity->duration;
    if (replay->typed || !replay->rules || replay->rules[activity->name]->class != CLASS_UNKNOWN)
        return;
    unnamed->total += activity->duration;
    if (activity->call < 0)
        unnamed->unlaunched += activity->duration;
    else if (replay->calls[activity->call].graph)
        unnamed->graphs += activity->duration;
}

/* Adds up activities by name and step. */
static bool add_names(struct reading *reading)
{
    struct explain *explain = reading->loading->explain;
    const struct replay *replay = &reading->replay;
    size_t stride = reading->loading->step_count;
    uint32_t *ids = calloc(replay->text_count + 1, sizeof *ids);
    bool done = ids || error_memory(reading->err);
    for (size_t i = 0; done && i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        uint32_t *id = &ids[activity->name];
        done = *id > 0 || add_name(reading, activity->name, activity->class, id);
        if (!done)
            break;
        int32_t own = step_at(reading, replay_launched(replay, (uint32_t)i)),
                step = own >= 0 ? reading->step_of[own] : -1;
        explain->names[*id - 1].total += activity->duration;
        explain->names[*id - 1].count++;
        if (step >= 0)
            explain->name_times[(*id - 1) * stride + (size_t)step] += activity->duration;
        explain->outside += reading->step_count > 0 && own < 0;
        add_unnamed(&explain->unnamed, replay, activity);
    }
    free(ids);
    return done;
}

/* ---- one device ---- */

/* When the device has done what was launched before each of the job's steps. */
static bool find_bounds(struct reading *reading, struct explain_lane *lane)
{
    const struct replay *replay = &reading->replay;
    struct arena *arena = &reading->loading->explain->arena;
    size_t count = reading->step_count;
    lane->host_steps = count;
    lane->bounds = ARENA_ARRAY(arena, count + 2, int64_t);
    lane->step_of = ARENA_ARRAY(arena, count + 1, int32_t);
    lane->lasts = ARENA_ARRAY(arena, count + 1, uint32_t);
    if (!lane->bounds || !lane->step_of || !lane->lasts)
        return error_memory(reading->err);
    for (size_t i = 0; i < count; i++) {
        lane->bounds[i] = reading->steps[i].begin;
        lane->step_of[i] = reading->step_of[i];
        lane->lasts[i] = EXPLAIN_NONE;
    }
    if (count == 0)
        return true;
    lane->bounds[count] = reading->steps[count - 1].end;
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        int64_t launched = replay_launched(replay, (uint32_t)i), end = replay_end(replay, i);
        if (replay->streams[activity->stream].device != lane->device)
            continue;
        int32_t step = step_at(reading, launched);
        size_t next = step >= 0 ? (size_t)step + 1 : launched < reading->steps[0].begin ? 0 : count + 1;
        if (next <= count && end > lane->bounds[next])
            lane->bounds[next] = end;
        if (step >= 0 && (lane->lasts[step] == EXPLAIN_NONE || end > replay_end(replay, lane->lasts[step])))
            lane->lasts[step] = (uint32_t)i;
    }
    for (size_t i = 1; i <= count; i++)
        if (lane->bounds[i] < lane->bounds[i - 1])
            lane->bounds[i] = lane->bounds[i - 1];
    return true;
}

static bool measure_window(struct reading *reading, int64_t device, int64_t from, int64_t to,
                           struct explain_window *window)
{
    struct explain_timeline timeline;
    const struct explain_source source = {
        .graph = &reading->graph, .device = device, .launched = from, .launched_end = to};
    int64_t sums[EXPLAIN_SHARES] = {0};
    if (!explain_timeline_make(&timeline, &source, reading->err))
        return false;
    bool done = explain_timeline_finish(&timeline, 0, NULL, 0, reading->err);
    if (done && timeline.count > 0) {
        explain_sums(&timeline, timeline.begin, timeline.end, sums);
        *window = (struct explain_window){
            timeline.end - timeline.begin, sums[SHARE_COMPUTE] + sums[SHARE_COVERED],
            sums[SHARE_COVERED] + sums[SHARE_TRANSFER], sums[SHARE_COVERED], sums[SHARE_UNKNOWN]};
    }
    explain_timeline_release(&timeline);
    return done;
}

/* Stretches in which the device waits for one launch after another. */
static void find_bound(const struct explain_timeline *timeline, struct explain_bound *bound)
{
    size_t activities = 0;
    int64_t idle = 0, begin = 0;
    for (size_t i = 0; i <= timeline->count; i++) {
        const struct explain_piece *piece = &timeline->pieces[i];
        bool ends = i == timeline->count, waits = !ends && piece->share == SHARE_LAUNCH;
        if (!ends && (piece->share == SHARE_HOST || waits)) {
            if (activities == 0 && idle == 0)
                begin = piece->begin;
            idle += (i + 1 < timeline->count ? piece[1].begin : timeline->end) - piece->begin;
            activities += waits;
            continue;
        }
        bool before = i > 0 && (timeline->pieces[i - 1].share == SHARE_LAUNCH);
        if (!ends && before)
            continue; /* what was launched runs */
        if (activities >= EXPLAIN_BOUND_MIN) {
            int64_t now = ends ? timeline->end : piece->begin;
            bound->idle += idle;
            bound->activities += activities;
            bound->stretches++;
            bound->longest = now - begin > bound->longest ? now - begin : bound->longest;
        }
        activities = 0;
        idle = 0;
    }
}

static bool list_exchanges(struct reading *reading, struct explain_lane *lane)
{
    const struct replay *replay = &reading->replay;
    size_t capacity = 0;
    for (size_t i = 0; i < replay->count; i++)
        if (replay->activities[i].class == REPLAY_COMMUNICATION &&
            replay->streams[replay->activities[i].stream].device == lane->device &&
            !VECTOR_ADD(lane->exchanges, lane->exchange_count, capacity, (uint32_t)i))
            return error_memory(reading->err);
    return true;
}

static bool add_lane(struct reading *reading, uint32_t member, int64_t device)
{
    struct explain *explain = reading->loading->explain;
    const struct ranks_step *steps = reading->steps;
    struct explain_lane lane = {.member = member, .device = device};
    size_t last = reading->step_count > 0 ? reading->step_count - 1 : 0;
    struct explain_source source = {.graph = &reading->graph,
                                    .device = device,
                                    .data = reading->data,
                                    .data_count = reading->data_count,
                                    .causes = true};
    if (!VECTOR_ADD(explain->lanes, explain->lane_count, explain->lane_capacity, lane) ||
        !VECTOR_ROOM_ZEROED(explain->ranks, explain->rank_capacity, explain->lane_count))
        return error_memory(reading->err);
    struct explain_lane *at = &explain->lanes[explain->lane_count - 1];
    struct explain_rank *rank = &explain->ranks[explain->lane_count - 1];
    const struct replay *replay = &reading->replay;
    uint32_t process = replay->host_count > 0 ? replay->hosts[0].process : replay->streams[0].process;
    (void)text_whole(replay->texts[process], "", &rank->pid); /* else 0 */
    if (reading->step_count > 0) {
        source.from = steps[0].begin;
        source.to = steps[last].end;
    }
    int64_t from = last > 0 ? steps[0].begin : 0, to = last > 0 ? steps[last].begin : 0;
    if (!find_bounds(reading, at) || !list_exchanges(reading, at) ||
        !measure_window(reading, device, 0, 0, &rank->whole) ||
        !measure_window(reading, device, from, to, &rank->hta) ||
        !explain_timeline_make(&at->timeline, &source, reading->err))
        return false;
    if (at->timeline.count == 0) { /* events were recorded on it, but no activity */
        free(at->exchanges);
        explain_timeline_release(&at->timeline);
        explain->ranks[--explain->lane_count] = (struct explain_rank){0};
        return true;
    }
    find_bound(&at->timeline, &rank->bound);
    at->shift = ranks_time(&explain->run, member, &reading->replay, 0);
    return true;
}

static bool add_lanes(struct reading *reading, uint32_t member)
{
    const struct replay *replay = &reading->replay;
    struct explain *explain = reading->loading->explain;
    size_t first = explain->lane_count;
    for (size_t i = 0; i < replay->stream_count; i++) {
        bool seen = false;
        for (size_t before = 0; before < i; before++)
            seen |= replay->streams[before].device == replay->streams[i].device;
        if (!seen && !add_lane(reading, member, replay->streams[i].device))
            return false;
    }
    return explain_chains_note(explain, first, &reading->graph, reading->err);
}

static bool read_member(struct reading *reading, uint32_t member)
{
    struct explain *explain = reading->loading->explain;
    struct error *err = reading->err;
    if (!ranks_collect(&explain->run, member, &reading->replay, err) || !find_steps(reading, member) ||
        !match_steps(reading) || !list_data(reading) ||
        !replay_graph_make(&reading->graph, &reading->replay, err))
        return false;
    explain->activities += reading->replay.count;
    explain->events += reading->replay.events;
    reading->loading->stepless |= reading->step_count == 0;
    reading->loading->lanes_seen++;
    return add_lanes(reading, member) && explain_products_add(explain, &reading->replay, err) &&
           add_names(reading);
}

bool explain_load_member(struct explain_loading *loading, size_t member, struct error *err)
{
    struct reading reading = {.loading = loading, .err = err};
    if (!ranks_load(&loading->explain->run, member, &reading.replay, err))
        return false;
    bool done = (!loading->kernels || replay_classify(&reading.replay, loading->kernels, err)) &&
                read_member(&reading, (uint32_t)member);
    replay_graph_release(&reading.graph);
    replay_release(&reading.replay);
    free(reading.steps);
    free(reading.step_of);
    free(reading.data);
    return done;
}
