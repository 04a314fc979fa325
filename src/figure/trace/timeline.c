#include "figure/trace/timeline.h"

#include "core/text.h"
#include "core/vector.h"
#include "figure/gnuplot.h"
#include "figure/trace/calls.h"
#include "figure/trace/columns.h"
#include "figure/trace/names.h"
#include "figure/trace/phases.h"
#include "figure/trace/series.h"
#include "trace/import/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const timeline_row_names[] = {"cpu", "gpu", "disks", "traces", "phases", NULL};

#define LEFT        64 /* of the axes, pixels: room for the names of marks */
#define GAP         10 /* between panels */
#define MAX_CURVES  4
#define MAX_COMMAND 100 /* bytes, in the title */
#define LEVELS      5   /* tones of a lane */

/* The kinds of lanes, from below: requests to disks, then calls; writes below reads. */
enum { BLOCK_WRITES, BLOCK_READS, WRITES, READS, KINDS };
static const struct kind {
    int stream;
    const char *colour, *title; /* the study's words */
    double low, high;           /* where it lies: the disks' lane is 0 to 1, that of calls 1 to 2 */
} kinds[KINDS] = {
    [BLOCK_WRITES] = {FIGURE_STREAM_OF_DISK(TRACE_OP_WRITE), "block.write", "BIOW", 0.06, 0.48},
    [BLOCK_READS] = {FIGURE_STREAM_OF_DISK(TRACE_OP_READ), "block.read", "BIOR", 0.52, 0.94},
    [WRITES] = {TRACE_WRITE, "write", "WRITE", 1.06, 1.48},
    [READS] = {TRACE_READ, "read", "READ", 1.52, 1.94},
};

/* A row of curves. */
static const struct curves {
    const char *title;
    bool percent, sum;
    int count;
    struct {
        const char *kind, *source, *title;
        double scale;
        bool second; /* on the axis at the right */
    } curves[MAX_CURVES];
} curve_rows[] = {
    [TIMELINE_CPU] = {"CPU, %",
                      true,
                      false,
                      4,
                      {{"cpu.usr", "all", "usr", 1, false},
                       {"cpu.sys", "all", "sys", 1, false},
                       {"cpu.iowait", "all", "iowait", 1, false},
                       {"cpu.idle", "all", "idle", 1, false}}},
    [TIMELINE_GPU] = {"GPU, %",
                      true,
                      false,
                      3,
                      {{"gpu.sm", NULL, "multiprocessors", 1, false},
                       {"gpu.mem", NULL, "memory", 1, false},
                       {"gpu.fb", NULL, "framebuffer, GiB (right)", 1.0 / 1024, true}}},
    [TIMELINE_DISKS] = {"Disks, MiB/s",
                        false,
                        true,
                        2,
                        {{"disk.rMB/s", NULL, "read", 1, false}, {"disk.wMB/s", NULL, "written", 1, false}}},
};

struct drawing {
    const struct figure_timeline *options;
    struct trace_reader *reader;
    struct trace_window window;
    struct trace_columns columns;
    struct trace_curve curves[TIMELINE_TRACES][MAX_CURVES];
    struct trace_workers workers;
    struct trace_lane *lanes; /* of workers (of the one row, where all are together), KINDS each */
    int lane_sets;
    size_t lane_capacity;
    int set_of_row[TRACE_MAX_ROWS];
    struct figure_bars bars;
    struct figure_page page;
    double top;   /* of the next panel */
    double width; /* of the axes */
    int panels;   /* still to draw */
};

/* ---- reading ---- */

static bool has_curves(const struct drawing *drawing, int row)
{
    for (int i = 0; i < curve_rows[row].count; i++)
        if (drawing->curves[row][i].count > 0)
            return true;
    return false;
}

static bool read_curves(struct drawing *drawing, struct error *err)
{
    for (int row = 0; row < TIMELINE_TRACES; row++) {
        const struct curves *curves = &curve_rows[row];
        for (int i = 0; drawing->options->rows[row] && i < curves->count; i++)
            if (!trace_curve_read(drawing->reader, &drawing->columns, curves->curves[i].kind,
                                  curves->curves[i].source, curves->sum, &drawing->curves[row][i], err))
                return false;
    }
    return true;
}

/* Where calls go as they are read. */
struct call_sink {
    struct drawing *drawing;
    struct error *err;
    bool failed;
};

static struct trace_lane *lanes_of(const struct drawing *drawing, int set)
{
    return &drawing->lanes[(ptrdiff_t)set * KINDS];
}

static bool add_lanes(struct drawing *drawing, struct error *err)
{
    struct trace_lane *lanes;
    size_t count = (size_t)drawing->lane_sets + 1;
    if (!VECTOR_ROOM_ZEROED(drawing->lanes, drawing->lane_capacity, count * KINDS))
        return error_memory(err);
    lanes = lanes_of(drawing, drawing->lane_sets);
    drawing->lane_sets++;
    for (int kind = 0; kind < KINDS; kind++)
        if (!trace_lane_init(&lanes[kind], &drawing->columns, err))
            return false;
    return true;
}

static void take_call(void *context, const struct figure_call *call)
{
    struct call_sink *sink = context;
    struct drawing *drawing = sink->drawing;
    int kind = 0;
    while (kind < KINDS && kinds[kind].stream != call->stream)
        kind++;
    if (kind == KINDS || sink->failed || call->end_ns < drawing->window.from_ns)
        return;
    int worker = trace_workers_find(&drawing->workers, drawing->reader, call->process);
    int set = drawing->options->grouping == TRACE_ALL_WORKERS ? 0 : worker;
    while (!sink->failed && drawing->lane_sets <= set)
        sink->failed = !add_lanes(drawing, sink->err);
    drawing->workers.items[worker].calls++;
    if (!sink->failed)
        trace_lane_add(&lanes_of(drawing, set)[kind], &drawing->columns,
                       &(struct trace_span_of){call->start_ns, call->end_ns, call->bytes});
}

/* Where workers have lanes of their own, merges the lanes of each row. */
static void join_lanes(struct drawing *drawing)
{
    const struct trace_workers *workers = &drawing->workers;
    if (drawing->options->grouping == TRACE_ALL_WORKERS)
        return; /* the one set is that of row 0 */
    memset(drawing->set_of_row, -1, sizeof drawing->set_of_row);
    for (int i = 0; i < workers->count; i++) {
        int *set = &drawing->set_of_row[workers->items[i].row];
        if (*set < 0)
            *set = i;
        else
            for (int kind = 0; kind < KINDS; kind++)
                trace_lane_merge(&lanes_of(drawing, *set)[kind], &drawing->columns,
                                 &lanes_of(drawing, i)[kind]);
    }
}

static bool read_lanes(struct drawing *drawing, struct error *err)
{
    bool streams[FIGURE_STREAMS] = {false};
    struct call_sink sink = {.drawing = drawing, .err = err};
    if (!drawing->options->rows[TIMELINE_TRACES])
        return true;
    for (int kind = 0; kind < KINDS; kind++)
        streams[kinds[kind].stream] = true;
    if (!figure_read_calls(drawing->reader, drawing->window.to_ns, streams, take_call, &sink, err) ||
        sink.failed ||
        !trace_workers_group(&drawing->workers, drawing->reader, drawing->options->grouping, err))
        return false;
    join_lanes(drawing);
    return true;
}

/* ---- panels ---- */

static double seconds_of(const struct drawing *drawing, int64_t time_ns)
{
    return trace_window_seconds(&drawing->window, time_ns);
}

static void begin_panel(struct drawing *drawing, const char *title, double height)
{
    double line = figure_line_height(drawing->options->style);
    struct figure_page *page = &drawing->page;
    drawing->top += line;
    figure_panel(page, &(struct figure_box){LEFT, drawing->top, drawing->width, height});
    figure_label(page, LEFT, drawing->top - 0.55 * line, 'l', title);
    figure_time_axis(page, seconds_of(drawing, drawing->window.from_ns),
                     seconds_of(drawing, drawing->window.to_ns), --drawing->panels == 0);
    if (drawing->options->style->legends)
        figure_key_line(page, LEFT + drawing->width, drawing->top - line);
    drawing->top += height + GAP;
}

static void add_points(struct drawing *drawing, int row, int which)
{
    const struct trace_curve *curve = &drawing->curves[row][which];
    double from = seconds_of(drawing, drawing->columns.from_ns);
    text_format(&drawing->page.script, "$curve%d << EOD\n", which);
    for (int i = 0; i < curve->count; i++)
        text_format(&drawing->page.script, "%.12g %.6g\n", from + curve->seconds[i],
                    curve->values[i] * curve_rows[row].curves[which].scale);
    text_add(&drawing->page.script, "EOD\n");
}

static void set_curve_axes(struct drawing *drawing, int row)
{
    const struct curves *curves = &curve_rows[row];
    double max[2] = {0, 0};
    bool second = false;
    for (int i = 0; i < curves->count; i++) {
        double *axis = &max[curves->curves[i].second];
        *axis = fmax(*axis, drawing->curves[row][i].max * curves->curves[i].scale);
        second |= curves->curves[i].second && drawing->curves[row][i].count > 0;
    }
    if (curves->percent)
        text_add(&drawing->page.script, "set yrange [0:100]\nset ytics 50\n");
    else
        figure_even_axis(&drawing->page, FIGURE_COUNT, max[0], 3);
    if (second) {
        double top = max[1] > 0 ? 1.05 * max[1] : 1;
        text_format(&drawing->page.script, "set border 11\nset y2range [0:%.6g]\nset y2tics %.6g\n", top,
                    figure_step(top, 3));
    }
}

static void draw_curves(struct drawing *drawing, int row, double height)
{
    const struct curves *curves = &curve_rows[row];
    struct text *script = &drawing->page.script;
    int drawn = 0;
    begin_panel(drawing, curves->title, height);
    set_curve_axes(drawing, row);
    for (int i = 0; i < curves->count; i++)
        add_points(drawing, row, i);
    text_add(script, "set clip two\nplot ");
    for (int i = 0; i < curves->count; i++) {
        if (drawing->curves[row][i].count == 0)
            continue;
        text_format(script, "%s$curve%d with lines axes x1y%d linewidth %g linecolor rgb '%s' title ",
                    drawn++ > 0 ? ", " : "", i, curves->curves[i].second ? 2 : 1,
                    drawing->options->style->line, figure_colour_of(curves->curves[i].kind));
        gnuplot_add_string(script, curves->curves[i].title);
    }
    text_add(script, "\n");
}

/* 0: nothing; else 1 to LEVELS by the share of the column in which something is in progress. */
static int level_of(const struct drawing *drawing, const struct trace_lane *lane, int column)
{
    if (lane->columns[column].calls == 0 && lane->columns[column].busy_ns == 0)
        return 0;
    double share = (double)lane->columns[column].busy_ns / (double)drawing->columns.width_ns;
    int level = 1 + (int)(share * LEVELS);
    return level < LEVELS ? level : LEVELS;
}

/* Adds the columns of a level or a higher one, neighbours as one rectangle; false: there are none. (One polygon for
 * all, with edges of no height between, is half as large, but readers of PDF draw these edges.) */
static bool add_level(struct drawing *drawing, const struct trace_lane *lane, int kind, int level)
{
    const struct trace_columns *columns = &drawing->columns;
    struct text *script = &drawing->page.script;
    double low = kinds[kind].low, high = kinds[kind].high;
    bool inside = false, any = false;
    text_format(script, "$kind%dlevel%d << EOD\n", kind, level);
    for (int i = 0; i <= columns->count; i++) {
        bool is = i < columns->count && level_of(drawing, lane, i) >= level;
        if (is == inside)
            continue;
        int64_t edge = columns->from_ns + i * columns->width_ns;
        double at = seconds_of(drawing, edge < columns->to_ns ? edge : columns->to_ns);
        text_format(script, "%.12g %g\n%.12g %g\n%s", at, is ? low : high, at, is ? high : low,
                    is ? "" : "\n");
        inside = is;
        any = true;
    }
    text_add(script, any ? "EOD\n" : "0 0\nEOD\n");
    return any;
}

static void add_lane(struct drawing *drawing, const struct trace_lane *lane, int kind, struct text *plots)
{
    const char *colour = figure_colour_of(kinds[kind].colour);
    for (int level = 1; level <= LEVELS; level++) {
        if (!add_level(drawing, lane, kind, level))
            return;
        struct figure_tone tone = figure_tint(colour, 0.45 + 0.55 * (level - 1) / (LEVELS - 1));
        text_format(plots,
                    "$kind%dlevel%d with filledcurves closed fillstyle solid noborder fillcolor rgb '%s' "
                    "notitle, ",
                    kind, level, tone.text);
    }
}

static void draw_lanes(struct drawing *drawing, int row, double height)
{
    const struct trace_lane *lanes = lanes_of(drawing, drawing->set_of_row[row]);
    struct text *script = &drawing->page.script, plots = {0};
    char title[160];
    snprintf(title, sizeof title, "%s%s", drawing->workers.titles[row],
             row == 0 && drawing->options->style->legends ? " (darker: busier)" : "");
    begin_panel(drawing, title, height);
    text_add(script, "set yrange [0:2]\nset ytics ('BIO' 0.5, 'VFS' 1.5) scale 0\nset grid noytics\n");
    for (int kind = 0; kind < KINDS; kind++)
        add_lane(drawing, &lanes[kind], kind, &plots);
    for (int kind = KINDS - 1; kind >= 0 && row == 0; kind--) /* the legend */
        text_format(&plots, "NaN with boxes fillstyle solid noborder linecolor rgb '%s' title '%s', ",
                    figure_colour_of(kinds[kind].colour), kinds[kind].title);
    text_add(script, "plot ");
    if (plots.data)
        text_add(script, plots.data);
    text_add(script, "1 with lines linewidth 0.5 linecolor rgb '#888888' notitle\n");
    script->failed |= plots.failed;
    text_release(&plots);
}

static void draw_phases(struct drawing *drawing, double height)
{
    begin_panel(drawing, "Phases", height);
    figure_bars_draw(&drawing->page,
                     &(struct figure_box){LEFT, drawing->top - GAP - height, drawing->width, height},
                     &drawing->bars, seconds_of(drawing, drawing->window.from_ns),
                     seconds_of(drawing, drawing->window.to_ns));
}

/* ---- the page ---- */

struct heights {
    double curves, lanes, phases;
};

static int count_panels(const struct drawing *drawing, const struct heights *heights, double *height)
{
    int curves = 0, lanes = drawing->workers.rows, phases = drawing->bars.count > 0;
    for (int row = 0; row < TIMELINE_TRACES; row++)
        curves += has_curves(drawing, row);
    *height = curves * heights->curves + lanes * heights->lanes + phases * heights->phases;
    return curves + lanes + phases;
}

/* Adds the command, or its beginning if it is too long for the page. */
static void add_command(struct text *out, const char *text)
{
    size_t length = strlen(text);
    if (length > MAX_COMMAND)
        for (length = MAX_COMMAND; length > 0 && text_continues(text[length]);)
            length--;
    text_format(out, "%.*s%s", (int)length, text, text[length] ? " ..." : "");
}

static void write_title(const struct drawing *drawing, const char *trace, struct text *title)
{
    const char *command = trace_meta(drawing->reader, "command"), *given = drawing->options->title;
    struct text name = {0};
    text_add(&name, given ? given : figure_trace_name(&trace, 1, 0));
    if (!given && command && *command) {
        text_add(&name, ": ");
        add_command(&name, command);
    }
    figure_name_add(title, text_within(&name, title), trace_shortfall_of(drawing->reader));
    text_release(&name);
}

static void draw_panels(struct drawing *drawing, const struct heights *heights)
{
    for (int row = 0; row < TIMELINE_TRACES; row++)
        if (has_curves(drawing, row))
            draw_curves(drawing, row, heights->curves);
    for (int row = 0; row < drawing->workers.rows; row++)
        draw_lanes(drawing, row, heights->lanes);
    if (drawing->bars.count > 0)
        draw_phases(drawing, heights->phases);
}

static bool draw(struct drawing *drawing, const char *path, const char *trace, struct error *err)
{
    const struct figure_style *style = drawing->options->style;
    const struct heights heights =
        style->legends ? (struct heights){84, 64, 26} : (struct heights){60, 50, 20};
    double line = figure_line_height(style), height;
    int panels = count_panels(drawing, &heights, &height);
    if (panels == 0)
        return error_set(err, ERROR_INPUT, "%s: nothing to draw in the requested rows", trace);
    drawing->panels = panels;
    drawing->top = style->legends ? 1.6 * line : 2;
    height += drawing->top + panels * (line + GAP) + 1.2 * line;
    if (!figure_page_begin(&drawing->page, path, style, (int)ceil(height), err))
        return false;
    if (style->legends) {
        struct text title = {0};
        write_title(drawing, trace, &title);
        figure_page_title(&drawing->page, LEFT, text_within(&title, &drawing->page.script));
        text_release(&title);
    }
    draw_panels(drawing, &heights);
    return figure_page_end(&drawing->page, path, err);
}

static bool read_and_draw(struct drawing *drawing, const char *path, const char *trace, struct error *err)
{
    const struct figure_timeline *options = drawing->options;
    if (!trace_window_find(drawing->reader, trace, &options->zoom, &drawing->window, err))
        return false;
    bool second_axis = options->rows[TIMELINE_GPU];
    drawing->width = options->style->width - LEFT - (second_axis ? 46 : 20);
    drawing->columns = trace_columns_of(drawing->window.from_ns, drawing->window.to_ns, (int)drawing->width);
    return read_curves(drawing, err) && read_lanes(drawing, err) &&
           (!options->rows[TIMELINE_PHASES] ||
            figure_bars_list(&drawing->bars, drawing->reader, &drawing->window, err)) &&
           draw(drawing, path, trace, err);
}

bool figure_timeline(const char *path, const char *trace, const struct figure_timeline *options,
                     struct error *err)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    if (!drawing)
        return error_memory(err);
    drawing->options = options;
    drawing->reader = figure_can_write(path, err) ? trace_open(trace, &options->selection, err) : NULL;
    bool done = drawing->reader && trace_workers_init(&drawing->workers, drawing->reader, err) &&
                read_and_draw(drawing, path, trace, err);
    for (int row = 0; row < TIMELINE_TRACES; row++)
        for (int i = 0; i < MAX_CURVES; i++)
            trace_curve_release(&drawing->curves[row][i]);
    for (int i = 0; i < drawing->lane_sets * KINDS; i++)
        trace_lane_release(&drawing->lanes[i]);
    free(drawing->lanes);
    figure_bars_release(&drawing->bars);
    trace_workers_release(&drawing->workers);
    trace_reader_free(drawing->reader);
    free(drawing);
    return done;
}
