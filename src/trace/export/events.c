/* Chrome's JSON and plain tables. */
#include "core/file_output.h"
#include "core/vector.h"
#include "trace/export/file.h"
#include "trace/export/tracks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PHASE_LINES 64
#define RUN_PID                                                                                              \
    1000000000 /* phases and series as a process, disks as those after it: beyond those that there are */

/* The state of an export. */
struct export
{
    struct trace_reader *reader;
    FILE *out;
    int64_t first_ns; /* times count from here */
    int64_t run_pid;  /* of phases and series; disks follow */
    int64_t number;   /* of the event */
    struct export_tracks tracks;
    struct trace_event *together; /* calls that begin at the same time */
    size_t together_count, together_capacity;
};

static int64_t known(int64_t value, int64_t otherwise)
{
    return value == TRACE_NONE ? otherwise : value;
}

/* Writes nanoseconds as microseconds. */
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

/* A span on its line of time; asynchronous (two objects with one id) if it does not fit into the line. */
struct span {
    const char *name, *category;
    int64_t pid, tid, start_ns, end_ns;
    bool nests;
    int64_t id;
};

static void begin_object(struct export *export, const char *name)
{
    fputs(export->number++ ? ",\n{\"name\":" : "{\"name\":", export->out);
    export_string(export->out, name);
}

static void write_place(struct export *export, const struct span *span, const char *ph, int64_t time_ns)
{
    begin_object(export, span->name);
    fprintf(export->out, ",\"cat\":\"%s\",\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64, span->category,
            ph, span->pid, span->tid);
    write_micros(export->out, "ts", time_ns - export->first_ns);
}

/* Writes everything before the arguments; end_span writes the rest. */
static void begin_span(struct export *export, struct span *span)
{
    span->id = export->number;
    write_place(export, span, span->nests ? "X" : "b", span->start_ns);
    if (span->nests)
        write_micros(export->out, "dur", span->end_ns - span->start_ns);
    else
        fprintf(export->out, ",\"id\":%" PRId64, span->id);
    fputs(",\"args\":{", export->out);
}

static void end_span(struct export *export, const struct span *span)
{
    fputs("}}", export->out);
    if (span->nests)
        return;
    write_place(export, span, "e", span->end_ns);
    fprintf(export->out, ",\"id\":%" PRId64 "}", span->id);
}

static bool write_chrome_event(struct export *export, const struct trace_event *event, struct error *err)
{
    const struct trace_process_info *process = trace_process_info(export->reader, event->process);
    const char *path = trace_file_info(export->reader, event->file)->path;
    int64_t pid = known(process->pid, 0);
    int64_t length_ns = event->latency_ns > 0 ? event->latency_ns : 0; /* not known, or a clock went back */
    struct span span = {export_call_name(export->reader, event),
                        trace_class_name(event->class),
                        pid,
                        known(process->tid, pid),
                        event->start_ns,
                        event->start_ns + length_ns,
                        false,
                        0};
    bool any = *path;
    if (!export_nests(&export->tracks, pid, span.tid, span.start_ns, span.end_ns, &span.nests, err))
        return false;
    begin_span(export, &span);
    if (*path) {
        fputs("\"fname\":", export->out);
        export_string(export->out, path);
    }
    write_argument(export->out, &any, "fd", event->fd, TRACE_NONE);
    write_argument(export->out, &any, "offset", event->offset, TRACE_NONE);
    write_argument(export->out, &any, "size", event->size, TRACE_NONE);
    write_argument(export->out, &any, "ret", event->result, TRACE_NONE);
    write_argument(export->out, &any, "cached", event->cached, -1);
    end_span(export, &span);
    return true;
}

static int longest_first(const void *a, const void *b)
{
    const struct trace_event *x = a, *y = b;
    return (x->latency_ns < y->latency_ns) - (x->latency_ns > y->latency_ns);
}

/* Writes calls that begin together, the longest first since it holds the others. */
static bool write_together(struct export *export, struct error *err)
{
    bool done = true;
    if (export->together_count > 1)
        qsort(export->together, export->together_count, sizeof *export->together, longest_first);
    for (size_t i = 0; done && i < export->together_count; i++)
        done = write_chrome_event(export, &export->together[i], err);
    export->together_count = 0;
    return done;
}

static bool take_event(struct export *export, const struct trace_event *event, struct error *err)
{
    if (export->together_count > 0 && export->together[0].start_ns != event->start_ns &&
        !write_together(export, err))
        return false;
    return VECTOR_ADD(export->together, export->together_count, export->together_capacity, *event) ||
           error_memory(err);
}

/* Requests overlap: their spans are asynchronous. */
static void write_chrome_block(struct export *export, const struct trace_block *block)
{
    int64_t pid = export->run_pid + 1 + block->disk, issued = block->start_ns + known(block->queue_ns, 0);
    int64_t end_ns = issued + known(block->service_ns, 0);
    struct span span = {trace_op_name(block->op), "block", pid, pid, issued, end_ns, false, 0};
    begin_span(export, &span);
    fprintf(export->out, "\"sector\":%" PRId64 ",\"bytes\":%" PRId64, known(block->sector, -1),
            known(block->bytes, -1));
    end_span(export, &span);
}

static void write_name(struct export *export, int64_t pid, const char *name)
{
    begin_object(export, "process_name");
    fprintf(export->out, ",\"ph\":\"M\",\"pid\":%" PRId64 ",\"args\":{\"name\":", pid);
    export_string(export->out, name);
    fputs("}}", export->out);
}

static int by_start_then_longest(const void *a, const void *b)
{
    const struct trace_phase *x = a, *y = b;
    int order = (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
    return order ? order : (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Phases may overlap: those that do not nest are on lines of their own, or asynchronous spans if there
 * would be more lines than a viewer shows at once. */
static bool write_chrome_phase(struct export *export, const struct trace_phase *phase, struct error *err)
{
    int64_t end_ns = phase->end_ns > phase->start_ns ? phase->end_ns : phase->start_ns;
    struct span span = {phase->name, "phase", export->run_pid, 0, phase->start_ns, end_ns, false, 0};
    for (; !span.nests && span.tid < PHASE_LINES; span.tid += !span.nests)
        if (!export_nests(&export->tracks, span.pid, span.tid, span.start_ns, span.end_ns, &span.nests, err))
            return false;
    begin_span(export, &span);
    fputs("\"source\":", export->out);
    export_string(export->out, phase->source);
    end_span(export, &span);
    return true;
}

static bool write_phases(struct export *export, struct error *err)
{
    int count;
    const struct trace_phase *phases = trace_phases(export->reader, &count);
    struct trace_phase *sorted = calloc((size_t)count + 1, sizeof *sorted);
    bool done = sorted || error_memory(err);
    for (int i = 0; sorted && i < count; i++)
        sorted[i] = phases[i];
    if (sorted)
        qsort(sorted, (size_t)count, sizeof *sorted, by_start_then_longest);
    for (int i = 0; done && i < count; i++)
        done = write_chrome_phase(export, &sorted[i], err);
    free(sorted);
    return done;
}

/* Returns a number that no process has. */
static int64_t free_pid(const struct export *export)
{
    int64_t pid = RUN_PID;
    for (int64_t id = 1; id <= trace_process_count(export->reader); id++)
        if (trace_process_info(export->reader, id)->pid >= pid)
            pid = trace_process_info(export->reader, id)->pid + 1;
    return pid;
}

static void write_chrome_names(struct export *export)
{
    write_name(export, export->run_pid, "run");
    for (int64_t id = 1; id <= trace_process_count(export->reader); id++) {
        const struct trace_process_info *process = trace_process_info(export->reader, id);
        if (*process->name && process->pid != TRACE_NONE)
            write_name(export, process->pid, process->name);
    }
    for (int64_t id = 1; id <= trace_disk_count(export->reader); id++)
        write_name(export, export->run_pid + 1 + id, trace_disk_name(export->reader, id));
}

static void write_chrome_sample(struct export *export, const struct trace_sample *sample)
{
    const struct trace_series_info *series = trace_series_info(export->reader, sample->series);
    char name[600];
    snprintf(name, sizeof name, "%s %s", series->kind, series->source);
    begin_object(export, name);
    fprintf(export->out, ",\"ph\":\"C\",\"pid\":%" PRId64, export->run_pid);
    write_micros(export->out, "ts", sample->time_ns - export->first_ns);
    fprintf(export->out, ",\"args\":{\"value\":%.15g}}", sample->value);
}

static bool write_chrome(struct export *export, const struct trace_filter *filter, struct error *err)
{
    struct trace_event event;
    struct trace_block block;
    struct trace_sample sample;
    struct error later;
    fprintf(export->out,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"start_ns\":\"%" PRId64 "\"},\"traceEvents\":[\n",
            export->first_ns);
    write_chrome_names(export);
    if (!write_phases(export, err))
        return false;
    struct trace_cursor *cursor = trace_events(export->reader, filter, err);
    bool done = true;
    while (done && trace_next_event(cursor, &event))
        done = take_event(export, &event, err);
    done = done && write_together(export, err);
    if (!trace_cursor_close(cursor, done ? err : &later) || !done)
        return false;
    cursor = trace_blocks(export->reader, filter, err);
    while (trace_next_block(cursor, &block))
        write_chrome_block(export, &block);
    if (!trace_cursor_close(cursor, err))
        return false;
    cursor = trace_samples(export->reader, filter, err);
    while (trace_next_sample(cursor, &sample))
        write_chrome_sample(export, &sample);
    fputs("\n]}\n", export->out);
    return trace_cursor_close(cursor, err);
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
    export.run_pid = free_pid(&export);
    bool done = write_chrome(&export, &filter, err);
    export_tracks_release(&export.tracks);
    free(export.together);
    return file_output_close(&file, done, err);
}

/* Writes a cell, in quotes where it needs them (RFC 4180). */
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

/* Writes a comma, and the number if it is known. */
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
    struct trace_filter filter = export_filter(options);
    if (!file_output_open(&file, path, err))
        return false;
    fputs("start_ns,latency_ns,class,call,pid,tid,process,path,fd,offset,size,result,cached\n", file.out);
    struct trace_cursor *cursor = trace_events(reader, &filter, err);
    while (trace_next_event(cursor, &event)) {
        const struct trace_process_info *process = trace_process_info(reader, event.process);
        fprintf(file.out, "%" PRId64, event.start_ns);
        write_number(file.out, event.latency_ns, TRACE_NONE);
        fprintf(file.out, ",%s,", trace_class_name(event.class));
        write_cell(file.out, export_call_name(reader, &event));
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
    return file_output_close(&file, trace_cursor_close(cursor, err), err);
}

bool trace_export_csv_blocks(struct trace_reader *reader, const char *path,
                             const struct trace_export_options *options, struct error *err)
{
    struct file_output file;
    struct trace_block block;
    struct trace_filter filter = export_filter(options);
    if (!file_output_open(&file, path, err))
        return false;
    fputs("start_ns,queue_ns,service_ns,operation,disk,sector,bytes,pid,process,path\n", file.out);
    struct trace_cursor *cursor = trace_blocks(reader, &filter, err);
    while (trace_next_block(cursor, &block)) {
        const struct trace_process_info *process = trace_process_info(reader, block.process);
        fprintf(file.out, "%" PRId64, block.start_ns);
        write_number(file.out, block.queue_ns, TRACE_NONE);
        write_number(file.out, block.service_ns, TRACE_NONE);
        fprintf(file.out, ",%s,", trace_op_name(block.op));
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
    return file_output_close(&file, trace_cursor_close(cursor, err), err);
}
