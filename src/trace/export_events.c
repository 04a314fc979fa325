/* Chrome's JSON, DFTracer's .pfw and plain tables. */
#include "core/file_output.h"
#include "trace/export_file.h"

#include <inttypes.h>
#include <string.h>

#define DISK_PID  1000000000 /* disks as processes, beyond all numbers of processes (PID_MAX_LIMIT is 2^22) */
#define PHASE_PID 0

/* What one of these files is made of. */
struct export
{
    struct trace_reader *reader;
    FILE *out;
    int64_t first_ns; /* times count from here */
    int64_t number;   /* of the event */
};

/* The call's own name, else that of its class. */
static const char *name_of(const struct export *export, const struct trace_event *event)
{
    const char *call = trace_call_name(export->reader, event->call);
    return *call ? call : trace_class_name(event->class);
}

static int64_t known(int64_t value, int64_t otherwise)
{
    return value == TRACE_NONE ? otherwise : value;
}

/* Nanoseconds as microseconds. */
static void write_micros(FILE *out, const char *key, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    fprintf(out, ",\"%s\":%s%" PRIu64 ".%03" PRIu64, key, ns < 0 ? "-" : "", size / 1000, size % 1000);
}

static void write_argument(FILE *out, bool *any, const char *key, int64_t value, int64_t none)
{
    if (value == none)
        return;
    fprintf(out, "%s\"%s\":%" PRId64, *any ? "," : "", key, value);
    *any = true;
}

static void write_chrome_event(struct export *export, const struct trace_event *event)
{
    const struct trace_process_info *process = trace_process_info(export->reader, event->process);
    const char *path = trace_file_info(export->reader, event->file)->path;
    bool any = false;
    int64_t pid = known(process->pid, 0);
    fputs(export->number++ ? ",\n{\"name\":" : "{\"name\":", export->out);
    export_string(export->out, name_of(export, event));
    fprintf(export->out, ",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%" PRId64 ",\"tid\":%" PRId64,
            trace_class_name(event->class), pid, known(process->tid, pid));
    write_micros(export->out, "ts", event->start_ns - export->first_ns);
    write_micros(export->out, "dur", known(event->latency_ns, 0));
    fputs(",\"args\":{", export->out);
    if (*path) {
        fputs("\"fname\":", export->out);
        export_string(export->out, path);
        any = true;
    }
    write_argument(export->out, &any, "fd", event->fd, TRACE_NONE);
    write_argument(export->out, &any, "offset", event->offset, TRACE_NONE);
    write_argument(export->out, &any, "size", event->size, TRACE_NONE);
    write_argument(export->out, &any, "ret", event->result, TRACE_NONE);
    write_argument(export->out, &any, "cached", event->cached, -1);
    fputs("}}", export->out);
}

/* Requests overlap, which spans of one thread may not: the begin and the end of an asynchronous one. */
static void write_chrome_block(struct export *export, const struct trace_block *block)
{
    static const char *const names[TRACE_OPS] = {"read", "write", "discard", "flush"};
    int64_t issued = block->start_ns + known(block->queue_ns, 0), pid = DISK_PID + block->disk;
    int64_t number = export->number;
    for (int end = 0; end < 2; end++) {
        fprintf(export->out,
                "%s{\"name\":\"%s\",\"cat\":\"block\",\"ph\":\"%s\",\"id\":%" PRId64 ",\"pid\":%" PRId64
                ",\"tid\":%" PRId64,
                export->number++ ? ",\n" : "", names[block->op], end ? "e" : "b", number, pid, pid);
        write_micros(export->out, "ts", issued + (end ? known(block->service_ns, 0) : 0) - export->first_ns);
        if (!end)
            fprintf(export->out, ",\"args\":{\"sector\":%" PRId64 ",\"bytes\":%" PRId64 "}",
                    known(block->sector, -1), known(block->bytes, -1));
        fputc('}', export->out);
    }
}

static void write_name(struct export *export, const char *what, int64_t pid, const char *name)
{
    fprintf(export->out, "%s{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%" PRId64 ",\"args\":{\"name\":",
            export->number++ ? ",\n" : "", what, pid);
    export_string(export->out, name);
    fputs("}}", export->out);
}

static void write_chrome_names(struct export *export)
{
    int count;
    const struct trace_phase *phases = trace_phases(export->reader, &count);
    write_name(export, "process_name", PHASE_PID, "run");
    for (int64_t id = 1; id <= trace_process_count(export->reader); id++) {
        const struct trace_process_info *process = trace_process_info(export->reader, id);
        if (*process->name && process->pid != TRACE_NONE)
            write_name(export, "process_name", process->pid, process->name);
    }
    for (int64_t id = 1; id <= trace_disk_count(export->reader); id++)
        write_name(export, "process_name", DISK_PID + id, trace_disk_name(export->reader, id));
    for (int i = 0; i < count; i++) {
        fputs(",\n{\"name\":", export->out);
        export_string(export->out, phases[i].name);
        fprintf(export->out, ",\"cat\":\"phase\",\"ph\":\"X\",\"pid\":%d,\"tid\":0", PHASE_PID);
        write_micros(export->out, "ts", phases[i].start_ns - export->first_ns);
        write_micros(export->out, "dur", phases[i].end_ns - phases[i].start_ns);
        fputs(",\"args\":{\"source\":", export->out);
        export_string(export->out, phases[i].source);
        fputs("}}", export->out);
    }
}

static void write_chrome_sample(struct export *export, const struct trace_sample *sample)
{
    const struct trace_series_info *series = trace_series_info(export->reader, sample->series);
    char name[600];
    snprintf(name, sizeof name, "%s %s", series->kind, series->source);
    fputs(export->number++ ? ",\n{\"name\":" : "{\"name\":", export->out);
    export_string(export->out, name);
    fprintf(export->out, ",\"ph\":\"C\",\"pid\":%d", PHASE_PID);
    write_micros(export->out, "ts", sample->time_ns - export->first_ns);
    fprintf(export->out, ",\"args\":{\"value\":%.15g}}", sample->value);
}

static bool write_chrome(struct export *export, const struct trace_filter *filter, struct error *err)
{
    struct trace_event event;
    struct trace_block block;
    struct trace_sample sample;
    fprintf(export->out,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"start_ns\":\"%" PRId64 "\"},\"traceEvents\":[\n",
            export->first_ns);
    write_chrome_names(export);
    struct trace_cursor *cursor = trace_events(export->reader, filter, err);
    while (cursor && trace_next_event(cursor, &event))
        write_chrome_event(export, &event);
    if (!cursor || !trace_cursor_close(cursor, err))
        return false;
    cursor = trace_blocks(export->reader, filter, err);
    while (cursor && trace_next_block(cursor, &block))
        write_chrome_block(export, &block);
    if (!cursor || !trace_cursor_close(cursor, err))
        return false;
    cursor = trace_samples(export->reader, filter, err);
    while (cursor && trace_next_sample(cursor, &sample))
        write_chrome_sample(export, &sample);
    fputs("\n]}\n", export->out);
    return cursor && trace_cursor_close(cursor, err);
}

bool trace_export_chrome(struct trace_reader *reader, const char *path,
                         const struct trace_export_options *options, struct error *err)
{
    struct file_output file;
    struct export export = {.reader = reader};
    struct trace_filter filter = export_filter(options);
    int64_t last;
    if (!trace_span(reader, &export.first_ns, &last, err))
        return false;
    export.first_ns = known(export.first_ns, 0);
    if (!file_output_open(&file, path, err))
        return false;
    export.out = file.out;
    return file_output_close(&file, write_chrome(&export, &filter, err), err);
}

/* "compute.forward" was category and name. */
static void write_pfw_event(struct export *export, const struct trace_event *event)
{
    const struct trace_process_info *process = trace_process_info(export->reader, event->process);
    const char *name = name_of(export, event), *dot = event->class == TRACE_REGION ? strchr(name, '.') : NULL;
    bool any = false;
    int64_t pid = known(process->pid, 0);
    fprintf(export->out, "{\"id\":%" PRId64 ",\"name\":", ++export->number);
    export_string(export->out, dot ? dot + 1 : name);
    if (dot)
        fprintf(export->out, ",\"cat\":\"%.*s\"", (int)(dot - name), name);
    else
        fputs(event->class == TRACE_REGION ? ",\"cat\":\"APP\"" : ",\"cat\":\"POSIX\"", export->out);
    fprintf(export->out,
            ",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":%" PRId64 ",\"dur\":%" PRId64
            ",\"ph\":\"X\",\"args\":{",
            pid, known(process->tid, pid), event->start_ns / 1000, known(event->latency_ns, 0) / 1000);
    if (event->file) {
        fprintf(export->out, "\"fhash\":\"%" PRIx64 "\"", (uint64_t)event->file);
        any = true;
    }
    write_argument(export->out, &any, "fd", event->fd, TRACE_NONE);
    write_argument(export->out, &any, "offset", event->offset, TRACE_NONE);
    write_argument(export->out, &any, "count", event->size, TRACE_NONE);
    write_argument(export->out, &any, "ret", event->result, TRACE_NONE);
    fputs("}}\n", export->out);
}

bool trace_export_pfw(struct trace_reader *reader, const char *path,
                      const struct trace_export_options *options, struct error *err)
{
    struct file_output file;
    struct trace_event event;
    struct export export = {.reader = reader};
    struct trace_filter filter = export_filter(options);
    const char *host = trace_meta(reader, "host");
    if (!file_output_open(&file, path, err))
        return false;
    export.out = file.out;
    fputs("[\n{\"id\":0,\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":0,\"tid\":0,\"ph\":\"M\",\"args\":{"
          "\"name\":",
          file.out);
    export_string(file.out, host ? host : "unknown");
    fputs(",\"value\":\"1\"}}\n", file.out);
    for (int64_t id = 1; id <= trace_file_count(reader); id++) {
        fprintf(file.out,
                "{\"id\":%" PRId64
                ",\"name\":\"FH\",\"cat\":\"dftracer\",\"pid\":0,\"tid\":0,\"ph\":\"M\",\"args\":{\"name\":",
                ++export.number);
        export_string(file.out, trace_file_info(reader, id)->path);
        fprintf(file.out, ",\"value\":\"%" PRIx64 "\"}}\n", (uint64_t)id);
    }
    struct trace_cursor *cursor = trace_events(reader, &filter, err);
    while (cursor && trace_next_event(cursor, &event))
        write_pfw_event(&export, &event);
    bool done = cursor && trace_cursor_close(cursor, err);
    fputs("]\n", file.out);
    return file_output_close(&file, done, err);
}

/* A cell of text, in quotes where it needs them (RFC 4180). */
static void write_cell(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++)
        *text == '"' ? fputs("\"\"", out) : putc(*text, out);
    putc('"', out);
}

/* A comma, and the number where it is known. */
static void write_number(FILE *out, int64_t value, int64_t none)
{
    putc(',', out);
    if (value != none)
        fprintf(out, "%" PRId64, value);
}

bool trace_export_csv(struct trace_reader *reader, const char *path,
                      const struct trace_export_options *options, struct error *err)
{
    struct file_output file;
    struct trace_event event;
    struct export export = {.reader = reader};
    struct trace_filter filter = export_filter(options);
    if (!file_output_open(&file, path, err))
        return false;
    fputs("start_ns,latency_ns,class,call,pid,tid,process,path,fd,offset,size,result,cached\n", file.out);
    struct trace_cursor *cursor = trace_events(reader, &filter, err);
    while (cursor && trace_next_event(cursor, &event)) {
        const struct trace_process_info *process = trace_process_info(reader, event.process);
        fprintf(file.out, "%" PRId64, event.start_ns);
        write_number(file.out, event.latency_ns, TRACE_NONE);
        fprintf(file.out, ",%s,", trace_class_name(event.class));
        write_cell(file.out, name_of(&export, &event));
        write_number(file.out, process->pid, TRACE_NONE);
        write_number(file.out, process->tid, TRACE_NONE);
        putc(',', file.out);
        write_cell(file.out, process->name);
        putc(',', file.out);
        write_cell(file.out, trace_file_info(reader, event.file)->path);
        write_number(file.out, event.fd, TRACE_NONE);
        write_number(file.out, event.offset, TRACE_NONE);
        write_number(file.out, event.size, TRACE_NONE);
        write_number(file.out, event.result, TRACE_NONE);
        write_number(file.out, event.cached, -1);
        putc('\n', file.out);
    }
    return file_output_close(&file, cursor && trace_cursor_close(cursor, err), err);
}

bool trace_export_csv_blocks(struct trace_reader *reader, const char *path,
                             const struct trace_export_options *options, struct error *err)
{
    static const char *const names[TRACE_OPS] = {"read", "write", "discard", "flush"};
    struct file_output file;
    struct trace_block block;
    struct trace_filter filter = export_filter(options);
    if (!file_output_open(&file, path, err))
        return false;
    fputs("start_ns,queue_ns,service_ns,operation,disk,sector,bytes,pid,process,path\n", file.out);
    struct trace_cursor *cursor = trace_blocks(reader, &filter, err);
    while (cursor && trace_next_block(cursor, &block)) {
        const struct trace_process_info *process = trace_process_info(reader, block.process);
        fprintf(file.out, "%" PRId64, block.start_ns);
        write_number(file.out, block.queue_ns, TRACE_NONE);
        write_number(file.out, block.service_ns, TRACE_NONE);
        fprintf(file.out, ",%s,", names[block.op]);
        write_cell(file.out, trace_disk_name(reader, block.disk));
        write_number(file.out, block.sector, TRACE_NONE);
        write_number(file.out, block.bytes, TRACE_NONE);
        write_number(file.out, process->pid, TRACE_NONE);
        putc(',', file.out);
        write_cell(file.out, process->name);
        putc(',', file.out);
        write_cell(file.out, trace_file_info(reader, block.file)->path);
        putc('\n', file.out);
    }
    return file_output_close(&file, cursor && trace_cursor_close(cursor, err), err);
}
