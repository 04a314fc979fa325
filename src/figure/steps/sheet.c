#include "figure/steps/sheet.h"
#include "core/statistics.h"
#include "figure/gnuplot.h"
#include "figure/steps/steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool sheet_doubles(const struct steps_sheet *sheet);
static void sheet_batch_axis(struct steps_sheet *sheet, const struct sheet_grid *grid, int index);

/* Lines over the batch, one for each number of GPUs: the median with a band from q1 to q3; and the planes fitted. */

#define MAX_PANELS 16

/* A panel shows an event's durations or a metric. */
struct panel {
    bool metric;
    int which;
    const char *title;
};

/* Summarises the values of a group; *count is 0 if it has none. */
static bool summarise(const struct steps_sheet *sheet, const struct panel *panel,
                      const struct steps_group *group, size_t *count, struct steps_summary *summary,
                      struct error *err)
{
    const struct steps_values *events = &group->events[panel->metric ? 0 : panel->which];
    double *values = NULL;
    *count = events->count;
    if (panel->metric &&
        !steps_metric_values(sheet->steps, group, (enum steps_metric)panel->which, &values, count, err))
        return false;
    if (*count > 0)
        steps_summarise(panel->metric ? values : events->items, *count, summary);
    free(values);
    return true;
}

static bool has_event(const struct steps_sheet *sheet, int event)
{
    for (size_t i = 0; event >= 0 && i < sheet->steps->group_count; i++)
        if (sheet->steps->groups[i].events[event].count > 0)
            return true;
    return false;
}

static int add_events(const struct steps_sheet *sheet, const int *events, int count, struct panel *panels)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (has_event(sheet, events[i]))
            panels[n++] = (struct panel){false, events[i], sheet_event_title(sheet->steps, events[i])};
    return n;
}

static int add_metrics(const struct steps_sheet *sheet, enum steps_metric first, enum steps_metric end,
                       struct panel *panels)
{
    static const char *const titles[STEPS_METRICS] = {"storage (VFS), samples/s",
                                                      "loading, samples/s",
                                                      "computing, samples/s",
                                                      "whole steps, samples/s",
                                                      "loading",
                                                      "storage (VFS)",
                                                      "preparing"};
    int n = 0;
    for (int metric = (int)first; metric < (int)end; metric++)
        if (has_event(sheet, steps_metric_event(sheet->steps, (enum steps_metric)metric)))
            panels[n++] = (struct panel){true, metric, titles[metric]};
    return n;
}

static int list_panels(const struct steps_sheet *sheet, enum figure_steps_kind kind, struct panel *panels)
{
    static const int three[] = {STEPS_STEP, STEPS_LOAD, STEPS_COMPUTE};
    static const int all[] = {STEPS_STEP, STEPS_LOAD,     STEPS_COMPUTE,   STEPS_COPY,   STEPS_FORWARD,
                              STEPS_LOSS, STEPS_BACKWARD, STEPS_OPTIMIZER, STEPS_BARRIER};
    switch (kind) {
    case FIGURE_STEPS_FULL:
        return add_events(sheet, all, sizeof all / sizeof *all, panels);
    case FIGURE_STEPS_THROUGHPUT:
        return add_metrics(sheet, STEPS_RATE_STORAGE, STEPS_LATENCY_LOAD, panels);
    case FIGURE_STEPS_LATENCY:
        return add_metrics(sheet, STEPS_LATENCY_LOAD, STEPS_METRICS, panels);
    default:
        return add_events(sheet, three, sizeof three / sizeof *three, panels);
    }
}

/* The rows "batch q1 median q3" of each number of GPUs. */
static bool add_data(struct steps_sheet *sheet, const struct panel *panel, double *min, double *max,
                     struct error *err)
{
    struct text *script = &sheet->page.script;
    for (int gpu = 0; gpu < sheet->gpu_count; gpu++) {
        text_format(script, "$g%d << EOD\n", gpu);
        for (int batch = 0; batch < sheet->batch_count; batch++) {
            const struct steps_group *group = sheet_group(sheet, gpu, batch);
            struct steps_summary summary;
            size_t count = 0;
            if (group && !summarise(sheet, panel, group, &count, &summary, err))
                return false;
            if (count == 0)
                continue;
            text_format(script, "%" PRId64 " %.9g %.9g %.9g\n", sheet->batches[batch], summary.q1,
                        summary.median, summary.q3);
            *min = fmin(*min, summary.q1);
            *max = fmax(*max, summary.q3);
        }
        text_add(script, "EOD\n");
    }
    return true;
}

static void add_titled(struct steps_sheet *sheet, int gpu, bool titled)
{
    text_add(&sheet->page.script, titled ? " title " : " notitle");
    if (titled)
        gnuplot_add_string(&sheet->page.script, sheet_gpus(sheet->gpus[gpu]).text);
}

static bool add_panel(struct steps_sheet *sheet, const struct sheet_grid *grid, const struct panel *panel,
                      int index, struct error *err)
{
    struct text *script = &sheet->page.script;
    double min = INFINITY, max = 0;
    sheet_panel(sheet, grid, index, panel->title, NULL);
    if (!add_data(sheet, panel, &min, &max, err))
        return false;
    sheet_batch_axis(sheet, grid, index);
    if (panel->metric && panel->which < STEPS_LATENCY_LOAD)
        figure_even_axis(&sheet->page, FIGURE_COUNT, max, 5);
    else
        sheet_seconds_axis(sheet, min, max, sheet_doubles(sheet));
    bool titled = index == 0;
    if (titled)
        sheet_key(sheet, grid);
    text_add(script, "plot ");
    for (int gpu = 0; gpu < sheet->gpu_count; gpu++)
        text_format(script,
                    "$g%d using 1:2:4 with filledcurves fillcolor rgb '%s' fillstyle transparent solid 0.15 "
                    "noborder notitle, ",
                    gpu, figure_colour(gpu));
    for (int gpu = 0; gpu < sheet->gpu_count; gpu++) {
        text_format(
            script,
            "%s$g%d using 1:3 with linespoints linecolor rgb '%s' linewidth %g pointtype 7 pointsize 0.45",
            gpu > 0 ? ", " : "", gpu, figure_colour(gpu), sheet->style->line);
        add_titled(sheet, gpu, titled);
    }
    text_add(script, "\n");
    return true;
}

static bool sheet_draw_lines(struct steps_sheet *sheet, enum figure_steps_kind kind, struct error *err)
{
    struct panel panels[MAX_PANELS];
    int count = list_panels(sheet, kind, panels);
    if (count == 0)
        return error_set(err, ERROR_INFEASIBLE, "nothing to draw: the logs have no times of this kind");
    struct sheet_grid grid = sheet_grid(sheet, count,
                                        count == 4  ? 2
                                        : count < 3 ? count
                                                    : 3,
                                        count > 3 ? 150 : 210);
    if (!sheet_begin(sheet, &grid, err))
        return false;
    for (int i = 0; i < count; i++)
        if (!add_panel(sheet, &grid, &panels[i], i, err)) {
            figure_page_drop(&sheet->page);
            return false;
        }
    return figure_page_end(&sheet->page, sheet->path, err);
}

/* ---- fits ---- */

static void add_fit(struct steps_sheet *sheet, const struct sheet_grid *grid, int index)
{
    struct text *script = &sheet->page.script;
    const struct steps_plane *plane = index == 0 ? &sheet->model->mean : &sheet->model->sigma;
    const char *name = index == 0 ? "mean" : "deviation";
    char title[80], formula[160], quality[32] = "-";
    double min = INFINITY, max = 0;
    if (!isnan(plane->r2))
        snprintf(quality, sizeof quality, "%.4f", plane->r2);
    snprintf(title, sizeof title, "%s of computing, R² %s", name, quality);
    snprintf(formula, sizeof formula, "%.3g × GPUs %c %.3g × batch %c %.3g s", plane->per_gpu,
             plane->per_batch < 0 ? '-' : '+', fabs(plane->per_batch), plane->constant < 0 ? '-' : '+',
             fabs(plane->constant));
    sheet_panel(sheet, grid, index, title, formula);
    for (int gpu = 0; gpu < sheet->gpu_count; gpu++) {
        text_format(script, "$g%d << EOD\n", gpu);
        for (int batch = 0; batch < sheet->batch_count; batch++) {
            const struct steps_group *group = sheet_group(sheet, gpu, batch);
            const struct steps_normal *normal =
                group ? &sheet->model->normals[group - sheet->steps->groups] : NULL;
            if (!normal || normal->count == 0)
                continue;
            double value = index == 0 ? normal->mean : normal->sigma;
            double fitted = steps_plane_at(plane, (double)group->gpus, (double)group->batch);
            text_format(script, "%" PRId64 " %.9g %.9g\n", group->batch, value, fitted);
            max = fmax(max, fmax(value, fitted));
            min = fmin(min, value);
        }
        text_add(script, "EOD\n");
    }
    sheet_batch_axis(sheet, grid, index);
    sheet_seconds_axis(sheet, min, max, true); /* planes go below 0 on a logarithmic one, and are cut off */
    if (index == 0)
        sheet_key(sheet, grid);
    text_add(script, "plot ");
    for (int gpu = 0; gpu < sheet->gpu_count; gpu++) {
        text_format(script,
                    "%s$g%d using 1:3 with lines linecolor rgb '%s' linewidth %g notitle, "
                    "$g%d using 1:2 with points linecolor rgb '%s' pointtype 7 pointsize 0.6",
                    gpu > 0 ? ", " : "", gpu, figure_colour(gpu), sheet->style->line, gpu,
                    figure_colour(gpu));
        add_titled(sheet, gpu, index == 0);
    }
    text_add(script, "\n");
}

static bool sheet_draw_fit(struct steps_sheet *sheet, struct error *err)
{
    if (!sheet->model->mean.known)
        return error_set(err, ERROR_INFEASIBLE,
                         "nothing to fit: fewer than two configurations have compute times");
    struct sheet_grid grid = sheet_grid(sheet, 2, 2, 260);
    grid.top += figure_line_height(sheet->style);
    if (!sheet_begin(sheet, &grid, err))
        return false;
    add_fit(sheet, &grid, 0);
    add_fit(sheet, &grid, 1);
    return figure_page_end(&sheet->page, sheet->path, err);
}

const char *const figure_steps_kinds[] = {"breakdown", "step",      "full", "throughput", "latency",
                                          "violin",    "histogram", "fit",  NULL};

const struct steps_group *sheet_group(const struct steps_sheet *sheet, int gpu, int batch)
{
    for (size_t i = 0; i < sheet->steps->group_count; i++) {
        const struct steps_group *group = &sheet->steps->groups[i];
        if (group->gpus == sheet->gpus[gpu] && group->batch == sheet->batches[batch])
            return group;
    }
    return NULL;
}

struct sheet_text sheet_batch(int64_t batch)
{
    struct sheet_text text;
    bool millions = batch % (1 << 20) == 0, thousands = batch % (1 << 10) == 0;
    snprintf(text.text, sizeof text.text, "%" PRId64 "%s",
             millions    ? batch >> 20
             : thousands ? batch >> 10
                         : batch,
             millions    ? "M"
             : thousands ? "k"
                         : "");
    return text;
}

struct sheet_text sheet_gpus(int64_t gpus)
{
    struct sheet_text text;
    snprintf(text.text, sizeof text.text, "%" PRId64 " GPU%s", gpus, gpus == 1 ? "" : "s");
    return text;
}

const char *sheet_event_title(const struct steps *steps, int event)
{
    static const char *const titles[STEPS_KNOWN] = {
        "whole step",      "loading (waiting)", "loading (framework)",
        "copy to the GPU", "forward",           "loss",
        "backward",        "optimizer",         "barrier",
        "computing",       "storage",           "preparing",
        "storage",         "preparing"};
    return event < STEPS_KNOWN ? titles[event] : steps->events[event];
}

/* ---- pages ---- */

/* The x axis of batches, doubling from mark to mark where they reach far. */
static bool sheet_doubles(const struct steps_sheet *sheet)
{
    return sheet->batches[sheet->batch_count - 1] >= 32 * sheet->batches[0];
}

/* Have the labels of batches no room side by side? */
static bool is_crowded(const struct steps_sheet *sheet, const struct sheet_grid *grid)
{
    double min = (double)sheet->batches[0], max = (double)sheet->batches[sheet->batch_count - 1];
    double marks = sheet_doubles(sheet) ? log2(max / min) : max - min;
    return grid->panel_width / (marks + 1) < 3.4 * sheet->style->points;
}

/* The same for configurations side by side. */
static bool is_narrow(const struct steps_sheet *sheet, const struct sheet_grid *grid)
{
    const struct steps *steps = sheet->steps;
    return grid->panel_width / (sheet_place(sheet, &steps->groups[steps->group_count - 1]) + 2) <
           2.4 * sheet->style->points;
}

struct sheet_grid sheet_grid(const struct steps_sheet *sheet, int panels, int columns, double panel_height)
{
    double line = figure_line_height(sheet->style), letter = sheet->style->points * 0.75;
    struct sheet_grid grid = {
        .columns = columns,
        .rows = (panels + columns - 1) / columns,
        .left = 9 * letter,
        .top = 1.6 * line,
        .right = 1.5 * letter,
        .bottom = 2.5 * line,
        .panel_height = panel_height,
        .head = 1.5 * line,
        .legend = sheet->style->legends ? 16 * letter : 0,
    };
    grid.panel_width = (sheet->style->width - grid.legend) / columns - grid.left - grid.right;
    grid.bottom += is_crowded(sheet, &grid) ? 1.2 * line : 0;
    return grid;
}

struct sheet_grid sheet_rows(const struct steps_sheet *sheet, int panels, double panel_height)
{
    struct sheet_grid grid = sheet_grid(sheet, panels, 1, panel_height);
    double line = figure_line_height(sheet->style);
    grid.bottom = 0.6 * line;
    grid.foot = (is_narrow(sheet, &grid) ? 3.4 : 2.2) * line;
    return grid;
}

bool sheet_begin(struct steps_sheet *sheet, const struct sheet_grid *grid, struct error *err)
{
    return figure_page_begin(
        &sheet->page, sheet->path, sheet->style,
        (int)ceil(grid->head + grid->foot + grid->rows * (grid->top + grid->panel_height + grid->bottom)),
        err);
}

static void add_page_title(struct steps_sheet *sheet, const struct sheet_grid *grid)
{
    char title[160];
    const struct steps *steps = sheet->steps;
    snprintf(title, sizeof title, "%s, %d file%s (%s)%s%s%s", *steps->workload ? steps->workload : "Steps",
             steps->files, steps->files == 1 ? "" : "s", steps_source_words[steps->source],
             sheet->subject ? ": " : "", sheet->subject ? sheet->subject : "",
             sheet->subject ? ", seconds" : "");
    figure_label(&sheet->page, grid->left, figure_line_height(sheet->style), 'l', title);
}

static struct figure_box box_of(const struct sheet_grid *grid, int index)
{
    int column = index % grid->columns, row = index / grid->columns;
    return (struct figure_box){
        .left = grid->left + column * (grid->left + grid->panel_width + grid->right),
        .top = grid->head + grid->top + row * (grid->top + grid->panel_height + grid->bottom),
        .width = grid->panel_width,
        .height = grid->panel_height,
    };
}

void sheet_panel(struct steps_sheet *sheet, const struct sheet_grid *grid, int index, const char *title,
                 const char *second)
{
    struct figure_box box = box_of(grid, index);
    figure_panel(&sheet->page, &box);
    if (index == 0 && sheet->style->legends)
        add_page_title(sheet, grid);
    double line = figure_line_height(sheet->style);
    if (*title)
        figure_label(&sheet->page, box.left + box.width / 2, box.top - (second ? 1.6 : 0.7) * line, 'c',
                     title);
    if (second)
        figure_label(&sheet->page, box.left + box.width / 2, box.top - 0.6 * line, 'c', second);
}

void sheet_key(struct steps_sheet *sheet, const struct sheet_grid *grid)
{
    if (sheet->style->legends)
        figure_key(&sheet->page, sheet->style->width - grid->legend + 8, grid->head + grid->top);
    else /* without, nobody could tell the lines apart */
        figure_key_line(&sheet->page, sheet->style->width - grid->right, 2);
}

/* ---- axes ---- */

static void sheet_batch_axis(struct steps_sheet *sheet, const struct sheet_grid *grid, int index)
{
    struct text *script = &sheet->page.script;
    int64_t min = sheet->batches[0], max = sheet->batches[sheet->batch_count - 1];
    bool crowded = is_crowded(sheet, grid);
    if (sheet_doubles(sheet))
        text_format(script, "set logscale x 2\nset xrange [%.12g:%.12g]\n", (double)min / 1.3,
                    (double)max * 1.3);
    else
        text_format(script, "set xrange [%.12g:%.12g]\n",
                    (double)min - 0.06 * (double)(max - min) - (max == min),
                    (double)max + 0.06 * (double)(max - min) + (max == min));
    text_format(script, "set xtics %s(", crowded ? "rotate by -50 " : "");
    for (int i = 0; i < sheet->batch_count; i++)
        text_format(script, "%s'%s' %" PRId64, i > 0 ? ", " : "", sheet_batch(sheet->batches[i]).text,
                    sheet->batches[i]);
    text_add(script, ")\n");
    struct figure_box box = box_of(grid, index);
    figure_label(&sheet->page, box.left + box.width / 2,
                 box.top + box.height + (crowded ? 3.1 : 2.15) * figure_line_height(sheet->style), 'c',
                 "batch");
}

void sheet_seconds_axis(struct steps_sheet *sheet, double min, double max, bool logs)
{
    if (logs && min > 0 && max > SHEET_FAR * min)
        figure_log_axis(&sheet->page, 'y', FIGURE_SECONDS, min, max, true);
    else
        figure_even_axis(&sheet->page, FIGURE_SECONDS, max, 5);
}

double sheet_place(const struct steps_sheet *sheet, const struct steps_group *group)
{
    double place = 0;
    const struct steps_group *at = sheet->steps->groups;
    for (; at < group; at++)
        place += 1 + 0.7 * (at[1].gpus != at->gpus);
    return place;
}

/* Batches below the axis, and below these the numbers of GPUs. */
void sheet_configuration_axis(struct steps_sheet *sheet, const struct sheet_grid *grid, bool numbers)
{
    const struct steps *steps = sheet->steps;
    struct text *script = &sheet->page.script;
    double last = sheet_place(sheet, &steps->groups[steps->group_count - 1]);
    double line = figure_line_height(sheet->style) / grid->panel_height;
    bool narrow = is_narrow(sheet, grid);
    double room = last < 5 ? (5 - last) / 2 : 0.8;
    text_format(script, "set xrange [%.12g:%.12g]\nset xtics scale 0 %s(", -room, last + room,
                narrow ? "rotate by -90 " : "");
    for (size_t i = 0; i < steps->group_count; i++)
        text_format(script, "%s'%s' %.12g", i > 0 ? ", " : "",
                    numbers ? sheet_batch(steps->groups[i].batch).text : "",
                    sheet_place(sheet, &steps->groups[i]));
    text_add(script, ")\nset grid noxtics\n");
    for (size_t i = 0, first = 0; i < steps->group_count && numbers; i++) {
        if (i + 1 < steps->group_count && steps->groups[i + 1].gpus == steps->groups[i].gpus)
            continue;
        text_format(script, "set label '%s' at first %.12g, graph %.6f center front\n",
                    sheet_gpus(steps->groups[i].gpus).text,
                    (sheet_place(sheet, &steps->groups[first]) + sheet_place(sheet, &steps->groups[i])) / 2,
                    -(narrow ? 3.3 : 1.9) * line);
        first = i + 1;
    }
}

/* ---- the picture ---- */

static int unique(int64_t *values, size_t count)
{
    size_t kept = 0;
    qsort(values, count, sizeof *values, order_int64s);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || values[kept - 1] != values[i])
            values[kept++] = values[i];
    return (int)kept;
}

static bool draw(struct steps_sheet *sheet, enum figure_steps_kind kind, struct error *err)
{
    switch (kind) {
    case FIGURE_STEPS_BREAKDOWN:
        return sheet_draw_breakdown(sheet, err);
    case FIGURE_STEPS_VIOLIN:
        return sheet_draw_violins(sheet, err);
    case FIGURE_STEPS_HISTOGRAM:
        return sheet_draw_histograms(sheet, err);
    case FIGURE_STEPS_FIT:
        return sheet_draw_fit(sheet, err);
    default:
        return sheet_draw_lines(sheet, kind, err);
    }
}

static bool find_event(const struct steps *steps, const char *name, int *event, struct error *err)
{
    const char *names[STEPS_MAX_EVENTS];
    struct text_hint hint;
    size_t count = 0;
    *event = -1;
    if (!name)
        return true;
    *event = steps_event_find(steps, name);
    for (int i = 0; i < steps->event_count; i++)
        for (size_t j = 0; j < steps->group_count; j++)
            if (steps->groups[j].events[i].count > 0) {
                if (i == *event)
                    return true;
                names[count++] = steps->events[i];
                break;
            }
    return error_set(err, ERROR_USAGE, "--event: the logs have no '%s'%s", name,
                     text_suggest(&hint, text_nearest(name, names, count), ""));
}

bool figure_steps(const char *path, enum figure_steps_kind kind, const char *event,
                  const struct figure_style *style, const struct steps *steps,
                  const struct steps_model *model, struct error *err)
{
    size_t count = steps->group_count;
    struct steps_sheet sheet = {.steps = steps, .model = model, .path = path, .style = style};
    if (!find_event(steps, event, &sheet.event, err))
        return false;
    if (event && kind != FIGURE_STEPS_VIOLIN && kind != FIGURE_STEPS_HISTOGRAM)
        return error_set(err, ERROR_USAGE, "--event needs --kind violin or histogram");
    sheet.gpus = calloc(2 * count + 1, sizeof *sheet.gpus);
    if (!sheet.gpus)
        return error_memory(err);
    sheet.batches = sheet.gpus + count;
    for (size_t i = 0; i < count; i++) {
        sheet.gpus[i] = steps->groups[i].gpus;
        sheet.batches[i] = steps->groups[i].batch;
    }
    sheet.gpu_count = unique(sheet.gpus, count);
    sheet.batch_count = unique(sheet.batches, count);
    bool drawn = draw(&sheet, kind, err);
    free(sheet.gpus);
    return drawn;
}
