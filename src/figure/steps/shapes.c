/* Histograms of compute times, or of another event, with the normal distributions fitted. */
#include "figure/gnuplot.h"
#include "figure/steps/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_COLUMNS 12
#define MAX_ROWS    16
#define PI          3.14159265358979323846

static int bins_for(size_t count)
{
    return (int)fmin(fmax(2 * cbrt((double)count) * 2, 8), 100);
}

/* Densities: the bars have an area of 1, as the curve has. The highest is returned. */
static double add_bins(struct text *script, const double *values, const struct steps_normal *normal, int bins)
{
    double low = values[normal->first], high = values[normal->first + normal->count - 1];
    double width = (high - low) / bins, max = 0;
    size_t next = 0;
    text_add(script, "$bins << EOD\n");
    for (int bin = 0; bin < bins; bin++) {
        size_t before = next;
        while (next < normal->count &&
               (bin == bins - 1 || values[normal->first + next] < low + (bin + 1) * width))
            next++;
        double density = (double)(next - before) / ((double)normal->count * width);
        text_format(script, "%.9g %.9g %.9g\n", low + (bin + 0.5) * width, width, density);
        max = fmax(max, density);
    }
    text_add(script, "EOD\n");
    return max;
}

static int histogram_event(const struct steps_sheet *sheet)
{
    return sheet->event >= 0 ? sheet->event : STEPS_COMPUTE;
}

static void add_histogram(struct steps_sheet *sheet, const struct steps_group *group,
                          const struct sheet_grid *grid, int index)
{
    struct text *script = &sheet->page.script;
    const struct steps_values *all = &group->events[histogram_event(sheet)];
    const double *values = all->items;
    struct steps_normal fitted, *normal = &fitted;
    steps_fit_normal(values, all->count, normal);
    double low = values[normal->first], high = values[normal->first + normal->count - 1];
    double room = high > low ? 0.04 * (high - low) : 0.1 * low + 1e-9;
    char title[80], numbers[120];
    snprintf(title, sizeof title, "%s, batch %s", sheet_gpus(group->gpus).text,
             sheet_batch(group->batch).text);
    snprintf(numbers, sizeof numbers, "μ %.4g, σ %.3g, n %zu", normal->mean, normal->sigma, normal->count);
    sheet_panel(sheet, grid, index, title, numbers);
    text_format(script,
                "unset ytics\nset border 1\nunset grid\nset xrange [%.9g:%.9g]\n"
                "set xtics ('%.3g' %.9g, '%.3g' %.9g)\n",
                low - room, high + room, low, low, high, high);
    if (!(high > low && normal->sigma > 0)) {
        text_add(script, "set yrange [0:1]\nplot NaN notitle\n");
        return;
    }
    double max = add_bins(script, values, normal, bins_for(normal->count));
    max = fmax(max, 1 / (normal->sigma * sqrt(2 * PI)));
    text_format(
        script,
        "set arrow from first %.12g, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' "
        "linewidth %g front\n",
        steps_percentile(values, all->count, 0.5), sheet->style->line);
    text_format(script,
                "set samples 100\nset yrange [0:%.9g]\nplot $bins using 1:3:2 with boxes fillcolor rgb '%s' "
                "fillstyle solid 1 noborder notitle, exp(-0.5*((x-%.12g)/%.12g)**2)/(%.12g*sqrt(2*pi)) with "
                "lines linecolor rgb '#222222' linewidth %g notitle\n",
                1.05 * max, figure_colour_light(0), normal->mean, normal->sigma, normal->sigma,
                sheet->style->line);
}

bool sheet_draw_histograms(struct steps_sheet *sheet, struct error *err)
{
    if (sheet->event < 0 && sheet->model->count == 0)
        return error_set(err, ERROR_INFEASIBLE, "nothing to draw: the logs have no compute times");
    if (sheet->gpu_count > MAX_COLUMNS || sheet->batch_count > MAX_ROWS)
        return error_set(err, ERROR_INFEASIBLE,
                         "a page holds histograms of %d numbers of GPUs and %d batches, there are %d and %d: "
                         "give fewer folders",
                         MAX_COLUMNS, MAX_ROWS, sheet->gpu_count, sheet->batch_count);
    struct sheet_grid grid = sheet_grid(sheet, sheet->gpu_count * sheet->batch_count, sheet->gpu_count,
                                        sheet->style->legends ? 90 : 60);
    grid.legend = 0;
    grid.head = sheet->style->legends ? grid.head : 0; /* there is no key */
    sheet->subject = sheet_event_title(sheet->steps, histogram_event(sheet));
    grid.left = grid.right = 2.2 * sheet->style->points;
    grid.top += figure_line_height(sheet->style);
    grid.bottom *= 0.7;
    grid.panel_width = (double)sheet->style->width / grid.columns - grid.left - grid.right;
    if (!sheet_begin(sheet, &grid, err))
        return false;
    for (int batch = 0; batch < sheet->batch_count; batch++)
        for (int gpu = 0; gpu < sheet->gpu_count; gpu++) {
            const struct steps_group *group = sheet_group(sheet, gpu, batch);
            if (!group || group->events[histogram_event(sheet)].count == 0)
                continue;
            add_histogram(sheet, group, &grid, batch * sheet->gpu_count + gpu);
        }
    return figure_page_end(&sheet->page, sheet->path, err);
}
