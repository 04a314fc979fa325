#include "sim/replay/play.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/text.h"
#include "sim/replay/classes.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which share of a device's time is compute, communication, both, or neither: the union of the intervals of each class,
 * as HolisticTraceAnalysis counts. */

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

/* Adds up the times of all classes on each device; private to play.c. */
static bool replay_shares_find(const struct replay *replay, struct replay_result *result, struct error *err)
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

bool replay_scale_parse(struct replay_scale *scale, char *text, struct error *err)
{
    char *equals = strrchr(text, '='), *end;
    if (!equals || equals == text)
        return error_set(err, ERROR_USAGE, "--what-if '%s': expected PATTERN=FACTOR, such as nccl*=0.5",
                         text);
    scale->factor = text_number(equals + 1, &end);
    if (end == equals + 1 || *end || !(scale->factor >= 0 && scale->factor <= REPLAY_MAX_FACTOR))
        return error_set(err, ERROR_USAGE, "--what-if '%s': the factor has to be a number from 0 to %g", text,
                         REPLAY_MAX_FACTOR);
    *equals = '\0';
    scale->pattern = text;
    return true;
}

static bool is_of_host(const struct replay_scale *scale)
{
    return strcmp(scale->pattern, "host") == 0;
}

bool replay_matches(const struct replay *replay, const struct replay_scale *scale)
{
    if (is_of_host(scale))
        return replay->call_count > 0;
    for (size_t i = 0; i < replay->count; i++)
        if ((i == 0 || replay->activities[i].name != replay->activities[i - 1].name) &&
            fnmatch(scale->pattern, replay->texts[replay->activities[i].name], 0) == 0)
            return true;
    return false;
}

/* --- times ---------------------------------------------------------------------------------------------- */

double replay_factor(const struct replay_options *options, const char *name)
{
    double factor = 1;
    for (int i = 0; i < options->scale_count; i++)
        if (!is_of_host(&options->scales[i]) && fnmatch(options->scales[i].pattern, name, 0) == 0)
            factor *= options->scales[i].factor;
    return factor;
}

/* The factor of each name. */
static double *find_factors(const struct replay *replay, const struct replay_options *options)
{
    double *factors = malloc((replay->text_count + 1) * sizeof *factors);
    for (size_t i = 0; factors && i < replay->text_count; i++)
        factors[i] = replay_factor(options, replay->texts[i]);
    return factors;
}

static bool scale(const struct replay *replay, const struct replay_options *options,
                  struct replay_result *result, struct error *err)
{
    double *factors = find_factors(replay, options);
    if (!factors)
        return error_memory(err);
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        double factor = factors[activity->name];
        result->scaled += factor != 1;
        /* a year times a million is far below 2^63 ns times 2^11: beyond, all results are the same "too long" */
        double duration = (double)activity->duration * factor;
        result->durations[i] = factor == 1 ? activity->duration : llround(fmin(duration, 1e17));
    }
    free(factors);
    return true;
}

struct replay_lags replay_lags_of(const struct replay_options *options)
{
    struct replay_lags lags = {options->typical, 1};
    for (int i = 0; i < options->scale_count; i++)
        if (is_of_host(&options->scales[i]))
            lags.host *= options->scales[i].factor;
    return lags;
}

int64_t replay_lag_of(const struct replay_edge *edge, const struct replay_lags *lags)
{
    int64_t lag = lags->typical || edge->stall > 0 ? edge->lag : edge->lag + edge->more;
    return edge->cause == CAUSE_HOST && lags->host != 1 ? llround(fmin((double)lag * lags->host, 1e17)) : lag;
}

static int64_t time_by(const struct replay_graph *graph, const struct replay_result *result,
                       const int64_t *times, const struct replay_edge *edge, const struct replay_lags *lags)
{
    int64_t time = replay_lag_of(edge, lags);
    if (edge->cause == CAUSE_ROOT)
        return time;
    time += times[edge->source];
    return edge->from_end ? time + result->durations[graph->events[edge->source].item] : time;
}

struct replay_edge replay_own_time(const struct replay_graph *graph, size_t event)
{
    uint32_t call = graph->events[event].item;
    return (struct replay_edge){
        .lag = graph->replay->calls[call].duration, .source = graph->begins[call], .cause = CAUSE_HOST};
}

/* Sets the time of each event and which of its edges decided it. */
static bool pass(const struct replay_graph *graph, const struct replay_lags *lags,
                 struct replay_result *result, int64_t *times, uint8_t *deciding, struct error *err)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (stop_obeyed_at(i, err))
            return false;
        uint32_t first = graph->events[i].edges, end = graph->events[i + 1].edges;
        if (first == end) {
            struct replay_edge edge = replay_own_time(graph, i);
            times[i] = time_by(graph, result, times, &edge, lags);
            continue;
        }
        times[i] = INT64_MIN;
        for (uint32_t edge = first; edge < end; edge++) {
            int64_t time = time_by(graph, result, times, &graph->edges[edge], lags);
            if (time > times[i]) {
                times[i] = time;
                deciding[i] = (uint8_t)(edge - first); /* of at most MAX_CAUSES */
            }
        }
    }
    return true;
}

/* --- sums ----------------------------------------------------------------------------------------------- */

/* Walks from the activity that ends last back along the causes that decided. */
static void walk(const struct replay_graph *graph, struct replay_result *result, const uint8_t *deciding,
                 struct replay_named *by_name, const struct replay_lags *lags)
{
    const struct replay *replay = graph->replay;
    size_t last = 0;
    for (size_t i = 1; i < replay->count; i++)
        if (result->starts[i] + result->durations[i] > result->starts[last] + result->durations[last])
            last = i;
    uint32_t event = graph->starts[last];
    by_name[replay->activities[last].name].critical += result->durations[last];
    for (;;) {
        uint32_t first = graph->events[event].edges;
        bool none = first == graph->events[event + 1].edges;
        struct replay_edge edge =
            none ? replay_own_time(graph, event) : graph->edges[first + deciding[event]];
        int64_t stall = replay_edge_stall(&edge);
        if (edge.cause == CAUSE_ROOT)
            break;
        result->critical[edge.cause] += replay_lag_of(&edge, lags) - stall;
        if (edge.stall > 0)
            result->critical[CAUSE_STALL + edge.stall - 1] += stall;
        event = edge.source;
        uint32_t item = graph->events[event].item;
        if (edge.from_end)
            by_name[replay->activities[item].name].critical += result->durations[item];
    }
}

static int by_total(const void *a, const void *b)
{
    const struct replay_named *first = a, *second = b;
    if (first->total != second->total)
        return first->total > second->total ? -1 : 1;
    return (first->number > second->number) - (first->number < second->number);
}

static void add_up(const struct replay *replay, struct replay_result *result)
{
    for (size_t i = 0; i < replay->count; i++) {
        struct replay_named *named = &result->names[replay->activities[i].name];
        named->count++;
        named->total += result->durations[i];
        named->class = replay_class_names[replay->activities[i].class];
        named->kind = kernel_class_names[replay->rules[replay->activities[i].name]->class];
    }
    size_t kept = 0;
    for (size_t i = 0; i < replay->text_count; i++)
        if (result->names[i].count > 0) {
            result->names[kept] = result->names[i];
            result->names[kept].name = replay->texts[i];
            result->names[kept++].number = (uint32_t)i;
        }
    result->name_count = kept;
    qsort(result->names, kept, sizeof *result->names, by_total);
}

/* Where nothing overtakes, starts on a stream keep their order. */
static void find_busy(const struct replay *replay, struct replay_result *result, int64_t *until)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < result->stream_count; i++) {
        result->busy[i].device = replay->streams[i].device;
        result->busy[i].stream = replay->streams[i].number;
        until[i] = INT64_MIN;
    }
    for (size_t i = 0; i < replay->count; i++) {
        int32_t stream = replay->activities[i].stream;
        int64_t from = result->starts[i], to = from + result->durations[i];
        begin = from < begin ? from : begin;
        end = to > end ? to : end;
        result->busy[stream].count++;
        from = from > until[stream] ? from : until[stream];
        if (to > from) {
            result->busy[stream].busy += to - from;
            until[stream] = to;
        }
    }
    result->span = end - begin;
}

void replay_result_release(struct replay_result *result)
{
    free(result->starts);
    free(result->shares);
    free(result->busy);
    free(result->names);
    *result = (struct replay_result){0};
}

void replay_result_forget_times(struct replay_result *result)
{
    free(result->starts);
    result->starts = result->durations = NULL;
}

bool replay_result_begin(const struct replay *replay, const struct replay_options *options,
                         struct replay_result *result, struct error *err)
{
    result->starts = malloc(2 * replay->count * sizeof *result->starts);
    result->busy = calloc(replay->stream_count, sizeof *result->busy);
    result->names = calloc(replay->text_count, sizeof *result->names);
    if (!result->starts || !result->busy || !result->names)
        return error_memory(err);
    result->durations = result->starts + replay->count;
    result->stream_count = replay->stream_count;
    return scale(replay, options, result, err);
}

bool replay_result_sum(const struct replay *replay, struct replay_result *result, struct error *err)
{
    int64_t *until = malloc((replay->stream_count + 1) * sizeof *until);
    if (!until)
        return error_memory(err);
    add_up(replay, result);
    find_busy(replay, result, until);
    free(until);
    return replay_shares_find(replay, result, err);
}

static bool play(const struct replay_graph *graph, const struct replay_options *options,
                 struct replay_result *result, struct error *err)
{
    const struct replay *replay = graph->replay;
    if (!replay_result_begin(replay, options, result, err))
        return false;
    int64_t *times = malloc(graph->count * sizeof *times);
    uint8_t *deciding = malloc(graph->count * sizeof *deciding);
    const struct replay_lags lags = replay_lags_of(options);
    bool done = times && deciding ? pass(graph, &lags, result, times, deciding, err) : error_memory(err);
    if (done) {
        for (size_t i = 0; i < replay->count; i++)
            result->starts[i] = times[graph->starts[i]];
        walk(graph, result, deciding, result->names, &lags);
    }
    free(times);
    free(deciding);
    return done && replay_result_sum(replay, result, err);
}

bool replay_play(const struct replay_graph *graph, const struct replay_options *options,
                 struct replay_result *result, struct error *err)
{
    *result = (struct replay_result){0};
    bool played = play(graph, options, result, err);
    if (!played)
        replay_result_release(result);
    return played;
}

bool replay_give(const struct replay *replay, const struct replay_result *result,
                 const struct timeline_sink *sink, struct error *err)
{
    for (size_t i = 0; sink->task && i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        const struct replay_stream *stream = &replay->streams[activity->stream];
        int64_t start = result ? result->starts[i] : activity->start;
        int64_t duration = result ? result->durations[i] : activity->duration;
        struct timeline_task task = {
            .id = (int64_t)i,
            .cause = -1,
            .device = (int)stream->device,
            .stream = (int)stream->number,
            .kind = activity->class == REPLAY_COMMUNICATION ? TASK_COLLECTIVE
                    : activity->class == REPLAY_MEMORY      ? TASK_LOAD
                                                            : TASK_OTHER,
            .stage = -1,
            .layer = -1,
            .microbatch = -1,
            .begin = (double)start / 1e9,
            .end = (double)(start + duration) / 1e9,
            .name = replay->texts[activity->name],
        };
        if (!sink->task(sink->context, &task, err))
            return false;
    }
    return true;
}
