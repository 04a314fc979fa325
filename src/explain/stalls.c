#include "explain/stalls.h"

#include "core/hash.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"
#include "trace/store/store.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SLICES   ((size_t)1 << 23)
#define MAX_MEMBERS  ((size_t)1 << 26) /* lanes times processes */
#define MAX_ANCESTRY 64

const char *const explain_call_words[EXPLAIN_CALLS] = {"reads", "opens", "page faults", "other calls"};

/* An idle time of a lane, UTC ns. */
struct idle {
    int64_t begin, end;
    bool data;
};

/* What a call covers of one. */
struct slice {
    int64_t begin, end;
    uint32_t file;
    unsigned kind : 4;
    int cached : 4;
};

struct edge {
    int64_t time;
    uint32_t slice;
    bool ends;
};

struct lane_stalls {
    struct idle *idle;
    size_t count, capacity;
    struct slice *slices;
    size_t slice_count, slice_capacity;
    bool known; /* a process of the trace is its own */
};

struct finder {
    struct explain_stalls *stalls;
    const struct explain *explain;
    struct trace_reader *reader;
    struct lane_stalls *lanes;
    unsigned char *members; /* [lane][process]: 1 descends from the rank's, 2 is it */
    size_t processes;
    struct error *err;
};

static bool list_idle(struct finder *finder, size_t number)
{
    const struct explain *explain = finder->explain;
    const struct explain_lane *lane = &explain->lanes[number];
    struct lane_stalls *own = &finder->lanes[number];
    int64_t utc = explain->run.origin - explain->run.members[lane->member].offset;
    int64_t from = lane->bounds[0], to = lane->bounds[explain->step_count];
    for (size_t i = 0; i < lane->timeline.count; i++) {
        const struct explain_piece *piece = &lane->timeline.pieces[i];
        int64_t begin = piece->begin > from ? piece->begin : from,
                end = piece[1].begin < to ? piece[1].begin : to;
        bool data = piece->share == SHARE_DATA;
        if (begin >= end || (!data && piece->share != SHARE_HOST))
            continue;
        struct idle idle = {begin + utc, end + utc, data};
        if (!VECTOR_ADD(own->idle, own->count, own->capacity, idle))
            return error_memory(finder->err);
    }
    return true;
}

/* Which processes of the trace belong to which rank. */
static bool find_members(struct finder *finder)
{
    struct hash_map parents = {0};
    size_t lanes = finder->explain->lane_count;
    bool done = true, any = false;
    finder->processes = (size_t)trace_process_count(finder->reader) + 1;
    if (finder->processes * lanes > MAX_MEMBERS)
        return error_set(finder->err, ERROR_INPUT, "the trace has too many processes (%zu) for %zu ranks",
                         finder->processes, lanes);
    finder->members = calloc(finder->processes * lanes + 1, 1);
    if (!finder->members)
        return error_memory(finder->err);
    for (size_t i = 1; done && i < finder->processes; i++) {
        const struct trace_process_info *info = trace_process_info(finder->reader, (int64_t)i);
        if (info->pid > 0 && info->parent_pid > 0)
            done = hash_map_set(&parents, (uint64_t)info->pid, info->parent_pid);
    }
    for (size_t lane = 0; done && lane < lanes; lane++)
        for (size_t i = 1; i < finder->processes; i++) {
            int64_t own = finder->explain->ranks[lane].pid;
            int64_t pid = trace_process_info(finder->reader, (int64_t)i)->pid, at = pid;
            for (int steps = 0; own > 0 && at > 0 && at != own && steps < MAX_ANCESTRY; steps++) {
                const int64_t *parent = hash_map_find(&parents, (uint64_t)at);
                at = parent ? *parent : 0;
            }
            bool belongs = own > 0 && at == own;
            finder->members[lane * finder->processes + i] =
                (unsigned char)(belongs + (belongs && pid == own));
            finder->lanes[lane].known |= belongs;
            any |= belongs;
        }
    if (!done) {
        hash_map_release(&parents);
        return error_memory(finder->err);
    }
    finder->stalls->unknown = !any || parents.count == 0;
    if (finder->stalls->unknown)
        memset(finder->members, 1, finder->processes * lanes);
    for (size_t lane = 0; finder->stalls->unknown && lane < lanes; lane++)
        finder->lanes[lane].known = true;
    hash_map_release(&parents);
    return true;
}

static bool add_event(struct finder *finder, size_t number, const struct trace_event *event)
{
    struct lane_stalls *lane = &finder->lanes[number];
    unsigned belongs = finder->members[number * finder->processes + (size_t)event->process];
    int64_t end = event->start_ns + event->latency_ns;
    size_t low = 0, high = lane->count;
    while (low < high) { /* the first one that ends after the call begins */
        size_t middle = low + (high - low) / 2;
        if (lane->idle[middle].end <= event->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; belongs > 0 && low < lane->count && lane->idle[low].begin < end; low++) {
        const struct idle *idle = &lane->idle[low];
        struct slice slice = {.begin = event->start_ns > idle->begin ? event->start_ns : idle->begin,
                              .end = end < idle->end ? end : idle->end,
                              .file = (uint32_t)event->file,
                              .kind = event->class == TRACE_READ    ? CALLS_READ
                                      : event->class == TRACE_OPEN  ? CALLS_OPEN
                                      : event->class == TRACE_FAULT ? CALLS_FAULT
                                                                    : CALLS_OTHER,
                              .cached = event->cached};
        if (!idle->data && belongs < 2)
            continue;
        if (lane->slice_count == MAX_SLICES)
            return error_set(finder->err, ERROR_INPUT,
                             "more than %zu calls in the idle times of a rank: trace fewer steps",
                             MAX_SLICES);
        if (!VECTOR_ADD(lane->slices, lane->slice_count, lane->slice_capacity, slice))
            return error_memory(finder->err);
    }
    return true;
}

static bool read_events(struct finder *finder)
{
    struct trace_event event;
    struct trace_cursor *cursor = trace_events(finder->reader, &TRACE_ALL, finder->err);
    bool done = cursor != NULL;
    size_t rows = 0;
    while (done && trace_next_event(cursor, &event)) {
        if (event.class >= TRACE_OFFCPU || event.latency_ns <= 0 || event.file <= 0)
            continue;
        done = !stop_obeyed_at(rows++, finder->err);
        for (size_t lane = 0; done && lane < finder->explain->lane_count; lane++)
            done = add_event(finder, lane, &event);
    }
    struct error late;
    return cursor ? trace_cursor_close(cursor, done ? finder->err : &late) && done : false;
}

static int by_time(const void *a, const void *b)
{
    const struct edge *first = a, *second = b;
    int order = order_of(first->time, second->time);
    return order ? order : second->ends - first->ends;
}

/* Divides the time of one lane among its calls: of each, the integral of one over the number of calls that run. `each`:
 * seconds of a step and rank of a nanosecond. */
static bool divide(struct finder *finder, const struct lane_stalls *lane, double each)
{
    struct explain_stalls *stalls = finder->stalls;
    struct edge *edges = calloc(2 * lane->slice_count + 1, sizeof *edges);
    double *since = calloc(lane->slice_count + 1, sizeof *since), now = 0;
    size_t running = 0;
    bool done = (edges && since) || error_memory(finder->err);
    for (uint32_t i = 0; done && i < lane->slice_count; i++) {
        edges[2 * (size_t)i] = (struct edge){lane->slices[i].begin, i, false};
        edges[2 * (size_t)i + 1] = (struct edge){lane->slices[i].end, i, true};
    }
    done = done && sort_items(edges, 2 * lane->slice_count, sizeof *edges, by_time, finder->err);
    for (size_t i = 0; done && i < 2 * lane->slice_count; i++) {
        const struct slice *slice = &lane->slices[edges[i].slice];
        if (running > 0)
            now += (double)(edges[i].time - edges[i - 1].time) / (double)running;
        if (!edges[i].ends) {
            since[edges[i].slice] = now;
            running++;
            continue;
        }
        double part = (now - since[edges[i].slice]) * each;
        struct explain_file *file = &stalls->files[slice->file];
        running--;
        file->time += part;
        file->calls++;
        stalls->calls[slice->kind] += part;
        stalls->all += part;
        if (slice->cached >= 0) {
            *(slice->cached ? &file->warm : &file->cold) += part;
            *(slice->cached ? &stalls->warm : &stalls->cold) += part;
        }
    }
    free(edges);
    free(since);
    return done;
}

static int by_length(const void *a, const void *b)
{
    const struct explain_file *first = a, *second = b;
    if (first->time != second->time)
        return first->time < second->time ? 1 : -1;
    return strcmp(first->path, second->path);
}

static bool add_up(struct finder *finder)
{
    struct explain_stalls *stalls = finder->stalls;
    size_t files = (size_t)trace_file_count(finder->reader) + 1, kept = 0;
    stalls->files = ARENA_ARRAY(&stalls->arena, files, struct explain_file);
    if (!stalls->files)
        return error_memory(finder->err);
    for (size_t i = 0; i < files; i++)
        stalls->files[i].path = trace_file_info(finder->reader, (int64_t)i)->path;
    for (size_t lane = 0; lane < finder->explain->lane_count; lane++)
        stalls->lanes += finder->lanes[lane].known;
    double each = 1e-9 / (double)(finder->explain->step_count * (stalls->lanes > 0 ? stalls->lanes : 1));
    for (size_t lane = 0; lane < finder->explain->lane_count; lane++) {
        const struct lane_stalls *own = &finder->lanes[lane];
        for (size_t i = 0; own->known && i < own->count; i++)
            *(own->idle[i].data ? &stalls->data : &stalls->host) +=
                (double)(own->idle[i].end - own->idle[i].begin) * each;
        if (!divide(finder, own, each))
            return false;
    }
    for (size_t i = 0; i < files; i++) {
        if (stalls->files[i].time <= 0)
            continue;
        stalls->files[kept] = stalls->files[i];
        stalls->files[kept].path = arena_string(&stalls->arena, stalls->files[kept].path);
        if (!stalls->files[kept++].path)
            return error_memory(finder->err);
    }
    stalls->file_count = kept;
    qsort(stalls->files, kept, sizeof *stalls->files, by_length);
    return true;
}

/* Do the profile and the trace have a time in common? */
static bool check_clocks(struct finder *finder, const char *path)
{
    const struct explain *explain = finder->explain;
    int64_t first, last, begin = explain->lanes[0].bounds[0] + explain->run.origin;
    int64_t end = explain->lanes[0].bounds[explain->step_count] + explain->run.origin;
    if (!trace_span(finder->reader, &first, &last, finder->err))
        return false;
    if (first != TRACE_NONE && first < end && last > begin)
        return true;
    return error_set(
        finder->err, ERROR_INPUT,
        first == TRACE_NONE
            ? "%s: holds no call"
            : "%s: no call at the time of the profile, which begins %+.1f s from the trace's begin: record "
              "both of one run on one host ('rehearse trace' beside torch.profiler)",
        path, (double)(begin - first) / 1e9);
}

bool explain_stalls_find(struct explain_stalls *stalls, const struct explain *explain, const char *path,
                         struct error *err)
{
    *stalls = (struct explain_stalls){.data = 0};
    struct finder finder = {.stalls = stalls, .explain = explain, .err = err};
    finder.reader = trace_reader_of(path, &TRACE_SELECT_FILES, err);
    if (!finder.reader)
        return false;
    finder.lanes = calloc(explain->lane_count + 1, sizeof *finder.lanes);
    bool done = (finder.lanes || error_memory(err)) && check_clocks(&finder, path) && find_members(&finder);
    for (size_t i = 0; done && i < explain->lane_count; i++)
        done = list_idle(&finder, i);
    done = done && read_events(&finder) && add_up(&finder);
    if (done) {
        struct trace_shortfall missing = trace_shortfall_of(finder.reader);
        stalls->lossy = missing.lost > 0 || missing.cut_ns != TRACE_NONE;
    }
    for (size_t i = 0; finder.lanes && i < explain->lane_count; i++) {
        free(finder.lanes[i].idle);
        free(finder.lanes[i].slices);
    }
    free(finder.lanes);
    free(finder.members);
    trace_reader_free(finder.reader);
    if (!done)
        arena_release(&stalls->arena);
    return done;
}
