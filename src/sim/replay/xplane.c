/* Profiles of XLA, as JAX and TensorFlow write them (NAME.xplane.pb): the messages XSpace, XPlane, XLine, XEvent and XStat of
 * openxla/xla's xplane.proto, by the numbers of their fields.
 *
 * A plane is a device or a host, a line a stream or a thread, an event a span on it whose name stands in the plane's list of
 * metadata. Activities are
 *   of /device:GPU:N  what lies on its lines "Stream #…" (CUPTI, roctracer); all other lines are derived from these
 *   of /device:TPU:N  operations on the lines "XLA Ops" and "Async XLA Ops", without loops and calls, which span those in them
 *   of a host alone   operations (with the stat hlo_op) that XLA ran on its threads
 * Calls of the host are events that bear the number of a launch (correlation_id). Steps are those of StepTraceAnnotation
 * (step_num), and of the line "Steps".
 *
 * Metadata may follow the lines that need it, so the file is held in memory. */
#include "core/caller.h"
#include "core/vector.h"
#include "sim/chakra/wire.h"
#include "sim/replay/parts.h"
#include "trace/import/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)INT32_MAX) /* of a message of protobuf */
#define MAX_TOLD  3                   /* the profiler's own errors and warnings */

struct bytes {
    const char *at;
    size_t length;
};

/* Stats that count. */
enum stat {
    STAT_OTHER,
    STAT_CORRELATION,
    STAT_COPY,
    STAT_FILL,
    STAT_OPERATION,
    STAT_CATEGORY,
    STAT_STEP,
    STATS
};

static const char *const stat_names[STATS] = {
    [STAT_CORRELATION] = "correlation_id", [STAT_COPY] = "memcpy_details",   [STAT_FILL] = "memset_details",
    [STAT_OPERATION] = "hlo_op",           [STAT_CATEGORY] = "hlo_category", [STAT_STEP] = "step_num"};

struct stats {
    bool given[STATS];
    int64_t numbers[STATS];
    struct bytes texts[STATS];
};

struct event {
    int64_t metadata, offset, duration; /* ps */
    struct stats stats;
};

struct line {
    int64_t id, origin; /* ns */
    struct bytes name;
};

enum plane_kind { PLANE_OTHER, PLANE_GPU, PLANE_TPU, PLANE_HOST };

struct plane {
    enum plane_kind kind;
    struct bytes name;
    int64_t device, first_stream;
    struct hash_map events,
        stats; /* by id: places of their messages in `messages`, from 1; and of stats' names */
    struct bytes *messages;
    size_t count, capacity;
};

struct reader {
    struct replay *replay;
    struct plane plane;
    const char *begin;
    bool hosts; /* operations of the host are activities: no device has any */
    int told;
};

static bool damaged(const struct reader *reader, const char *at, const char *what, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: byte %lld: %s: not an XSpace, or cut off", reader->replay->path,
                     (long long)(at - reader->begin), what);
}

static bool is_text(struct bytes bytes, const char *text)
{
    return bytes.length == strlen(text) && memcmp(bytes.at, text, bytes.length) == 0;
}

static bool begins(struct bytes bytes, const char *text)
{
    return bytes.length >= strlen(text) && memcmp(bytes.at, text, strlen(text)) == 0;
}

/* Gets the next field of a message, which may be cut off. */
static bool next(const struct reader *reader, struct bytes *message, struct wire_field *field,
                 const char *what, struct error *err)
{
    const char *at = message->at, *end = at + message->length;
    if (!wire_next(&at, end, field))
        return damaged(reader, message->at, what, err);
    message->at = at;
    message->length = (size_t)(end - at);
    return true;
}

static struct bytes bytes_of(const struct wire_field *field)
{
    return (struct bytes){field->bytes, field->length};
}

/* --- metadata ------------------------------------------------------------------------------------------- */

/* Keys of a table are not 0. */
static uint64_t key_of(int64_t id)
{
    return ~(uint64_t)id;
}

/* Adds an entry of a map: an id, and a message or a name. */
static bool add_entry(struct reader *reader, struct hash_map *map, struct bytes entry, struct error *err)
{
    struct wire_field field;
    struct bytes message = {"", 0};
    struct plane *plane = &reader->plane;
    int64_t id = 0;
    while (entry.length > 0) {
        if (!next(reader, &entry, &field, "an entry of a plane's metadata", err))
            return false;
        if (field.number == 1 && field.type == WIRE_VARINT)
            id = (int64_t)field.value;
        if (field.number == 2 && field.type == WIRE_BYTES)
            message = bytes_of(&field);
    }
    if (id == -1 || plane->count == REPLAY_MAX_RECORDS)
        return damaged(reader, message.at, "metadata without an id, or too many", err);
    return (VECTOR_ADD(plane->messages, plane->count, plane->capacity, message) &&
            hash_map_set(map, key_of(id), (int64_t)plane->count)) ||
           error_memory(err);
}

static struct bytes find_entry(const struct plane *plane, const struct hash_map *map, int64_t id)
{
    const int64_t *place = hash_map_find(map, key_of(id));
    return place ? plane->messages[*place - 1] : (struct bytes){"", 0};
}

/* Gets the text in a field of a message; "" where there is none. */
static bool text_in(const struct reader *reader, struct bytes message, uint32_t number, struct bytes *text,
                    struct error *err)
{
    struct wire_field field;
    *text = (struct bytes){"", 0};
    while (message.length > 0) {
        if (!next(reader, &message, &field, "metadata of an event", err))
            return false;
        if (field.number == number && field.type == WIRE_BYTES)
            *text = bytes_of(&field);
    }
    return true;
}

static bool read_stat(const struct reader *reader, struct bytes message, struct stats *stats,
                      struct error *err)
{
    struct wire_field field;
    struct bytes name, text = {"", 0};
    int64_t id = 0, number = 0, reference = 0;
    while (message.length > 0) {
        if (!next(reader, &message, &field, "a stat", err))
            return false;
        if (field.number == 1 && field.type == WIRE_VARINT)
            id = (int64_t)field.value;
        else if ((field.number == 3 || field.number == 4) && field.type == WIRE_VARINT)
            number = (int64_t)field.value;
        else if (field.number == 5 && field.type == WIRE_BYTES)
            text = bytes_of(&field);
        else if (field.number == 7 && field.type == WIRE_VARINT)
            reference = (int64_t)field.value;
    }
    if (!text_in(reader, find_entry(&reader->plane, &reader->plane.stats, id), 2, &name, err) ||
        (reference != 0 &&
         !text_in(reader, find_entry(&reader->plane, &reader->plane.stats, reference), 2, &text, err)))
        return false;
    for (int stat = STAT_OTHER + 1; stat < STATS; stat++)
        if (is_text(name, stat_names[stat])) {
            stats->given[stat] = true;
            stats->numbers[stat] = number;
            stats->texts[stat] = text;
        }
    return true;
}

/* Of a plane: its name, what it is, and its metadata. */
static bool read_head(struct reader *reader, struct bytes message, struct error *err)
{
    struct plane *plane = &reader->plane;
    struct wire_field field;
    char digits[20] = "";
    plane->name = (struct bytes){"", 0};
    while (message.length > 0) {
        if (!next(reader, &message, &field, "a plane", err))
            return false;
        if (field.number == 2 && field.type == WIRE_BYTES)
            plane->name = bytes_of(&field);
        if ((field.number == 4 || field.number == 5) && field.type == WIRE_BYTES &&
            !add_entry(reader, field.number == 4 ? &plane->events : &plane->stats, bytes_of(&field), err))
            return false;
    }
    plane->kind = begins(plane->name, "/device:GPU:")   ? PLANE_GPU
                  : begins(plane->name, "/device:TPU:") ? PLANE_TPU
                  : begins(plane->name, "/host:")       ? PLANE_HOST
                                                        : PLANE_OTHER;
    plane->device = 0;
    plane->first_stream = 0;
    if (plane->kind != PLANE_GPU && plane->kind != PLANE_TPU)
        return true;
    struct bytes rest = {plane->name.at + 12, plane->name.length - 12};
    size_t length = 0;
    while (length < rest.length && length < sizeof digits - 1 && rest.at[length] >= '0' &&
           rest.at[length] <= '9')
        length++;
    memcpy(digits, rest.at, length);
    (void)text_whole(digits, "", &plane->device); /* 0 where there is none */
    /* a sparse core of a TPU is a plane beside its own, "/device:TPU:0 SparseCore 1" */
    bool core = length + 1 < rest.length && plane->name.at[plane->name.length - 1] >= '0';
    plane->first_stream = core ? 1000 * (1 + plane->name.at[plane->name.length - 1] - '0') : 0;
    return true;
}

/* --- events --------------------------------------------------------------------------------------------- */

static bool read_event(const struct reader *reader, struct bytes message, struct event *event,
                       struct error *err)
{
    struct wire_field field;
    struct bytes metadata;
    *event = (struct event){0};
    while (message.length > 0) {
        if (!next(reader, &message, &field, "an event", err))
            return false;
        if (field.number == 1 && field.type == WIRE_VARINT)
            event->metadata = (int64_t)field.value;
        else if (field.number == 2 && field.type == WIRE_VARINT)
            event->offset = (int64_t)field.value;
        else if (field.number == 3 && field.type == WIRE_VARINT)
            event->duration = (int64_t)field.value;
        else if (field.number == 4 && field.type == WIRE_BYTES &&
                 !read_stat(reader, bytes_of(&field), &event->stats, err))
            return false;
    }
    metadata = find_entry(&reader->plane, &reader->plane.events, event->metadata);
    while (metadata.length > 0) {
        if (!next(reader, &metadata, &field, "metadata of an event", err))
            return false;
        if (field.number == 5 && field.type == WIRE_BYTES &&
            !read_stat(reader, bytes_of(&field), &event->stats, err))
            return false;
    }
    return true;
}

/* Times of a span, ns: both ends are rounded, so that neighbours do not overlap. */
static bool span_of(const struct reader *reader, const struct line *line, const struct event *event,
                    const char *at, int64_t *begin, int64_t *duration, struct error *err)
{
    const int64_t max = INT64_C(1) << 61;
    if (event->duration < 0 || event->offset < -max || event->offset > max || event->duration > max ||
        line->origin < -max || line->origin > max)
        return damaged(reader, at, "a time that goes backwards, or beyond 26 days", err);
    *begin = line->origin + (event->offset + 500) / 1000;
    *duration = line->origin + (event->offset + event->duration + 500) / 1000 - *begin;
    return true;
}

/* The name of an event; of a TPU's operation its short one, and what kind of operation it is. */
static bool name_event(const struct reader *reader, const struct event *event, uint32_t *id,
                       struct error *err)
{
    struct bytes metadata = find_entry(&reader->plane, &reader->plane.events, event->metadata), name, display;
    struct bytes category = event->stats.texts[STAT_CATEGORY];
    bool tpu = reader->plane.kind == PLANE_TPU;
    if (!text_in(reader, metadata, 2, &name, err) || !text_in(reader, metadata, 4, &display, err))
        return false;
    if (tpu && display.length > 0)
        name = display;
    if (name.length == 0)
        name = (struct bytes){"(no name)", 9};
    return replay_add_operation(reader->replay, name.at, name.length, category.length > 0 ? category.at : "",
                                category.length, tpu, id, err);
}

static bool take_activity(struct reader *reader, const struct line *line, const struct event *event,
                          const char *at, struct error *err)
{
    struct replay *replay = reader->replay;
    const bool *given = event->stats.given;
    bool host = reader->plane.kind == PLANE_HOST;
    struct replay_activity activity = {.place = (uint32_t)replay->events,
                                       .call = -1,
                                       .category = given[STAT_COPY]   ? REPLAY_MEMCPY
                                                   : given[STAT_FILL] ? REPLAY_MEMSET
                                                                      : REPLAY_KERNEL,
                                       .correlation = event->stats.numbers[STAT_CORRELATION]};
    int32_t stream;
    if (!span_of(reader, line, event, at, &activity.start, &activity.duration, err) ||
        !name_event(reader, event, &activity.name, err))
        return false;
    if (activity.name == 0)
        return true;
    if (!replay_add_stream(replay, host ? -1 : reader->plane.device, reader->plane.first_stream + line->id,
                           &stream, err))
        return false;
    activity.stream = (unsigned)stream;
    return replay_add_activity(replay, &activity, err);
}

static bool take_call(struct reader *reader, const struct line *line, const struct event *event,
                      const char *at, struct error *err)
{
    struct replay *replay = reader->replay;
    struct replay_call call = {.place = (uint32_t)replay->events,
                               .correlation = event->stats.numbers[STAT_CORRELATION]};
    struct bytes name;
    char text[80];
    if (!text_in(reader, find_entry(&reader->plane, &reader->plane.events, event->metadata), 2, &name, err))
        return false;
    snprintf(text, sizeof text, "%.*s", (int)(name.length < sizeof text ? name.length : sizeof text - 1),
             name.at);
    return !replay_name_call(replay, text, &call) ||
           (span_of(reader, line, event, at, &call.begin, &call.duration, err) &&
            replay_add_thread(replay, 0, line->id, &call.thread, err) && replay_add_call(replay, &call, err));
}

/* A step's mark, as PyTorch names it. */
static bool take_step(struct reader *reader, const struct line *line, const struct event *event,
                      int64_t number, const char *at, struct error *err)
{
    struct replay *replay = reader->replay;
    bool host = reader->plane.kind == PLANE_HOST;
    struct replay_mark mark = {.thread = -1, .device = host ? -1 : reader->plane.device, .number = -1};
    char name[48];
    int length = snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)number);
    return span_of(reader, line, event, at, &mark.begin, &mark.duration, err) &&
           replay_add_text(replay, name, (size_t)length, &mark.name, err) &&
           (!host || replay_add_thread(replay, 0, line->id, &mark.thread, err)) &&
           replay_add_mark(replay, &mark, err);
}

/* Of the line "Steps" of a device, the name is the number. */
static bool is_step(const struct reader *reader, const struct line *line, const struct event *event,
                    int64_t *number)
{
    struct bytes name;
    struct error ignored;
    char text[24] = "";
    *number = event->stats.numbers[STAT_STEP];
    if (event->stats.given[STAT_STEP])
        return reader->plane.kind == PLANE_HOST;
    if (reader->plane.kind == PLANE_HOST || !is_text(line->name, "Steps") ||
        !text_in(reader, find_entry(&reader->plane, &reader->plane.events, event->metadata), 2, &name,
                 &ignored) ||
        name.length == 0 || name.length >= sizeof text)
        return false;
    memcpy(text, name.at, name.length);
    return text_whole(text, "", number);
}

static bool take_event(struct reader *reader, const struct line *line, bool activities, struct bytes message,
                       struct error *err)
{
    struct event event;
    const char *at = message.at;
    int64_t number;
    if (!read_event(reader, message, &event, err) ||
        (is_step(reader, line, &event, &number) && !take_step(reader, line, &event, number, at, err)))
        return false;
    bool done = activities && (reader->plane.kind != PLANE_HOST || event.stats.given[STAT_OPERATION])
                    ? take_activity(reader, line, &event, at, err)
                : !reader->hosts && reader->plane.kind == PLANE_HOST && event.stats.given[STAT_CORRELATION]
                    ? take_call(reader, line, &event, at, err)
                    : true;
    reader->replay->events++;
    return done;
}

/* --- lines ---------------------------------------------------------------------------------------------- */

/* Returns whether a line's events are activities. */
static bool has_activities(const struct reader *reader, const struct line *line)
{
    switch (reader->plane.kind) {
    case PLANE_GPU:
        return begins(line->name, "Stream #");
    case PLANE_TPU:
        return is_text(line->name, "XLA Ops") || is_text(line->name, "Async XLA Ops");
    case PLANE_HOST:
        return reader->hosts;
    default:
        return false;
    }
}

static bool read_line(struct reader *reader, struct bytes message, struct error *err)
{
    struct line line = {.name = {"", 0}};
    struct wire_field field;
    for (struct bytes rest = message; rest.length > 0;) {
        if (!next(reader, &rest, &field, "a line", err))
            return false;
        if (field.number == 1 && field.type == WIRE_VARINT)
            line.id = (int64_t)field.value;
        else if (field.number == 2 && field.type == WIRE_BYTES)
            line.name = bytes_of(&field);
        else if (field.number == 3 && field.type == WIRE_VARINT)
            line.origin = (int64_t)field.value;
    }
    bool activities = has_activities(reader, &line);
    while (message.length > 0) {
        if (!next(reader, &message, &field, "a line", err))
            return false;
        if (field.number == 4 && field.type == WIRE_BYTES &&
            !take_event(reader, &line, activities, bytes_of(&field), err))
            return false;
    }
    return true;
}

static bool read_plane(struct reader *reader, struct bytes message, struct error *err)
{
    struct wire_field field;
    bool read = read_head(reader, message, err);
    while (read && message.length > 0) {
        read = next(reader, &message, &field, "a plane", err);
        if (read && field.number == 3 && field.type == WIRE_BYTES)
            read = read_line(reader, bytes_of(&field), err);
    }
    hash_map_release(&reader->plane.events);
    hash_map_release(&reader->plane.stats);
    reader->plane.count = 0;
    return read;
}

/* What the profiler itself says went wrong, such as events that it dropped. */
static void tell(struct reader *reader, const struct wire_field *field)
{
    if (reader->told++ < MAX_TOLD)
        caller_warn("%s: the profiler's own %s: %.*s", reader->replay->path,
                    field->number == 2 ? "error" : "warning",
                    (int)(field->length < 300 ? field->length : 300), field->bytes);
}

static bool read_space(struct reader *reader, struct bytes message, struct error *err)
{
    struct wire_field field;
    while (message.length > 0) {
        if (!next(reader, &message, &field, "a plane", err))
            return false;
        if (field.number == 1 && field.type == WIRE_BYTES && !read_plane(reader, bytes_of(&field), err))
            return false;
        if ((field.number == 2 || field.number == 3) && field.type == WIRE_BYTES && !reader->hosts)
            tell(reader, &field);
    }
    return true;
}

/* Reads the whole file, unpacked. */
static bool read_bytes(const char *path, struct import_lines *lines, char **data, size_t *length,
                       struct error *err)
{
    const char *part;
    size_t capacity = 0, count;
    *length = 0;
    do {
        if (!import_lines_whole(lines, &part, &count, err))
            return false;
        if (count > MAX_BYTES - *length)
            return error_set(err, ERROR_INPUT, "%s: more than 2 GiB, the limit of a message of protobuf",
                             path);
        if (!VECTOR_ROOM(*data, capacity, *length + count + 1))
            return error_memory(err);
        memcpy(*data + *length, part, count);
        *length += count;
    } while (count > 0);
    return true;
}

static bool read_all(struct replay *replay, struct bytes message, struct error *err)
{
    struct reader reader = {.replay = replay, .begin = message.at};
    bool read = read_space(&reader, message, err);
    if (read && replay->count == 0) {
        reader.hosts = replay->host_only = true;
        replay->call_count = replay->events = replay->mark_count = 0;
        read = read_space(&reader, message, err);
    }
    free(reader.plane.messages);
    return read;
}

bool replay_read_xplane(struct replay *replay, const char *text, size_t length, struct error *err)
{
    struct import_lines lines;
    char *data = NULL;
    size_t count = 0;
    bool read = import_lines_open(&lines, replay->path, text, length, err) &&
                read_bytes(replay->path, &lines, &data, &count, err);
    import_lines_close(&lines);
    read = read && read_all(replay, (struct bytes){data, count}, err);
    free(data);
    return read && replay_finish(replay, "events", err);
}
