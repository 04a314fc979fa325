#include "figure/pipeline.h"

#include "core/unit.h"
#include "figure/gnuplot.h"

#include <stdio.h>
#include <string.h>

#define WIDTH        960
#define ROW_HEIGHT   26
#define FRAME_HEIGHT 140
#define MOST_ROWS    2000 /* of the picture; more stages get thinner bars */

/* Okabe and Ito's colours, told apart by all eyes; backward in a lighter tone of the same. */
static const char *const colours[][2] = {
    {"#0072b2", "#7fb8d8"}, {"#e69f00", "#f2cf7f"}, {"#009e73", "#7fceb9"}, {"#cc79a7", "#e5bcd3"},
    {"#56b4e9", "#aad9f4"}, {"#d55e00", "#eaae7f"}, {"#999999", "#cccccc"}, {"#b8a900", "#dcd47f"},
};
#define COLOUR_COUNT ((int)(sizeof colours / sizeof *colours))

/* Groups may share a device type: the first of them gives the colour. */
static int colour_of(const struct plan_problem *problem, int group)
{
    for (int g = 0; g < group; g++)
        if (strcmp(problem->groups[g].device, problem->groups[group].device) == 0)
            return g % COLOUR_COUNT;
    return group % COLOUR_COUNT;
}

static void add_title(const struct plan *plan, struct text *script)
{
    char time[32], line[256], proof[64] = "";
    if (plan->proven_optimal)
        snprintf(proof, sizeof proof, ", proven optimal");
    else if (plan->lower_bound > 0)
        snprintf(proof, sizeof proof, ", at most %.2g %% from the optimum", 100 * plan_gap(plan));
    unit_format(time, sizeof time, plan->iteration_time, UNIT_TIME, 4);
    if (plan->microbatches > 0)
        snprintf(line, sizeof line, "iteration of %d micro-batches: %s%s", plan->microbatches, time, proof);
    else
        snprintf(line, sizeof line, "iteration: %s%s", time, proof);
    text_add(script, "set title ");
    gnuplot_add_string(script, line);
    text_add(script, "\n");
}

/* y axis: one row per stage, first on top. */
static void add_rows(const struct plan *plan, const struct plan_problem *problem, struct text *script)
{
    text_add(script, "set ytics (");
    for (int i = 0; i < plan->stage_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        char label[256];
        if (stage->first_layer == stage->last_layer)
            snprintf(label, sizeof label, "%d x %.80s, layer %d", stage->devices,
                     problem->groups[stage->group].device, stage->first_layer);
        else
            snprintf(label, sizeof label, "%d x %.80s, layers %d-%d", stage->devices,
                     problem->groups[stage->group].device, stage->first_layer, stage->last_layer);
        text_add(script, i ? ", " : "");
        gnuplot_add_string(script, label);
        text_format(script, " %d", i);
    }
    text_format(script, ")\nset yrange [%d.7:-0.7]\n", plan->stage_count - 1);
}

/* Data for boxxyerror: xlow xhigh ylow yhigh colour. */
static void add_bars(const struct plan *plan, const struct plan_problem *problem, struct text *script)
{
    text_add(script, "$bars << EOD\n");
    for (int i = 0; i < plan->stage_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        const char *const *colour = colours[colour_of(problem, stage->group)];
        double forward = 1e3 * stage->forward, together = 1e3 * plan_stage_time(stage);
        text_format(script, "0 %.9g %d.0 0x%s\n", forward, i, colour[0] + 1);
        text_format(script, "%.9g %.9g %d.0 0x%s\n", forward, together, i, colour[1] + 1);
    }
    text_add(script, "EOD\n");
}

static void add_plot(const struct plan *plan, const struct plan_problem *problem, struct text *script)
{
    double slowest = 1e3 * plan_stage_time(&plan->stages[plan->bottleneck]);
    text_format(
        script,
        "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 2 linecolor rgb '#444444' front\n"
        "set xrange [0:%.9g]\n",
        slowest, slowest, 1.04 * slowest);
    text_add(script,
             "plot $bars using 1:3:1:2:($3-0.38):($3+0.38):4 with boxxyerror fillstyle solid noborder "
             "linecolor rgb variable notitle");
    for (int g = 0; g < problem->group_count; g++)
        if (colour_of(problem, g) == g % COLOUR_COUNT) {
            text_format(script, ", NaN with boxes fillstyle solid noborder linecolor rgb '%s' title ",
                        colours[colour_of(problem, g)][0]);
            gnuplot_add_string(script, problem->groups[g].device);
        }
    text_add(script, "\n");
}

bool figure_can_write(const char *path, struct error *err)
{
    struct text unused = {0};
    bool ok = gnuplot_set_terminal(path, 1, 1, &unused, err);
    text_release(&unused);
    return ok;
}

bool figure_pipeline(const char *path, const struct plan *plan, const struct plan_problem *problem,
                     struct error *err)
{
    struct text script = {0};
    int rows = plan->stage_count < MOST_ROWS ? plan->stage_count : MOST_ROWS;
    bool ok = gnuplot_set_terminal(path, WIDTH, FRAME_HEIGHT + ROW_HEIGHT * rows, &script, err);
    if (ok) {
        text_add(&script,
                 "set xlabel 'milliseconds per micro-batch: forward (dark), backward (light); dashed: the "
                 "slowest stage'\n"
                 "set border 3\nset tics nomirror out\nset key above horizontal\n");
        add_title(plan, &script);
        add_rows(plan, problem, &script);
        add_bars(plan, problem, &script);
        add_plot(plan, problem, &script);
        ok = gnuplot_run(path, &script, err);
    }
    text_release(&script);
    return ok;
}
