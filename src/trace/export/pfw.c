/* DFTracer's format, with further members so that importing the file gives the same trace.
 *
 * DFTracer counts whole microseconds, and knows neither disk requests nor samples nor the names of
 * threads. Members that its tools ignore hold the rest: `ts_ns` and `dur_ns` are nanoseconds to be added
 * (null: the duration is unknown), `args.class`, `args.call` and `args.phash` are class, call and process;
 * objects PR, DH, MD and LOST describe processes, disks, the trace and losses; objects of category BLOCK
 * are requests. import/objects.c reads them. */
#include "trace/export/file.h"
#include "trace/store/schema.h"

#include <inttypes.h>
#include <string.h>

struct pfw {
    struct trace_reader *reader;
    FILE *out;
    int64_t number;
};

static int64_t known(int64_t value, int64_t otherwise)
{
    return value == TRACE_NONE ? otherwise : value;
}

static void write_number(struct pfw *pfw, const char *key, int64_t value)
{
    if (value != TRACE_NONE)
        fprintf(pfw->out, ",\"%s\":%" PRId64, key, value);
}

static void write_text(struct pfw *pfw, const char *key, const char *text)
{
    fprintf(pfw->out, ",\"%s\":", key);
    export_string(pfw->out, text);
}

static void write_id(struct pfw *pfw, const char *key, const char *kind, int64_t id)
{
    if (id)
        fprintf(pfw->out, ",\"%s\":\"%s%" PRIx64 "\"", key, kind, (uint64_t)id);
}

/* Whole microseconds, rounded down, and the rest in nanoseconds. */
static void write_start(struct pfw *pfw, int64_t start_ns)
{
    int64_t rest = (start_ns % 1000 + 1000) % 1000;
    fprintf(pfw->out, ",\"ts\":%" PRId64 ",\"ts_ns\":%" PRId64, (start_ns - rest) / 1000, rest);
}

static void write_length(struct pfw *pfw, int64_t length_ns)
{
    int64_t micros = length_ns > 0 ? length_ns / 1000 : 0;
    if (length_ns == TRACE_NONE)
        fputs(",\"dur\":0,\"dur_ns\":null", pfw->out);
    else
        fprintf(pfw->out, ",\"dur\":%" PRId64 ",\"dur_ns\":%" PRId64, micros, length_ns - 1000 * micros);
}

/* {"id":1,"name":…,"cat":…,"pid":…,"tid":… */
static void begin(struct pfw *pfw, const char *name, const char *category, int64_t pid, int64_t tid)
{
    fprintf(pfw->out, "{\"id\":%" PRId64 ",\"name\":", pfw->number++);
    export_string(pfw->out, name);
    write_text(pfw, "cat", category);
    fprintf(pfw->out, ",\"pid\":%" PRId64 ",\"tid\":%" PRId64, pid, tid);
}

/* …,"ph":"M","args":{"name":…,"value":…: the caller ends it with "}}\n". */
static void begin_about(struct pfw *pfw, const char *what, const char *name)
{
    begin(pfw, what, "dftracer", 0, 0);
    fputs(",\"ph\":\"M\",\"args\":{\"name\":", pfw->out);
    export_string(pfw->out, name);
}

static void write_processes(struct pfw *pfw)
{
    for (int64_t id = 1; id <= trace_process_count(pfw->reader); id++) {
        const struct trace_process_info *process = trace_process_info(pfw->reader, id);
        begin_about(pfw, "PR", process->name);
        write_id(pfw, "value", "p", id);
        write_number(pfw, "pid", process->pid);
        write_number(pfw, "tid", process->tid);
        write_number(pfw, "parent_pid", process->parent_pid);
        write_number(pfw, "start_ns", process->start_ns);
        write_number(pfw, "end_ns", process->end_ns);
        if (*process->command)
            write_text(pfw, "command", process->command);
        fputs("}}\n", pfw->out);
    }
}

static void write_names(struct pfw *pfw)
{
    const char *host = trace_meta(pfw->reader, "host");
    begin_about(pfw, "HH", host ? host : "unknown");
    fputs(",\"value\":\"1\"}}\n", pfw->out);
    for (int64_t id = 1; id <= trace_file_count(pfw->reader); id++) {
        const struct trace_file_info *file = trace_file_info(pfw->reader, id);
        begin_about(pfw, "FH", file->path);
        write_id(pfw, "value", "", id);
        write_number(pfw, "device", file->device);
        write_number(pfw, "inode", file->inode);
        write_text(pfw, "kind", trace_kind_name(file->kind));
        fputs("}}\n", pfw->out);
    }
    for (int64_t id = 1; id <= trace_disk_count(pfw->reader); id++) {
        begin_about(pfw, "DH", trace_disk_name(pfw->reader, id));
        write_id(pfw, "value", "d", id);
        fputs("}}\n", pfw->out);
    }
}

/* Facts about the trace as a whole. */
static void write_meta(struct pfw *pfw)
{
    static const char *const keys[] = {"command", "kernel", "machine", "version", TRACE_STATE};
    int count;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = trace_meta(pfw->reader, keys[i]);
        if (!value || (strcmp(keys[i], TRACE_STATE) == 0 && !trace_unfinished(pfw->reader)))
            continue;
        begin_about(pfw, "MD", keys[i]);
        write_text(pfw, "value", value);
        fputs("}}\n", pfw->out);
    }
    const struct trace_loss *losses = trace_losses(pfw->reader, &count);
    for (int i = 0; i < count; i++) {
        begin_about(pfw, "LOST", losses[i].class);
        write_number(pfw, "value", losses[i].count);
        write_number(pfw, "from_ns", losses[i].from_ns);
        write_number(pfw, "to_ns", losses[i].to_ns);
        fputs("}}\n", pfw->out);
    }
}

static void write_phases(struct pfw *pfw)
{
    int count;
    const struct trace_phase *phases = trace_phases(pfw->reader, &count);
    for (int i = 0; i < count; i++) {
        begin(pfw, phases[i].name, "phase", 0, 0);
        write_start(pfw, phases[i].start_ns);
        write_length(pfw, phases[i].end_ns - phases[i].start_ns);
        fputs(",\"ph\":\"X\",\"args\":{\"source\":", pfw->out);
        export_string(pfw->out, phases[i].source);
        fputs("}}\n", pfw->out);
    }
}

/* "compute.forward" was category and name. */
static void write_event(struct pfw *pfw, const struct trace_event *event)
{
    const struct trace_process_info *process = trace_process_info(pfw->reader, event->process);
    const char *call = trace_call_name(pfw->reader, event->call),
               *name = export_call_name(pfw->reader, event);
    bool region = event->class == TRACE_REGION;
    const char *dot = region ? strchr(name, '.') : NULL;
    char category[64] = "POSIX";
    if (region)
        snprintf(category, sizeof category, "%.*s", dot ? (int)(dot - name) : 3, dot ? name : "APP");
    int64_t pid = known(process->pid, 0);
    begin(pfw, dot ? dot + 1 : name, category, pid, known(process->tid, pid));
    write_start(pfw, event->start_ns);
    write_length(pfw, event->latency_ns);
    fprintf(pfw->out, ",\"ph\":\"X\",\"args\":{\"class\":\"%s\"", trace_class_name(event->class));
    if (region || !*call)
        write_text(pfw, "call", call);
    event->process ? write_id(pfw, "phash", "p", event->process) : write_text(pfw, "phash", "");
    write_id(pfw, "fhash", "", event->file);
    write_number(pfw, "fd", event->fd);
    write_number(pfw, "offset", event->offset);
    write_number(pfw, "count", event->size);
    write_number(pfw, "ret", event->result);
    write_number(pfw, "cached", event->cached < 0 ? TRACE_NONE : event->cached);
    fputs("}}\n", pfw->out);
}

static void write_block(struct pfw *pfw, const struct trace_block *block)
{
    begin(pfw, trace_op_name(block->op), "BLOCK", 0, 0);
    write_start(pfw, block->start_ns);
    write_length(pfw, block->service_ns);
    fputs(",\"ph\":\"X\",\"args\":{\"class\":\"block\"", pfw->out);
    write_id(pfw, "dhash", "d", block->disk);
    write_id(pfw, "phash", "p", block->process);
    write_id(pfw, "cause", "p", block->cause);
    write_id(pfw, "fhash", "", block->file);
    write_number(pfw, "sector", block->sector);
    write_number(pfw, "count", block->bytes);
    write_number(pfw, "queue_ns", block->queue_ns);
    fputs("}}\n", pfw->out);
}

static void write_sample(struct pfw *pfw, const struct trace_sample *sample)
{
    const struct trace_series_info *series = trace_series_info(pfw->reader, sample->series);
    begin(pfw, series->kind, "SAMPLE", 0, 0);
    write_start(pfw, sample->time_ns);
    fputs(",\"ph\":\"C\",\"args\":{", pfw->out);
    export_string(pfw->out, series->source);
    fprintf(pfw->out, ":%.17g}}\n", sample->value);
}

static bool write_rows(struct pfw *pfw, const struct trace_filter *filter, struct error *err)
{
    struct trace_event event;
    struct trace_block block;
    struct trace_sample sample;
    struct trace_cursor *cursor = trace_events(pfw->reader, filter, err);
    while (trace_next_event(cursor, &event))
        write_event(pfw, &event);
    if (!trace_cursor_close(cursor, err))
        return false;
    cursor = trace_blocks(pfw->reader, filter, err);
    while (trace_next_block(cursor, &block))
        write_block(pfw, &block);
    if (!trace_cursor_close(cursor, err))
        return false;
    cursor = trace_samples(pfw->reader, filter, err);
    while (trace_next_sample(cursor, &sample))
        write_sample(pfw, &sample);
    return trace_cursor_close(cursor, err);
}

bool trace_export_pfw(struct trace_reader *reader, const char *path,
                      const struct trace_export_options *options, struct error *err)
{
    struct file_output file;
    struct trace_filter filter = export_filter(options);
    if (!file_output_open(&file, path, err))
        return false;
    struct pfw pfw = {.reader = reader, .out = file.out};
    fputs("[\n", file.out);
    write_names(&pfw);
    write_processes(&pfw);
    write_meta(&pfw);
    write_phases(&pfw);
    bool done = write_rows(&pfw, &filter, err);
    fputs("]\n", file.out);
    return file_output_close(&file, done, err);
}
