#include "figure/trace/throughput.h"

#include "figure/gnuplot.h"
#include "figure/trace/columns.h"
#include "figure/trace/phases.h"
#include "trace/import/reader.h"
#include "trace/similarity/similarity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT        84
#define RIGHT       30
#define GAP         10
#define WINDOWS     200
#define MAX_WINDOWS 20000

/* One trace, read. */
struct source {
    struct trace_reader *reader;
    struct trace_window window;
    struct trace_columns columns;
    struct trace_lane lanes[FIGURE_STREAMS];
    struct figure_bars bars;
};

struct drawing {
    const struct figure_throughput *options;
    const char *const *names;
    struct trace_shortfall shortfalls[FIGURE_MAX_TRACES];
    struct source *traces;
    int count;
    double from, to; /* of the axis, seconds */
    double every;
    struct figure_page page;
    double top, width, height;
    int panels; /* still to draw */
};

/* ---- reading ---- */

static void take_call(void *context, const struct figure_call *call)
{
    struct source *source = context;
    trace_lane_add(&source->lanes[call->stream], &source->columns,
                   &(struct trace_span_of){call->start_ns, call->end_ns, call->bytes});
}

static bool open_traces(struct drawing *drawing, struct error *err)
{
    drawing->from = INFINITY;
    drawing->to = -INFINITY;
    for (int i = 0; i < drawing->count; i++) {
        struct source *source = &drawing->traces[i];
        source->reader = trace_open(drawing->names[i], &drawing->options->selection, err);
        if (!source->reader ||
            !trace_window_find(source->reader, drawing->names[i], &drawing->options->zoom, &source->window,
                               err) ||
            !figure_bars_list(&source->bars, source->reader, &source->window, err))
            return false;
        drawing->shortfalls[i] = trace_shortfall_of(source->reader);
        if (drawing->count > 1 && (drawing->options->zoom.phase || drawing->options->zoom.last > 0))
            source->window.zero_ns = source->window.from_ns; /* parts that are alike begin together */
        drawing->from = fmin(drawing->from, trace_window_seconds(&source->window, source->window.from_ns));
        drawing->to = fmax(drawing->to, trace_window_seconds(&source->window, source->window.to_ns));
    }
    return true;
}

/* Windows of a width that people count in, and the same for all traces. */
static bool choose_windows(struct drawing *drawing, struct error *err)
{
    double length = drawing->to - drawing->from;
    drawing->every = drawing->options->every > 0 ? drawing->options->every : figure_step(length, WINDOWS);
    if (drawing->every < 1e-9)
        drawing->every = 1e-9;
    if (length / drawing->every <= MAX_WINDOWS)
        return true;
    return error_set(err, ERROR_USAGE, "--every: %.0f rates exceed the limit of %d", length / drawing->every,
                     MAX_WINDOWS);
}

static bool read_lanes(struct drawing *drawing, struct error *err)
{
    for (int i = 0; i < drawing->count; i++) {
        struct source *source = &drawing->traces[i];
        source->columns = trace_columns_every(source->window.from_ns, source->window.to_ns,
                                              (int64_t)llround(drawing->every * 1e9));
        for (int stream = 0; stream < FIGURE_STREAMS; stream++)
            if (drawing->options->streams[stream] &&
                !trace_lane_init(&source->lanes[stream], &source->columns, err))
                return false;
        if (!figure_read_calls(source->reader, source->window.to_ns, drawing->options->streams, take_call,
                               source, err))
            return false;
    }
    return true;
}

enum measure { BYTES, OPERATIONS, MEASURES };

/* Whether there is anything to draw of a stream. */
static bool has(const struct drawing *drawing, int stream, enum measure measure)
{
    for (int i = 0; i < drawing->count; i++) {
        const struct trace_lane *lane = &drawing->traces[i].lanes[stream];
        if (lane->total > 0 && measure == OPERATIONS)
            return true;
        for (int column = 0; lane->total > 0 && column < drawing->traces[i].columns.count; column++)
            if (lane->columns[column].bytes > 0)
                return true;
    }
    return false;
}

/* ---- panels ---- */

static void begin_panel(struct drawing *drawing, const char *title, double height)
{
    double line = figure_line_height(drawing->options->style);
    drawing->top += line;
    figure_panel(&drawing->page, &(struct figure_box){LEFT, drawing->top, drawing->width, height});
    figure_label(&drawing->page, LEFT, drawing->top - 0.55 * line, 'l', title);
    figure_time_axis(&drawing->page, drawing->from, drawing->to, --drawing->panels == 0);
    drawing->top += height + GAP;
}

/* One line, as steps: each rate from the beginning to the end of its window. Gives the highest. */
static double add_line(struct drawing *drawing, int which, const struct source *source,
                       const struct trace_lane *lane, enum measure measure)
{
    const struct trace_columns *columns = &source->columns;
    double max = 0;
    text_format(&drawing->page.script, "$line%d << EOD\n", which);
    for (int i = 0; i < columns->count; i++) {
        int64_t from = columns->from_ns + i * columns->width_ns, to = from + columns->width_ns;
        if (to > columns->to_ns)
            to = columns->to_ns;
        double seconds = trace_seconds(from, to);
        double rate = (measure == BYTES ? lane->columns[i].bytes : (double)lane->columns[i].calls) / seconds;
        max = fmax(max, rate);
        text_format(&drawing->page.script, "%.12g %.6g\n%.12g %.6g\n",
                    trace_window_seconds(&source->window, from), rate,
                    trace_window_seconds(&source->window, to), rate);
    }
    text_add(&drawing->page.script, "EOD\n");
    return max;
}

struct line {
    int trace, stream;
    const char *colour, *title;
};

static void draw_lines(struct drawing *drawing, const struct line *lines, int count, enum measure measure)
{
    double max = 0;
    struct text *script = &drawing->page.script;
    for (int i = 0; i < count; i++) {
        const struct source *source = &drawing->traces[lines[i].trace];
        max = fmax(max, add_line(drawing, i, source, &source->lanes[lines[i].stream], measure));
    }
    figure_even_axis(&drawing->page, measure == BYTES ? FIGURE_RATE : FIGURE_COUNT, max, 4);
    text_add(script, "plot ");
    for (int i = 0; i < count; i++) {
        text_format(script, "%s$line%d with lines linewidth %g linecolor rgb '%s' title ", i > 0 ? ", " : "",
                    i, drawing->options->style->line, lines[i].colour);
        gnuplot_add_string(script, lines[i].title);
    }
    text_add(script, "\n");
}

/* Of one trace: all streams in a panel. */
static void draw_streams(struct drawing *drawing, enum measure measure)
{
    struct line lines[FIGURE_STREAMS] = {0};
    char title[96], every[32];
    int count = 0;
    for (int stream = 0; stream < FIGURE_STREAMS; stream++)
        if (has(drawing, stream, measure)) {
            const char *name = similarity_stream_name(stream);
            lines[count++] = (struct line){0, stream, figure_colour_of(name), name};
        }
    figure_value(every, sizeof every, drawing->every, FIGURE_SECONDS);
    snprintf(title, sizeof title, "%s per second, means of %s", measure == BYTES ? "Bytes" : "Operations",
             every);
    double line = figure_line_height(drawing->options->style);
    begin_panel(drawing, title, drawing->height);
    if (drawing->options->style->legends)
        figure_key_line(&drawing->page, LEFT + drawing->width, drawing->top - GAP - drawing->height - line);
    figure_bars_shade(&drawing->page, &drawing->traces[0].bars);
    draw_lines(drawing, lines, count, measure);
}

/* Of several traces: one stream in a panel. */
static void draw_traces(struct drawing *drawing, int stream, enum measure measure)
{
    struct line lines[FIGURE_MAX_TRACES] = {0};
    char title[96];
    for (int i = 0; i < drawing->count; i++)
        lines[i] = (struct line){i, stream, figure_colour(i), ""};
    snprintf(title, sizeof title, "%s: %s per second", similarity_stream_name(stream),
             measure == BYTES ? "bytes" : "operations");
    begin_panel(drawing, title, drawing->height);
    draw_lines(drawing, lines, drawing->count, measure);
}

static void draw_phases(struct drawing *drawing, int which, double height)
{
    const struct source *source = &drawing->traces[which];
    char title[160];
    snprintf(title, sizeof title, "Phases%s%.140s", drawing->count > 1 ? " of " : "",
             drawing->count > 1 ? figure_trace_name(drawing->names, drawing->count, which) : "");
    begin_panel(drawing, title, height);
    if (drawing->options->style->legends)
        figure_key_line(&drawing->page, LEFT + drawing->width,
                        drawing->top - GAP - height - figure_line_height(drawing->options->style));
    figure_bars_draw(&drawing->page,
                     &(struct figure_box){LEFT, drawing->top - GAP - height, drawing->width, height},
                     &source->bars, drawing->from, drawing->to);
}

/* ---- the page ---- */

/* Draws, or only counts, the panels of rates. */
static int for_rates(struct drawing *drawing, bool draw)
{
    int panels = 0;
    for (int stream = 0; stream < FIGURE_STREAMS && drawing->count > 1; stream++)
        for (enum measure measure = BYTES; measure < MEASURES; measure++) {
            if (!has(drawing, stream, measure))
                continue;
            panels++;
            if (draw)
                draw_traces(drawing, stream, measure);
        }
    for (enum measure measure = BYTES; measure < MEASURES && drawing->count == 1; measure++) {
        bool any = false;
        for (int stream = 0; stream < FIGURE_STREAMS && !any; stream++)
            any = has(drawing, stream, measure);
        panels += any;
        if (draw && any)
            draw_streams(drawing, measure);
    }
    return panels;
}

static bool draw(struct drawing *drawing, const char *path, struct error *err)
{
    const struct figure_style *style = drawing->options->style;
    double line = figure_line_height(style), phases = style->legends ? 26 : 20;
    int rates = for_rates(drawing, false), strips = 0;
    if (rates == 0)
        return error_set(err, ERROR_INPUT, "%s: no call of the requested classes and kinds",
                         drawing->names[0]);
    for (int i = 0; i < drawing->count; i++)
        strips += drawing->traces[i].bars.count > 0;
    drawing->panels = rates + strips;
    drawing->height = drawing->count > 1 ? (style->legends ? 90 : 60) : style->legends ? 150 : 90;
    drawing->width = style->width - LEFT - RIGHT;
    drawing->top = style->legends || drawing->count > 1 ? 1.6 * line : 2;
    double height =
        drawing->top + rates * (drawing->height + line + GAP) + strips * (phases + line + GAP) + 1.2 * line;
    if (!figure_page_begin(&drawing->page, path, style, (int)ceil(height), err))
        return false;
    figure_names_draw(&drawing->page, LEFT, drawing->names, drawing->shortfalls, drawing->count,
                      drawing->options->title);
    for_rates(drawing, true);
    for (int i = 0; i < drawing->count; i++)
        if (drawing->traces[i].bars.count > 0)
            draw_phases(drawing, i, phases);
    return figure_page_end(&drawing->page, path, err);
}

bool figure_throughput(const char *path, const char *const *traces, size_t count,
                       const struct figure_throughput *options, struct error *err)
{
    struct drawing drawing = {.options = options, .names = traces, .count = (int)count};
    if (!figure_names_fit(count, err) || !figure_can_write(path, err))
        return false;
    drawing.traces = calloc(count, sizeof *drawing.traces);
    if (!drawing.traces)
        return error_memory(err);
    bool done = open_traces(&drawing, err) && choose_windows(&drawing, err) && read_lanes(&drawing, err) &&
                draw(&drawing, path, err);
    for (size_t i = 0; i < count; i++) {
        for (int stream = 0; stream < FIGURE_STREAMS; stream++)
            trace_lane_release(&drawing.traces[i].lanes[stream]);
        figure_bars_release(&drawing.traces[i].bars);
        trace_reader_free(drawing.traces[i].reader);
    }
    free(drawing.traces);
    return done;
}
