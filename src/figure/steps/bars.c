/* The parts of a step as stacked bars of means: means add up, medians do not. */
#include "figure/gnuplot.h"
#include "figure/steps/sheet.h"

#include <math.h>

/* The parts from below; the last is the rest of the step. */
enum part { LOAD, COPY, COMPUTE, FORWARD, LOSS, BACKWARD, OPTIMIZER, BARRIER, REST, PARTS };
static const struct {
    int event;
    const char *title, *colour;
} looks[PARTS] = {
    [LOAD] = {STEPS_LOAD, "loading", "#0072b2"},
    [COPY] = {STEPS_COPY, "copy", "#56b4e9"},
    [COMPUTE] = {STEPS_COMPUTE, "computing", "#7fceb9"},
    [FORWARD] = {STEPS_FORWARD, "forward", "#009e73"},
    [LOSS] = {STEPS_LOSS, "loss", "#b8a900"},
    [BACKWARD] = {STEPS_BACKWARD, "backward", "#e69f00"},
    [OPTIMIZER] = {STEPS_OPTIMIZER, "optimizer", "#d55e00"},
    [BARRIER] = {STEPS_BARRIER, "barrier", "#cc79a7"},
    [REST] = {-1, "rest of step", "#cccccc"},
};

static double mean_of(const struct steps_group *group, int event)
{
    const struct steps_values *values = &group->events[event];
    struct steps_summary summary;
    if (values->count == 0)
        return 0;
    steps_summarise(values->items, values->count, &summary);
    return summary.mean;
}

/* Fills in the mean seconds of each part and returns their sum. Where no log divides the computing, it is one part,
 * without the copy and, except in DLIO's outputs, without the barrier. The rest of the step is the log's own time. */
static double take_apart(const struct steps *steps, const struct steps_group *group, double parts[PARTS])
{
    double step = mean_of(group, STEPS_STEP), sum = 0;
    for (int i = 0; i < REST; i++)
        parts[i] = mean_of(group, looks[i].event);
    parts[COMPUTE] -= parts[COPY] + (steps->source == STEPS_DLIO_OUTPUT ? 0 : parts[BARRIER]);
    if (parts[COMPUTE] < 0 || parts[FORWARD] > 0 || parts[BACKWARD] > 0)
        parts[COMPUTE] = 0;
    for (int i = 0; i < REST; i++)
        sum += parts[i];
    parts[REST] = fmax(step - sum, 0);
    return sum + parts[REST];
}

/* Rows of the places where parts begin and end: in seconds, or (`whole` 100) as shares. */
static void add_bars(struct steps_sheet *sheet, double whole, bool used[PARTS], double *max)
{
    const struct steps *steps = sheet->steps;
    struct text *script = &sheet->page.script;
    text_add(script, "$bars << EOD\n");
    for (size_t i = 0; i < steps->group_count; i++) {
        double parts[PARTS], at = 0, all = take_apart(steps, &steps->groups[i], parts);
        double unit = whole > 0 && all > 0 ? whole / all : 1;
        *max = fmax(*max, all * unit);
        text_format(script, "%.9g 0", sheet_place(sheet, &steps->groups[i]));
        for (int part = 0; part < PARTS; part++) {
            used[part] |= parts[part] > 0;
            at += parts[part] * unit;
            text_format(script, " %.9g", at);
        }
        text_add(script, "\n");
    }
    text_add(script, "EOD\n");
}

static void add_panel(struct steps_sheet *sheet, const struct sheet_grid *grid, int index)
{
    struct text *script = &sheet->page.script;
    bool used[PARTS] = {false}, any = false;
    double max = 0;
    sheet_panel(sheet, grid, index, index == 0 ? "mean time of a step" : "shares of a step, %", NULL);
    add_bars(sheet, index == 0 ? 0 : 100, used, &max);
    sheet_configuration_axis(sheet, grid, index == 1);
    figure_even_axis(&sheet->page, index == 0 ? FIGURE_SECONDS : FIGURE_COUNT, max, 5);
    if (index == 0)
        sheet_key(sheet, grid);
    text_add(script, "set style fill solid 1 noborder\nplot ");
    for (int part = PARTS - 1; part >= 0; part--) { /* the legend from above as the bars are */
        if (!used[part])
            continue;
        text_format(script, "%s$bars using 1:%d:($1-0.4):($1+0.4):%d:%d with boxxyerror fillcolor rgb '%s'",
                    any ? ", " : "", part + 3, part + 2, part + 3, looks[part].colour);
        text_add(script, index == 0 ? " title " : " notitle");
        if (index == 0)
            gnuplot_add_string(script, looks[part].title);
        any = true;
    }
    text_add(script, "\n");
}

bool sheet_draw_breakdown(struct steps_sheet *sheet, struct error *err)
{
    struct sheet_grid grid = sheet_rows(sheet, 2, sheet->style->legends ? 210 : 140);
    double max = 0, parts[PARTS];
    for (size_t i = 0; i < sheet->steps->group_count; i++)
        max = fmax(max, take_apart(sheet->steps, &sheet->steps->groups[i], parts));
    if (max <= 0)
        return error_set(err, ERROR_INFEASIBLE, "nothing to draw: the logs have no times of this kind");
    if (!sheet_begin(sheet, &grid, err))
        return false;
    add_panel(sheet, &grid, 0);
    add_panel(sheet, &grid, 1);
    return figure_page_end(&sheet->page, sheet->path, err);
}
