#include "figure/plan.h"

#include "core/arena.h"
#include "core/unit.h"
#include "figure/gnuplot.h"
#include "figure/style.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW_HEIGHT   26
#define FRAME_HEIGHT 140
#define MAX_HEIGHT   1600 /* of all rows, pixels: more rows get thinner bars, and not every one a label */

/* Rows of bars from the top of the plot down. */
struct rows {
    double height; /* of one, pixels */
    int count;
    int step; /* each so-manieth has a label */
};

static struct rows rows_of(int count, const struct figure_style *style)
{
    struct rows rows = {.height = fmin(ROW_HEIGHT, (double)MAX_HEIGHT / count), .count = count};
    rows.step = (int)ceil(figure_line_height(style) / rows.height);
    return rows;
}

/* What the colours stand for. */
struct key {
    int count;      /* of names */
    size_t longest; /* characters */
};

static void count_name(struct key *key, const char *name)
{
    size_t length = strlen(name);
    key->count++;
    key->longest = length > key->longest ? length : key->longest;
}

/* Names beside each other: gnuplot leaves out those for which there is no room. Half of the width belongs to labels. */
static int key_columns(const struct key *key, const struct figure_style *style)
{
    double name = ((double)key->longest + 4) * 0.5 * figure_line_height(style);
    double columns = floor(0.5 * style->width / name);
    return (int)fmin(fmax(columns, 1), 4);
}

/* The terminal, and all but the rows. */
static bool begin(const char *path, const struct rows *rows, const struct figure_plan_options *options,
                  const struct key *key, const char *title, const char *axis, struct text *script,
                  struct error *err)
{
    int columns = key_columns(key, options->style), lines = (key->count + columns - 1) / columns;
    double more = options->style->legends && lines > 2 ? (lines - 2) * figure_line_height(options->style) : 0;
    int height = FRAME_HEIGHT + (int)ceil(rows->height * rows->count + more);
    if (!gnuplot_set_terminal(path, options->style->width, height, options->style->points, script, err))
        return false;
    text_add(script, "set xlabel ");
    gnuplot_add_string(script, axis);
    text_format(script,
                "\nset border 3\nset tics nomirror out\n"
                "set key outside above horizontal maxcols %d left Left reverse samplen 1\n",
                columns);
    if (options->style->legends) {
        text_add(script, "set title ");
        gnuplot_add_string(script, options->title ? options->title : title);
        text_add(script, "\n");
    }
    return true;
}

/* The mark of a row, where it has one; the first one begins the list. */
static void add_row(const struct rows *rows, int row, const char *label, struct text *script)
{
    if (row % rows->step != 0)
        return;
    text_add(script, row ? ", " : "set ytics (");
    gnuplot_add_tic(script, label, row);
}

/* y axis: the first row on top. */
static void end_rows(const struct rows *rows, struct text *script)
{
    text_format(script, ")\nset yrange [%d.7:-0.7]\n", rows->count - 1);
}

/* Bars of which there are many have no gaps between them, which would be all that is seen. */
static void plot_bars(const struct rows *rows, struct text *script)
{
    double half = rows->height < 6 ? 0.5 : 0.38;
    text_format(script,
                "plot $bars using 1:3:1:2:($3-%.2f):($3+%.2f):4 with boxxyerror fillstyle solid noborder "
                "linecolor rgb variable notitle",
                half, half);
}

static void add_key(const char *colour, const char *name, struct text *script)
{
    text_format(script, ", NaN with boxes fillstyle solid noborder linecolor rgb '%s' title ", colour);
    gnuplot_add_string(script, name);
}

/* ---- stages ---- */

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

static bool draw_stages(const char *path, const struct figure_stages *stages,
                        const struct figure_plan_options *options, struct error *err)
{
    struct text script = {0};
    double slowest = slowest_of(stages);
    struct rows rows = rows_of(stages->count, options->style);
    struct key key = {0};
    for (int i = 0; i < stages->kind_count; i++)
        if (stages->kinds[i])
            count_name(&key, stages->kinds[i]);
    bool ok = begin(path, &rows, options, &key, stages->title,
                    "ms per micro-batch; dark: forward, light: the rest, dashed: the slowest", &script, err);
    if (ok) {
        for (int i = 0; i < stages->count; i++)
            add_row(&rows, i, stages->stages[i].label, &script);
        end_rows(&rows, &script);
        add_bars(stages, &script);
        text_format(&script,
                    "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 2 linecolor rgb '#444444' "
                    "front\nset xrange [0:%.9g]\n",
                    slowest, slowest, 1.04 * slowest);
        plot_bars(&rows, &script);
        for (int i = 0; i < stages->kind_count; i++)
            if (stages->kinds[i] && options->style->legends)
                add_key(figure_colour(i), stages->kinds[i], &script);
        text_add(&script, "\n");
        ok = gnuplot_run(path, &script, err);
    }
    text_release(&script);
    return ok;
}

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
    char copies[48] = "", layers[48];
    row.backward = plan_stage_seconds(stage) - row.forward;
    if (plan->pipeline_count > 1)
        snprintf(copies, sizeof copies, "pipeline %d: ", p);
    if (plan->pipelines[p].copies > 1)
        snprintf(copies + strlen(copies), sizeof copies - strlen(copies), "%d x ", plan->pipelines[p].copies);
    if (stage->first_layer == stage->last_layer)
        snprintf(layers, sizeof layers, "layer %d", stage->first_layer);
    else
        snprintf(layers, sizeof layers, "layers %d-%d", stage->first_layer, stage->last_layer);
    snprintf(row.label, sizeof row.label, "%s%d x %.60s, %s", copies, plan_stage_devices(stage),
             plan->types[stage->type].name, layers);
    return row;
}

static bool has_seconds(const struct plan *plan)
{
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (plan_stage_seconds(&plan->pipelines[p].stages[s]) > 0)
                return true;
    return false;
}

static bool figure_stages(const char *path, const struct plan *plan,
                          const struct figure_plan_options *options, struct error *err)
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
    ok = ok && draw_stages(path, &stages, options, err);
    arena_release(&arena);
    return ok;
}

/* ---- where an iteration goes, under each of several splits ---- */

/* Okabe and Ito's colours, told apart by all eyes. */
static const char *const part_colours[PLAN_MAX_PARTS] = {"#0072b2", "#cccccc", "#e69f00", "#56b4e9",
                                                         "#009e73", "#cc79a7", "#d55e00"};

static void add_split(const struct plan_alternative *split, int row, struct text *script)
{
    double from = 0;
    for (int i = 0; i < split->part_count; i++) {
        const char *colour = part_colours[i] ? part_colours[i] : "#000000";
        text_format(script, "%.9g %.9g %d.0 0x%s\n", from, from + fmax(0, split->parts[i].value), row,
                    colour + 1);
        from += split->parts[i].value > 0 ? split->parts[i].value : 0;
    }
}

/* The label says what training jobs can differ in; of other plans there is only this one. */
static void add_split_row(const struct plan *plan, const struct rows *rows, int row,
                          const struct plan_alternative *a, struct text *script)
{
    char label[128] = "this plan";
    if (a->microbatch > 0 && plan->pipeline_count == 1)
        snprintf(label, sizeof label, "tp %d cp %d ep %d pp %d dp %d, mbs %lld vp %d", a->tensor, a->context,
                 a->expert, a->pipeline, a->data, (long long)a->microbatch, a->chunks);
    add_row(rows, row, label, script);
}

static bool figure_splits(const char *path, const struct plan *plan,
                          const struct figure_plan_options *options, struct error *err)
{
    struct text script = {0}, bars = {0};
    const struct plan_alternative own = plan_as_alternative(plan);
    char title[256];
    int count = 1;
    for (int i = 0; i < plan->alternative_count; i++)
        count += !plan_in_front(plan, i);
    struct rows rows = rows_of(count, options->style);
    write_title(plan, title, sizeof title);
    struct key key = {0};
    for (int i = 0; i < plan->part_count; i++)
        count_name(&key, plan->parts[i].name);
    bool ok = begin(path, &rows, options, &key, title, "seconds of an iteration", &script, err);
    if (ok) {
        add_split_row(plan, &rows, 0, &own, &script);
        add_split(&own, 0, &bars);
        for (int i = 0, row = 1; i < plan->alternative_count; i++)
            if (!plan_in_front(plan, i)) {
                add_split_row(plan, &rows, row, &plan->alternatives[i], &script);
                add_split(&plan->alternatives[i], row++, &bars);
            }
        end_rows(&rows, &script);
        text_format(&script, "$bars << EOD\n%sEOD\nset xrange [0:*]\n", bars.data ? bars.data : "");
        plot_bars(&rows, &script);
        for (int i = 0; i < plan->part_count && part_colours[i] && options->style->legends; i++)
            add_key(part_colours[i], plan->parts[i].name, &script);
        text_add(&script, "\n");
        script.failed |= bars.failed;
        ok = gnuplot_run(path, &script, err);
    }
    text_release(&bars);
    text_release(&script);
    return ok;
}

const char *const figure_plan_kinds[] = {"auto", "stages", "iteration", NULL};

bool figure_plan(const char *path, const struct plan *plan, const struct figure_plan_options *options,
                 struct error *err)
{
    bool stages = has_seconds(plan), parts = plan->part_count > 0 && plan->iteration_time > 0;
    if (options->kind == FIGURE_PLAN_ITERATION ||
        (options->kind == FIGURE_PLAN_AUTO && parts && (plan->alternative_count > 0 || !stages)))
        return parts
                   ? figure_splits(path, plan, options, err)
                   : error_set(err, ERROR_INPUT,
                               "%s: the plan does not say where its iteration goes: there is nothing to draw",
                               plan->path ? plan->path : "the plan");
    return stages ? figure_stages(path, plan, options, err)
                  : error_set(err, ERROR_INPUT,
                              "%s: the plan does not say how long its stages take: there is nothing to draw",
                              plan->path ? plan->path : "the plan");
}
