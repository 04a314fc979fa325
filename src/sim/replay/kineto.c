/* Kineto's traces: {"traceEvents": [{"ph": "X", "cat": "kernel", "name": …, "ts": …, "dur": …, "args": {…}}, …], …}, or
 * the list alone. An event counts by its category, with the names of all versions:
 *   kernel, gpu_memcpy, gpu_memset   an activity, on args.device and args.stream (else pid and tid)
 *   cuda_runtime, cuda_driver, …     a call of the host, if it starts or awaits something
 *   user_annotation, gpu_user_annotation  a span with a name, such as ProfilerStep#3
 *   cuda_sync                        which stream awaits which one; belongs to the call of its correlation
 *   transfer, cause                  ("ph": "s" and "f") an arrow of our own traces, from one activity to another */
#include "core/doc/stream.h"
#include "core/vector.h"
#include "sim/replay/parts.h"
#include "trace/import/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum event_kind { EVENT_OTHER, EVENT_ACTIVITY, EVENT_CALL, EVENT_SYNC, EVENT_MARK, EVENT_DEVICE_MARK };

static const struct category {
    const char *name;
    enum event_kind kind;
    enum replay_category category;
} categories[] = {
    {"kernel", EVENT_ACTIVITY, REPLAY_KERNEL},
    {"gpu_memcpy", EVENT_ACTIVITY, REPLAY_MEMCPY},
    {"gpu_memset", EVENT_ACTIVITY, REPLAY_MEMSET},
    {"memcpy", EVENT_ACTIVITY, REPLAY_MEMCPY},
    {"memset", EVENT_ACTIVITY, REPLAY_MEMSET},
    {"cuda_runtime", EVENT_CALL, 0},
    {"cuda_driver", EVENT_CALL, 0},
    {"runtime", EVENT_CALL, 0},
    {"hip_runtime", EVENT_CALL, 0},
    {"cuda_sync", EVENT_SYNC, 0},
    {"user_annotation", EVENT_MARK, 0},
    {"gpu_user_annotation", EVENT_DEVICE_MARK, 0},
};

/* One field of an event that is kept as text until the event's category is known. */
enum field {
    FIELD_PHASE,
    FIELD_CATEGORY,
    FIELD_NAME,
    FIELD_PROCESS,
    FIELD_THREAD,
    FIELD_START,
    FIELD_DURATION,
    FIELD_STREAM,
    FIELD_DEVICE,
    FIELD_CORRELATION,
    FIELD_COLLECTIVE,
    FIELD_ELEMENTS,
    FIELD_OUT_ELEMENTS,
    FIELD_DTYPE,
    FIELD_GROUP,
    FIELD_GROUP_SIZE,
    FIELD_GROUP_RANKS,
    FIELD_DESCRIPTION,
    FIELD_SEQUENCE,
    FIELD_SOURCE,
    FIELD_DESTINATION,
    FIELD_AWAITED,
    FIELD_RECORDED_BY,
    FIELD_ID,
    FIELD_COUNT
};

static const struct {
    const char *key;
    bool in_args;
} fields[FIELD_COUNT] = {
    [FIELD_PHASE] = {"ph", false},
    [FIELD_CATEGORY] = {"cat", false},
    [FIELD_NAME] = {"name", false},
    [FIELD_PROCESS] = {"pid", false},
    [FIELD_THREAD] = {"tid", false},
    [FIELD_START] = {"ts", false},
    [FIELD_DURATION] = {"dur", false},
    [FIELD_STREAM] = {"stream", true},
    [FIELD_DEVICE] = {"device", true},
    [FIELD_CORRELATION] = {"correlation", true},
    [FIELD_COLLECTIVE] = {"Collective name", true},
    [FIELD_ELEMENTS] = {"In msg nelems", true},
    [FIELD_OUT_ELEMENTS] = {"Out msg nelems", true},
    [FIELD_DTYPE] = {"dtype", true},
    [FIELD_GROUP] = {"Process Group Name", true},
    [FIELD_GROUP_SIZE] = {"Group size", true},
    [FIELD_GROUP_RANKS] = {"Process Group Ranks", true},
    [FIELD_DESCRIPTION] = {"Process Group Description", true},
    [FIELD_SEQUENCE] = {"Seq", true},
    [FIELD_SOURCE] = {"Src Rank", true},
    [FIELD_DESTINATION] = {"Dst Rank", true},
    [FIELD_AWAITED] = {"wait_on_stream", true},
    [FIELD_RECORDED_BY] = {"wait_on_cuda_event_record_corr_id", true},
    [FIELD_ID] = {"id", false},
};

/* What an event of cuda_sync tells of a call. */
struct sync {
    int64_t correlation;
    uint32_t id; /* in replay->syncs */
};

struct kineto {
    struct replay *replay;
    struct json_stream json;
    struct text values[FIELD_COUNT]; /* of the present event */
    bool given[FIELD_COUNT];
    struct sync *syncs;
    size_t sync_count, sync_capacity;
    struct replay_flow *flows;
    size_t flow_count, flow_capacity;
};

static bool event_error(const struct kineto *kineto, const char *problem, struct error *err)
{
    return json_stream_error(&kineto->json, err, "traceEvents[%zu]: %s", kineto->replay->events, problem);
}

static const char *value_of(const struct kineto *kineto, enum field field)
{
    const char *text = kineto->given[field] ? kineto->values[field].data : NULL;
    return text ? text : "";
}

/* A whole number, which some versions write as a text; `missing` where there is none. */
static int64_t whole_of(const struct kineto *kineto, enum field field, int64_t missing)
{
    const char *text = value_of(kineto, field);
    char *end;
    long long value = strtoll(text, &end, 10);
    return *text && *end == '\0' ? value : missing;
}

static bool time_of(const struct kineto *kineto, enum field field, int64_t *ns, struct error *err)
{
    char problem[160];
    const char *text = value_of(kineto, field);
    if (replay_microseconds(text, ns))
        return true;
    snprintf(problem, sizeof problem, "'%s' has to be microseconds, found '%.40s'", fields[field].key, text);
    return event_error(kineto, problem, err);
}

static bool take_span(const struct kineto *kineto, int64_t *start, int64_t *duration, struct error *err)
{
    if (!time_of(kineto, FIELD_START, start, err) || !time_of(kineto, FIELD_DURATION, duration, err))
        return false;
    return *duration >= 0 || event_error(kineto, "time goes backwards: 'dur' is negative", err);
}

static bool add_text(struct kineto *kineto, enum field field, uint32_t *id, struct error *err)
{
    const char *text = value_of(kineto, field);
    return replay_add_text(kineto->replay, text, strlen(text), id, err);
}

static bool add_collective(struct kineto *kineto, uint32_t *id, struct error *err)
{
    static const enum field texts[] = {FIELD_COLLECTIVE, FIELD_DTYPE, FIELD_GROUP, FIELD_GROUP_RANKS,
                                       FIELD_DESCRIPTION};
    uint32_t ids[sizeof texts / sizeof *texts];
    *id = 0;
    if (!kineto->given[FIELD_COLLECTIVE] && !kineto->given[FIELD_ELEMENTS] && !kineto->given[FIELD_GROUP] &&
        !kineto->given[FIELD_DTYPE])
        return true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!add_text(kineto, texts[i], &ids[i], err))
            return false;
    const struct replay_collective collective = {
        .elements = whole_of(kineto, FIELD_ELEMENTS, -1),
        .out_elements = whole_of(kineto, FIELD_OUT_ELEMENTS, -1),
        .size = whole_of(kineto, FIELD_GROUP_SIZE, -1),
        .sequence = whole_of(kineto, FIELD_SEQUENCE, -1),
        .source = whole_of(kineto, FIELD_SOURCE, -1),
        .destination = whole_of(kineto, FIELD_DESTINATION, -1),
        .name = ids[0],
        .dtype = ids[1],
        .group = ids[2],
        .ranks = ids[3],
        .description = ids[4],
    };
    return replay_add_collective(kineto->replay, &collective, id, err);
}

static bool take_mark(struct kineto *kineto, bool device, struct error *err)
{
    struct replay *replay = kineto->replay;
    struct replay_mark mark = {.thread = -1, .device = -1, .number = -1};
    const char *name = value_of(kineto, FIELD_NAME);
    int64_t thread = whole_of(kineto, FIELD_THREAD, 0), process = whole_of(kineto, FIELD_PROCESS, 0);
    if (!*name || replay->mark_count == REPLAY_MAX_MARKS)
        return true;
    if (device) {
        mark.device = whole_of(kineto, FIELD_DEVICE, process);
        mark.number = whole_of(kineto, FIELD_STREAM, thread);
    }
    return take_span(kineto, &mark.begin, &mark.duration, err) &&
           replay_add_text(replay, name, strlen(name), &mark.name, err) &&
           (device || replay_add_thread(replay, process, thread, &mark.thread, err)) &&
           replay_add_mark(replay, &mark, err);
}

static bool take_activity(struct kineto *kineto, enum replay_category category, struct error *err)
{
    struct replay *replay = kineto->replay;
    struct replay_activity activity = {.place = (uint32_t)replay->events,
                                       .call = -1,
                                       .category = category,
                                       .correlation = whole_of(kineto, FIELD_CORRELATION, 0)};
    int32_t stream;
    int64_t number = whole_of(kineto, FIELD_STREAM, whole_of(kineto, FIELD_THREAD, INT64_MIN));
    int64_t device = whole_of(kineto, FIELD_DEVICE, whole_of(kineto, FIELD_PROCESS, 0));
    const char *name = value_of(kineto, FIELD_NAME);
    if (!take_span(kineto, &activity.start, &activity.duration, err))
        return false;
    if (!*name)
        return event_error(kineto, "an activity of a GPU without 'name'", err);
    if (number == INT64_MIN)
        return event_error(kineto, "an activity of a GPU without 'stream'", err);
    if (!add_text(kineto, FIELD_NAME, &activity.name, err) ||
        !add_collective(kineto, &activity.collective, err) ||
        !replay_add_stream(replay, device, number, &stream, err))
        return false;
    activity.stream = (unsigned)stream;
    return replay_add_activity(replay, &activity, err);
}

static bool take_call(struct kineto *kineto, struct error *err)
{
    struct replay_call call = {.place = (uint32_t)kineto->replay->events,
                               .correlation = whole_of(kineto, FIELD_CORRELATION, 0)};
    if (!replay_name_call(kineto->replay, value_of(kineto, FIELD_NAME), &call))
        return true;
    return take_span(kineto, &call.begin, &call.duration, err) &&
           replay_add_thread(kineto->replay, whole_of(kineto, FIELD_PROCESS, 0),
                             whole_of(kineto, FIELD_THREAD, 0), &call.thread, err) &&
           replay_add_call(kineto->replay, &call, err);
}

static bool take_stream(struct kineto *kineto, enum field field, int32_t *stream, struct error *err)
{
    int64_t number = whole_of(kineto, field, -1);
    *stream = -1; /* also -1 in the trace, where nothing is awaited */
    return number < 0 ||
           replay_add_stream(kineto->replay, whole_of(kineto, FIELD_DEVICE, 0), number, stream, err);
}

static bool take_sync(struct kineto *kineto, struct error *err)
{
    struct sync sync = {.correlation = whole_of(kineto, FIELD_CORRELATION, 0)};
    struct replay_sync told = {.recorded_by = whole_of(kineto, FIELD_RECORDED_BY, 0)};
    if (sync.correlation <= 0 || kineto->sync_count == REPLAY_MAX_RECORDS)
        return true;
    return take_stream(kineto, FIELD_STREAM, &told.stream, err) &&
           take_stream(kineto, FIELD_AWAITED, &told.awaited, err) &&
           replay_add_sync(kineto->replay, &told, &sync.id, err) &&
           (VECTOR_ADD(kineto->syncs, kineto->sync_count, kineto->sync_capacity, sync) || error_memory(err));
}

static bool take_flow(struct kineto *kineto, bool target, struct error *err)
{
    struct replay_flow flow = {.target = target,
                               .id = whole_of(kineto, FIELD_ID, -1),
                               .device = whole_of(kineto, FIELD_PROCESS, -1),
                               .number = whole_of(kineto, FIELD_THREAD, -1)};
    if (kineto->flow_count == 2 * REPLAY_MAX_RECORDS)
        return true;
    return time_of(kineto, FIELD_START, &flow.time, err) &&
           (VECTOR_ADD(kineto->flows, kineto->flow_count, kineto->flow_capacity, flow) || error_memory(err));
}

static bool take_event(struct kineto *kineto, struct error *err)
{
    const char *category = value_of(kineto, FIELD_CATEGORY), *phase = value_of(kineto, FIELD_PHASE);
    bool arrow = strcmp(phase, "s") == 0 || strcmp(phase, "f") == 0;
    if (!kineto->given[FIELD_PHASE])
        return event_error(kineto, "an event without 'ph'", err);
    if (arrow && (strcmp(category, "transfer") == 0 || strcmp(category, "cause") == 0))
        return take_flow(kineto, *phase == 'f', err);
    if (strcmp(phase, "X") != 0)
        return true;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (strcasecmp(category, categories[i].name) != 0)
            continue;
        switch (categories[i].kind) {
        case EVENT_ACTIVITY:
            return take_activity(kineto, categories[i].category, err);
        case EVENT_CALL:
            return take_call(kineto, err);
        case EVENT_SYNC:
            return take_sync(kineto, err);
        default:
            return take_mark(kineto, categories[i].kind == EVENT_DEVICE_MARK, err);
        }
    }
    return true;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static bool take_field(struct kineto *kineto, enum field field, struct error *err)
{
    struct text *value = &kineto->values[field];
    value->length = 0;
    if (value->data)
        *value->data = '\0';
    text_add_bytes(value, kineto->json.text, kineto->json.length);
    kineto->given[field] = true;
    return !value->failed || error_memory(err);
}

static enum field find_field(const struct kineto *kineto, bool in_args)
{
    int field = 0;
    while (field < FIELD_COUNT &&
           (fields[field].in_args != in_args || strcmp(fields[field].key, kineto->json.text) != 0))
        field++;
    return (enum field)field;
}

/* Reads the members of an event, or of its "args", whose bracket has been read. */
static bool read_members(struct kineto *kineto, bool in_args, struct error *err)
{
    enum json_piece piece;
    while (json_stream_next(&kineto->json, &piece, err)) {
        if (piece == JSON_CLOSE)
            return true;
        enum field field = find_field(kineto, in_args);
        bool args = !in_args && strcmp(kineto->json.text, "args") == 0;
        if (!json_stream_next(&kineto->json, &piece, err))
            return false;
        bool scalar = piece == JSON_TEXT || piece == JSON_NUMBER;
        if (args && piece == JSON_OPEN_MAP  ? !read_members(kineto, true, err)
            : field < FIELD_COUNT && scalar ? !take_field(kineto, field, err)
                                            : !json_stream_skip(&kineto->json, piece, err))
            return false;
    }
    return false;
}

static bool read_events(struct kineto *kineto, struct error *err)
{
    enum json_piece piece;
    while (json_stream_next(&kineto->json, &piece, err)) {
        if (piece == JSON_CLOSE)
            return true;
        if (piece != JSON_OPEN_MAP)
            return event_error(kineto, "an event has to be a map", err);
        memset(kineto->given, 0, sizeof kineto->given);
        if (!read_members(kineto, false, err) || !take_event(kineto, err))
            return false;
        kineto->replay->events++;
    }
    return false;
}

static bool read_whole(struct kineto *kineto, struct error *err)
{
    struct json_stream *json = &kineto->json;
    enum json_piece piece;
    bool found = false;
    if (!json_stream_next(json, &piece, err))
        return false;
    if (piece == JSON_OPEN_LIST)
        return read_events(kineto, err) && json_stream_next(json, &piece, err);
    if (piece != JSON_OPEN_MAP)
        return json_stream_error(json, err, "expected a trace: a map with 'traceEvents', or a list");
    for (;;) {
        if (!json_stream_next(json, &piece, err))
            return false;
        if (piece == JSON_CLOSE)
            break;
        bool events = strcmp(json->text, "traceEvents") == 0;
        if (!events) {
            if (!replay_read_described(kineto->replay, json, err))
                return false;
            continue;
        }
        if (found)
            return json_stream_error(json, err, "'traceEvents' is listed twice");
        if (!json_stream_next(json, &piece, err))
            return false;
        if (piece != JSON_OPEN_LIST)
            return json_stream_error(json, err, "'traceEvents' has to be a list");
        found = true;
        if (!read_events(kineto, err))
            return false;
    }
    if (!found)
        return json_stream_error(json, err, "a trace needs a list 'traceEvents'");
    return json_stream_next(json, &piece, err); /* nothing behind it */
}

/* Adds to calls what the events of cuda_sync tell of them. */
static bool apply_syncs(struct kineto *kineto, struct error *err)
{
    struct replay *replay = kineto->replay;
    struct hash_map calls = {0};
    bool done = true;
    for (size_t i = 0; done && kineto->sync_count > 0 && i < replay->call_count; i++)
        if (replay->calls[i].kind != CALL_LAUNCH && replay->calls[i].correlation > 0)
            done = hash_map_set(&calls, (uint64_t)replay->calls[i].correlation, (int64_t)i);
    for (size_t i = 0; done && i < kineto->sync_count; i++) {
        const struct sync *sync = &kineto->syncs[i];
        const int64_t *at = hash_map_find(&calls, (uint64_t)sync->correlation);
        if (at)
            replay->calls[*at].sync = sync->id;
    }
    hash_map_release(&calls);
    return done || error_memory(err);
}

bool replay_read_kineto(struct replay *replay, const char *text, size_t length, struct error *err)
{
    struct import_lines lines;
    struct kineto kineto = {.replay = replay,
                            .json = {.path = replay->path, .more = import_lines_whole, .context = &lines}};
    bool read = import_lines_open(&lines, replay->path, text, length, err) && read_whole(&kineto, err) &&
                apply_syncs(&kineto, err) && replay_finish(replay, "traceEvents", err) &&
                replay_apply_flows(replay, kineto.flows, kineto.flow_count, err);
    import_lines_close(&lines);
    json_stream_release(&kineto.json);
    for (int i = 0; i < FIELD_COUNT; i++)
        text_release(&kineto.values[i]);
    free(kineto.syncs);
    free(kineto.flows);
    return read;
}
