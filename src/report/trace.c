/* What a trace holds: by class, by file, by process, by disk; phases; who recorded it. */
#include "figure/trace/timeline.h"
#include "report/parts.h"
#include "trace/store/store.h"
#include "trace/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PHASES 100

static double length_of(const struct trace_summary *summary)
{
    return trace_seconds(summary->first_ns, summary->last_ns);
}

static int64_t events_of(const struct trace_summary *summary)
{
    int64_t events = 0;
    for (int class = 0; class < TRACE_CLASSES; class ++)
        events += summary->classes[class].calls;
    for (int i = 0; i < 2 * TRACE_KINDS; i++)
        events += summary->others[i / TRACE_KINDS][i % TRACE_KINDS].calls;
    return events;
}

static int64_t requests_of(const struct trace_summary *summary)
{
    int64_t requests = 0;
    for (size_t i = 0; i < summary->disk_count; i++)
        for (int op = 0; op < TRACE_OPS; op++)
            requests += summary->disks[i].requests[op].count;
    return requests;
}

static void add_warnings(struct trace_reader *reader, struct text *out)
{
    struct text warnings = {0};
    trace_add_warnings(reader, &warnings);
    for (const char *line = text_within(&warnings, out); *line; line = strchr(line, '\n') + 1)
        html_element(out, "p", "bad", "It tells too little: %.*s.", (int)strcspn(line, "\n"), line);
    text_release(&warnings);
}

static void add_head(struct trace_reader *reader, const struct trace_summary *summary, struct text *out)
{
    const char *command = trace_meta(reader, "command"), *host = trace_meta(reader, "host");
    const char *kernel = trace_meta(reader, "kernel");
    int64_t known = summary->hits + summary->misses;
    char grouped[48];
    if (command)
        html_element(out, "p", "code", "%s", command);
    if (host || kernel)
        html_element(out, "p", "soft", "On %s%s%s.", host ? host : "a host of no name",
                     kernel ? ", kernel " : "", kernel ? kernel : "");
    html_facts(out);
    html_fact_quantity(out, "length", length_of(summary), UNIT_TIME, 4);
    html_fact(out, "events", "%s", html_grouped(grouped, (double)events_of(summary)));
    html_fact(out, "lost", "%s", html_grouped(grouped, (double)trace_lost(reader)));
    html_fact_quantity(out, "read", (double)summary->classes[TRACE_READ].bytes, UNIT_BYTES, 3);
    html_fact_quantity(out, "written", (double)summary->classes[TRACE_WRITE].bytes, UNIT_BYTES, 3);
    if (known > 0)
        html_fact_share(out, "reads from the page cache", (double)summary->hits / (double)known);
    html_fact(out, "processes", "%s", html_grouped(grouped, (double)summary->processes));
    html_fact(out, "files", "%s", html_grouped(grouped, (double)summary->files));
    html_fact(out, "requests to disks", "%s", html_grouped(grouped, (double)requests_of(summary)));
    html_facts_end(out);
    add_warnings(reader, out);
}

static void add_times(const struct trace_summary_times *times, struct text *out)
{
    const double values[] = {times->median, times->p90, times->p99, times->most, times->total};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        html_quantity(out, times->count > 0 ? values[i] : NAN, UNIT_TIME, 3);
}

static void add_class(const struct trace_summary_class *class, const char *name, bool moves, struct text *out)
{
    if (class->calls == 0)
        return;
    html_row(out);
    html_row_head(out, name);
    html_number(out, (double)class->calls, 0);
    html_number(out, (double)class->failed, 0);
    html_quantity(out, moves ? (double)class->bytes : NAN, UNIT_BYTES, 3);
    add_times(&class->latency, out);
    html_row_end(out);
}

static void add_classes(const struct trace_summary *summary, struct text *out)
{
    static const char *const titles[] = {"<class", ">calls", ">failed", ">bytes",    ">median",
                                         ">p90",   ">p99",   ">most",   ">together", NULL};
    html_table(out, "Calls, and how long they took", titles);
    for (int i = 0; i < TRACE_CLASSES; i++) {
        bool moves = i == TRACE_READ || i == TRACE_WRITE;
        char name[64];
        add_class(&summary->classes[i], trace_class_name((enum trace_class)i), moves, out);
        for (int kind = 0; moves && kind < TRACE_KINDS; kind++) {
            snprintf(name, sizeof name, "%s, %s", trace_class_name((enum trace_class)i),
                     trace_kind_name((enum trace_kind)kind));
            add_class(&summary->others[i == TRACE_WRITE][kind], name, true, out);
        }
    }
    html_table_end(out);
}

static void add_disks(struct trace_reader *reader, const struct trace_summary *summary, struct text *out)
{
    static const char *const names[TRACE_OPS] = {"read", "write", "discard", "flush"};
    static const char *const titles[] = {"<disk", "<request", ">number", ">bytes",    ">median",
                                         ">p90",  ">p99",     ">most",   ">together", NULL};
    if (requests_of(summary) == 0)
        return;
    html_table(out, "Requests to disks, and how long they were served", titles);
    for (size_t i = 0; i < summary->disk_count; i++)
        for (int op = 0; op < TRACE_OPS; op++) {
            const struct trace_summary_request *request = &summary->disks[i].requests[op];
            if (request->count == 0)
                continue;
            html_row(out);
            html_row_head(out, summary->disks[i].disk > 0 ? trace_disk_name(reader, summary->disks[i].disk)
                                                          : NULL);
            html_cell(out, names[op]);
            html_number(out, (double)request->count, 0);
            html_quantity(out, (double)request->bytes, UNIT_BYTES, 3);
            add_times(&request->service, out);
            html_row_end(out);
        }
    html_table_end(out);
}

static void add_phases(struct trace_reader *reader, const struct trace_summary *summary, struct text *out)
{
    static const char *const titles[] = {"<phase", ">from", ">to", ">length", "<known from", NULL};
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    if (count == 0)
        return;
    html_table(out, "Phases, since the beginning", titles);
    for (int i = 0; i < count && i < MAX_PHASES; i++) {
        html_row(out);
        html_row_head(out, phases[i].name);
        html_quantity(out, trace_seconds(summary->first_ns, phases[i].start_ns), UNIT_TIME, 4);
        html_quantity(out, trace_seconds(summary->first_ns, phases[i].end_ns), UNIT_TIME, 4);
        html_quantity(out, trace_seconds(phases[i].start_ns, phases[i].end_ns), UNIT_TIME, 4);
        html_cell(out, phases[i].source);
        html_row_end(out);
    }
    html_table_end(out);
    if (count > MAX_PHASES)
        html_element(out, "p", "soft", "And %d more phases in the file.", count - MAX_PHASES);
}

static void add_moved(const char *name, int64_t read, int64_t written, int64_t calls, struct text *out)
{
    html_row(out);
    html_row_head(out, name);
    html_quantity(out, (double)read, UNIT_BYTES, 3);
    html_quantity(out, (double)written, UNIT_BYTES, 3);
    html_number(out, (double)calls, 0);
    html_row_end(out);
}

static void add_files(struct trace_reader *reader, const struct trace_summary *summary, struct text *out)
{
    static const char *const titles[] = {"<file", ">read", ">written", ">calls", NULL};
    if (summary->file_count == 0)
        return;
    html_table(out, "Files with the most bytes", titles);
    for (size_t i = 0; i < summary->file_count; i++) {
        const struct trace_summary_file *file = &summary->top_files[i];
        add_moved(trace_file_info(reader, file->file)->path, file->bytes_read, file->bytes_written,
                  file->calls, out);
    }
    html_table_end(out);
}

static void add_processes(struct trace_reader *reader, const struct trace_summary *summary, struct text *out)
{
    static const char *const titles[] = {"<process", ">read", ">written", ">calls", NULL};
    if (summary->process_count == 0)
        return;
    html_table(out, "Processes with the most bytes", titles);
    for (size_t i = 0; i < summary->process_count; i++) {
        const struct trace_summary_process *process = &summary->top_processes[i];
        char name[160] = "not known";
        if (process->pid != TRACE_NONE)
            snprintf(name, sizeof name, "%.80s, %" PRId64, trace_process_info(reader, process->id)->name,
                     process->pid);
        add_moved(name, process->bytes_read, process->bytes_written, process->calls, out);
    }
    html_table_end(out);
}

static void say(struct trace_reader *reader, const struct trace_summary *summary, struct text *says)
{
    char length[48], read[48], grouped[48];
    text_format(says, "%s events in %s, %s read", html_grouped(grouped, (double)events_of(summary)),
                unit_format(length, sizeof length, length_of(summary), UNIT_TIME, 3),
                unit_format(read, sizeof read, (double)summary->classes[TRACE_READ].bytes, UNIT_BYTES, 3));
    if (trace_unfinished(reader))
        text_add(says, ", cut off");
    if (trace_lost(reader) > 0)
        text_format(says, ", %s lost", html_grouped(grouped, (double)trace_lost(reader)));
}

static bool draw_timeline(const char *path, const void *context, struct error *err)
{
    const struct figure_timeline options = {.style = &figure_screen,
                                            .title = "",
                                            .zoom = {.from = NAN, .to = NAN},
                                            .selection = TRACE_SELECT_FILES,
                                            .grouping = TRACE_ALL_WORKERS,
                                            .rows = {true, true, true, true, true}};
    return figure_timeline(path, context, &options, err);
}

static bool write_summary(struct trace_reader *reader, const struct trace_summary *summary,
                          struct report_part *part, struct error *err)
{
    struct text *out = &part->out;
    say(reader, summary, &part->says);
    add_head(reader, summary, out);
    if (!report_draw(
            part, draw_timeline, part->full, true,
            "Timeline: processors, GPUs, disks, calls and phases over time; the tables below have the sums.",
            err))
        return false;
    add_classes(summary, out);
    add_disks(reader, summary, out);
    add_phases(reader, summary, out);
    add_files(reader, summary, out);
    add_processes(reader, summary, out);
    return true;
}

bool report_trace(struct report_part *part, struct error *err)
{
    struct trace_summary summary;
    struct trace_reader *reader = trace_reader_new(part->full, err);
    if (!reader)
        return false;
    bool ok = trace_summary_read(reader, &summary, err);
    if (ok) {
        ok = summary.first_ns != TRACE_NONE
                 ? write_summary(reader, &summary, part, err)
                 : error_set(err, ERROR_INPUT, "%s: the trace is empty", part->path);
        trace_summary_release(&summary);
    }
    trace_reader_free(reader);
    return ok;
}
