/* Lines over the batch, one for each number of GPUs: the median with a band from q1 to q3; and the planes fitted. */
#include "figure/gnuplot.h"
#include "figure/steps/sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

bool sheet_draw_lines(struct steps_sheet *sheet, enum figure_steps_kind kind, struct error *err)
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

bool sheet_draw_fit(struct steps_sheet *sheet, struct error *err)
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
