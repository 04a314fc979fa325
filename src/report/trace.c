/* The content of a trace by class, file, process and disk; its phases; its recording. */
#include "figure/sweep.h"
#include "figure/trace/series.h"
#include "figure/trace/window.h"
#include "report/parts.h"
#include "report/timeline.h"
#include "trace/import/reader.h"
#include "trace/similarity/kernels.h"
#include "trace/store/store.h"
#include "trace/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static int by_time(const void *a, const void *b)
{
    const struct similarity_kernel *first = a, *second = b;
    return first->seconds != second->seconds
               ? (first->seconds < second->seconds) - (first->seconds > second->seconds)
               : strcmp(first->name, second->name);
}

static void show_kernels(struct similarity_kernels *kernels, struct text *out)
{
    static const char *const titles[] = {"<kernel", "<class", ">number", ">time", NULL};
    const struct similarity_busy *busy = &kernels->busy;
    html_facts(out);
    html_fact_quantity(out, "computation", (double)busy->compute / 1e9, UNIT_TIME);
    html_fact_quantity(out, "communication", (double)busy->communication / 1e9, UNIT_TIME);
    html_fact_quantity(out, "both at once", (double)busy->both / 1e9, UNIT_TIME);
    html_fact_quantity(out, "idle", (double)busy->idle / 1e9, UNIT_TIME);
    html_facts_end(out);
    qsort(kernels->kernels, kernels->kernel_count, sizeof *kernels->kernels, by_time);
    html_table(out, "Kernels of GPUs with the most time", titles);
    for (size_t i = 0; i < kernels->kernel_count && i < REPORT_MAX_ROWS; i++) {
        const struct similarity_kernel *kernel = &kernels->kernels[i];
        HTML_ROW(out, cell_head(kernel->name), cell_text(kernel_class_names[kernel->class]),
                 cell_number(HTML_COUNT, (double)kernel->count), cell_number(HTML_TIME, kernel->seconds));
    }
    html_table_end(out);
    report_more(out, (int)kernels->kernel_count, REPORT_MAX_ROWS, "kernels");
}

/* Kernels of a profiler's trace, which are regions. */
static bool add_kernels(struct trace_reader *reader, const struct trace_summary *summary, struct text *out,
                        struct error *err)
{
    struct similarity_kernels kernels = {.ops = 0};
    struct trace_event event;
    struct similarity_runs *runs = similarity_runs_new(reader, NULL, err);
    struct trace_cursor *cursor = runs ? trace_events(reader, &TRACE_ALL, err) : NULL;
    while (cursor && trace_next_event(cursor, &event))
        if (event.class == TRACE_REGION)
            similarity_runs_take(runs, &event);
    bool done = runs && trace_cursor_close(cursor, err) &&
                similarity_runs_end(runs, summary->last_ns - summary->first_ns, &kernels, err);
    if (done && kernels.ops > 0)
        show_kernels(&kernels, out);
    similarity_kernels_release(&kernels);
    similarity_runs_free(runs);
    return done;
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

/* ---- the timeline ---- */

#define MAX_CALLS 1000000 /* and requests */
#define MAX_PATHS 100000  /* of files; where there are more, calls are without */

/* Lanes are phases (0), processes by their ids, and then disks. */
static void name_lane(const void *context, int device, struct report_lane *lane)
{
    const struct trace_reader *reader = context;
    int64_t disk = device - trace_process_count(reader) - 1;
    const struct trace_process_info *process = trace_process_info(reader, device);
    int64_t number = process->tid != TRACE_NONE ? process->tid : process->pid;
    bool named = disk < 0 && device > 0;
    snprintf(lane->group, sizeof lane->group, "%s", named ? "processes" : device == 0 ? "the run" : "disks");
    const char *name = named ? process->name : device == 0 ? "phases" : trace_disk_name(reader, disk);
    snprintf(lane->name, sizeof lane->name, "%.60s", *name ? name : "process");
    size_t length = strlen(lane->name);
    if (named && number != TRACE_NONE)
        snprintf(lane->name + length, sizeof lane->name - length, " %" PRId64, number);
}

static bool give(const struct timeline_sink *sink, int64_t first_ns, int64_t start_ns, int64_t length_ns,
                 struct timeline_task task, struct error *err)
{
    task.begin = fmax(0, trace_seconds(first_ns, start_ns));
    task.end = task.begin + (length_ns > 0 ? (double)length_ns / 1e9 : 0);
    task.stage = -1;
    return sink->task(sink->context, &task, err);
}

static bool give_calls(struct trace_reader *reader, int64_t first_ns, const struct timeline_sink *sink,
                       struct error *err)
{
    static const enum timeline_kind kinds[TRACE_CLASSES] = {[TRACE_READ] = TASK_LOAD,
                                                            [TRACE_WRITE] = TASK_SAVE,
                                                            [TRACE_SYNC] = TASK_WEIGHT,
                                                            [TRACE_OFFCPU] = TASK_SEND,
                                                            [TRACE_REGION] = TASK_OPTIMIZER};
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, err);
    struct trace_event event;
    bool ok = true;
    while (ok && trace_next_event(cursor, &event)) {
        const struct timeline_task task = {.device = (int)event.process,
                                           .kind = kinds[event.class] ? kinds[event.class] : TASK_INPUT,
                                           .microbatch = event.file > 0 ? event.file : -1,
                                           .name = trace_call_name(reader, event.call)};
        ok = event.process == 0 || give(sink, first_ns, event.start_ns, event.latency_ns, task, err);
    }
    return trace_cursor_close(cursor, ok ? err : &(struct error){.kind = 0}) && ok;
}

static bool give_requests(struct trace_reader *reader, int64_t first_ns, const struct timeline_sink *sink,
                          struct error *err)
{
    static const enum timeline_kind kinds[TRACE_OPS] = {TASK_LOAD, TASK_SAVE, TASK_INPUT, TASK_WEIGHT};
    struct trace_cursor *cursor = trace_blocks(reader, &TRACE_ALL, err);
    struct trace_block block;
    bool ok = true;
    while (ok && trace_next_block(cursor, &block)) {
        const struct timeline_task task = {.device = (int)(trace_process_count(reader) + 1 + block.disk),
                                           .kind = kinds[block.op],
                                           .microbatch = block.file > 0 ? block.file : -1,
                                           .name = trace_op_name(block.op)};
        int64_t queued = block.queue_ns > 0 ? block.queue_ns : 0;
        ok = block.disk == 0 || give(sink, first_ns, block.start_ns + queued, block.service_ns, task, err);
    }
    return trace_cursor_close(cursor, ok ? err : &(struct error){.kind = 0}) && ok;
}

static bool give_phases(const struct trace_reader *reader, int64_t first_ns, const struct timeline_sink *sink,
                        struct error *err)
{
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    bool ok = true;
    for (int i = 0; ok && i < count; i++)
        ok =
            give(sink, first_ns, phases[i].start_ns, phases[i].end_ns - phases[i].start_ns,
                 (struct timeline_task){.kind = TASK_FORWARD, .microbatch = -1, .name = phases[i].name}, err);
    return ok;
}

static bool add_timeline(struct trace_reader *reader, int64_t first_ns, struct report_part *part,
                         struct error *err)
{
    static const char *const kinds[TASK_KINDS] = {
        [TASK_FORWARD] = "phase",    [TASK_LOAD] = "read",  [TASK_SAVE] = "write",
        [TASK_WEIGHT] = "sync",      [TASK_SEND] = "waits", [TASK_OPTIMIZER] = "regions",
        [TASK_INPUT] = "other calls"};
    int64_t files = trace_file_count(reader);
    const char **paths = calloc((size_t)(files < MAX_PATHS ? files : 0) + 1, sizeof *paths);
    if (!paths)
        return error_memory(err);
    for (int64_t i = 0; i <= files && files < MAX_PATHS; i++)
        paths[i] = trace_file_info(reader, i)->path;
    const struct report_timeline_options options = {.label = "file",
                                                    .labels = paths,
                                                    .label_count = files < MAX_PATHS ? files + 1 : 0,
                                                    .recorded = true,
                                                    .most = MAX_CALLS,
                                                    .kind_names = kinds,
                                                    .name = name_lane,
                                                    .context = reader};
    struct report_timeline *timeline = report_timeline_new(&options, err);
    struct report_drawing drawing = {.draw = NULL};
    bool ok = timeline;
    if (ok) {
        const struct timeline_sink sink = report_timeline_sink(timeline);
        ok = give_phases(reader, first_ns, &sink, err) && give_calls(reader, first_ns, &sink, err) &&
             give_requests(reader, first_ns, &sink, err) &&
             report_timeline_draw(timeline, "Calls, requests to disks and phases over time", &drawing, err);
    }
    if (ok)
        report_add_drawing(part, &drawing);
    report_drawing_release(&drawing);
    report_timeline_free(timeline);
    free(paths);
    return ok;
}

/* ---- processors, GPUs and disks ---- */

#define MAX_CURVES 4
#define POINTS     600 /* of a curve, at most */

static const struct picture {
    const char *title, *unit;
    double scale; /* to the unit */
    bool sum;     /* of all sources, else their mean */
    struct {
        const char *kind, *source, *name;
    } curves[MAX_CURVES];
} pictures[] = {
    {"Processors",
     "%",
     0.01,
     false,
     {{"cpu.usr", "all", "usr"},
      {"cpu.sys", "all", "sys"},
      {"cpu.iowait", "all", "iowait"},
      {"cpu.idle", "all", "idle"}}},
    {"GPUs", "%", 0.01, false, {{"gpu.sm", NULL, "multiprocessors"}, {"gpu.mem", NULL, "memory"}}},
    {"Framebuffer of GPUs", "B", 0x1p20, false, {{"gpu.fb", NULL, "used"}}},
    {"Disks", "B/s", 0x1p20, true, {{"disk.rMB/s", NULL, "read"}, {"disk.wMB/s", NULL, "written"}}},
};

/* Adds a picture, if the trace has one of its series. */
static bool add_curves(struct trace_reader *reader, const struct picture *picture,
                       const struct trace_window *window, struct report_part *part, struct error *err)
{
    const struct trace_columns columns = trace_columns_of(window->from_ns, window->to_ns, POINTS);
    struct trace_curve curves[MAX_CURVES] = {{.count = 0}};
    struct figure_line lines[MAX_CURVES];
    struct figure_sweep sweep = {.title = picture->title,
                                 .x_title = "time",
                                 .x_unit = "s",
                                 .y_title = picture->title,
                                 .y_unit = picture->unit,
                                 .lines = lines};
    bool ok = true;
    for (int i = 0; i < MAX_CURVES && picture->curves[i].kind && ok; i++) {
        struct trace_curve *curve = &curves[i];
        ok = trace_curve_read(reader, &columns, picture->curves[i].kind, picture->curves[i].source,
                              picture->sum, curve, err);
        for (int at = 0; at < curve->count; at++) {
            curve->seconds[at] += trace_window_seconds(window, window->from_ns);
            curve->values[at] *= picture->scale;
        }
        if (curve->count > 0)
            lines[sweep.line_count++] =
                (struct figure_line){picture->curves[i].name, curve->values, curve->seconds, curve->count};
    }
    if (ok && sweep.line_count > 0) {
        struct report_drawing drawing = {.draw = NULL};
        report_draw_lines(&drawing, &sweep);
        html_element(&drawing.table, "p", "soft", "Drawn where scripts run.");
        report_add_drawing(part, &drawing);
        report_drawing_release(&drawing);
    }
    for (int i = 0; i < MAX_CURVES; i++)
        trace_curve_release(&curves[i]);
    return ok;
}

static bool add_pictures(struct trace_reader *reader, int64_t first_ns, struct report_part *part,
                         struct error *err)
{
    struct trace_window window;
    bool ok =
        trace_window_find(reader, part->path, &(struct trace_zoom){.from = NAN, .to = NAN}, &window, err) &&
        add_timeline(reader, first_ns, part, err);
    for (size_t i = 0; ok && i < sizeof pictures / sizeof *pictures; i++)
        ok = add_curves(reader, &pictures[i], &window, part, err);
    return ok;
}

static bool write_summary(struct trace_reader *reader, const struct trace_summary *summary,
                          struct report_part *part, struct error *err)
{
    struct text *out = &part->out;
    say(reader, summary, &part->says);
    add_head(reader, summary, out);
    if (!add_pictures(reader, summary->first_ns, part, err) || !add_kernels(reader, summary, out, err))
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
    struct trace_reader *reader = trace_open(part->full, NULL, err);
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
