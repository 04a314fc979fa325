/* Kineto's traces: {"traceEvents": [{"ph": "X", "cat": "kernel", "name": …, "ts": …, "dur": …, "args": {…}}, …], …}, or
 * the list alone. An event counts by its category, with the names of all versions:
 *   kernel, gpu_memcpy, gpu_memset   an activity, on args.device and args.stream (else pid and tid)
 *   cuda_runtime, cuda_driver, …     a call of the host, if it starts or awaits something
 *   user_annotation, gpu_user_annotation  a span with a name, such as ProfilerStep#3
 *   cuda_sync                        which stream awaits which one; belongs to the call of its correlation
 * Where no event is an activity by its category, processes and threads with the names of devices and streams are taken for these
 * (tracks.h), spans are complete events ("X") or pairs ("B", "E"), and where there are no such names either, activities are the
 * operations of a host alone: those of PyTorch (cpu_op) or XLA (hlo_op), else all spans; of one that holds others the time that none of these has.
 *   transfer, cause                  ("ph": "s" and "f") an arrow of our own traces, from one activity to another */
#include "core/doc/stream.h"
#include "core/vector.h"
#include "sim/replay/products.h"
#include "sim/replay/tracked.h"
#include "trace/import/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_INPUTS 1024 /* bytes of sizes */

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
    {"xpu_runtime", EVENT_CALL, 0},
    {"xpu_driver", EVENT_CALL, 0},
    {"privateuse1_runtime", EVENT_CALL, 0},
    {"privateuse1_driver", EVENT_CALL, 0},
    {"mtia_runtime", EVENT_CALL, 0},
    {"mtia_ccp_events", EVENT_ACTIVITY, REPLAY_KERNEL},
    {"hpu_op", EVENT_ACTIVITY, REPLAY_KERNEL},
    {"cuda_sync", EVENT_SYNC, 0},
    {"user_annotation", EVENT_MARK, 0},
    {"gpu_user_annotation", EVENT_DEVICE_MARK, 0},
};

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
        if (!kineto_text(kineto, texts[i], &ids[i], err))
            return false;
    const struct replay_collective collective = {
        .elements = kineto_whole(kineto, FIELD_ELEMENTS, -1),
        .out_elements = kineto_whole(kineto, FIELD_OUT_ELEMENTS, -1),
        .size = kineto_whole(kineto, FIELD_GROUP_SIZE, -1),
        .sequence = kineto_whole(kineto, FIELD_SEQUENCE, -1),
        .source = kineto_whole(kineto, FIELD_SOURCE, -1),
        .destination = kineto_whole(kineto, FIELD_DESTINATION, -1),
        .name = ids[0],
        .dtype = ids[1],
        .group = ids[2],
        .ranks = ids[3],
        .description = ids[4],
    };
    return replay_add_collective(kineto->replay, &collective, id, err);
}

static bool take_activity(struct kineto *kineto, enum replay_category category, struct error *err)
{
    struct replay *replay = kineto->replay;
    struct replay_activity activity = {.place = (uint32_t)replay->events,
                                       .call = -1,
                                       .category = category,
                                       .correlation = kineto_whole(kineto, FIELD_CORRELATION, 0)};
    int32_t stream;
    uint32_t process;
    int64_t number = kineto_whole(kineto, FIELD_STREAM, kineto_whole(kineto, FIELD_THREAD, INT64_MIN));
    int64_t device = kineto_whole(kineto, FIELD_DEVICE, kineto_whole(kineto, FIELD_PROCESS, 0));
    const char *name = kineto_value(kineto, FIELD_NAME);
    if (!kineto_span(kineto, &activity.start, &activity.duration, err))
        return false;
    if (!*name)
        return kineto_error(kineto, "an activity of a GPU without 'name'", err);
    if (number == INT64_MIN)
        return kineto_error(kineto, "an activity of a GPU without 'stream'", err);
    if (!kineto_text(kineto, FIELD_NAME, &activity.name, err) ||
        !add_collective(kineto, &activity.collective, err) ||
        !kineto_text(kineto, FIELD_PROCESS, &process, err) ||
        !replay_add_process_stream(replay, device, number, process, &stream, err))
        return false;
    activity.stream = (unsigned)stream;
    return replay_add_activity(replay, &activity, err);
}

static bool take_call(struct kineto *kineto, struct error *err)
{
    struct replay_call call = {.place = (uint32_t)kineto->replay->events,
                               .correlation = kineto_whole(kineto, FIELD_CORRELATION, 0)};
    if (!replay_name_call(kineto->replay, kineto_value(kineto, FIELD_NAME), &call))
        return true;
    return kineto_span(kineto, &call.begin, &call.duration, err) &&
           kineto_thread(kineto, &call.thread, err) && replay_add_call(kineto->replay, &call, err);
}

static bool take_stream(struct kineto *kineto, enum field field, int32_t *stream, struct error *err)
{
    int64_t number = kineto_whole(kineto, field, -1);
    uint32_t process;
    *stream = -1; /* also -1 in the trace, where nothing is awaited */
    return number < 0 || (kineto_text(kineto, FIELD_PROCESS, &process, err) &&
                          replay_add_process_stream(kineto->replay, kineto_whole(kineto, FIELD_DEVICE, 0),
                                                    number, process, stream, err));
}

static bool take_sync(struct kineto *kineto, struct error *err)
{
    struct sync sync = {.correlation = kineto_whole(kineto, FIELD_CORRELATION, 0)};
    struct replay_sync told = {.recorded_by = kineto_whole(kineto, FIELD_RECORDED_BY, 0)};
    if (sync.correlation <= 0 || kineto->sync_count == REPLAY_MAX_RECORDS)
        return true;
    return take_stream(kineto, FIELD_STREAM, &told.stream, err) &&
           take_stream(kineto, FIELD_AWAITED, &told.awaited, err) &&
           replay_add_sync(kineto->replay, &told, &sync.id, err) && (sync.stream = told.stream, true) &&
           (VECTOR_ADD(kineto->syncs, kineto->sync_count, kineto->sync_capacity, sync) || error_memory(err));
}

static bool take_flow(struct kineto *kineto, bool target, struct error *err)
{
    struct replay_flow flow = {.target = target,
                               .id = kineto_whole(kineto, FIELD_ID, -1),
                               .device = kineto_whole(kineto, FIELD_PROCESS, -1),
                               .number = kineto_whole(kineto, FIELD_THREAD, -1)};
    if (kineto->flow_count == 2 * REPLAY_MAX_RECORDS)
        return true;
    return kineto_time(kineto, FIELD_START, &flow.time, err) &&
           (VECTOR_ADD(kineto->flows, kineto->flow_count, kineto->flow_capacity, flow) || error_memory(err));
}

/* A product of matrices, whose kernels are launched within it. */
static bool take_operation(struct kineto *kineto, struct error *err)
{
    struct replay *replay = kineto->replay;
    struct replay_operation operation;
    int64_t duration;
    const char *type = kineto_value(kineto, FIELD_TYPES); /* one for all operands */
    if (!replay_product_size(kineto_value(kineto, FIELD_NAME), kineto_value(kineto, FIELD_DIMS),
                             &operation.size) ||
        replay->operation_count == REPLAY_MAX_MARKS)
        return true;
    if (!kineto_span(kineto, &operation.begin, &duration, err) ||
        !kineto_thread(kineto, &operation.thread, err) ||
        !replay_add_text(replay, type, strcspn(type, ";"), &operation.type, err))
        return false;
    operation.end = operation.begin + duration;
    return VECTOR_ADD(replay->operations, replay->operation_count, replay->operation_capacity, operation) ||
           error_memory(err);
}

/* An event without 'ph' is a fault; JAX ends its list with an empty one. */
static bool take_nothing(const struct kineto *kineto, struct error *err)
{
    for (int i = 0; i < FIELD_COUNT; i++)
        if (kineto->given[i])
            return kineto_error(kineto, "an event without 'ph'", err);
    return true;
}

static bool take_event(struct kineto *kineto, struct error *err)
{
    const char *category = kineto_value(kineto, FIELD_CATEGORY), *phase = kineto_value(kineto, FIELD_PHASE);
    bool arrow = strcmp(phase, "s") == 0 || strcmp(phase, "f") == 0;
    if (!kineto->given[FIELD_PHASE])
        return take_nothing(kineto, err);
    if (kineto->by_track)
        return kineto_tracked(kineto, phase, err);
    if (strcmp(phase, "M") == 0)
        return kineto_name(kineto, err);
    bool operation = kineto_is_operation(category);
    kineto->cpu_ops += operation;
    if (operation && strcmp(phase, "X") == 0 &&
        text_starts_with(kineto_value(kineto, FIELD_NAME), "ProfilerStep#"))
        return kineto_mark(kineto, false, err); /* as old versions write it */
    if (operation && strcmp(phase, "X") == 0 && kineto->given[FIELD_DIMS])
        return take_operation(kineto, err);
    kineto->operations += kineto->given[FIELD_OPERATION];
    if (arrow && (strcmp(category, "transfer") == 0 || strcmp(category, "cause") == 0))
        return take_flow(kineto, *phase == 'f', err);
    if (strcmp(phase, "X") != 0)
        return true;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if ((*category | 0x20) != *categories[i].name || strcasecmp(category, categories[i].name) != 0)
            continue;
        switch (categories[i].kind) {
        case EVENT_ACTIVITY:
            return take_activity(kineto, categories[i].category, err);
        case EVENT_CALL:
            return take_call(kineto, err);
        case EVENT_SYNC:
            return take_sync(kineto, err);
        default:
            return kineto_mark(kineto, categories[i].kind == EVENT_DEVICE_MARK, err);
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

/* Takes the sizes or types of an operation's inputs as "64;4096,100;". */
static bool take_inputs(struct kineto *kineto, enum field field, struct error *err)
{
    struct text *value = &kineto->values[field];
    enum json_piece piece;
    value->length = 0;
    text_add(value, "");
    for (int depth = 1; depth > 0;) {
        if (!json_stream_next(&kineto->json, &piece, err))
            return false;
        bool scalar = piece == JSON_TEXT || piece == JSON_NUMBER || piece == JSON_WORD;
        depth += (piece == JSON_OPEN_LIST || piece == JSON_OPEN_MAP) - (piece == JSON_CLOSE);
        if (value->length > MAX_INPUTS)
            continue;
        if (scalar)
            text_add_bytes(value, kineto->json.text, kineto->json.length);
        if (scalar && depth > 1)
            text_add(value, ",");
        else if (depth == 1) {
            value->length -= value->length > 0 && value->data[value->length - 1] == ',';
            text_add(value, ";");
        }
    }
    kineto->given[field] = true;
    return !value->failed || error_memory(err);
}

/* Most keys differ from all fields in their first two bytes, which are compared first. */
static enum field find_field(const struct kineto *kineto, bool in_args)
{
    const char *text = kineto->json.text;
    for (int field = 0; field < FIELD_COUNT; field++) {
        const char *key = kineto_fields[field].key;
        if (key[0] == text[0] && key[1] == text[1] && kineto_fields[field].in_args == in_args &&
            strcmp(key, text) == 0)
            return (enum field)field;
    }
    return FIELD_COUNT;
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
        bool inputs = (field == FIELD_DIMS || field == FIELD_TYPES) && piece == JSON_OPEN_LIST &&
                      replay_is_product(kineto_value(kineto, FIELD_NAME));
        if (args && piece == JSON_OPEN_MAP  ? !read_members(kineto, true, err)
            : inputs                        ? !take_inputs(kineto, field, err)
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
            return kineto_error(kineto, "an event has to be a map", err);
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
        if (!events && !kineto->by_track) {
            if (!replay_read_described(kineto->replay, json, err))
                return false;
            continue;
        }
        if (events && found)
            return json_stream_error(json, err, "'traceEvents' is listed twice");
        if (!json_stream_next(json, &piece, err))
            return false;
        if (!events) { /* told when it was read first */
            if (!json_stream_skip(json, piece, err))
                return false;
            continue;
        }
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
        struct replay_sync *told = &replay->syncs[sync->id];
        int32_t part = sync->stream >= 0 ? replay->streams[sync->stream].part : 0;
        const int64_t *at =
            hash_map_find(&calls, (uint64_t)replay_part_correlation(replay, part, sync->correlation));
        told->recorded_by = replay_part_correlation(replay, part, told->recorded_by);
        if (at)
            replay->calls[*at].sync = sync->id;
    }
    hash_map_release(&calls);
    return done || error_memory(err);
}

/* Reads up to the end of a file that ends early; *cut is then the error, else empty. */
static bool read_once(struct kineto *kineto, const char *text, size_t length, struct error *cut,
                      struct error *err)
{
    struct replay *replay = kineto->replay;
    struct import_lines lines;
    kineto->json = (struct json_stream){.path = replay->path, .more = import_lines_bytes, .context = &lines};
    replay->events = 0;
    bool read = import_lines_open(&lines, replay->path, text, length, err);
    bool whole = read && read_whole(kineto, err);
    if (read && !whole && kineto->json.ended && err->kind == ERROR_INPUT) {
        if (lines.truncated)
            error_set(err, ERROR_INPUT, "%s: damaged: the gzip file is truncated", replay->path);
        *cut = *err;
    }
    if (lines.truncated || *cut->text)
        replay->cut_at = lines.bytes > 0 ? lines.bytes : 1;
    import_lines_close(&lines);
    json_stream_release(&kineto->json);
    return whole || *cut->text;
}

/* Reads by categories; then by the names of tracks, of devices or of hosts alone. */
static bool read_all(struct kineto *kineto, const char *text, size_t length, struct error *err)
{
    struct replay *replay = kineto->replay;
    struct error cut = {0};
    if (!read_once(kineto, text, length, &cut, err))
        return false;
    for (int pass = 0; pass < 2 && replay->count == 0 && replay->events > 0; pass++) {
        bool named = kineto->tracks.devices || kineto->tracks.streams;
        if (pass == 0 && !named)
            continue;
        kineto->by_track = true;
        replay->host_only = pass == 1;
        replay->call_count = 0;
        kineto->open_count = 0;
        if (!read_once(kineto, text, length, &cut, err))
            return false;
    }
    if (replay->count > 0 || !*cut.text)
        return true;
    *err = cut; /* nothing before the cut */
    return false;
}

bool replay_read_kineto(struct replay *replay, const char *text, size_t length, struct error *err)
{
    struct kineto kineto = {.replay = replay};
    bool read = read_all(&kineto, text, length, err) && replay_find_parts(replay, err) &&
                apply_syncs(&kineto, err) && (!replay->host_only || replay_split_nested(replay, err)) &&
                replay_finish(replay, "traceEvents", err) &&
                replay_apply_flows(replay, kineto.flows, kineto.flow_count, err);
    for (int i = 0; i < FIELD_COUNT; i++)
        text_release(&kineto.values[i]);
    replay_tracks_release(&kineto.tracks);
    free(kineto.syncs);
    free(kineto.flows);
    free(kineto.open);
    return read;
}
