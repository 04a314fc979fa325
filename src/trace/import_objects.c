/* Chrome traces ({"traceEvents": […]} or […]) and DFTracer's .pfw, which is one with an object in each line. */
#include "trace/import_internal.h"
#include "trace/import_json.h"
#include "trace/store_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK      32   /* brackets within brackets whose kind is remembered */
#define OPEN_SPANS 1024 /* of all threads together */

struct objects {
    struct trace_names hashes; /* DFTracer's of file names */
    int64_t *files;            /* their ids, by the id of the hash */
    size_t file_capacity;
    char *text; /* of the object at hand */
    size_t length;
    char brackets[STACK];        /* open ones, the object's own included */
    int64_t depth, object_depth; /* object_depth: of the object at hand; 0: none */
    bool string, escaped, line_start, at_line_start, broken;
    struct import_object object;
    int open_count;
    struct trace_event open[OPEN_SPANS]; /* begun; in order */
};

static const char *text_of(const struct import_object *object, bool inner, const char *key)
{
    const struct import_member *member = import_object_find(object, inner, key);
    return member ? member->value : "";
}

static bool set_file(struct objects *objects, uint32_t hash, int64_t file)
{
    if (hash >= objects->file_capacity) {
        size_t capacity = 2 * (size_t)hash + 64;
        int64_t *files = realloc(objects->files, capacity * sizeof *files);
        if (!files)
            return false;
        memset(files + objects->file_capacity, 0, (capacity - objects->file_capacity) * sizeof *files);
        objects->files = files;
        objects->file_capacity = capacity;
    }
    objects->files[hash] = file;
    return true;
}

/* {"name": "FH", "ph": "M", "args": {"name": PATH, "value": HASH}}; others name hosts, processes, threads. */
static bool take_metadata(struct import *import, struct objects *objects, struct error *err)
{
    const struct import_object *object = &objects->object;
    const char *path = text_of(object, true, "name"), *hash = text_of(object, true, "value");
    const char *name = text_of(object, false, "name");
    bool added;
    if (strcmp(name, "HH") == 0)
        return trace_set_meta(import->writer, "host", path, err);
    if (strcmp(name, "FH") != 0 || !*hash)
        return true;
    uint32_t id = trace_names_id(&objects->hashes, hash, strlen(hash), &added);
    int64_t file = trace_file(import->writer, TRACE_NONE, TRACE_NONE, path, strlen(path));
    return (id && set_file(objects, id, file)) || error_memory(err);
}

/* The file of an event: by its hash, or by its name. */
static int64_t file_of(struct import *import, struct objects *objects)
{
    const char *hash = text_of(&objects->object, true, "fhash"),
               *name = text_of(&objects->object, true, "fname");
    bool added;
    if (*hash) {
        uint32_t id = trace_names_id(&objects->hashes, hash, strlen(hash), &added);
        if (id && id < objects->file_capacity && objects->files[id])
            return objects->files[id];
        name = hash;
    }
    return *name ? trace_file(import->writer, TRACE_NONE, TRACE_NONE, name, strlen(name)) : 0;
}

static void take_argument(const struct import_object *object, const char *key, int64_t *value)
{
    if (!import_object_integer(object, true, key, value))
        *value = TRACE_NONE;
}

static int64_t process_of(struct import *import, const struct import_object *object)
{
    int64_t pid, tid;
    if (!import_object_integer(object, false, "pid", &pid))
        pid = TRACE_NONE;
    if (!import_object_integer(object, false, "tid", &tid))
        tid = TRACE_NONE;
    return import_process(import, pid, tid, "", 0);
}

/* Calls are DFTracer's categories POSIX and STDIO, and our own, which are classes. */
static bool is_call(const char *category, const char *name, enum trace_class *class)
{
    *class = TRACE_REGION;
    if (strcmp(category, "POSIX") == 0 || strcmp(category, "STDIO") == 0)
        *class = trace_class_of_call(name, strlen(name));
    for (int i = 0; i < TRACE_REGION; i++)
        if (strcmp(category, trace_class_name((enum trace_class)i)) == 0)
            *class = (enum trace_class)i;
    return *class != TRACE_REGION;
}

/* All of a span but its duration. Other categories are regions of the application, "CATEGORY.NAME". */
static bool take_start(struct import *import, struct objects *objects, struct trace_event *event)
{
    const struct import_object *object = &objects->object;
    const char *name = text_of(object, false, "name"), *category = text_of(object, false, "cat");
    char region[256];
    *event = (struct trace_event){.cached = -1};
    if (!import_object_micros(object, "ts", &event->start_ns) || !*name)
        return false;
    bool call = is_call(category, name, &event->class);
    snprintf(region, sizeof region, "%s%s%s", call ? "" : category, call || !*category ? "" : ".", name);
    event->call = trace_call(import->writer, region, strlen(region));
    event->process = process_of(import, object);
    event->file = file_of(import, objects);
    take_argument(object, "fd", &event->fd);
    take_argument(object, "offset", &event->offset);
    take_argument(object, "ret", &event->result);
    take_argument(object, "count", &event->size);
    if (event->size == TRACE_NONE)
        take_argument(object, "size", &event->size);
    return true;
}

/* Of our own timelines. */
static bool take_phase(struct import *import, const struct import_object *object, int64_t duration,
                       struct error *err)
{
    struct trace_phase phase = {.name = text_of(object, false, "name"),
                                .source = text_of(object, true, "source")};
    if (!import_object_micros(object, "ts", &phase.start_ns) || !*phase.name)
        return import_malformed(import, "a phase without time or name");
    phase.end_ns = phase.start_ns + duration;
    return import_phase(import, &phase, err);
}

static bool take_span(struct import *import, struct objects *objects, struct error *err)
{
    struct trace_event event;
    int64_t duration;
    bool timed = import_object_micros(&objects->object, "dur", &duration) && duration >= 0;
    if (timed && strcmp(text_of(&objects->object, false, "cat"), "phase") == 0)
        return take_phase(import, &objects->object, duration, err);
    if (!timed || !take_start(import, objects, &event))
        return import_malformed(import, "a span without time, duration or name");
    event.latency_ns = duration;
    return import_event(import, &event, err);
}

/* A span in two objects, "ph": "B" and "E": the end is that of the thread's last beginning. */
static bool take_begin(struct import *import, struct objects *objects)
{
    if (objects->open_count == OPEN_SPANS)
        return import_malformed(import, "too many spans are open at once");
    if (!take_start(import, objects, &objects->open[objects->open_count]))
        return import_malformed(import, "a span without time or name");
    objects->open_count++;
    return true;
}

static bool take_end(struct import *import, struct objects *objects, struct error *err)
{
    int64_t end_ns, process = process_of(import, &objects->object);
    int at = objects->open_count - 1;
    while (at >= 0 && objects->open[at].process != process)
        at--;
    if (at < 0 || !import_object_micros(&objects->object, "ts", &end_ns) ||
        end_ns < objects->open[at].start_ns)
        return import_malformed(import, "a span ends that did not begin before");
    struct trace_event event = objects->open[at];
    event.latency_ns = end_ns - event.start_ns;
    memmove(&objects->open[at], &objects->open[at + 1],
            (size_t)(--objects->open_count - at) * sizeof objects->open[0]);
    return import_event(import, &event, err);
}

/* {"name": …, "ph": "C", "ts": …, "args": {"series": value, …}} */
static bool take_counter(struct import *import, struct objects *objects, struct error *err)
{
    const struct import_object *object = &objects->object;
    struct trace_sample sample;
    if (!import_object_micros(object, "ts", &sample.time_ns))
        return import_malformed(import, "a counter without time");
    for (int i = 0; i < object->count; i++) {
        const struct import_member *member = &object->members[i];
        char *end;
        if (!member->inner || member->string)
            continue;
        sample.value = text_number(member->value, &end);
        if (end == member->value)
            continue;
        sample.series = trace_series(import->writer, text_of(object, false, "name"), member->key);
        if (!import_sample(import, &sample, err))
            return false;
    }
    return true;
}

static bool take_object(struct import *import, struct objects *objects, struct error *err)
{
    objects->text[objects->length] = '\0';
    if (objects->broken || strlen(objects->text) != objects->length ||
        !import_object_parse(&objects->object, objects->text))
        return import_malformed(import,
                                objects->broken ? "an object too long to be one" : "no object of JSON");
    const char *kind = text_of(&objects->object, false, "ph");
    switch (*kind) {
    case 'X':
        return take_span(import, objects, err);
    case 'B':
        return take_begin(import, objects);
    case 'E':
        return take_end(import, objects, err);
    case 'M':
        return take_metadata(import, objects, err);
    case 'C':
        return take_counter(import, objects, err);
    case '\0':
        return import_malformed(import, "an object without \"ph\"");
    default:
        return true; /* instants, flows */
    }
}

static void keep(struct objects *objects, char c)
{
    if (objects->length == TRACE_IMPORT_LINE_BYTES)
        objects->broken = true;
    else
        objects->text[objects->length++] = c;
}

static void begin_object(struct objects *objects)
{
    objects->object_depth = objects->depth;
    objects->at_line_start = objects->line_start;
    objects->length = 0;
    objects->broken = false;
}

static bool take_bracket(struct import *import, struct objects *objects, char c, struct error *err)
{
    bool opens = c == '{' || c == '[';
    if (opens) {
        if (objects->depth < STACK)
            objects->brackets[objects->depth] = c;
        objects->depth++;
        if (c == '{' && !objects->object_depth && objects->depth >= 2 && objects->depth <= STACK &&
            objects->brackets[objects->depth - 2] == '[')
            begin_object(objects);
        return true;
    }
    bool ends = objects->object_depth && objects->depth == objects->object_depth;
    objects->depth -= objects->depth > 0;
    if (!ends)
        return true;
    keep(objects, c);
    objects->object_depth = 0;
    return take_object(import, objects, err);
}

/* Objects start where lines do, and here is another: the one at hand was cut off. */
static bool give_up(struct import *import, struct objects *objects)
{
    objects->depth = objects->object_depth - 1;
    objects->object_depth = 0;
    objects->string = objects->escaped = false;
    return import_malformed(import, "an object that was cut off");
}

static bool take_byte(struct import *import, struct objects *objects, char c, struct error *err)
{
    if (c == '{' && objects->line_start && objects->object_depth && objects->at_line_start)
        give_up(import, objects);
    if (objects->string) {
        objects->string = c != '"' || objects->escaped;
        objects->escaped = c == '\\' && !objects->escaped;
    } else if (c == '"') {
        objects->string = true;
    } else if (c == '{' || c == '}' || c == '[' || c == ']') {
        bool inside = objects->object_depth > 0;
        if (!take_bracket(import, objects, c, err))
            return false;
        if (inside && !objects->object_depth)
            c = '\0'; /* its last byte is kept already */
    }
    if (objects->object_depth && c)
        keep(objects, c);
    import->lines->line += c == '\n';
    objects->line_start = c == '\n';
    return true;
}

static bool take_bytes(struct import *import, struct objects *objects, struct error *err)
{
    const char *bytes;
    size_t length;
    for (;;) {
        if (!import_lines_raw(import->lines, &bytes, &length, err))
            return false;
        if (length == 0)
            return !objects->object_depth || import_malformed(import, "an object that was cut off");
        for (size_t i = 0; i < length; i++)
            if (!take_byte(import, objects, bytes[i], err))
                return false;
    }
}

bool import_objects(struct import *import, struct error *err)
{
    struct objects *objects = calloc(1, sizeof *objects);
    char *text = malloc(TRACE_IMPORT_LINE_BYTES + 1);
    bool done = (objects && text) || error_memory(err);
    if (done) {
        objects->text = text;
        objects->line_start = true;
        done = take_bytes(import, objects, err);
        trace_names_release(&objects->hashes);
        free(objects->files);
    }
    free(text);
    free(objects);
    return done;
}
