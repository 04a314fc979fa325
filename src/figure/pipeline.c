#include "figure/pipeline.h"

#include "core/arena.h"
#include "core/unit.h"
#include "figure/gnuplot.h"
#include "figure/style.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH        960
#define ROW_HEIGHT   26
#define FRAME_HEIGHT 140
#define MOST_ROWS    2000 /* of the picture; more stages get thinner bars */

/* y axis: one row per stage, first on top. */
static void add_rows(const struct figure_stages *stages, struct text *script)
{
    text_add(script, "set ytics (");
    for (int i = 0; i < stages->count; i++) {
        text_add(script, i ? ", " : "");
        gnuplot_add_tic(script, stages->stages[i].label, i);
    }
    text_format(script, ")\nset yrange [%d.7:-0.7]\n", stages->count - 1);
}

/* Data for boxxyerror: xlow xhigh ylow yhigh colour. */
static void add_bars(const struct figure_stages *stages, struct text *script)
{
    text_add(script, "$bars << EOD\n");
    for (int i = 0; i < stages->count; i++) {
        const struct figure_stage *stage = &stages->stages[i];
        double forward = 1e3 * stage->forward, together = 1e3 * (stage->forward + stage->backward);
        text_format(script, "0 %.9g %d.0 0x%s\n", forward, i, figure_colour(stage->colour) + 1);
        text_format(script, "%.9g %.9g %d.0 0x%s\n", forward, together, i,
                    figure_colour_light(stage->colour) + 1);
    }
    text_add(script, "EOD\n");
}

static double slowest_of(const struct figure_stages *stages)
{
    double slowest = 0;
    for (int i = 0; i < stages->count; i++)
        slowest = fmax(slowest, stages->stages[i].forward + stages->stages[i].backward);
    return 1e3 * slowest;
}

static void add_plot(const struct figure_stages *stages, struct text *script)
{
    double slowest = slowest_of(stages);
    text_format(
        script,
        "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 2 linecolor rgb '#444444' front\n"
        "set xrange [0:%.9g]\n",
        slowest, slowest, 1.04 * slowest);
    text_add(script,
             "plot $bars using 1:3:1:2:($3-0.38):($3+0.38):4 with boxxyerror fillstyle solid noborder "
             "linecolor rgb variable notitle");
    for (int i = 0; i < stages->kind_count; i++)
        if (stages->kinds[i]) {
            text_format(script, ", NaN with boxes fillstyle solid noborder linecolor rgb '%s' title ",
                        figure_colour(i));
            gnuplot_add_string(script, stages->kinds[i]);
        }
    text_add(script, "\n");
}

bool figure_stages(const char *path, const struct figure_stages *stages, struct error *err)
{
    struct text script = {0};
    int rows = stages->count < MOST_ROWS ? stages->count : MOST_ROWS;
    bool ok = gnuplot_set_terminal(path, WIDTH, FRAME_HEIGHT + ROW_HEIGHT * rows, figure_screen.points,
                                   &script, err);
    if (ok) {
        text_add(&script,
                 "set xlabel 'milliseconds per micro-batch: forward (dark), backward (light); dashed: the "
                 "slowest stage'\n"
                 "set border 3\nset tics nomirror out\nset key above horizontal\nset title ");
        gnuplot_add_string(&script, stages->title);
        text_add(&script, "\n");
        add_rows(stages, &script);
        add_bars(stages, &script);
        add_plot(stages, &script);
        ok = gnuplot_run(path, &script, err);
    }
    text_release(&script);
    return ok;
}

/* ---- plans of nodes of all kinds ---- */

static void write_title(const struct pipeline *plan, char *line, size_t size)
{
    char time[32], proof[64] = "";
    if (plan->proven_optimal)
        snprintf(proof, sizeof proof, ", proven optimal");
    else if (plan->lower_bound > 0)
        snprintf(proof, sizeof proof, ", at most %.2g %% from the optimum", 100 * pipeline_gap(plan));
    unit_format(time, sizeof time, plan->iteration_time, UNIT_TIME, 4);
    if (plan->microbatches > 0)
        snprintf(line, size, "iteration of %d micro-batches: %s%s", plan->microbatches, time, proof);
    else
        snprintf(line, size, "iteration: %s%s", time, proof);
}

/* Groups may share a device type: the first of them gives the colour. */
static int colour_of(const struct plan_problem *problem, int group)
{
    for (int g = 0; g < group; g++)
        if (strcmp(problem->groups[g].device, problem->groups[group].device) == 0)
            return g;
    return group;
}

static struct figure_stage describe(const struct pipeline_stage *stage, const struct plan_problem *problem)
{
    struct figure_stage row = {.forward = stage->forward, .backward = stage->backward};
    const char *device = problem->groups[stage->group].device;
    row.colour = colour_of(problem, stage->group);
    if (stage->first_layer == stage->last_layer)
        snprintf(row.label, sizeof row.label, "%d x %.80s, layer %d", stage->devices, device,
                 stage->first_layer);
    else
        snprintf(row.label, sizeof row.label, "%d x %.80s, layers %d-%d", stage->devices, device,
                 stage->first_layer, stage->last_layer);
    return row;
}

bool figure_pipeline(const char *path, const struct pipeline *plan, const struct plan_problem *problem,
                     struct error *err)
{
    char title[256];
    struct arena arena = {0};
    struct figure_stage *rows = ARENA_ARRAY(&arena, (size_t)plan->stage_count, struct figure_stage);
    const char **kinds = ARENA_ARRAY(&arena, (size_t)problem->group_count, const char *);
    bool ok = rows && kinds ? true : error_memory(err);
    for (int i = 0; ok && i < plan->stage_count; i++)
        rows[i] = describe(&plan->stages[i], problem);
    for (int g = 0; ok && g < problem->group_count; g++)
        kinds[g] = colour_of(problem, g) == g ? problem->groups[g].device : NULL;
    write_title(plan, title, sizeof title);
    const struct figure_stages stages = {.title = title,
                                         .count = plan->stage_count,
                                         .stages = rows,
                                         .kind_count = problem->group_count,
                                         .kinds = kinds};
    ok = ok && figure_stages(path, &stages, err);
    arena_release(&arena);
    return ok;
}
