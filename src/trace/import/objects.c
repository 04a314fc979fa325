/* Chrome traces ({"traceEvents": […]} or […]) and DFTracer's .pfw, which has an object in each line. */
#include "core/hash.h"
#include "core/vector.h"
#include "trace/import/internal.h"
#include "trace/import/json.h"
#include "trace/import/stream.h"
#include "trace/store/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_SPANS 1024 /* of all threads together */

/* The ids that hashes stand for. */
struct hashes {
    struct hash_names names;
    int64_t *ids; /* by the id of the hash */
    size_t capacity;
};

struct objects {
    struct import *import;
    struct hashes files, processes, disks;
    struct import_object object;
    int open_count;
    struct open_span {
        struct trace_event event;
        bool asynchronous;
        int64_t id;     /* of an asynchronous one */
    } open[OPEN_SPANS]; /* begun; in order */
};

static const char *text_of(const struct import_object *object, const char *within, const char *key)
{
    const struct import_member *member = import_object_find(object, within, key);
    return member ? member->value : "";
}

static bool set_hash(struct hashes *hashes, const char *hash, int64_t value)
{
    bool added;
    size_t id = hash_names_id(&hashes->names, hash, strlen(hash), &added);
    if (!VECTOR_ROOM_ZEROED(hashes->ids, hashes->capacity, id + 1))
        return false;
    hashes->ids[id] = value;
    return id != 0;
}

/* Returns 0 for an unknown hash. */
static int64_t hash_value(struct hashes *hashes, const char *hash)
{
    bool added;
    size_t id = *hash ? hash_names_id(&hashes->names, hash, strlen(hash), &added) : 0;
    return id && id < hashes->capacity ? hashes->ids[id] : 0;
}

static void release_hashes(struct hashes *hashes)
{
    hash_names_release(&hashes->names);
    free(hashes->ids);
}

static void take_argument(const struct import_object *object, const char *key, int64_t *value)
{
    if (!import_object_integer(object, "args", key, value))
        *value = TRACE_NONE;
}

/* Returns a file, whose kind is given or follows from its path. */
static int64_t take_file(struct import *import, const struct import_object *object, const char *path)
{
    int64_t device, inode;
    enum trace_kind kind = trace_kind_of_path(path, strlen(path));
    take_argument(object, "device", &device);
    take_argument(object, "inode", &inode);
    for (int i = 0; i < TRACE_KINDS; i++)
        if (strcmp(text_of(object, "args", "kind"), trace_kind_name((enum trace_kind)i)) == 0)
            kind = (enum trace_kind)i;
    return trace_file_of_kind(import->writer, device, inode, kind, path, strlen(path));
}

/* Takes a process as export/pfw.c writes it; DFTracer's own, which tell less, are ignored. */
static bool take_process(struct import *import, struct objects *objects, const char *name, const char *hash,
                         struct error *err)
{
    const struct import_object *object = &objects->object;
    const struct import_member *command = import_object_find(object, "args", "command");
    int64_t pid, tid, parent, start_ns, end_ns;
    take_argument(object, "pid", &pid);
    take_argument(object, "tid", &tid);
    take_argument(object, "parent_pid", &parent);
    take_argument(object, "start_ns", &start_ns);
    take_argument(object, "end_ns", &end_ns);
    const struct trace_phase life = {"", start_ns == TRACE_NONE ? 0 : start_ns,
                                     end_ns == TRACE_NONE ? 0 : end_ns, ""};
    if (!trace_pid_fits(pid) || !trace_pid_fits(tid) || !trace_pid_fits(parent) || !trace_phase_fits(&life))
        return import_malformed(import, "a process with impossible numbers");
    int64_t process = trace_process(import->writer, pid, tid, name, strlen(name));
    return (set_hash(&objects->processes, hash, process) || error_memory(err)) &&
           trace_process_set(import->writer, process, parent, start_ns, end_ns,
                             command ? command->value : NULL, err);
}

static bool take_lost(struct import *import, const struct import_object *object, const char *class,
                      struct error *err)
{
    int64_t count;
    struct trace_phase span = {"", 0, 0, ""};
    bool timed = import_object_integer(object, "args", "from_ns", &span.start_ns) &&
                 import_object_integer(object, "args", "to_ns", &span.end_ns);
    if (!import_object_integer(object, "args", "value", &count) || count < 0 || count > INT64_MAX / 1024 ||
        !trace_phase_fits(&span))
        return import_malformed(import, "an impossible number of lost events");
    return trace_add_lost(import->writer, class, count, timed ? span.start_ns : TRACE_NONE,
                          timed ? span.end_ns : TRACE_NONE, err);
}

/* Stores a fact about the trace as a whole. */
static bool take_meta(struct import *import, const char *key, const char *value, struct error *err)
{
    static const char *const keys[] = {"command", "kernel", "machine"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return trace_set_meta(import->writer, key, value, err);
    if (strcmp(key, TRACE_STATE) == 0)
        trace_writer_cut(import->writer);
    return true;
}

/* {"name": "FH", "ph": "M", "args": {"name": PATH, "value": HASH}}; others name hosts, processes, threads,
 * disks. */
static bool take_metadata(struct import *import, struct objects *objects, struct error *err)
{
    const struct import_object *object = &objects->object;
    const char *named = text_of(object, "args", "name"), *hash = text_of(object, "args", "value");
    const char *name = text_of(object, NULL, "name");
    if (strcmp(name, "HH") == 0)
        return trace_set_meta(import->writer, "host", named, err);
    if (strcmp(name, "MD") == 0)
        return take_meta(import, named, hash, err);
    if (strcmp(name, "LOST") == 0)
        return take_lost(import, object, named, err);
    if (!*hash)
        return true;
    if (strcmp(name, "PR") == 0 && *hash == 'p')
        return take_process(import, objects, named, hash, err);
    if (strcmp(name, "DH") == 0)
        return set_hash(&objects->disks, hash, trace_disk(import->writer, named, strlen(named))) ||
               error_memory(err);
    return strcmp(name, "FH") != 0 || set_hash(&objects->files, hash, take_file(import, object, named)) ||
           error_memory(err);
}

/* Returns the file of an event: by its hash, or by its name. */
static int64_t file_of(struct import *import, struct objects *objects)
{
    const char *hash = text_of(&objects->object, "args", "fhash"),
               *name = text_of(&objects->object, "args", "fname");
    int64_t file = hash_value(&objects->files, hash);
    if (file)
        return file;
    name = *hash ? hash : name;
    return *name ? trace_file(import->writer, TRACE_NONE, TRACE_NONE, name, strlen(name)) : 0;
}

static int64_t process_of(struct import *import, struct objects *objects)
{
    const struct import_object *object = &objects->object;
    const struct import_member *hash = import_object_find(object, "args", "phash");
    int64_t pid, tid, process = hash ? hash_value(&objects->processes, hash->value) : 0;
    if (process || (hash && !*hash->value))
        return process; /* "": it is not known whose */
    /* TRACE_NONE, given as a number by another program, is impossible */
    bool told = import_object_integer(object, NULL, "pid", &pid);
    import->no_process |= told && pid == TRACE_NONE;
    pid = told ? pid : TRACE_NONE;
    told = import_object_integer(object, NULL, "tid", &tid);
    import->no_process |= told && tid == TRACE_NONE;
    tid = told ? tid : TRACE_NONE;
    return import_process(import, pid, tid, "", 0);
}

/* Returns whether a span is a call: of DFTracer's categories POSIX and STDIO, or of our own, which are
 * classes. */
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

/* Takes the class that export/pfw.c adds to category and name. */
static void take_class(const struct import_object *object, enum trace_class *class)
{
    const char *name = text_of(object, "args", "class");
    for (int i = 0; *name && i < TRACE_CLASSES; i++)
        if (strcmp(name, trace_class_name((enum trace_class)i)) == 0)
            *class = (enum trace_class)i;
}

/* Takes microseconds and the rest in nanoseconds, since what Kineto tells before its events. */
static bool take_time(const struct import *import, const struct import_object *object, int64_t *time_ns)
{
    int64_t rest, base = import->lines->base_ns;
    if (!import_object_micros(object, "ts", time_ns) || *time_ns > TRACE_MAX_TIME - base)
        return false;
    *time_ns += base;
    *time_ns += import_object_integer(object, NULL, "ts_ns", &rest) && rest >= 0 && rest < 1000 ? rest : 0;
    return true;
}

/* Takes a duration; *length_ns TRACE_NONE: it is given as unknown. */
static bool take_length(const struct import_object *object, int64_t *length_ns)
{
    const struct import_member *rest = import_object_find(object, NULL, "dur_ns");
    int64_t rest_ns;
    if (!import_object_micros(object, "dur", length_ns) || *length_ns < 0)
        return false;
    if (rest && strcmp(rest->value, "null") == 0)
        *length_ns = TRACE_NONE;
    else if (import_object_integer(object, NULL, "dur_ns", &rest_ns) && rest_ns < 1000 &&
             rest_ns >= -TRACE_MAX_LENGTH)
        *length_ns += rest_ns;
    return true;
}

/* Takes everything of a span but its duration. Other categories are regions of the application,
 * "CATEGORY.NAME". */
static bool take_start(struct import *import, struct objects *objects, struct trace_event *event)
{
    const struct import_object *object = &objects->object;
    const char *name = text_of(object, NULL, "name"), *category = text_of(object, NULL, "cat");
    char region[256];
    *event = (struct trace_event){.cached = -1};
    const struct import_member *exact = import_object_find(object, "args", "call");
    int64_t cached;
    if (!take_time(import, object, &event->start_ns) || (!*name && !exact))
        return false;
    bool call = is_call(category, name, &event->class);
    take_class(object, &event->class);
    snprintf(region, sizeof region, "%s%s%s", call ? "" : category, call || !*category ? "" : ".", name);
    const char *named = exact && exact->string ? exact->value : region;
    event->call = *named ? trace_call(import->writer, named, strlen(named)) : 0;
    event->process = process_of(import, objects);
    if (import_object_integer(object, "args", "cached", &cached) && (cached == 0 || cached == 1))
        event->cached = (int)cached;
    event->file = file_of(import, objects);
    take_argument(object, "fd", &event->fd);
    take_argument(object, "offset", &event->offset);
    take_argument(object, "ret", &event->result);
    take_argument(object, "count", &event->size);
    if (event->size == TRACE_NONE)
        take_argument(object, "size", &event->size);
    return true;
}

/* Takes a phase as export/pfw.c writes it. */
static bool take_phase(struct import *import, const struct import_object *object, int64_t duration,
                       struct error *err)
{
    struct trace_phase phase = {.name = text_of(object, NULL, "name"),
                                .source = text_of(object, "args", "source")};
    if (!take_time(import, object, &phase.start_ns) || !*phase.name || duration == TRACE_NONE)
        return import_malformed(import, "a phase without time or name");
    phase.end_ns = phase.start_ns + duration;
    return import_phase(import, &phase, err);
}

/* Takes a disk request as export/pfw.c writes it. */
static bool take_block(struct import *import, struct objects *objects, int64_t duration, struct error *err)
{
    const struct import_object *object = &objects->object;
    struct trace_block block = {.service_ns = duration,
                                .disk = hash_value(&objects->disks, text_of(object, "args", "dhash")),
                                .process = hash_value(&objects->processes, text_of(object, "args", "phash")),
                                .cause = hash_value(&objects->processes, text_of(object, "args", "cause")),
                                .file = hash_value(&objects->files, text_of(object, "args", "fhash"))};
    int op = 0;
    while (op < TRACE_OPS && strcmp(text_of(object, NULL, "name"), trace_op_name((enum trace_op)op)) != 0)
        op++;
    if (op == TRACE_OPS || !take_time(import, object, &block.start_ns))
        return import_malformed(import, "a request without time or operation");
    block.op = (enum trace_op)op;
    take_argument(object, "sector", &block.sector);
    take_argument(object, "count", &block.bytes);
    take_argument(object, "queue_ns", &block.queue_ns);
    return import_block(import, &block, err);
}

static bool take_span(struct import *import, struct objects *objects, struct error *err)
{
    struct trace_event event;
    int64_t duration;
    bool timed = take_length(&objects->object, &duration);
    bool classed = import_object_find(&objects->object, "args", "class") != NULL;
    if (timed && !classed && strcmp(text_of(&objects->object, NULL, "cat"), "phase") == 0)
        return take_phase(import, &objects->object, duration, err);
    if (timed && strcmp(text_of(&objects->object, "args", "class"), "block") == 0)
        return take_block(import, objects, duration, err);
    if (!timed || !take_start(import, objects, &event))
        return import_malformed(import, "a span without time, duration or name");
    event.latency_ns = duration;
    return import_event(import, &event, err);
}

/* Returns whether it is a call, as export/events.c writes overlapping ones. Other asynchronous spans are
 * ignored. */
static bool is_asynchronous_call(const struct import_object *object, int64_t *id)
{
    enum trace_class class;
    return is_call(text_of(object, NULL, "cat"), text_of(object, NULL, "name"), &class) &&
           import_object_integer(object, NULL, "id", id);
}

/* Begins a span in two objects, "ph": "B" and "E" (of a thread) or "b" and "e" (of an id). */
static bool take_begin(struct import *import, struct objects *objects, bool asynchronous)
{
    struct open_span span = {.asynchronous = asynchronous};
    if (asynchronous && !is_asynchronous_call(&objects->object, &span.id))
        return true;
    if (objects->open_count == OPEN_SPANS)
        return import_malformed(import, "too many spans are open at once");
    if (!take_start(import, objects, &span.event))
        return import_malformed(import, "a span without time or name");
    if (import->no_process) {
        import->no_process = false;
        return import_malformed(import, "an impossible process number");
    }
    objects->open[objects->open_count++] = span;
    return true;
}

/* Ends the last span that the thread, or the id, has begun. */
static bool take_end(struct import *import, struct objects *objects, bool asynchronous, struct error *err)
{
    int64_t end_ns, id = 0, process = process_of(import, objects);
    int at = objects->open_count - 1;
    import->no_process = false; /* the process is looked up, and not stored */
    if (asynchronous && !is_asynchronous_call(&objects->object, &id))
        return true;
    while (at >= 0 && (objects->open[at].event.process != process ||
                       objects->open[at].asynchronous != asynchronous || objects->open[at].id != id))
        at--;
    if (at < 0 || !take_time(import, &objects->object, &end_ns) || end_ns < objects->open[at].event.start_ns)
        return import_malformed(import, "a span ends without a beginning");
    struct trace_event event = objects->open[at].event;
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
    if (!take_time(import, object, &sample.time_ns))
        return import_malformed(import, "a counter without time");
    for (int i = 0; i < object->count; i++) {
        const struct import_member *member = &object->members[i];
        char *end;
        if (!member->within || strcmp(member->within, "args") != 0 || member->string)
            continue;
        sample.value = text_number(member->value, &end);
        if (end == member->value)
            continue;
        if (*end)
            return import_malformed(import, member->value);
        sample.series = trace_series(import->writer, text_of(object, NULL, "name"), member->key);
        if (!import_sample(import, &sample, err))
            return false;
    }
    return true;
}

static bool take_object(void *context, char *text, const char *problem, struct error *err)
{
    struct objects *objects = context;
    struct import *import = objects->import;
    if (!text || !import_object_parse(&objects->object, text, err))
        return (!text || !error_is_memory(err)) && import_malformed(import, problem);
    const char *kind = text_of(&objects->object, NULL, "ph");
    switch (*kind) {
    case 'X':
        return take_span(import, objects, err);
    case 'B':
    case 'b':
        return take_begin(import, objects, *kind == 'b');
    case 'E':
    case 'e':
        return take_end(import, objects, *kind == 'e', err);
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

static bool read_objects(struct import *import, struct error *err)
{
    struct objects *objects = calloc(1, sizeof *objects);
    if (!objects)
        return error_memory(err);
    objects->import = import;
    bool done = import_stream(import->lines, take_object, objects, err);
    release_hashes(&objects->files);
    release_hashes(&objects->processes);
    release_hashes(&objects->disks);
    free(objects);
    return done;
}

const struct import_format import_objects = {.words = "Chrome trace", .read = read_objects};
