#include "figure/differences.h"

#include "figure/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_BARS = 14,  /* components */
    MAX_PANELS = 4, /* of compared values */
    POINTS = 250,   /* of a distribution's curve */
};

/* A trace's colour, and that of where they differ. */
#define COLOUR_A   figure_colour(0)
#define COLOUR_B   figure_colour(5)
#define DIFFERENCE "#f3d9c9"

/* One picture in progress. */
struct drawing {
    struct figure_page page;
    const struct similarity_trace *a, *b;
    const struct similarity *result;
    const struct similarity_component **ranked; /* result->count, the largest difference first */
    double line;                                /* height of a line of text */
    int blocks;
};

static double taken(const struct similarity_component *component)
{
    return component->weight * (1 - component->value);
}

static int by_taken(const void *left, const void *right)
{
    const struct similarity_component *a = *(const struct similarity_component *const *)left;
    const struct similarity_component *b = *(const struct similarity_component *const *)right;
    double one = taken(a), other = taken(b);
    return one != other ? (one < other) - (one > other) : (a > b) - (a < b);
}

/* ---- bars ---- */

/* Data and marks of the bars, one below the other. */
struct bars {
    struct text rows, tics;
    double y; /* of the next bar */
};

/* An unknown value is '?'. */
static void add_number(struct text *rows, double value)
{
    isnan(value) ? text_add(rows, "? ") : text_format(rows, "%.6g ", value);
}

static void add_bar(struct bars *bars, const char *name, const char *colour, double value, double low,
                    double high, double floor)
{
    text_format(&bars->rows, "%g %.6g ", bars->y, value);
    add_number(&bars->rows, low);
    add_number(&bars->rows, high);
    add_number(&bars->rows, floor);
    text_format(&bars->rows, "0x%s\n", colour + 1);
    text_add(&bars->tics, bars->tics.length > 0 ? ", " : "");
    gnuplot_add_tic(&bars->tics, name, bars->y++);
}

/* The whole, the kinds, the components: one below the other, with space between. */
static void list_bars(const struct drawing *drawing, struct bars *bars)
{
    const struct similarity *result = drawing->result;
    const struct figure_tone pale = figure_tint(figure_colour(2), 0.5);
    double value;
    char name[96];
    add_bar(bars, "similarity", figure_colour(2), result->value, result->low, result->high, result->floor);
    bars->y += 0.5;
    for (int kind = 0; kind < SIMILARITY_KINDS; kind++)
        if (similarity_of_kind(result, (enum similarity_kind)kind, &value) > 0)
            add_bar(bars, similarity_kind_names[kind], "#b8b8b8", value, NAN, NAN, NAN);
    bars->y += 0.5;
    for (size_t i = 0; i < result->count && i < MAX_BARS; i++) {
        const struct similarity_component *component = drawing->ranked[i];
        if (taken(component) <= 0)
            break;
        snprintf(name, sizeof name, "%s: %s", similarity_kind_names[component->kind], component->name);
        add_bar(bars, name, pale.text, component->value, component->low, component->high, component->floor);
    }
}

/* The number, the meaning of the marks of bars, and the two colours with their names. */
static void head_page(struct drawing *drawing, const struct figure_box *bars)
{
    struct text text = {0};
    struct figure_page *page = &drawing->page;
    const struct similarity *result = drawing->result;
    const double middle = page->width / 2.0;
    const char *const colours[2] = {COLOUR_A, COLOUR_B};
    const struct similarity_trace *traces[2] = {drawing->a, drawing->b};
    text_format(&text, "similarity %.4f", result->value);
    if (!isnan(result->low))
        text_format(&text, " (95 %%: %.4f-%.4f)", result->low, result->high);
    if (!isnan(result->floor))
        text_format(&text, ", repeats %.4f or more", result->floor);
    figure_label(page, 0.5 * drawing->line, 0.9 * drawing->line, 'l', text_within(&text, &page->script));
    text_release(&text);
    figure_label(page, 0.5 * drawing->line, bars->top - 1.1 * drawing->line, 'l',
                 isnan(result->floor) ? "lines: 95 %" : "lines: 95 %; marks: the lowest of repeats");
    for (int i = 0; i < 2; i++) {
        double left = middle + i * (middle - drawing->line) / 2, y = 0.9 * drawing->line;
        figure_label(page, left + 1.8 * drawing->line, y, 'l', basename(traces[i]->path));
        text_format(
            &page->script,
            "set arrow from screen %.6f, screen %.6f to screen %.6f, screen %.6f nohead lw 3 lc rgb '%s'\n",
            left / page->width, 1 - y / page->height, (left + 1.4 * drawing->line) / page->width,
            1 - y / page->height, colours[i]);
    }
}

static void draw_bars(struct drawing *drawing, const struct figure_box *box)
{
    struct bars bars = {0};
    struct text *script = &drawing->page.script;
    list_bars(drawing, &bars);
    figure_panel(&drawing->page, box);
    text_format(script,
                "$bars << EOD\n%sEOD\nset xrange [0:1]\nset yrange [%g:-0.7]\nset xtics 0.25\n"
                "set ytics (%s) scale 0\nset grid noytics\nset bars 0.5\n",
                text_within(&bars.rows, script), bars.y, text_within(&bars.tics, script));
    if (drawing->page.style->legends)
        head_page(drawing, box);
    text_format(
        script,
        "plot $bars using (0):1:(0):2:($1-0.36):($1+0.36):6 with boxxyerror fillstyle solid 1 noborder "
        "lc rgb variable, $bars using 2:1:3:4 with xerrorbars pt -1 lw %g lc rgb 'black', \\\n"
        "  $bars using 5:1:(0):(0.42) with vectors nohead lw 2 lc rgb '%s', \\\n"
        "  $bars using 5:1:(0):(-0.42) with vectors nohead lw 2 lc rgb '%s'\n",
        drawing->page.style->line, COLOUR_B, COLOUR_B);
    text_release(&bars.rows);
    text_release(&bars.tics);
}

/* ---- the values compared ---- */

/* The share of values that are at most x. */
static double share_below(const struct similarity_values *values, double x)
{
    size_t low = 0, high = values->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values->items[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return (double)low / (double)values->count;
}

/* The values are logarithms: the axis shows 10^v. Between points, distributions are steps. */
static void draw_distributions(struct drawing *drawing, const struct similarity_component *component,
                               const struct similarity_look *look)
{
    const struct similarity_values *a = look->values[0], *b = look->values[1];
    struct text *script = &drawing->page.script;
    bool times = component->kind == SIMILARITY_LATENCY || component->kind == SIMILARITY_GAP;
    double unit = times ? 1e-6 : 1, min = INFINITY, max = -INFINITY; /* seconds of a microsecond */
    for (int i = 0; i < 2; i++)
        if (look->values[i]->count > 0) {
            min = fmin(min, look->values[i]->items[0]);
            max = fmax(max, look->values[i]->items[look->values[i]->count - 1]);
        }
    figure_log_axis(&drawing->page, 'x', times ? FIGURE_SECONDS : FIGURE_BYTES, unit * pow(10, min),
                    unit * pow(10, fmax(max, min + 0.3)), true);
    text_format(script, "set yrange [0:1.02]\nset ytics 0.5\n$look%d << EOD\n", ++drawing->blocks);
    for (int i = 0; i <= POINTS; i++) {
        double x = min + (max - min) * i / POINTS;
        text_format(script, "%.9g %.6g %.6g\n", unit * pow(10, x), a->count > 0 ? share_below(a, x) : 0,
                    b->count > 0 ? share_below(b, x) : 0);
    }
    text_add(script, "EOD\n");
}

/* Phases one after the other, 100 windows each. */
static void draw_curves(struct drawing *drawing, const struct similarity_component *component,
                        const struct similarity_look *look, const struct figure_box *box)
{
    static const char *const tics[] = {"0", "", "50 %%", "", "100 %%"}; /* %% is % for gnuplot */
    struct text *script = &drawing->page.script;
    int count = look->parts * SIMILARITY_BINS;
    double max = 0;
    for (int i = 0; i < count; i++)
        max = fmax(max, fmax(look->curves[0][i], look->curves[1][i]));
    bool bytes = component->kind == SIMILARITY_RATE ? component->of_bytes
                                                    : strncmp(component->name, "process.disk_", 13) == 0;
    bool rate = bytes && component->kind == SIMILARITY_SERIES_KIND;
    figure_even_axis(&drawing->page, rate ? FIGURE_RATE : bytes ? FIGURE_BYTES : FIGURE_COUNT, max, 3);
    text_format(script, "set xrange [0:%d]\nset xtics (", count);
    for (int i = 0; i <= 4 * look->parts; i++)
        text_format(script, "%s'%s' %d", i > 0 ? ", " : "",
                    tics[look->parts == 1 ? i
                         : i % 4 == 2     ? 2
                                          : 1],
                    25 * i);
    text_add(script, ")\n");
    for (int part = 0; part < look->parts; part++) {
        int from = part * SIMILARITY_BINS;
        if (part > 0)
            text_format(script, "set arrow from %d, graph 0 to %d, graph 1 nohead lc rgb '#888888'\n", from,
                        from);
        if (look->parts > 1)
            figure_label(&drawing->page, box->left + box->width * (part + 0.5) / look->parts,
                         box->top + 0.6 * drawing->line, 'c', look->part_names[part]);
    }
    text_format(script, "$look%d << EOD\n", ++drawing->blocks);
    for (int i = 0; i < count; i++)
        text_format(script, "%g %.9g %.9g\n", i + 0.5, look->curves[0][i], look->curves[1][i]);
    text_add(script, "EOD\n");
}

/* "latency of read: ks 0.78, wasserstein 0.83": all measures of the values that this component measures. */
static void head_panel(struct drawing *drawing, const struct similarity_component *component,
                       const struct figure_box *box)
{
    struct text head = {0};
    const char *dot = strrchr(component->name, '.');
    size_t length = dot ? (size_t)(dot - component->name) : strlen(component->name);
    text_format(&head, "%s of %.*s:", similarity_kind_names[component->kind], (int)length, component->name);
    bool first = true;
    for (size_t i = 0; i < drawing->result->count; i++) {
        const struct similarity_component *other = &drawing->result->components[i];
        if (other->kind != component->kind || strncmp(other->name, component->name, length + 1) != 0)
            continue;
        text_format(&head, "%s %s %.3f", first ? "" : ",", other->name + length + (dot ? 1 : 0),
                    other->value);
        first = false;
    }
    if (component->kind == SIMILARITY_RATE)
        text_format(&head, "; in 1 %% of %s", drawing->a->phased && drawing->b->phased ? "a phase" : "time");
    figure_label(&drawing->page, box->left - 3.5 * drawing->line, box->top - 1.1 * drawing->line, 'l',
                 text_within(&head, &drawing->page.script));
    text_release(&head);
}

static void draw_panel(struct drawing *drawing, const struct similarity_component *component,
                       const struct similarity_look *look, const struct figure_box *box)
{
    struct text *script = &drawing->page.script;
    bool distributions = look->values[0] != NULL;
    figure_panel(&drawing->page, box);
    head_panel(drawing, component, box);
    distributions ? draw_distributions(drawing, component, look) : draw_curves(drawing, component, look, box);
    double width = drawing->page.style->line;
    int block = drawing->blocks;
    text_format(script,
                "plot $look%d using 1:2:3 with filledcurves fc rgb '" DIFFERENCE
                "', '' using 1:2 with lines lw %g "
                "lc rgb '%s', '' using 1:3 with lines lw %g lc rgb '%s'\n",
                block, width, COLOUR_A, width, COLOUR_B);
}

static bool same_look(const struct similarity_component *a, const struct similarity_component *b)
{
    return a->kind == b->kind && a->of == b->of && a->of_bytes == b->of_bytes;
}

/* Draws the components with the largest differences that can be drawn, each look once. */
static bool draw_panels(struct drawing *drawing, double top, double bottom, struct error *err)
{
    const struct similarity_component *drawn[MAX_PANELS];
    struct similarity_look *look = malloc(sizeof *look);
    double line = drawing->line, left = drawing->page.width / 2.0 + 4.5 * line;
    double step = (bottom - top + 3.2 * line) / MAX_PANELS;
    int count = 0;
    if (!look)
        return error_memory(err);
    for (size_t i = 0; i < drawing->result->count && count < MAX_PANELS; i++) {
        const struct similarity_component *component = drawing->ranked[i];
        bool fresh = taken(component) > 0;
        for (int j = 0; fresh && j < count; j++)
            fresh = !same_look(component, drawn[j]);
        if (!fresh)
            continue;
        similarity_look(drawing->a, drawing->b, component, look);
        if (!look->values[0] && look->parts == 0)
            continue;
        struct figure_box box = {left, top + count * step, drawing->page.width - left - 1.5 * line,
                                 step - 3.2 * line};
        draw_panel(drawing, component, look, &box);
        drawn[count++] = component;
    }
    free(look);
    return true;
}

static bool draw(struct drawing *drawing, struct error *err)
{
    const struct figure_page *page = &drawing->page;
    double line = drawing->line, top = page->style->legends ? 3.2 * line : 1.5 * line;
    double names = 14.5 * line, bottom = page->height - 1.7 * line;
    draw_bars(drawing, &(struct figure_box){names, top, page->width / 2.0 - names - line, bottom - top});
    return draw_panels(drawing, top, bottom, err);
}

bool figure_differences(const char *path, const struct similarity_trace *a, const struct similarity_trace *b,
                        const struct similarity *result, const struct figure_style *style, struct error *err)
{
    struct drawing drawing = {.a = a, .b = b, .result = result, .line = figure_line_height(style)};
    if (!figure_page_begin(&drawing.page, path, style, (int)(42 * drawing.line), err))
        return false;
    drawing.ranked = calloc(result->count + 1, sizeof *drawing.ranked);
    for (size_t i = 0; drawing.ranked && i < result->count; i++)
        drawing.ranked[i] = &result->components[i];
    if (drawing.ranked)
        qsort(drawing.ranked, result->count, sizeof *drawing.ranked, by_taken);
    bool drawn = drawing.ranked ? draw(&drawing, err) : error_memory(err);
    free(drawing.ranked);
    if (!drawn) {
        figure_page_drop(&drawing.page);
        return false;
    }
    return figure_page_end(&drawing.page, path, err);
}
