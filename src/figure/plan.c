#include "figure/plan.h"

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
struct figure_stage {
    char label[160];          /* "8 devices, layers 0-21" */
    double forward, backward; /* seconds per micro-batch */
    int colour;               /* of its device type */
};

struct figure_stages {
    const char *title;
    int count;
    const struct figure_stage *stages;
    int kind_count;
    const char *const *kinds; /* the device type of each colour; NULL: none */
};

#define MOST_ROWS 2000 /* of the picture; more stages get thinner bars */

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

static bool draw_stages(const char *path, const struct figure_stages *stages, struct error *err)
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

/* ---- stages ---- */

static void write_title(const struct plan *plan, char *line, size_t size)
{
    char time[32], proof[64] = "", model[96] = "";
    if (plan->proven_optimal)
        snprintf(proof, sizeof proof, ", proven optimal");
    else if (plan->lower_bound > 0)
        snprintf(proof, sizeof proof, ", at most %.2g %% from the optimum", 100 * plan_gap(plan));
    if (plan->model)
        snprintf(model, sizeof model, "%.80s, ", plan->model);
    unit_format(time, sizeof time, plan->iteration_time, UNIT_TIME, 4);
    snprintf(line, size, "%siteration %s%s", model, time, proof);
}

/* Device types of one name share a colour: the first one's. */
static int colour_of(const struct plan *plan, int type)
{
    for (int t = 0; t < type; t++)
        if (strcmp(plan->types[t].name, plan->types[type].name) == 0)
            return t;
    return type;
}

static struct figure_stage describe(const struct plan *plan, int p, const struct plan_stage *stage)
{
    struct figure_stage row = {
        .forward = isnan(stage->seconds.forward) ? 0 : stage->seconds.forward,
        .colour = colour_of(plan, stage->type),
    };
    char copies[32] = "", layers[48];
    row.backward = plan_stage_seconds(stage) - row.forward;
    if (plan->pipeline_count > 1)
        snprintf(copies, sizeof copies, "pipeline %d: ", p);
    else if (plan->pipelines[p].copies > 1)
        snprintf(copies, sizeof copies, "%d x ", plan->pipelines[p].copies);
    if (stage->first_layer == stage->last_layer)
        snprintf(layers, sizeof layers, "layer %d", stage->first_layer);
    else
        snprintf(layers, sizeof layers, "layers %d-%d", stage->first_layer, stage->last_layer);
    snprintf(row.label, sizeof row.label, "%s%d x %.60s, %s", copies, plan_stage_devices(stage),
             plan->types[stage->type].name, layers);
    return row;
}

static bool figure_stages(const char *path, const struct plan *plan, struct error *err)
{
    char title[256];
    struct arena arena = {0};
    int count = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        count += plan->pipelines[p].stage_count;
    struct figure_stage *rows = ARENA_ARRAY(&arena, (size_t)count + 1, struct figure_stage);
    const char **kinds = ARENA_ARRAY(&arena, (size_t)plan->type_count + 1, const char *);
    bool ok = rows && kinds ? true : error_memory(err);
    for (int p = 0, row = 0; ok && p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            rows[row++] = describe(plan, p, &plan->pipelines[p].stages[s]);
    for (int t = 0; ok && t < plan->type_count; t++)
        kinds[t] = colour_of(plan, t) == t ? plan->types[t].name : NULL;
    write_title(plan, title, sizeof title);
    const struct figure_stages stages = {
        .title = title, .count = count, .stages = rows, .kind_count = plan->type_count, .kinds = kinds};
    ok = ok && draw_stages(path, &stages, err);
    arena_release(&arena);
    return ok;
}

/* ---- where an iteration goes, under each of several splits ---- */

#define SPLIT_HEIGHT 34

/* Okabe and Ito's colours, told apart by all eyes. */
static const char *const part_colours[PLAN_MAX_PARTS] = {"#0072b2", "#cccccc", "#e69f00", "#56b4e9",
                                                         "#009e73", "#cc79a7", "#d55e00"};

static void add_split(const struct plan_alternative *split, int row, struct text *script)
{
    double from = 0;
    for (int i = 0; i < split->part_count; i++) {
        const char *colour = part_colours[i] ? part_colours[i] : "#000000";
        text_format(script, "%.9g %.9g %d.0 0x%s\n", from, from + split->parts[i].value, row, colour + 1);
        from += split->parts[i].value;
    }
}

static void add_split_rows(const struct plan *plan, struct text *script)
{
    text_add(script, "set ytics (");
    for (int i = 0; i <= plan->alternative_count; i++) {
        const struct plan_alternative own = plan_as_alternative(plan),
                                      *a = i == 0 ? &own : &plan->alternatives[i - 1];
        char label[128];
        snprintf(label, sizeof label, "tp %d cp %d ep %d pp %d dp %d, mbs %lld vp %d", a->tensor, a->context,
                 a->expert, a->pipeline, a->data, (long long)a->microbatch, a->chunks);
        text_add(script, i ? ", " : "");
        gnuplot_add_tic(script, label, i);
    }
    text_format(script, ")\nset yrange [%d.7:-0.7]\n$bars << EOD\n", plan->alternative_count);
    const struct plan_alternative own = plan_as_alternative(plan);
    add_split(&own, 0, script);
    for (int i = 0; i < plan->alternative_count; i++)
        add_split(&plan->alternatives[i], i + 1, script);
    text_add(script,
             "EOD\nset xrange [0:*]\n"
             "plot $bars using 1:3:1:2:($3-0.38):($3+0.38):4 with boxxyerror fillstyle solid noborder "
             "linecolor rgb variable notitle");
    for (int i = 0; i < plan->part_count && part_colours[i]; i++)
        text_format(script, ", NaN with boxes fillstyle solid noborder linecolor rgb '%s' title '%s'",
                    part_colours[i], plan->parts[i].name);
    text_add(script, "\n");
}

static bool figure_splits(const char *path, const struct plan *plan, struct error *err)
{
    struct text script = {0};
    char title[256];
    bool ok = gnuplot_set_terminal(path, WIDTH, FRAME_HEIGHT + SPLIT_HEIGHT * (plan->alternative_count + 1),
                                   figure_screen.points, &script, err);
    if (ok) {
        write_title(plan, title, sizeof title);
        text_add(&script, "set xlabel 'seconds of an iteration'\nset border 3\nset tics nomirror out\n"
                          "set key above horizontal maxcols 4 samplen 1\nset title ");
        gnuplot_add_string(&script, title);
        text_add(&script, "\n");
        add_split_rows(plan, &script);
        ok = gnuplot_run(path, &script, err);
    }
    text_release(&script);
    return ok;
}

bool figure_plan(const char *path, const struct plan *plan, struct error *err)
{
    return plan->alternative_count > 0 ? figure_splits(path, plan, err) : figure_stages(path, plan, err);
}
