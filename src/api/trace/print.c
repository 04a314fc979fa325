#include "api/trace/print.h"
#include "api/command.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/unit.h"
#include "trace/phase/phase.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void trace_import_write_json(const char *store, const struct trace_import_report *report,
                                    size_t phases, struct json *json);

/* rh_trace_import: traces of other tools become a trace of ours. */

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A trace that is named twice would have each of its rows twice. Files of other last names are not looked at. */
static bool is_named_once(const struct rh_list *paths, size_t at, struct error *err)
{
    const char *path = paths->items[at], *name = last_name(path);
    for (size_t i = 0; i < at; i++)
        if (strcmp(paths->items[i], path) == 0 ||
            (strcmp(last_name(paths->items[i]), name) == 0 && file_same(paths->items[i], path)))
            return error_set(err, ERROR_USAGE, "'%s' is given twice", path);
    return true;
}

static bool import_paths(const struct rh_trace_import_request *asked, struct trace_writer *writer,
                         struct trace_import_report *report, struct error *err)
{
    const struct trace_import_options options = {.zone = asked->zone, .date = asked->day};
    for (size_t i = 0; i < asked->paths.count; i++)
        if (!is_named_once(&asked->paths, i, err) ||
            !trace_import(asked->paths.items[i], writer, &options, report, err))
            return false;
    return true;
}

static void tell(const struct rh_trace_import_request *asked, const struct trace_import_report *found,
                 size_t phases, struct api_report *report)
{
    trace_import_write_json(asked->output, found, phases, &report->json);
    text_format(&report->text, "rehearse: %s: ", asked->output);
    trace_import_report_print(found, &report->text);
    if (phases > 0)
        text_format(&report->text, "no log tells the phases: %zu were found from the I/O\n", phases);
}

static bool import(const struct rh_trace_import_request *asked, struct trace_import_report *found,
                   struct api_report *report, struct error *err)
{
    if (asked->append && asked->force)
        return error_set(err, ERROR_USAGE, "trace import: --append and --force exclude each other");
    enum trace_mode mode =
        asked->append ? TRACE_STORE_APPEND : TRACE_STORE_WHOLE | (asked->force ? TRACE_STORE_REPLACE : 0);
    struct trace_writer *writer = trace_writer_new(asked->output, mode, err);
    size_t phases;
    if (!writer)
        return false;
    if (!import_paths(asked, writer, found, err) ||
        (asked->append && !trace_writer_refuse_repeated(writer, err))) {
        trace_writer_drop(writer);
        return false;
    }
    if (!trace_writer_close(writer, err) || !trace_phases_fill(asked->output, &phases, err))
        return false;
    tell(asked, found, phases, report);
    return true;
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    struct trace_import_report found = {0};
    (void)call;
    bool done = import(request, &found, report, err);
    trace_import_report_release(&found);
    return done;
}

API_WHOLE_COMMAND(trace_import, "trace import", rh_trace_import_request, .answer = answer);

/* "2026-11-21T02:42:36.414760903Z" */
static void add_time(struct text *out, int64_t time_ns)
{
    int64_t fraction = (time_ns % 1000000000 + 1000000000) % 1000000000;
    time_t seconds = (time_t)((time_ns - fraction) / 1000000000);
    struct tm tm;
    char text[64];
    if (gmtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) > 0)
        text_format(out, "%s.%09" PRId64 "Z", text, fraction);
}

/* ---- for people ---- */

static void print_times(const struct trace_summary_times *times, struct text *out)
{
    struct unit_texts texts = {0};
    if (times->count == 0) {
        text_add(out, "        -         -         -         -         -\n");
        return;
    }
    const double values[] = {times->total, times->median, times->p90, times->p99, times->max};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        text_format(out, "%s%9s", i > 0 ? " " : "", unit_text(&texts, values[i], UNIT_TIME));
    text_add(out, "\n");
}

static void print_class(const struct trace_summary_class *class, const char *indent, const char *name,
                        bool moves, struct text *out)
{
    struct unit_texts texts = {0};
    if (class->calls == 0)
        return;
    text_format(out, "%s%-*s %10" PRId64 " %9" PRId64 " %10s ", indent, 9 - (int)strlen(indent), name,
                class->calls, class->failed,
                moves ? unit_text(&texts, (double)class->bytes, UNIT_BYTES) : "");
    print_times(&class->latency, out);
}

/* Prints calls on files, and below them those on pipes, sockets and so on. */
static void print_moving(const struct trace_summary *summary, enum trace_class class, struct text *out)
{
    const struct trace_summary_class *others = summary->others[class == TRACE_WRITE];
    int64_t calls = summary->classes[class].calls;
    for (int kind = 0; kind < TRACE_KINDS; kind++)
        calls += others[kind].calls;
    if (calls > 0 && summary->classes[class].calls == 0)
        text_format(out, "%s\n", trace_class_name(class));
    print_class(&summary->classes[class], "", trace_class_name(class), true, out);
    for (int kind = 0; kind < TRACE_KINDS; kind++)
        print_class(&others[kind], "  ", trace_kind_name((enum trace_kind)kind), true, out);
}

static void print_classes(const struct trace_summary *summary, struct text *out)
{
    text_add(
        out,
        "\ncalls         number    failed      bytes total time  median       90 %      99 %  longest\n");
    for (int i = 0; i < TRACE_CLASSES; i++) {
        enum trace_class class = (enum trace_class)i;
        if (class == TRACE_READ || class == TRACE_WRITE)
            print_moving(summary, class, out);
        else
            print_class(&summary->classes[class], "", trace_class_name(class), false, out);
    }
    if (summary->hits + summary->misses > 0)
        text_format(out, "page-cache hits: %.1f %% of reads\n",
                    100.0 * (double)summary->hits / (double)(summary->hits + summary->misses));
}

static void print_disks(const struct trace_reader *reader, const struct trace_summary *summary,
                        struct text *out)
{
    struct unit_texts texts = {0};
    if (summary->disk_count == 0)
        return;
    text_add(out,
             "\ndisks         number                bytes   service  median       90 %      99 %  longest\n");
    for (size_t i = 0; i < summary->disk_count; i++) {
        const struct trace_summary_disk *disk = &summary->disks[i];
        const char *name = disk->disk > 0 ? trace_disk_name(reader, disk->disk) : "?";
        for (int op = 0; op < TRACE_OPS; op++) {
            const struct trace_summary_request *request = &disk->requests[op];
            if (request->count == 0)
                continue;
            text_format(out, "%-9s %10" PRId64 " %-9s %10s ", name, request->count,
                        trace_op_name((enum trace_op)op),
                        unit_text(&texts, (double)request->bytes, UNIT_BYTES));
            print_times(&request->service, out);
        }
    }
}

static void print_series(const struct trace_summary *summary, struct text *out)
{
    if (summary->series_count == 0)
        return;
    text_add(out, "\nseries                   of     values           mean         maximum\n");
    for (size_t i = 0; i < summary->series_count; i++) {
        const struct trace_summary_series *series = &summary->series[i];
        text_format(out, "%-20s %6" PRId64 " %10" PRId64 " %14.6g %15.6g\n", series->kind, series->sources,
                    series->values, series->mean, series->max);
    }
}

static void print_phases(const struct trace_reader *reader, const struct trace_summary *summary,
                         struct text *out)
{
    struct unit_texts texts = {0};
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    if (count > 0)
        text_add(out, "\nphases            start  duration  source\n");
    for (int i = 0; i < count; i++)
        text_format(out, "%-12s %10s %9s  %s\n", phases[i].name,
                    unit_text(&texts, trace_seconds(summary->first_ns, phases[i].start_ns), UNIT_TIME),
                    unit_text(&texts, trace_seconds(phases[i].start_ns, phases[i].end_ns), UNIT_TIME),
                    phases[i].source);
}

static void print_top(const struct trace_summary *summary, struct text *out)
{
    struct unit_texts texts = {0};
    if (summary->process_count > 0)
        text_format(out,
                    "\n%" PRId64 " process%s    threads      calls       read    written     others  name\n",
                    summary->processes, summary->processes == 1 ? "  " : "es");
    for (size_t i = 0; i < summary->process_count; i++) {
        const struct trace_summary_process *process = &summary->top_processes[i];
        char pid[24] = "not known";
        if (process->pid != TRACE_NONE)
            snprintf(pid, sizeof pid, "%" PRId64, process->pid);
        text_format(out, "%-11s %10" PRId64 " %10" PRId64 " %10s %10s %10s  %s\n", pid, process->threads,
                    process->calls, unit_text(&texts, (double)process->bytes_read, UNIT_BYTES),
                    unit_text(&texts, (double)process->bytes_written, UNIT_BYTES),
                    unit_text(&texts, (double)process->bytes_other, UNIT_BYTES), process->name);
    }
    if (summary->file_count > 0)
        text_format(out, "\n%" PRId64 " file%s", summary->files, summary->files == 1 ? "" : "s");
    if (summary->file_count > 0 && summary->no_files > 0)
        text_format(out, ", %" PRId64 " pipes and others", summary->no_files);
    if (summary->file_count > 0)
        text_add(out, "\n     calls       read    written  path\n");
    for (size_t i = 0; i < summary->file_count; i++) {
        const struct trace_summary_file *file = &summary->top_files[i];
        text_format(out, "%10" PRId64 " %10s %10s  %s\n", file->calls,
                    unit_text(&texts, (double)file->bytes_read, UNIT_BYTES),
                    unit_text(&texts, (double)file->bytes_written, UNIT_BYTES), file->path);
    }
}

static void print_meta(const struct trace_reader *reader, const char *key, struct text *out)
{
    const char *value = trace_meta(reader, key);
    if (value && *value)
        text_format(out, "%-10s %s\n", key, value);
}

/* "lost       none", or a line each: "unfinished the recording was cut off …", "lost       7 of read". */
static void print_shortfall(const struct trace_reader *reader, struct text *out)
{
    struct text warnings = {0};
    trace_add_warnings(reader, &warnings);
    text_add(out, "\n");
    for (const char *line = text_within(&warnings, out); *line; line = strchr(line, '\n') + 1) {
        int head = (int)strcspn(line, ":"), length = (int)strcspn(line, "\n");
        text_format(out, "%-10.*s %.*s\n", head, line, length - head - 2, line + head + 2);
    }
    if (trace_lost(reader) == 0)
        text_add(out, "lost       none\n");
    text_release(&warnings);
}

void trace_show_print(const char *path, const struct trace_reader *reader,
                      const struct trace_summary *summary, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "trace      %s\n", path);
    static const char *const keys[] = {"command", "source", "host", "kernel"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        print_meta(reader, keys[i], out);
    text_add(out, "span       ");
    if (summary->first_ns == TRACE_NONE) {
        text_add(out, "none, the trace is empty");
    } else {
        add_time(out, summary->first_ns);
        text_format(out, ", %s",
                    unit_text(&texts, trace_seconds(summary->first_ns, summary->last_ns), UNIT_TIME));
    }
    print_shortfall(reader, out);
    print_classes(summary, out);
    print_disks(reader, summary, out);
    print_phases(reader, summary, out);
    print_series(summary, out);
    print_top(summary, out);
}

/* ---- for programs ---- */

static const struct field times_fields[] = {
    FIELD_OUT(struct trace_summary_times, "known", count, FIELD_INT64),
    FIELD_OUT(struct trace_summary_times, "total", total, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_times, "least", min, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_times, "median", median, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_times, "p90", p90, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_times, "p99", p99, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_times, "most", max, FIELD_DOUBLE),
};

static void write_times(struct json *json, const char *key, const struct trace_summary_times *times)
{
    if (times->count == 0) {
        json_null(json, key);
        return;
    }
    json_open_flat(json, key, '{');
    FIELDS_WRITE(times, times_fields, json);
    json_close(json);
}

const struct field trace_class_fields[] = {
    FIELD_OUT(struct trace_summary_class, "calls", calls, FIELD_INT64),
    FIELD_OUT(struct trace_summary_class, "failed", failed, FIELD_INT64),
    FIELD_OUT(struct trace_summary_class, "bytes", bytes, FIELD_INT64),
    FIELD_OUT(struct trace_summary_class, "seconds", latency.total, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_class, "median", latency.median, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_class, "p99", latency.p99, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_class, "longest", latency.max, FIELD_DOUBLE),
};

static const struct field summary_fields[] = {
    FIELD_OUT(struct trace_summary, "first_ns", first_ns, FIELD_INT64),
    FIELD_OUT(struct trace_summary, "last_ns", last_ns, FIELD_INT64),
    FIELD_OUT(struct trace_summary, "process_count", processes, FIELD_INT64),
    FIELD_OUT(struct trace_summary, "file_count", files, FIELD_INT64),
    FIELD_OUT(struct trace_summary, "other_count", no_files, FIELD_INT64),
    FIELD_OUT(struct trace_summary, "cache_hits", hits, FIELD_INT64),
    FIELD_OUT(struct trace_summary, "cache_misses", misses, FIELD_INT64),
};

static void write_class(struct json *json, const struct trace_summary *summary, enum trace_class which,
                        enum trace_kind kind)
{
    bool moves = which == TRACE_READ || which == TRACE_WRITE;
    const struct trace_summary_class *class =
        kind == TRACE_KIND_FILE ? &summary->classes[which] : &summary->others[which == TRACE_WRITE][kind];
    if (class->calls == 0)
        return;
    json_open(json, NULL, '{');
    json_string(json, "class", trace_class_name(which));
    if (moves)
        json_string(json, "kind", trace_kind_name(kind));
    fields_write(class, trace_class_fields, moves ? 3 : 2, json);
    if (which == TRACE_READ && kind == TRACE_KIND_FILE)
        fields_write(summary, summary_fields + 5, 2, json);
    write_times(json, "latency_seconds", &class->latency);
    json_close(json);
}

static void write_classes(struct json *json, const struct trace_summary *summary)
{
    json_open(json, "classes", '[');
    for (int i = 0; i < TRACE_CLASSES; i++) {
        bool moves = i == TRACE_READ || i == TRACE_WRITE;
        for (int kind = 0; kind < (moves ? TRACE_KINDS : 1); kind++)
            write_class(json, summary, (enum trace_class)i, (enum trace_kind)kind);
    }
    json_close(json);
}

static const struct field request_fields[] = {
    FIELD_OUT(struct trace_summary_request, "requests", count, FIELD_INT64),
    FIELD_OUT(struct trace_summary_request, "bytes", bytes, FIELD_INT64),
};

static void write_disks(struct json *json, const struct trace_reader *reader,
                        const struct trace_summary *summary)
{
    json_open(json, "disks", '[');
    for (size_t i = 0; i < summary->disk_count; i++) {
        const struct trace_summary_disk *disk = &summary->disks[i];
        json_open(json, NULL, '{');
        json_string(json, "disk", disk->disk > 0 ? trace_disk_name(reader, disk->disk) : NULL);
        for (int op = 0; op < TRACE_OPS; op++) {
            json_open_flat(json, trace_op_name((enum trace_op)op), '{');
            FIELDS_WRITE(&disk->requests[op], request_fields, json);
            write_times(json, "service_seconds", &disk->requests[op].service);
            json_close(json);
        }
        json_close(json);
    }
    json_close(json);
}

static const struct field series_fields[] = {
    FIELD_OUT(struct trace_summary_series, "kind", kind, FIELD_TEXT),
    FIELD_OUT(struct trace_summary_series, "sources", sources, FIELD_INT64),
    FIELD_OUT(struct trace_summary_series, "values", values, FIELD_INT64),
    FIELD_OUT(struct trace_summary_series, "mean", mean, FIELD_DOUBLE),
    FIELD_OUT(struct trace_summary_series, "most", max, FIELD_DOUBLE),
};

const struct field trace_phase_fields[] = {
    FIELD_OUT(struct trace_phase, "phase", name, FIELD_TEXT),
    FIELD_OUT(struct trace_phase, "start_ns", start_ns, FIELD_INT64),
    FIELD_OUT(struct trace_phase, "end_ns", end_ns, FIELD_INT64),
    FIELD_OUT(struct trace_phase, "source", source, FIELD_TEXT),
};

static const struct field process_fields[] = {
    FIELD_OUT(struct trace_summary_process, "pid", pid, FIELD_INT64),
    FIELD_OUT(struct trace_summary_process, "name", name, FIELD_TEXT),
    FIELD_OUT(struct trace_summary_process, "threads", threads, FIELD_INT64),
    FIELD_OUT(struct trace_summary_process, "calls", calls, FIELD_INT64),
    FIELD_OUT(struct trace_summary_process, "bytes_read", bytes_read, FIELD_INT64),
    FIELD_OUT(struct trace_summary_process, "bytes_written", bytes_written, FIELD_INT64),
    FIELD_OUT(struct trace_summary_process, "bytes_other", bytes_other, FIELD_INT64),
};

static const struct field file_fields[] = {
    FIELD_OUT(struct trace_summary_file, "path", path, FIELD_TEXT),
    FIELD_OUT(struct trace_summary_file, "kind", kind, FIELD_TEXT),
    FIELD_OUT(struct trace_summary_file, "calls", calls, FIELD_INT64),
    FIELD_OUT(struct trace_summary_file, "bytes_read", bytes_read, FIELD_INT64),
    FIELD_OUT(struct trace_summary_file, "bytes_written", bytes_written, FIELD_INT64),
};

void trace_show_write_json(const char *path, const struct trace_reader *reader,
                           const struct trace_summary *summary, struct json *json)
{
    static const char *const keys[] = {"command", "source", "version", "host", "kernel", "machine"};
    int count;
    const struct trace_loss *losses = trace_losses(reader, &count);
    json_open_document(json, "rehearse-trace-summary/1");
    json_string(json, "trace", path);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_string(json, keys[i], trace_meta(reader, keys[i]));
    fields_write(summary, summary_fields, 2, json);
    json_number(json, "cut_off_after", trace_cut_seconds(trace_shortfall_of(reader)));
    json_open_flat(json, "lost", '{');
    for (int i = 0; i < count; i++)
        json_integer(json, losses[i].class, losses[i].count);
    json_close(json);
    const char *missing = trace_meta(reader, "not_followed");
    json_lines(json, "not_followed", missing ? missing : "");
    write_classes(json, summary);
    write_disks(json, reader, summary);
    FIELDS_LIST(summary->series, summary->series_count, series_fields, json, "series");
    const struct trace_phase *phases = trace_phases(reader, &count);
    FIELDS_LIST(phases, count, trace_phase_fields, json, "phases");
    fields_write(summary, summary_fields + 2, 1, json);
    FIELDS_LIST(summary->top_processes, summary->process_count, process_fields, json, "processes");
    fields_write(summary, summary_fields + 3, 2, json);
    FIELDS_LIST(summary->top_files, summary->file_count, file_fields, json, "files");
    json_close(json);
}

/* ---- phases from the I/O ---- */

static const char *const phase_names[] = {"INIT", "TRAINING", "EVAL", "CHECKPOINT"};
#define PHASE_NAMES (sizeof phase_names / sizeof *phase_names)

/* Returns the phases from a log, which the caller frees; *from: its name. */
static struct trace_phase *from_a_log(const struct trace_reader *reader, size_t *count, const char **from)
{
    int all;
    const struct trace_phase *phases = trace_phases(reader, &all);
    struct trace_phase *kept = calloc((size_t)all + 1, sizeof *kept);
    *count = 0;
    *from = NULL;
    for (int i = 0; kept && i < all; i++)
        if (strcmp(phases[i].source, "io") != 0) {
            kept[(*count)++] = phases[i];
            *from = phases[i].source;
        }
    return kept;
}

void trace_phases_print(const struct trace_reader *reader, const struct trace_phase *phases, size_t count,
                        struct text *out)
{
    struct unit_texts texts = {0};
    const char *from;
    size_t known;
    struct trace_phase *log = from_a_log(reader, &known, &from);
    int64_t first_ns = count > 0 ? phases[0].start_ns : 0;
    text_add(out, count > 0 ? "phases            start  duration\n"
                            : "no phases found: the trace shows neither data loading nor checkpoints\n");
    for (size_t i = 0; i < count; i++)
        text_format(out, "%-12s %10s %9s\n", phases[i].name,
                    unit_text(&texts, trace_seconds(first_ns, phases[i].start_ns), UNIT_TIME),
                    unit_text(&texts, trace_seconds(phases[i].start_ns, phases[i].end_ns), UNIT_TIME));
    if (from)
        text_format(out, "\nagainst %s    in both / in either\n", from);
    for (size_t i = 0; log && from && i < PHASE_NAMES; i++) {
        double overlap = trace_phases_overlap(phases, count, log, known, phase_names[i]);
        if (!isnan(overlap))
            text_format(out, "%-12s %12.3f\n", phase_names[i], overlap);
    }
    free(log);
}

void trace_phases_write_json(const char *path, const struct trace_reader *reader,
                             const struct trace_phase *phases, size_t count, struct json *json)
{
    const char *from;
    size_t known;
    struct trace_phase *log = from_a_log(reader, &known, &from);
    json_open_document(json, "rehearse-trace-phases/1");
    json_string(json, "trace", path);
    FIELDS_LIST(phases, count, trace_phase_fields, json, "phases");
    json_string(json, "against", from);
    json_open_flat(json, "overlap", '{');
    for (size_t i = 0; log && from && i < PHASE_NAMES; i++)
        json_number(json, phase_names[i], trace_phases_overlap(phases, count, log, known, phase_names[i]));
    json_close(json);
    json_close(json);
    free(log);
}

static const struct field import_fields[] = {
    FIELD_OUT(struct trace_import_report, "files", files, FIELD_INT),
    FIELD_OUT(struct trace_import_report, "kinds", formats.data, FIELD_TEXT),
    FIELD_OUT(struct trace_import_report, "lines", lines, FIELD_INT64),
    FIELD_OUT(struct trace_import_report, "bytes", bytes, FIELD_INT64),
    FIELD_OUT(struct trace_import_report, "rows", rows, FIELD_INT64),
    FIELD_OUT(struct trace_import_report, "malformed", malformed, FIELD_INT64),
    FIELD_OUT(struct trace_import_report, "too_long", too_long, FIELD_INT64),
    FIELD_OUT(struct trace_import_report, "clock_jumps", jumps, FIELD_INT64),
    FIELD_OUT(struct trace_import_report, "truncated", truncated, FIELD_INT),
    FIELD_OUT(struct trace_import_report, "zone_assumed", zone_assumed, FIELD_FLAG),
};

static void trace_import_write_json(const char *store, const struct trace_import_report *report,
                                    size_t phases, struct json *json)
{
    json_open_document(json, "rehearse-trace-import/1");
    json_string(json, "trace", store);
    fields_write(report, import_fields, 5, json);
    json_integer(json, "phases_from_io", (int64_t)phases);
    fields_write(report, import_fields + 5, 5, json);
    import_places_write_json(&report->places, "places", json);
    json_close(json);
}
