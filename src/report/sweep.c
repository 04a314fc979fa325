/* Sweeps: a row for each point, and lines of the results. */
#include "figure/sweep.h"
#include "core/arena.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_VALUES 64 /* of an axis that is drawn */
#define MAX_LINES  12

/* The axis with more values is the x axis; each value of the other one has a line. */
static const char *const axes[] = {"global_batch", "devices"};
static const char *const axis_titles[] = {"global batch", "devices"};

/* The possible lines: the first two once for each value of the other axis, the rest for its first value. */
static const struct line_kind {
    const char *key, *title, *of;
} line_kinds[] = {
    {"tokens_per_second", "best split", "tokens per second"},
    {"speedup", "plan", "speedup"},
    {"data_parallel", "data parallel", NULL},
    {"data_parallel_overlap", "data parallel, overlapped", NULL},
    {"data_parallel_priority", "data parallel, P3", NULL},
};
#define LINE_KINDS ((int)(sizeof line_kinds / sizeof *line_kinds))

struct values {
    double items[MAX_VALUES]; /* ascending */
    int count;
};

static int place_of(const struct values *values, double value)
{
    int i = 0;
    while (i < values->count && values->items[i] < value)
        i++;
    return i;
}

static void values_of(const struct doc_node *points, const char *key, struct values *values)
{
    for (const struct doc_node *point = points->first_child; point; point = point->next) {
        double value = report_number(point, key);
        int at = place_of(values, value);
        if (!(value > 0) || (at < values->count && values->items[at] == value) || values->count == MAX_VALUES)
            continue;
        memmove(values->items + at + 1, values->items + at,
                (size_t)(values->count - at) * sizeof *values->items);
        values->items[at] = value;
        values->count++;
    }
}

struct drawing {
    struct arena arena;
    struct values values[2]; /* of each axis */
    int along;               /* which is drawn along */
    struct figure_line lines[MAX_LINES];
    struct figure_sweep figure;
};

/* The values of a column where the other axis has this value. False when there are none. */
static bool add_line(struct drawing *drawing, const struct doc_node *points, const struct line_kind *what,
                     double other)
{
    const struct values *x = &drawing->values[drawing->along];
    double *y = ARENA_ARRAY(&drawing->arena, MAX_VALUES, double);
    bool any = false;
    for (int i = 0; y && i < MAX_VALUES; i++)
        y[i] = NAN;
    for (const struct doc_node *point = points->first_child; y && point; point = point->next) {
        double at = report_number(point, axes[drawing->along]), value = report_number(point, what->key);
        int i = place_of(x, at);
        bool here = isnan(other) || report_number(point, axes[1 - drawing->along]) == other;
        if (!here || i == x->count || x->items[i] != at || !isfinite(value))
            continue;
        y[i] = value;
        any = true;
    }
    if (any)
        drawing->lines[drawing->figure.line_count++].values = y;
    return any;
}

static void add_lines(struct drawing *drawing, const struct doc_node *points)
{
    const struct values *others = &drawing->values[1 - drawing->along];
    for (int d = 0; d < LINE_KINDS; d++)
        for (int o = 0; o < (others->count > 0 && line_kinds[d].of ? others->count : 1); o++) {
            int line = drawing->figure.line_count;
            if (line == MAX_LINES ||
                !add_line(drawing, points, &line_kinds[d], others->count > 0 ? others->items[o] : NAN))
                continue;
            if (line_kinds[d].of && !drawing->figure.y_title)
                drawing->figure.y_title = line_kinds[d].of;
            const char *title = others->count < 2
                                    ? line_kinds[d].title
                                    : arena_format(&drawing->arena, "%s, %s %g", line_kinds[d].title,
                                                   axis_titles[1 - drawing->along], others->items[o]);
            drawing->lines[line].title = title ? title : line_kinds[d].title;
        }
}

static bool draw(const char *path, const void *context, struct error *err)
{
    return figure_sweep(path, context, err);
}

/* Draws the sweep, unless it has fewer than two points or no line. */
static bool add_picture(struct report_part *part, const struct doc_node *points, const char *title,
                        struct error *err)
{
    struct drawing drawing = {0};
    bool ok = true;
    for (int i = 0; i < 2; i++)
        values_of(points, axes[i], &drawing.values[i]);
    drawing.along = drawing.values[0].count > drawing.values[1].count ? 0 : 1;
    add_lines(&drawing, points);
    drawing.figure.title = title;
    drawing.figure.x_title = axis_titles[drawing.along];
    drawing.figure.x = drawing.values[drawing.along].items;
    drawing.figure.point_count = drawing.values[drawing.along].count;
    drawing.figure.scaling =
        drawing.along == 1 && drawing.figure.y_title && !strcmp(drawing.figure.y_title, "speedup");
    drawing.figure.lines = drawing.lines;
    if (drawing.figure.line_count > 0 && drawing.figure.y_title && drawing.figure.point_count > 1)
        ok = report_draw(part, draw, &drawing.figure, false, title, err);
    arena_release(&drawing.arena);
    return ok;
}

bool report_sweep(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root, *points = report_list(root, "points");
    const char *model = report_string(root, "model"), *device = report_string(root, "device_type");
    const char *objective = report_string(root, "objective");
    char title[256];
    int answered = 0;
    if (!points)
        return doc_error(part->doc, root, err, "expected a list of points, found none");
    for (const struct doc_node *point = points->first_child; point; point = point->next)
        answered += !report_string(point, "reason");
    if (model)
        snprintf(title, sizeof title, "%.80s on %.80s", model, device ? device : "?");
    else
        snprintf(title, sizeof title, "objective %.80s", objective ? objective : "unknown");
    text_format(&part->says, "%s: %d points, %d with a plan", title, (int)points->count, answered);
    html_element(&part->out, "p", NULL, "%s: %d points, of which %d have a plan.", title, (int)points->count,
                 answered);
    if (!add_picture(part, points, title, err))
        return false;
    report_rows(&part->out, NULL, points);
    return true;
}
