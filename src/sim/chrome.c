#include "sim/chrome.h"

#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/hash.h"
#include "core/vector.h"
#include "sim/chrome_groups.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REMEMBERED  65536   /* tasks, of which one may be the cause of a later task */
#define FLUSH_BYTES 65536   /* of text, before it is written */
#define HOST        2000000 /* process of a device's host: this plus the device */
#define SECOND      10000   /* track beside a stream, for a task that overlaps the one before: plus this */

/* Numbers of streams as PyTorch has them: 7 is the first one besides the default one. */
static const int stream_numbers[STREAM_KINDS] = {7, 20, 24, 28, 32};

struct remembered {
    int64_t id;
    int device, track, kind;
    double begin, end;
};

struct chrome_file {
    struct file_output output;
    struct text text;
    struct json json;
    int device;  /* of a file with one device */
    bool headed; /* its head is written */
};

struct track {
    double end;
};

struct chrome {
    struct chrome_options options;
    const char *folder; /* NULL: one file with all devices */
    struct chrome_file *files;
    size_t file_count, file_capacity;
    struct hash_map tracks; /* device and stream -> place in track_list, plus 1 */
    struct track *track_list;
    size_t track_count, track_capacity;
    struct remembered *remembered; /* by id % REMEMBERED */
    struct remembered
        *sent; /* the last send of each cause: by cause % REMEMBERED, and its id is the cause's */
    int64_t tasks, steps;
    struct chrome_groups groups;
    bool links; /* are told: what they carry is not told once more for each task */
    double end;
    struct text path, text;
};

static double microseconds(double seconds)
{
    return round(seconds * 1e9) / 1e3;
}

/* --- events --------------------------------------------------------------------------------------------- */

struct event {
    const char *phase, *category, *name;
    int64_t process, thread;
    double begin, duration; /* microseconds; duration -1: a moment */
    int64_t flow;           /* the arrow's; -2: none */
    const char *binds;      /* "e" of its end: to the task around it */
};

static const struct field event_fields[] = {
    FIELD_OUT(struct event, "ph", phase, FIELD_TEXT),
    FIELD_OUT(struct event, "cat", category, FIELD_SOME_TEXT),
    FIELD_OUT(struct event, "name", name, FIELD_TEXT),
    FIELD_OUT(struct event, "pid", process, FIELD_INT64),
    FIELD_OUT(struct event, "tid", thread, FIELD_INT64),
    FIELD_OUT(struct event, "ts", begin, FIELD_DOUBLE),
    FIELD_OUT(struct event, "dur", duration, FIELD_SOME_DOUBLE),
    FIELD_AT(struct event, "id", flow, FIELD_SOME_INT64, -1, 0),
    FIELD_OUT(struct event, "bp", binds, FIELD_SOME_TEXT),
};

static const struct field task_fields[] = {
    FIELD_OUT(struct timeline_task, "stage", stage, FIELD_SOME_INT),
    FIELD_OUT(struct timeline_task, "layer", layer, FIELD_SOME_INT),
    FIELD_OUT(struct timeline_task, "micro-batch", microbatch, FIELD_SOME_INT64),
    FIELD_AT(struct timeline_task, "bytes", bytes, FIELD_SOME_DOUBLE, DBL_TRUE_MIN, 0),
};

static const struct field memory_fields[] = {
    FIELD(struct timeline_memory, parameters, FIELD_DOUBLE, 0, 0),
    FIELD(struct timeline_memory, gradients, FIELD_DOUBLE, 0, 0),
    FIELD(struct timeline_memory, optimizer, FIELD_DOUBLE, 0, 0),
    FIELD(struct timeline_memory, activations, FIELD_DOUBLE, 0, 0),
    FIELD(struct timeline_memory, working, FIELD_DOUBLE, 0, 0),
};

/* Makes an event of no duration. */
static struct event event_at(const char *phase, const char *category, const char *name, int64_t process,
                             int64_t thread, double seconds)
{
    return (struct event){phase, category, name, process, thread, microseconds(seconds), -1, -2, NULL};
}

/* The end of a task is rounded, not its duration: tasks that follow each other do so in the trace. */
static struct event span_of(const char *category, const char *name, int64_t process, int64_t thread,
                            double begin, double end)
{
    struct event event = event_at("X", category, name, process, thread, begin);
    double duration = (round(end * 1e9) - round(begin * 1e9)) / 1e3;
    event.duration = duration > 0 ? duration : 0;
    return event;
}

/* The caller writes the arguments, and closes both. */
static void open_event(struct json *json, struct event event)
{
    json_open_flat(json, NULL, '{');
    FIELDS_WRITE(&event, event_fields, json);
    json_open(json, "args", '{');
}

static void close_event(struct json *json)
{
    json_close(json);
    json_close(json);
}

static void name_track(struct json *json, const char *what, int64_t process, int64_t thread, const char *name)
{
    open_event(json, event_at("M", NULL, what, process, thread, 0));
    json_string(json, "name", name);
    close_event(json);
}

static void sort_process(struct json *json, int64_t process, int64_t place)
{
    open_event(json, event_at("M", NULL, "process_sort_index", process, 0, 0));
    json_integer(json, "sort_index", place);
    close_event(json);
}

/* --- files ---------------------------------------------------------------------------------------------- */

static bool flush(struct chrome_file *file, size_t limit, struct error *err)
{
    if (file->text.failed)
        return error_memory(err);
    if (file->text.length < limit)
        return true;
    fwrite(file->text.data, 1, file->text.length, file->output.out); /* checked when the file is closed */
    file->text.length = 0;
    return true;
}

static void write_head(const struct chrome *chrome, struct chrome_file *file)
{
    struct json *json = &file->json;
    file->json.out = &file->text;
    json_open(json, NULL, '{');
    json_integer(json, "schemaVersion", 1);
    json_open_flat(json, "deviceProperties", '[');
    json_open(json, NULL, '{');
    json_integer(json, "id", file->device);
    json_string(json, "name", chrome->options.device_name ? chrome->options.device_name : "unknown");
    if (chrome->options.device_memory > 0)
        json_integer(json, "totalGlobalMem", (int64_t)chrome->options.device_memory);
    json_close(json);
    json_close(json);
    chrome->groups.count > 0 ? json_open(json, "distributedInfo", '{')
                             : json_open_flat(json, "distributedInfo", '{');
    json_string(json, "backend", "nccl");
    json_integer(json, "rank", file->device);
    if (chrome->options.world_size > 0)
        json_integer(json, "world_size", chrome->options.world_size);
    if (chrome->groups.count > 0)
        chrome_groups_write(&chrome->groups, chrome->folder ? file->device : -1, json);
    json_close(json);
    json_string(json, "displayTimeUnit", "ms");
    json_open(json, "traceEvents", '[');
}

/* Lets a file's JSON be written behind its head. */
static void begin_file(const struct chrome *chrome, struct chrome_file *file)
{
    file->json.out = &file->text; /* the list of files may have moved */
    if (!file->headed)
        write_head(chrome, file);
    file->headed = true;
}

static bool add_file(struct chrome *chrome, const char *path, int device, struct error *err)
{
    if (!VECTOR_ROOM_ZEROED(chrome->files, chrome->file_capacity, chrome->file_count + 1))
        return error_memory(err);
    struct chrome_file *file = &chrome->files[chrome->file_count];
    *file = (struct chrome_file){.device = device};
    if (!file_output_open(&file->output, path, err))
        return false;
    chrome->file_count++;
    return true;
}

/* Gets the file of a device; the text of a file in a moved list is found again through it. */
static struct chrome_file *file_of(struct chrome *chrome, int device, struct error *err)
{
    size_t place = 0;
    if (chrome->folder) {
        while (place < chrome->file_count && chrome->files[place].device != device)
            place++;
        if (place == CHROME_MAX_FILES)
            return error_null(err, ERROR_USAGE,
                              "a folder of traces holds at most %d devices: write one file for all",
                              CHROME_MAX_FILES);
        if (place == chrome->file_count) {
            chrome->path.length = 0;
            text_format(&chrome->path, "%srank-%d.json", chrome->folder, device);
            if (chrome->path.failed)
                return error_memory_null(err);
            if (!add_file(chrome, chrome->path.data, device, err))
                return NULL;
        }
    }
    struct chrome_file *file = &chrome->files[place];
    begin_file(chrome, file);
    return flush(file, FLUSH_BYTES, err) ? file : NULL;
}

/* --- tracks --------------------------------------------------------------------------------------------- */

static void name_device(const struct chrome *chrome, struct chrome_file *file, int device)
{
    char name[160];
    snprintf(name, sizeof name, "rank %d%s%.100s", device, chrome->options.device_name ? ": " : "",
             chrome->options.device_name ? chrome->options.device_name : "");
    name_track(&file->json, "process_name", device, 0, name);
    sort_process(&file->json, device, 2 * (int64_t)device + 1);
    snprintf(name, sizeof name, "rank %d host", device);
    name_track(&file->json, "process_name", HOST + device, 0, name);
    sort_process(&file->json, HOST + device, 2 * (int64_t)device);
}

/* Returns the track of a stream or beside it, which gets a name when it is first used; NULL: out of memory. */
static struct track *track_of(struct chrome *chrome, struct chrome_file *file, int device, int track,
                              int stream)
{
    char name[64];
    for (int host = 0; host < 2; host++) { /* the device itself first, as number 0 */
        uint64_t key = ((uint64_t)device << 32 | (uint32_t)(host == 0 ? INT32_MAX : track)) + 1;
        int64_t *place = hash_map_place(&chrome->tracks, key);
        if (!place)
            return NULL;
        if (*place > 0 && host == 1)
            return &chrome->track_list[*place - 1];
        if (*place > 0)
            continue;
        if (!VECTOR_ADD(chrome->track_list, chrome->track_count, chrome->track_capacity,
                        (struct track){-HUGE_VAL}))
            return NULL;
        *place = (int64_t)chrome->track_count;
        if (host == 0) {
            name_device(chrome, file, device);
            continue;
        }
        bool known = !chrome->options.recorded && stream >= 0 && stream < STREAM_KINDS;
        snprintf(name, sizeof name, "stream %d%s%s", track, known ? " " : "",
                 known ? timeline_stream_names[stream] : "");
        name_track(&file->json, "thread_name", device, track, name);
    }
    return &chrome->track_list[chrome->track_count - 1];
}

/* --- tasks ---------------------------------------------------------------------------------------------- */

static bool is_exchange(enum timeline_kind kind)
{
    return kind == TASK_SEND || kind == TASK_RECEIVE || kind == TASK_COLLECTIVE;
}

static bool is_copy(enum timeline_kind kind)
{
    return kind == TASK_LOAD || kind == TASK_SAVE;
}

/* Returns the category, and the name by which analysers know the class of a task. */
static const char *classify(const struct chrome *chrome, const struct timeline_task *task, char *name,
                            size_t room)
{
    const char *own = task->name ? task->name : timeline_kind_names[task->kind];
    if (chrome->options.recorded) {
        snprintf(name, room, "%s", own);
        return strncmp(own, "Memcpy", 6) == 0   ? "gpu_memcpy"
               : strncmp(own, "Memset", 6) == 0 ? "gpu_memset"
                                                : "kernel";
    }
    if (is_exchange(task->kind))
        snprintf(name, room, "ncclDevKernel_%s (%s)",
                 task->kind == TASK_COLLECTIVE ? "Collective" : "SendRecv", own);
    else if (is_copy(task->kind))
        snprintf(name, room, "Memcpy %s (%s)", task->kind == TASK_LOAD ? "HtoD" : "DtoH", own);
    else
        snprintf(name, room, "%s", own);
    return is_copy(task->kind) ? "gpu_memcpy" : "kernel";
}

static void write_task(const struct chrome *chrome, struct json *json, const struct timeline_task *task,
                       int track)
{
    char name[1024];
    const char *category = classify(chrome, task, name, sizeof name);
    int64_t correlation = chrome->tasks + 1, host = HOST + (int64_t)task->device;
    open_event(json, span_of("cuda_runtime", "cudaLaunchKernel", host, host, task->begin, task->begin));
    json_integer(json, "External id", correlation);
    json_integer(json, "cbid", 211);
    json_integer(json, "correlation", correlation);
    close_event(json);
    open_event(json, span_of(category, name, task->device, track, task->begin, task->end));
    json_integer(json, "External id", correlation);
    json_integer(json, "device", task->device);
    json_integer(json, "context", 1);
    json_integer(json, "stream", track);
    json_integer(json, "correlation", correlation);
    if (!chrome->options.recorded)
        json_string(json, "kind", timeline_kind_names[task->kind]);
    FIELDS_WRITE(task, task_fields, json);
    if (!chrome->options.recorded && is_exchange(task->kind))
        chrome_exchange_write(&chrome->groups, task, json);
    close_event(json);
}

static void write_flow_end(struct json *json, const char *phase, const char *category, int64_t id, int device,
                           int track, double seconds)
{
    struct event event = event_at(phase, category, category, device, track, seconds);
    event.flow = id;
    event.binds = *phase == 'f' ? "e" : NULL;
    FIELDS_MAP(&event, event_fields, json, NULL);
}

/* The task that an arrow comes from: the send of a receive that begins with it, by the same cause; else the cause. */
static const struct remembered *origin_of(const struct chrome *chrome, const struct timeline_task *task)
{
    const struct remembered *sent = &chrome->sent[task->cause % REMEMBERED];
    const struct remembered *cause = &chrome->remembered[task->cause % REMEMBERED];
    if (task->kind == TASK_RECEIVE && sent->id == task->cause && sent->device != task->device)
        return sent;
    return cause->id == task->cause ? cause : NULL;
}

/* An arrow from the cause's end, a nanosecond before it so that it lies within the cause; from the begin of a send. */
static bool write_arrow(struct chrome *chrome, const struct timeline_task *task, int track, struct error *err)
{
    if (task->cause < 0)
        return true;
    const struct remembered *cause = origin_of(chrome, task);
    if (!cause || (cause->device == task->device && cause->track == track))
        return true;
    const char *category = cause->kind == TASK_SEND ? "transfer" : "cause";
    double from = cause->end - 1e-9 > cause->begin ? cause->end - 1e-9 : cause->begin;
    if (cause->kind == TASK_SEND && task->begin < cause->end)
        from = cause->begin;
    struct chrome_file *file;
    if (!chrome->folder || cause->device == task->device) { /* other files have other flows */
        if (!(file = file_of(chrome, cause->device, err)))
            return false;
        write_flow_end(&file->json, "s", category, task->id, cause->device, cause->track, from);
        if (!(file = file_of(chrome, task->device, err)))
            return false;
        write_flow_end(&file->json, "f", category, task->id, task->device, track, task->begin);
    }
    return true;
}

static void write_rate(struct json *json, int device, const char *name, double time, double rate)
{
    open_event(json, event_at("C", NULL, name, device, 0, time));
    json_number(json, "rate", rate);
    close_event(json);
}

static bool take_task(void *context, const struct timeline_task *task, struct error *err)
{
    struct chrome *chrome = context;
    if (task->device < 0 || task->device >= CHROME_MAX_DEVICES)
        return error_set(err, ERROR_INPUT, "device %d: a trace has devices 0 to %d", task->device,
                         CHROME_MAX_DEVICES - 1);
    struct chrome_file *file = file_of(chrome, task->device, err);
    if (!file)
        return false;
    chrome->end = task->end > chrome->end ? task->end : chrome->end;
    if (!chrome->options.recorded && task->kind == TASK_OTHER) { /* work of the host, within its step */
        int64_t host = HOST + (int64_t)task->device;
        struct event event = span_of("user_annotation", "other", host, host, task->begin, task->end - 1e-9);
        FIELDS_MAP(&event, event_fields, &file->json, NULL);
        return true;
    }
    bool known = !chrome->options.recorded && task->stream >= 0 && task->stream < STREAM_KINDS;
    int track = known ? stream_numbers[task->stream] : task->stream;
    struct track *at = track_of(chrome, file, task->device, track, task->stream);
    if (at && task->begin < at->end - 1e-9) /* two at once: a pair of passes */
        at = track_of(chrome, file, task->device, track += SECOND, task->stream);
    if (!at)
        return error_memory(err);
    at->end = task->end > at->end ? task->end : at->end;
    write_task(chrome, &file->json, task, track);
    if (!chrome->links && is_exchange(task->kind) && task->bytes > 0 && task->end > task->begin) {
        char name[64];
        snprintf(name, sizeof name, "%s (bytes/s)", timeline_kind_names[task->kind]);
        write_rate(&file->json, task->device, name, task->begin, task->bytes / (task->end - task->begin));
        write_rate(&file->json, task->device, name, task->end, 0);
    }
    chrome->tasks++;
    if (!write_arrow(chrome, task, track, err))
        return false;
    struct remembered now = {task->id, task->device, track, (int)task->kind, task->begin, task->end};
    if (task->id >= 0)
        chrome->remembered[task->id % REMEMBERED] = now;
    if (task->kind == TASK_SEND && task->cause >= 0) {
        now.id = task->cause;
        chrome->sent[task->cause % REMEMBERED] = now;
    }
    return true;
}

static bool take_memory(void *context, const struct timeline_memory *memory, struct error *err)
{
    struct chrome *chrome = context;
    struct chrome_file *file = file_of(chrome, memory->device, err);
    if (!file)
        return false;
    open_event(&file->json, event_at("C", NULL, "memory (bytes)", memory->device, 0, memory->time));
    FIELDS_WRITE(memory, memory_fields, &file->json);
    close_event(&file->json);
    return true;
}

static bool take_link(void *context, const struct timeline_link *link, struct error *err)
{
    struct chrome *chrome = context;
    struct chrome_file *file = file_of(chrome, link->device, err);
    if (!file)
        return false;
    chrome->links = true;
    chrome->text.length = 0;
    text_format(&chrome->text, "%s, bytes/s of %.4g", link->name ? link->name : "link", link->capacity);
    if (chrome->text.failed)
        return error_memory(err);
    write_rate(&file->json, link->device, chrome->text.data, link->time, link->rate);
    return true;
}

static bool take_group(void *context, const struct timeline_group *group, struct error *err)
{
    struct chrome *chrome = context;
    return chrome_groups_add(&chrome->groups, group, err);
}

struct timeline_sink chrome_sink(struct chrome *chrome)
{
    return (struct timeline_sink){
        .context = chrome, .task = take_task, .memory = take_memory, .link = take_link, .group = take_group};
}

/* Adds a mark of an iteration; if there is none, chrome_close adds one from 0 to the end. Times in seconds. */
static bool chrome_step(struct chrome *chrome, double begin, double end, struct error *err)
{
    char name[64];
    snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)chrome->steps++);
    for (size_t i = 0; i < chrome->file_count; i++) {
        struct chrome_file *file = &chrome->files[i];
        int64_t host = HOST + (int64_t)file->device;
        begin_file(chrome, file);
        struct event by_host = span_of("user_annotation", name, host, host, begin, end);
        struct event by_device = span_of("gpu_user_annotation", name, file->device, 0, begin, end);
        FIELDS_MAP(&by_host, event_fields, &file->json, NULL);
        FIELDS_MAP(&by_device, event_fields, &file->json, NULL);
        if (!flush(file, FLUSH_BYTES, err))
            return false;
    }
    return true;
}

/* --- begin and end -------------------------------------------------------------------------------------- */

static bool close_file(const struct chrome *chrome, struct chrome_file *file, bool done, struct error *err)
{
    begin_file(chrome, file);
    while (done && file->json.depth > 0)
        json_close(&file->json);
    done = done && flush(file, 0, err);
    text_release(&file->text);
    return file_output_close(&file->output, done, err) && done;
}

bool chrome_close(struct chrome *chrome, bool done, struct error *err)
{
    if (!chrome)
        return done;
    if (done && chrome->steps == 0)
        done = chrome_step(chrome, 0, chrome->end, err);
    for (size_t i = 0; i < chrome->file_count; i++)
        done = close_file(chrome, &chrome->files[i], done, err);
    chrome_groups_release(&chrome->groups);
    free(chrome->files);
    free(chrome->track_list);
    free(chrome->remembered);
    hash_map_release(&chrome->tracks);
    text_release(&chrome->path);
    text_release(&chrome->text);
    free(chrome);
    return done;
}

struct chrome *chrome_open(const char *path, const struct chrome_options *options, struct error *err)
{
    struct chrome *chrome = calloc(1, sizeof *chrome);
    size_t length = strlen(path);
    if (!chrome)
        return error_memory_null(err);
    chrome->options = *options;
    chrome->remembered = malloc(2 * (size_t)REMEMBERED * sizeof *chrome->remembered);
    bool opened = chrome->remembered || error_memory(err);
    for (int i = 0; opened && i < 2 * REMEMBERED; i++)
        chrome->remembered[i].id = -1;
    chrome->sent = opened ? chrome->remembered + REMEMBERED : NULL;
    if (opened && length > 0 && path[length - 1] == '/') {
        chrome->folder = path;
        opened = file_make_folders(path, err);
    } else if (opened) {
        opened = add_file(chrome, path, 0, err);
    }
    if (opened)
        return chrome;
    chrome_close(chrome, false, err);
    return NULL;
}
