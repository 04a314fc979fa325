/* The content of a trace by class, file, process and disk; its phases; its recording. */
#include "figure/trace/timeline.h"
#include "report/parts.h"
#include "trace/store/store.h"
#include "trace/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
        html_element(out, "p", "bad", "Incomplete: %.*s.", (int)strcspn(line, "\n"), line);
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
        html_element(out, "p", "soft", "On %s%s%s.", host ? host : "an unnamed host",
                     kernel ? ", kernel " : "", kernel ? kernel : "");
    html_facts(out);
    html_fact_quantity(out, "length", length_of(summary), UNIT_TIME);
    html_fact(out, "events", "%s", html_grouped(grouped, (double)events_of(summary)));
    html_fact(out, "lost", "%s", html_grouped(grouped, (double)trace_lost(reader)));
    html_fact_quantity(out, "read", (double)summary->classes[TRACE_READ].bytes, UNIT_BYTES);
    html_fact_quantity(out, "written", (double)summary->classes[TRACE_WRITE].bytes, UNIT_BYTES);
    if (known > 0)
        html_fact_share(out, "reads from the page cache", (double)summary->hits / (double)known);
    html_fact(out, "processes", "%s", html_grouped(grouped, (double)summary->processes));
    html_fact(out, "files", "%s", html_grouped(grouped, (double)summary->files));
    html_fact(out, "requests to disks", "%s", html_grouped(grouped, (double)requests_of(summary)));
    html_facts_end(out);
    add_warnings(reader, out);
}

/* The last five columns of a table. */
static void fill_times(struct html_cell cells[6], const struct trace_summary_times *times)
{
    const double numbers[] = {times->median, times->p90, times->p99, times->max, times->total};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cells[i] = cell_number(HTML_TIME, times->count > 0 ? numbers[i] : NAN);
}

static void add_class(const struct trace_summary_class *class, const char *name, bool moves, struct text *out)
{
    struct html_cell cells[10] = {cell_head(name), cell_number(HTML_COUNT, (double)class->calls),
                                  cell_number(HTML_COUNT, (double)class->failed),
                                  cell_number(HTML_BYTES, moves ? (double)class->bytes : NAN)};
    fill_times(cells + 4, &class->latency);
    if (class->calls > 0)
        html_row(out, cells);
}

static void add_classes(const struct trace_summary *summary, struct text *out)
{
    static const char *const titles[] = {"<class", ">calls", ">failed",  ">bytes",    ">median",
                                         ">p90",   ">p99",   ">maximum", ">together", NULL};
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
    static const char *const titles[] = {"<disk", "<request", ">number",  ">bytes",    ">median",
                                         ">p90",  ">p99",     ">maximum", ">together", NULL};
    if (requests_of(summary) == 0)
        return;
    html_table(out, "Requests to disks, and how long they were served", titles);
    for (size_t i = 0; i < summary->disk_count; i++)
        for (int op = 0; op < TRACE_OPS; op++) {
            const struct trace_summary_request *request = &summary->disks[i].requests[op];
            int64_t disk = summary->disks[i].disk;
            struct html_cell cells[10] = {cell_head(disk > 0 ? trace_disk_name(reader, disk) : NULL),
                                          cell_text(trace_op_name((enum trace_op)op)),
                                          cell_number(HTML_COUNT, (double)request->count),
                                          cell_number(HTML_BYTES, (double)request->bytes)};
            fill_times(cells + 4, &request->service);
            if (request->count > 0)
                html_row(out, cells);
        }
    html_table_end(out);
}

static void add_phases(struct trace_reader *reader, const struct trace_summary *summary, struct text *out)
{
    static const char *const titles[] = {"<phase", ">from", ">to", ">length", "<source", NULL};
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    if (count == 0)
        return;
    html_table(out, "Phases, since the beginning", titles);
    for (int i = 0; i < count && i < REPORT_MAX_ROWS; i++)
        HTML_ROW(out, cell_head(phases[i].name),
                 cell_number(HTML_TIME, trace_seconds(summary->first_ns, phases[i].start_ns)),
                 cell_number(HTML_TIME, trace_seconds(summary->first_ns, phases[i].end_ns)),
                 cell_number(HTML_TIME, trace_seconds(phases[i].start_ns, phases[i].end_ns)),
                 cell_text(phases[i].source));
    html_table_end(out);
    report_more(out, count, REPORT_MAX_ROWS, "phases");
}

static void add_files(struct trace_reader *reader, const struct trace_summary *summary, struct text *out)
{
    static const char *const titles[] = {"<file", ">read", ">written", ">calls", NULL};
    if (summary->file_count == 0)
        return;
    html_table(out, "Files with the most bytes", titles);
    for (size_t i = 0; i < summary->file_count; i++) {
        const struct trace_summary_file *file = &summary->top_files[i];
        HTML_ROW(out, cell_head(trace_file_info(reader, file->file)->path),
                 cell_number(HTML_BYTES, (double)file->bytes_read),
                 cell_number(HTML_BYTES, (double)file->bytes_written),
                 cell_number(HTML_COUNT, (double)file->calls));
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
        HTML_ROW(out, cell_head(name), cell_number(HTML_BYTES, (double)process->bytes_read),
                 cell_number(HTML_BYTES, (double)process->bytes_written),
                 cell_number(HTML_COUNT, (double)process->calls));
    }
    html_table_end(out);
}

static void say(struct trace_reader *reader, const struct trace_summary *summary, struct text *says)
{
    struct unit_texts texts = {0};
    char grouped[48];
    text_format(says, "%s events in %s, %s read", html_grouped(grouped, (double)events_of(summary)),
                unit_text(&texts, length_of(summary), UNIT_TIME),
                unit_text(&texts, (double)summary->classes[TRACE_READ].bytes, UNIT_BYTES));
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
            part, draw_timeline, part->full,
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
