#include "figure/trace/distribution.h"

#include "figure/gnuplot.h"
#include "figure/tally.h"
#include "trace/import/reader.h"
#include "trace/similarity/similarity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const distribution_names[] = {"size", "latency", "gap", NULL};

#define LEFT    64 /* of the axes: room for numbers and a title */
#define RIGHT   34
#define GAP     16    /* between a histogram and its sums */
#define VISIBLE 0.003 /* share of the height of the sums: a fifth of a pixel */
#define PER_2   4     /* bars of a doubling, of sizes */
#define PER_10  16    /* bars of a decade, of times */
#define BARS    512
#define OF_ZERO 26 /* pixels at the left are for zeros, and as many again: a logarithm has none */

static const struct kind {
    const char *title;
    enum figure_unit unit;
    double scale; /* of the axis */
    int base, per;
} kinds[] = {
    [DISTRIBUTION_SIZE] = {"size", FIGURE_BYTES, 1, 2, PER_2},
    [DISTRIBUTION_LATENCY] = {"latency", FIGURE_SECONDS, 1e-9, 10, PER_10},
    [DISTRIBUTION_GAP] = {"time from one to the next", FIGURE_SECONDS, 1e-9, 10, PER_10},
};

struct stream {
    struct tally kinds[DISTRIBUTION_KINDS];
    int64_t calls, before_ns;
};

/* The axis of a kind, the same in all rows. */
struct axis {
    double min, max; /* above 0 */
    bool zeros;
    double from, to, zero; /* as drawn; zero: where zeros are */
};

struct drawing {
    const struct figure_distribution *options;
    struct stream (*traces)[FIGURE_STREAMS];
    const char *const *names;
    struct trace_shortfall shortfalls[FIGURE_MAX_TRACES];
    int count, rows, columns;
    struct axis axes[DISTRIBUTION_KINDS];
    struct figure_page page;
    double panel_width, histogram_height, sums_height;
};

/* ---- reading ---- */

/* Where calls go as they are read. */
struct call_sink {
    struct stream *streams;
    int64_t from_ns;
};

static void take_call(void *context, const struct figure_call *call)
{
    const struct call_sink *sink = context;
    struct stream *stream = &sink->streams[call->stream];
    if (call->start_ns < sink->from_ns)
        return;
    tally_add(&stream->kinds[DISTRIBUTION_SIZE], call->bytes);
    tally_add(&stream->kinds[DISTRIBUTION_LATENCY], call->latency_ns);
    if (stream->calls++ > 0)
        tally_add(&stream->kinds[DISTRIBUTION_GAP], call->start_ns - stream->before_ns);
    stream->before_ns = call->start_ns;
}

static bool read_trace(struct drawing *drawing, int which, const char *path, struct error *err)
{
    struct trace_window window;
    struct trace_reader *reader = trace_open(path, &drawing->options->selection, err);
    if (!reader)
        return false;
    struct call_sink sink = {.streams = drawing->traces[which]};
    drawing->shortfalls[which] = trace_shortfall_of(reader);
    bool done = trace_window_find(reader, path, &drawing->options->zoom, &window, err);
    if (done) {
        sink.from_ns = window.from_ns;
        done = figure_read_calls(reader, window.to_ns, drawing->options->streams, take_call, &sink, err);
    }
    for (int i = 0; done && i < FIGURE_STREAMS * DISTRIBUTION_KINDS; i++)
        if (sink.streams[i / DISTRIBUTION_KINDS].kinds[i % DISTRIBUTION_KINDS].failed)
            done = error_memory(err);
    trace_reader_free(reader);
    return done;
}

static bool has_calls(const struct drawing *drawing, int stream)
{
    for (int i = 0; i < drawing->count; i++)
        if (drawing->traces[i][stream].calls > 0)
            return true;
    return false;
}

/* ---- axes ---- */

static void widen(struct axis *axis, const struct tally *tally)
{
    if (tally->total == 0)
        return;
    axis->zeros |= tally->min == 0;
    double min = (double)tally->min;
    for (int bin = 1; min == 0 && bin < TALLY_BINS; bin++)
        if (tally->counts[bin] > 0)
            min = (double)tally_value(bin);
    if (min > 0 && (axis->min == 0 || min < axis->min))
        axis->min = min;
    axis->max = fmax(axis->max, (double)tally->max);
}

static void find_axes(struct drawing *drawing)
{
    for (int kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        struct axis *axis = &drawing->axes[kind];
        const struct kind *of = &kinds[kind];
        for (int i = 0; i < drawing->count; i++)
            for (int stream = 0; stream < FIGURE_STREAMS; stream++)
                widen(axis, &drawing->traces[i][stream].kinds[kind]);
        if (axis->min == 0)
            axis->min = axis->max = 1; /* zeros alone */
        double first = floor(log(axis->min * of->scale) / log(of->base) + 1e-9);
        double last = fmax(ceil(log(axis->max * of->scale * 1.0001) / log(of->base)), first + 1);
        axis->to = pow(of->base, last);
        double share = OF_ZERO / drawing->panel_width * (last - first);
        axis->zero = pow(of->base, first - share);
        axis->from = pow(of->base, axis->zeros ? first - 2 * share : first);
    }
}

static void set_axis(struct drawing *drawing, int kind, bool numbers)
{
    const struct axis *axis = &drawing->axes[kind];
    figure_log_axis(&drawing->page, 'x', kinds[kind].unit, axis->min * kinds[kind].scale,
                    axis->max * kinds[kind].scale * 1.0001, numbers);
    text_format(&drawing->page.script, "set xrange [%.12g:%.12g]\n", axis->from, axis->to);
    if (axis->zeros)
        text_format(&drawing->page.script, "set xtics add ('%s' %.12g)\n", numbers ? "0" : "", axis->zero);
}

/* ---- panels ---- */

static const char *colour_of(const struct drawing *drawing, int trace, int stream)
{
    return drawing->count > 1 ? figure_colour(trace) : figure_colour_of(similarity_stream_name(stream));
}

/* Bars of a histogram: 0 of the zeros, then from the axis' first power on. */
static double add_bars(struct drawing *drawing, const struct tally *tally, int kind, int trace)
{
    const struct kind *of = &kinds[kind];
    const struct axis *axis = &drawing->axes[kind];
    int64_t bars[BARS] = {0};
    int first = (int)floor(of->per * floor(log(axis->min * of->scale) / log(of->base) + 1e-9));
    double max = 0;
    for (int bin = 0; bin < TALLY_BINS && tally->counts; bin++) {
        if (tally->counts[bin] == 0)
            continue;
        int at =
            bin == 0
                ? 0
                : 1 + (int)floor(of->per * log((double)tally_value(bin) * of->scale) / log(of->base) + 1e-9) -
                      first;
        bars[at < 0 ? 0 : at < BARS ? at : BARS - 1] += tally->counts[bin];
    }
    text_format(&drawing->page.script, "$bars%d << EOD\n", trace);
    for (int i = 0; i < BARS; i++) {
        if (bars[i] == 0)
            continue;
        double share = 100 * (double)bars[i] / (double)tally->total, width = 1.0 / of->per;
        double from = i == 0 ? log(axis->zero) / log(of->base) - width / 2 : (first + i - 1) * width;
        double left = pow(of->base, from), right = pow(of->base, from + width);
        max = fmax(max, share);
        if (i < 2 || bars[i - 1] == 0)
            text_format(&drawing->page.script, "%.9g 0\n", left);
        text_format(&drawing->page.script, "%.9g %.6g\n%.9g %.6g\n", left, share, right, share);
        if (i == 0 || i == BARS - 1 || bars[i + 1] == 0)
            text_format(&drawing->page.script, "%.9g 0\n", right);
    }
    text_add(&drawing->page.script, tally->total > 0 ? "EOD\n" : "1 0\nEOD\n");
    return max;
}

static void add_median(struct drawing *drawing, const struct tally *tally, int kind, int trace)
{
    const struct axis *axis = &drawing->axes[kind];
    const char *colour = drawing->count > 1 ? figure_colour(trace) : "#444444";
    char value[48];
    if (tally->total == 0)
        return;
    double median = (double)tally_quantile(tally, 0.5) * kinds[kind].scale;
    double at = median > 0 ? median : axis->zero;
    bool right = log(at / axis->from) > 0.6 * log(axis->to / axis->from);
    double line = figure_line_height(drawing->options->style) / drawing->histogram_height;
    figure_value(value, sizeof value, median, kinds[kind].unit);
    text_format(
        &drawing->page.script,
        "set arrow from %.12g, graph 0 to %.12g, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '%s' "
        "front\nset label 'median %s' at %.12g, graph %.4f %s offset %s0.5,0 textcolor rgb '%s' front\n",
        at, at, colour, value, at, 1 - (trace + 0.5) * line, right ? "right" : "left", right ? "-" : "",
        colour);
}

static void draw_histogram(struct drawing *drawing, const struct figure_box *box, int stream, int kind)
{
    struct text *script = &drawing->page.script;
    double max = 0;
    char title[128];
    figure_panel(&drawing->page, box);
    if (drawing->count > 1)
        snprintf(title, sizeof title, "%s: %s", similarity_stream_name(stream), kinds[kind].title);
    else
        snprintf(title, sizeof title, "%s: %s of %" PRId64, similarity_stream_name(stream), kinds[kind].title,
                 drawing->traces[0][stream].kinds[kind].total);
    figure_label(&drawing->page, box->left, box->top - 0.55 * figure_line_height(drawing->options->style),
                 'l', title);
    set_axis(drawing, kind, false);
    for (int i = 0; i < drawing->count; i++)
        max = fmax(max, add_bars(drawing, &drawing->traces[i][stream].kinds[kind], kind, i));
    for (int i = 0; i < drawing->count; i++)
        add_median(drawing, &drawing->traces[i][stream].kinds[kind], kind, i);
    figure_even_axis(&drawing->page, FIGURE_COUNT, max, 4);
    figure_side_label(&drawing->page, box, "% of calls");
    text_add(script, "plot ");
    for (int i = 0; i < drawing->count; i++) {
        const char *colour = colour_of(drawing, i, stream);
        text_format(
            script,
            "%s$bars%d with filledcurves closed fillstyle transparent solid %g noborder fillcolor rgb '%s' "
            "notitle, $bars%d with lines linewidth %g linecolor rgb '%s' notitle",
            i > 0 ? ", " : "", i, drawing->count > 1 ? 0.3 : 0.6, colour, i,
            0.6 * drawing->options->style->line, colour);
    }
    text_add(script, "\n");
}

/* The share of calls up to a value, with a point where it has grown by more than a picture can show. */
static void add_sums(struct drawing *drawing, const struct tally *tally, int kind, int trace)
{
    const struct axis *axis = &drawing->axes[kind];
    struct text *script = &drawing->page.script;
    double share = 0, shown = 0, total = (double)tally->total;
    text_format(script, "$sums%d << EOD\n%.9g 0\n", trace, axis->from);
    for (int bin = 0; bin < TALLY_BINS && tally->counts; bin++) {
        double more = (double)tally->counts[bin] / total;
        double at = bin > 0 ? (double)tally_value(bin) * kinds[kind].scale : axis->zero;
        if (more > VISIBLE) /* upright */
            text_format(script, "%.9g %.6g\n", at, 100 * share);
        share += more;
        if (share - shown > VISIBLE) {
            text_format(script, "%.9g %.6g\n", at, 100 * share);
            shown = share;
        }
    }
    text_format(script, "%.9g %.6g\n%.9g %.6g\nEOD\n",
                tally->total > 0 ? fmax((double)tally->max * kinds[kind].scale, axis->zero) : axis->from,
                100 * share, axis->to, 100 * share);
}

static void draw_sums(struct drawing *drawing, const struct figure_box *box, int stream, int kind)
{
    struct text *script = &drawing->page.script;
    figure_panel(&drawing->page, box);
    set_axis(drawing, kind, true);
    for (int i = 0; i < drawing->count; i++)
        add_sums(drawing, &drawing->traces[i][stream].kinds[kind], kind, i);
    figure_side_label(&drawing->page, box, "up to, %");
    text_add(script, "set yrange [0:100]\nset ytics 50\nplot ");
    for (int i = 0; i < drawing->count; i++)
        text_format(script, "%s$sums%d with lines linewidth %g linecolor rgb '%s' notitle", i > 0 ? ", " : "",
                    i, drawing->options->style->line, colour_of(drawing, i, stream));
    text_add(script, "\n");
}

/* ---- the page ---- */

static void draw_row(struct drawing *drawing, int stream, double top)
{
    int column = 0;
    for (int kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        if (!drawing->options->kinds[kind])
            continue;
        double left = LEFT + column++ * (drawing->panel_width + LEFT + RIGHT);
        struct figure_box box = {left, top, drawing->panel_width, drawing->histogram_height};
        draw_histogram(drawing, &box, stream, kind);
        box.top += drawing->histogram_height + GAP;
        box.height = drawing->sums_height;
        draw_sums(drawing, &box, stream, kind);
    }
}

static bool draw(struct drawing *drawing, const char *path, struct error *err)
{
    const struct figure_style *style = drawing->options->style;
    double line = figure_line_height(style), top = style->legends || drawing->count > 1 ? 1.6 * line : 2;
    drawing->histogram_height = style->legends ? 120 : 80;
    drawing->sums_height = style->legends ? 60 : 42;
    drawing->panel_width = (double)style->width / drawing->columns - LEFT - RIGHT;
    find_axes(drawing);
    double row = line + drawing->histogram_height + GAP + drawing->sums_height + 2.1 * line;
    if (!figure_page_begin(&drawing->page, path, style, (int)ceil(top + drawing->rows * row), err))
        return false;
    figure_names_draw(&drawing->page, LEFT, drawing->names, drawing->shortfalls, drawing->count,
                      drawing->options->title);
    for (int stream = 0; stream < FIGURE_STREAMS; stream++)
        if (has_calls(drawing, stream)) {
            draw_row(drawing, stream, top + line);
            top += row;
        }
    return figure_page_end(&drawing->page, path, err);
}

static bool read_and_draw(struct drawing *drawing, const char *path, struct error *err)
{
    for (int i = 0; i < drawing->count; i++)
        if (!read_trace(drawing, i, drawing->names[i], err))
            return false;
    for (int stream = 0; stream < FIGURE_STREAMS; stream++)
        drawing->rows += has_calls(drawing, stream);
    for (int kind = 0; kind < DISTRIBUTION_KINDS; kind++)
        drawing->columns += drawing->options->kinds[kind];
    if (drawing->rows == 0 || drawing->columns == 0)
        return error_set(err, ERROR_INPUT, "%s: no call of the requested classes and kinds",
                         drawing->names[0]);
    return draw(drawing, path, err);
}

bool figure_distribution(const char *path, const char *const *traces, size_t count,
                         const struct figure_distribution *options, struct error *err)
{
    struct drawing drawing = {.options = options, .names = traces, .count = (int)count};
    if (!figure_names_fit(count, err) || !figure_can_write(path, err))
        return false;
    drawing.traces = calloc(count, sizeof *drawing.traces);
    bool done = drawing.traces ? read_and_draw(&drawing, path, err) : error_memory(err);
    for (size_t i = 0; drawing.traces && i < count; i++)
        for (int j = 0; j < FIGURE_STREAMS * DISTRIBUTION_KINDS; j++)
            tally_release(&drawing.traces[i][j / DISTRIBUTION_KINDS].kinds[j % DISTRIBUTION_KINDS]);
    free(drawing.traces);
    return done;
}
