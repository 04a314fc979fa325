#include "figure/gantt.h"

#include "core/stop.h"
#include "core/vector.h"
#include "figure/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BARS   (1 << 20)
#define MAX_POINTS (1 << 20)
#define LEFT       70 /* of the panels, pixels */
#define RIGHT      14
#define LANE       0.26 /* share of a row that transfers and collectives have, where there are any */
#define CURVES     3
#define ALL_ROW    12.0  /* pixels of a row, of several runs in a picture */
#define ALL_HEIGHT 200.0 /* of a run */
#define BORDERED   6.0   /* pixels: bars that are wider, on average, have edges */

struct bar {
    double begin, end;
    int64_t microbatch;
    int row;
    uint8_t kind, light, below;
};

struct point {
    double time, bytes;
    int row;
};

struct gantt {
    struct gantt_options options;
    int rows;
    struct bar *bars;
    size_t bar_count, bar_capacity;
    struct point *points;
    size_t point_count, point_capacity;
    double end, peak[GANTT_MAX_ROWS];
    bool used[TASK_KINDS], any_below;
    struct figure_page *page; /* while it is drawn */
};

const struct gantt_look gantt_looks[TASK_KINDS] = {
    [TASK_FORWARD] = {"forward", 4},         [TASK_INPUT] = {"input gradient", 1},
    [TASK_WEIGHT] = {"weight gradient", 2},  [TASK_BACKWARD] = {"backward", 3},
    [TASK_RECOMPUTE] = {"recomputation", 7}, [TASK_SEND] = {"send", 6},
    [TASK_RECEIVE] = {"receive", 0},         [TASK_COLLECTIVE] = {"collective", 5},
    [TASK_OPTIMIZER] = {"optimizer", 7},     [TASK_LOAD] = {"loading", 0},
    [TASK_SAVE] = {"checkpoint", 5},         [TASK_OTHER] = {"other", 6},
};

struct gantt *gantt_new(const struct gantt_options *options, struct error *err)
{
    struct gantt *gantt = calloc(1, sizeof *gantt);
    if (gantt == NULL)
        return error_memory_null(err);
    gantt->options = *options;
    gantt->rows = options->devices < GANTT_MAX_ROWS ? options->devices : GANTT_MAX_ROWS;
    return gantt;
}

void gantt_free(struct gantt *gantt)
{
    if (gantt == NULL)
        return;
    free(gantt->bars);
    free(gantt->points);
    free(gantt);
}

/* ---- what comes ---- */

static int device_of(const struct gantt *gantt, int row)
{
    return (int)((int64_t)row * gantt->options.devices / gantt->rows);
}

/* Returns the row of a device; -1: it has none. */
static int row_of(const struct gantt *gantt, int device)
{
    int row = (int)(((int64_t)device * gantt->rows + gantt->options.devices - 1) / gantt->options.devices);
    return row < gantt->rows && device_of(gantt, row) == device ? row : -1;
}

static bool take_task(void *context, const struct timeline_task *task, struct error *err)
{
    struct gantt *gantt = context;
    int row = row_of(gantt, task->device);
    gantt->end = fmax(gantt->end, task->end);
    if (row < 0 || task->end <= task->begin)
        return true;
    if (gantt->bar_count == MAX_BARS)
        return error_set(err, ERROR_INFEASIBLE, "the picture would have more than %d bars", MAX_BARS);
    const struct bar bar = {
        .begin = task->begin,
        .end = task->end,
        .microbatch = task->microbatch,
        .row = row,
        .kind = (uint8_t)task->kind,
        .light = task->stage >= 0 && task->stage / gantt->options.depth % 2 == 1,
        .below = task->stream != STREAM_COMPUTE,
    };
    gantt->any_below |= bar.below;
    gantt->used[task->kind] = true;
    return VECTOR_ADD(gantt->bars, gantt->bar_count, gantt->bar_capacity, bar) || error_memory(err);
}

static bool take_memory(void *context, const struct timeline_memory *memory, struct error *err)
{
    struct gantt *gantt = context;
    int row = row_of(gantt, memory->device);
    if (row < 0 || gantt->point_count == MAX_POINTS)
        return true;
    const struct point point = {
        .time = memory->time,
        .bytes = memory->parameters + memory->gradients + memory->optimizer + memory->activations +
                 memory->working,
        .row = row,
    };
    gantt->peak[row] = fmax(gantt->peak[row], point.bytes);
    return VECTOR_ADD(gantt->points, gantt->point_count, gantt->point_capacity, point) || error_memory(err);
}

struct timeline_sink gantt_sink(struct gantt *gantt)
{
    return (struct timeline_sink){.context = gantt, .task = take_task, .memory = take_memory};
}

/* ---- bars ---- */

static int compare_bars(const void *a, const void *b)
{
    const struct bar *one = a, *other = b;
    if (one->row != other->row)
        return one->row < other->row ? -1 : 1;
    if (one->below != other->below)
        return one->below < other->below ? -1 : 1;
    if (one->begin != other->begin)
        return one->begin < other->begin ? -1 : 1;
    return (one->kind > other->kind) - (one->kind < other->kind);
}

static const char *colour_of(const struct bar *bar)
{
    int colour = gantt_looks[bar->kind].colour;
    return bar->light ? figure_colour_light(colour) : figure_colour(colour);
}

/* Writes a bar, and the number of its micro-batch if there is room: half 0, all of the row; 1 and 2, its upper and
 * lower part. */
static void add_bar(struct gantt *gantt, const struct bar *bar, int half, double row_height,
                    struct text *labels)
{
    double low = bar->row - 0.44, high = bar->row + 0.44, lane = gantt->any_below ? LANE : 0;
    double split = high - lane * (high - low), points = gantt->page->style->points * 0.8;
    double pixels = (bar->end - bar->begin) / gantt->end * gantt->page->panel;
    if (bar->below)
        low = split;
    else
        high = split;
    if (half == 1)
        high = (low + high) / 2;
    else if (half == 2)
        low = (low + high) / 2;
    text_format(&gantt->page->script, "%.9g %.4g %.9g %.9g %.4g %.4g 0x%s\n", (bar->begin + bar->end) / 2,
                (low + high) / 2, bar->begin, bar->end, low, high, colour_of(bar) + 1);
    char number[24];
    int digits = snprintf(number, sizeof number, "%lld", (long long)bar->microbatch);
    if (bar->microbatch >= 0 && !bar->below && pixels > (digits + 0.6) * points * 0.8 &&
        row_height * (high - low) > points * 1.5)
        text_format(labels, "%.9g %.4g %s\n", (bar->begin + bar->end) / 2, (low + high) / 2, number);
}

/* Joins bars that are thinner than a pixel with those after them. Returns the number of bars that were joined. */
static size_t join_bars(const struct gantt *gantt, size_t at, struct bar *joined)
{
    double pixel = gantt->end / gantt->page->panel, longest = 0;
    size_t count = 0;
    *joined = gantt->bars[at];
    while (at + count < gantt->bar_count) {
        const struct bar *bar = &gantt->bars[at + count];
        if (bar->row != joined->row || bar->below != joined->below ||
            (count > 0 && (bar->end > joined->begin + pixel || bar->begin > joined->end + pixel)))
            break;
        if (bar->end - bar->begin > longest) {
            longest = bar->end - bar->begin;
            joined->kind = bar->kind;
            joined->light = bar->light;
            joined->microbatch = bar->microbatch;
        }
        joined->end = fmax(joined->end, bar->end);
        count++;
    }
    return count;
}

static void add_bars(struct gantt *gantt, double row_height, struct text *labels)
{
    qsort(gantt->bars, gantt->bar_count, sizeof *gantt->bars, compare_bars);
    text_add(&gantt->page->script, "$bars << EOD\n");
    for (size_t i = 0; i < gantt->bar_count && !stop_wanted();) {
        const struct bar *bar = &gantt->bars[i], *next = bar + 1;
        struct bar joined;
        size_t count = join_bars(gantt, i, &joined);
        bool pair = count == 1 && i + 1 < gantt->bar_count && next->row == bar->row &&
                    next->below == bar->below && next->begin == bar->begin && next->end == bar->end;
        add_bar(gantt, &joined, pair ? 1 : 0, row_height, labels);
        if (pair)
            add_bar(gantt, next, 2, row_height, labels);
        i += pair ? 2 : count;
    }
    text_add(&gantt->page->script, "EOD\n");
}

static void draw_bars(struct gantt *gantt, const struct figure_box *box, bool numbers, bool legend)
{
    struct figure_page *page = gantt->page;
    struct text *script = &page->script, labels = {0};
    double row_height = box->height / gantt->rows;
    int step = (int)ceil(figure_line_height(page->style) / row_height);
    bool bordered = page->panel * gantt->rows > BORDERED * (double)gantt->bar_count;
    figure_panel(page, box);
    if (gantt->options.panel_title != NULL)
        figure_label(page, box->left, box->top - 0.55 * figure_line_height(page->style), 'l',
                     gantt->options.panel_title);
    figure_time_axis(page, 0, gantt->end, numbers);
    text_format(script, "set grid noytics\nset yrange [%d.5:-0.5]\nset ytics scale 0 (", gantt->rows - 1);
    for (int row = 0; row < gantt->rows; row += step) {
        char label[32];
        snprintf(label, sizeof label, "device %d", device_of(gantt, row));
        text_add(script, row > 0 ? ", " : "");
        gnuplot_add_tic(script, label, row);
    }
    text_add(script, ")\n");
    if (legend)
        figure_key_line(page, box->left + box->width,
                        box->top - (gantt->options.panel_title != NULL ? 2.2 : 1.1) *
                                       figure_line_height(page->style));
    add_bars(gantt, row_height, &labels);
    text_add(script, "$numbers << EOD\n");
    if (labels.data != NULL)
        text_add(script, labels.data);
    text_add(script, labels.data != NULL ? "EOD\n" : "0 -9 0\nEOD\n");
    text_format(
        script,
        "plot $bars using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid %s linecolor rgb variable "
        "notitle, $numbers using 1:2:3 with labels font ',%.2g' notitle",
        bordered ? "border rgb 'white'" : "noborder",
        page->style->points * 0.8 *
            (script->data != NULL && text_starts_with(script->data, "set terminal svg") ? 96.0 / 72 : 1));
    for (int kind = 0; kind < TASK_KINDS && legend; kind++)
        if (gantt->used[kind]) {
            text_format(script, ", NaN with boxes fillstyle solid noborder linecolor rgb '%s' title ",
                        figure_colour(gantt_looks[kind].colour));
            gnuplot_add_string(script, gantt_looks[kind].title);
        }
    text_add(script, "\n");
    script->failed |= labels.failed;
    text_release(&labels);
}

/* ---- memory ---- */

/* Chooses the fullest device, the first and the last; returns their number. */
static int choose_curves(const struct gantt *gantt, int rows[CURVES])
{
    int fullest = 0, count = 0;
    for (int row = 1; row < gantt->rows; row++)
        if (gantt->peak[row] > gantt->peak[fullest])
            fullest = row;
    rows[count++] = fullest;
    if (fullest != 0)
        rows[count++] = 0;
    if (fullest != gantt->rows - 1)
        rows[count++] = gantt->rows - 1;
    return count;
}

/* Writes the steps of a device's memory, at most two for each half pixel: the highest and the last value. */
static void add_curve(struct gantt *gantt, int curve, int row)
{
    struct text *script = &gantt->page->script;
    double width = gantt->end / gantt->page->panel / 2, highest = 0, last = 0, column = 0;
    text_format(script, "$memory%d << EOD\n0 0\n", curve);
    for (size_t i = 0; i < gantt->point_count; i++) {
        const struct point *point = &gantt->points[i];
        if (point->row != row)
            continue;
        if (point->time >= column + width) {
            if (highest > last)
                text_format(script, "%.9g %.9g\n", column, highest);
            text_format(script, "%.9g %.9g\n", column, last);
            column = point->time;
            highest = last;
        }
        highest = fmax(highest, point->bytes);
        last = point->bytes;
    }
    text_format(script, "%.9g %.9g\n%.9g %.9g\n%.9g %.9g\nEOD\n", column, highest, column, last, gantt->end,
                last);
}

static void draw_memory(struct gantt *gantt, const struct figure_box *box)
{
    struct figure_page *page = gantt->page;
    struct text *script = &page->script;
    int rows[CURVES], count = choose_curves(gantt, rows);
    figure_panel(page, box);
    figure_label(page, box->left, box->top - 0.55 * figure_line_height(page->style), 'l',
                 gantt->options.memory_title);
    figure_time_axis(page, 0, gantt->end, true);
    figure_even_axis(page, gantt->options.memory_unit, gantt->peak[rows[0]], 4);
    figure_key_line(page, box->left + box->width, box->top - figure_line_height(page->style));
    for (int i = 0; i < count; i++)
        add_curve(gantt, i, rows[i]);
    text_add(script, "plot ");
    for (int i = 0; i < count; i++)
        text_format(script,
                    "%s$memory%d using 1:2 with steps linewidth %g linecolor rgb '%s' title 'device %d'",
                    i > 0 ? ", " : "", i, page->style->line,
                    figure_colour(i == 0   ? 5
                                  : i == 1 ? 0
                                           : 2),
                    device_of(gantt, rows[i]));
    text_add(script, "\n");
}

static void draw_title(const struct gantt *gantt, struct figure_page *page)
{
    struct text title = {0};
    text_add(&title, gantt->options.title);
    if (gantt->rows < gantt->options.devices)
        text_format(&title, " (%d of %d devices)", gantt->rows, gantt->options.devices);
    figure_page_title(page, LEFT, text_within(&title, &page->script));
    text_release(&title);
}

bool gantt_draw(struct gantt *gantt, const char *path, struct error *err)
{
    const struct figure_style *style = gantt->options.style;
    double line = figure_line_height(style), memory = 0;
    double row = gantt->rows <= 16 ? 24 : fmax(8, 400.0 / gantt->rows);
    if (gantt->bar_count == 0)
        return error_set(err, ERROR_INFEASIBLE, "'%s': nothing to draw", path);
    if (gantt->point_count > 0)
        memory = style->legends ? 110 : 80;
    double top = style->legends ? 3.4 * line : 0.6 * line, bars = row * gantt->rows;
    double height = top + bars + 2 * line + (memory > 0 ? memory + 1.4 * line : 0);
    struct figure_page page;
    if (!figure_page_begin(&page, path, style, (int)ceil(height), err))
        return false;
    gantt->page = &page;
    if (style->legends)
        draw_title(gantt, &page);
    struct figure_box box = {LEFT, top, style->width - LEFT - RIGHT, bars};
    draw_bars(gantt, &box, memory <= 0, style->legends);
    if (memory > 0) {
        box.top += bars + 1.4 * line;
        box.height = memory;
        draw_memory(gantt, &box);
    }
    gantt->page = NULL;
    return figure_page_end(&page, path, err);
}

/* ---- several ---- */

/* Gives all the same time axis and the first one all colours of the legend. Returns the height of their rows. */
static double align(struct gantt *const *gantts, int count, double row)
{
    double end = 0, height = 0;
    for (int i = 0; i < count; i++) {
        end = fmax(end, gantts[i]->end);
        height += row * gantts[i]->rows;
        for (int kind = 0; kind < TASK_KINDS; kind++)
            gantts[0]->used[kind] |= gantts[i]->used[kind];
    }
    for (int i = 0; i < count; i++)
        gantts[i]->end = end;
    return height;
}

bool gantt_draw_all(struct gantt *const *gantts, int count, const char *path, struct error *err)
{
    for (int i = 0; i < count; i++)
        if (gantts[i]->bar_count == 0)
            return error_set(err, ERROR_INFEASIBLE, "'%s': nothing to draw", path);
    if (count == 0)
        return error_set(err, ERROR_INFEASIBLE, "'%s': nothing to draw", path);
    const struct figure_style *style = gantts[0]->options.style;
    double line = figure_line_height(style), row = fmin(ALL_ROW, ALL_HEIGHT / gantts[0]->rows);
    double height = align(gantts, count, row) + count * 1.4 * line + 3.2 * line;
    struct figure_page page;
    if (!figure_page_begin(&page, path, style, (int)ceil(height), err))
        return false;
    struct figure_box box = {LEFT, 1.4 * line, style->width - LEFT - RIGHT, 0};
    for (int i = 0; i < count; i++) {
        box.top += 1.4 * line;
        box.height = row * gantts[i]->rows;
        gantts[i]->page = &page;
        draw_bars(gantts[i], &box, i == count - 1, i == 0);
        gantts[i]->page = NULL;
        box.top += box.height;
    }
    return figure_page_end(&page, path, err);
}
