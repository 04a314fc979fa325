/* Distributions: violins of the parts of a step, and histograms of compute times with the normal distributions
 * fitted. */
#include "figure/steps/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS      48   /* of one side of a violin */
#define WIDTH       0.42 /* of a violin's half; the next is 1 away */
#define MAX_COLUMNS 12
#define MAX_ROWS    16
#define PI          3.14159265358979323846

/* ---- violins ---- */

/* Violins reach from p1 to p99, as the fits do: a single step that waited for minutes would flatten all others. */
struct reach {
    double min, max;
    bool log; /* the axis is logarithmic */
};

static struct reach reach_of(const struct steps *steps, int event)
{
    struct reach reach = {.min = INFINITY, .max = 0};
    for (size_t i = 0; i < steps->group_count; i++) {
        const struct steps_values *values = &steps->groups[i].events[event];
        if (values->count == 0)
            continue;
        reach.min = fmin(reach.min, steps_percentile(values->items, values->count, 0.01));
        reach.max = fmax(reach.max, steps_percentile(values->items, values->count, 0.99));
    }
    reach.log = reach.min > 0 && reach.max > SHEET_FAR * reach.min;
    return reach;
}

/* The outline, up on the right and down on the left. */
static void add_outline(struct text *script, double place, const double *at, const double *density, bool log)
{
    double max = 0;
    for (int i = 0; i < POINTS; i++)
        max = fmax(max, density[i]);
    for (int i = 0; i < 2 * POINTS; i++) {
        int j = i < POINTS ? i : 2 * POINTS - 1 - i;
        double half = max > 0 ? WIDTH * density[j] / max : WIDTH;
        text_format(script, "%.5g %.5g\n", place + (i < POINTS ? half : -half), log ? pow(10, at[j]) : at[j]);
    }
    text_add(script, "\n\n");
}

static bool add_violin(struct text *script, double place, const struct steps_values *values, bool log,
                       struct error *err)
{
    struct steps_normal cut;
    double at[POINTS], density[POINTS];
    steps_fit_normal(values->items, values->count, &cut);
    double *kept = malloc(cut.count * sizeof *kept);
    if (!kept)
        return error_memory(err);
    for (size_t i = 0; i < cut.count; i++)
        kept[i] = log ? log10(values->items[cut.first + i]) : values->items[cut.first + i];
    double low = kept[0], high = kept[cut.count - 1];
    if (high > low) {
        for (int i = 0; i < POINTS; i++)
            at[i] = low + (high - low) * i / (POINTS - 1);
        steps_density(kept, cut.count, low, high, POINTS, density);
        add_outline(script, place, at, density, log);
    }
    free(kept);
    return true;
}

static bool add_shapes(struct steps_sheet *sheet, int event, bool log, struct error *err)
{
    const struct steps *steps = sheet->steps;
    struct text *script = &sheet->page.script;
    text_add(script, "$shapes << EOD\n");
    for (size_t i = 0; i < steps->group_count; i++) {
        const struct steps_values *values = &steps->groups[i].events[event];
        text_format(script, "%.6g NaN\n\n\n",
                    sheet_place(sheet, &steps->groups[i])); /* never an empty block */
        if (values->count > 0 && !add_violin(script, sheet_place(sheet, &steps->groups[i]), values, log, err))
            return false;
    }
    text_add(script, "EOD\n$marks << EOD\n");
    for (size_t i = 0; i < steps->group_count; i++) {
        const struct steps_values *values = &steps->groups[i].events[event];
        struct steps_summary summary;
        if (values->count == 0)
            continue;
        steps_summarise(values->items, values->count, &summary);
        text_format(script, "%.6g %.9g %.9g %.9g\n", sheet_place(sheet, &steps->groups[i]), summary.q1,
                    summary.median, summary.q3);
    }
    text_add(script, "EOD\n");
    return true;
}

static bool add_violins(struct steps_sheet *sheet, const struct sheet_grid *grid, int index, int event,
                        bool last, struct error *err)
{
    struct text *script = &sheet->page.script;
    struct reach reach = reach_of(sheet->steps, event);
    sheet_panel(sheet, grid, index, sheet_event_title(sheet->steps, event), NULL);
    if (!add_shapes(sheet, event, reach.log, err))
        return false;
    sheet_configuration_axis(sheet, grid, last);
    sheet_seconds_axis(sheet, reach.min, reach.max, true);
    if (index == 0)
        sheet_key(sheet, grid);
    bool titled = index == 0;
    text_format(script,
                "plot $shapes using 1:2 with filledcurves closed fillcolor rgb '%s' fillstyle solid 1 border "
                "linecolor rgb '%s' linewidth 0.7 %s, "
                "$marks using 1:2:(0):($4-$2) with vectors nohead linecolor rgb '#222222' linewidth %g %s, "
                "$marks using 1:3 with points pointtype 7 pointsize 0.5 linecolor rgb '#ffffff' notitle, "
                "$marks using 1:3 with points pointtype 6 pointsize 0.5 linecolor rgb '#222222' %s\n",
                figure_colour_light(0), figure_colour(0), titled ? "title 'p1 to p99'" : "notitle",
                3 * sheet->style->line, titled ? "title 'q1 to q3'" : "notitle",
                titled ? "title 'median'" : "notitle");
    return true;
}

bool sheet_draw_violins(struct steps_sheet *sheet, struct error *err)
{
    static const int events[] = {STEPS_STEP, STEPS_LOAD, STEPS_COMPUTE};
    int shown[3], count = 0;
    for (int i = 0; i < 3; i++)
        if (sheet->event < 0 && reach_of(sheet->steps, events[i]).max > 0)
            shown[count++] = events[i];
    if (sheet->event >= 0)
        shown[count++] = sheet->event;
    if (count == 0)
        return error_set(err, ERROR_INFEASIBLE, "nothing to draw: the logs have no times of this kind");
    struct sheet_grid grid = sheet_rows(sheet, count, sheet->style->legends ? 170 : 120);
    if (!sheet_begin(sheet, &grid, err))
        return false;
    for (int i = 0; i < count; i++)
        if (!add_violins(sheet, &grid, i, shown[i], i == count - 1, err)) {
            figure_page_drop(&sheet->page);
            return false;
        }
    return figure_page_end(&sheet->page, sheet->path, err);
}

/* ---- histograms ---- */

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
