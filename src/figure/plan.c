#include "figure/plan.h"

#include "core/arena.h"
#include "figure/gnuplot.h"
#include "figure/style.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW_HEIGHT   26
#define FRAME_HEIGHT 140
#define MAX_HEIGHT   1600 /* of all rows, pixels: more rows get thinner bars, and not all a label */

/* A row of stacked bars. */
struct row {
    char label[192];
    int part_count;
    struct {
        double seconds;
        const char *colour;
    } parts[PLAN_MAX_PARTS];
};

/* Rows of bars from the top of the plot down, and the meaning of the colours. */
struct chart {
    struct arena arena;
    const char *axis;
    char title[256];
    int count, key_count;
    struct row *rows;
    struct {
        const char *name, *colour;
    } keys[PLAN_MAX_TYPES];
    double line; /* a dashed line from top to bottom; 0: none */
};

static void add_part(struct row *row, double seconds, const char *colour)
{
    row->parts[row->part_count].seconds = seconds > 0 ? seconds : 0;
    row->parts[row->part_count++].colour = colour;
}

static void add_key(struct chart *chart, const char *name, const char *colour)
{
    chart->keys[chart->key_count].name = name;
    chart->keys[chart->key_count++].colour = colour;
}

/* Columns of the legend: gnuplot leaves out names without room. Half of the width belongs to labels. */
static int key_columns(const struct chart *chart, const struct figure_style *style)
{
    size_t longest = 0;
    for (int i = 0; i < chart->key_count; i++)
        longest = strlen(chart->keys[i].name) > longest ? strlen(chart->keys[i].name) : longest;
    double name = ((double)longest + 4) * 0.5 * figure_line_height(style);
    return (int)fmin(fmax(floor(0.5 * style->width / name), 1), 4);
}

/* Sets the terminal, the axes and the titles. */
static bool begin(const char *path, const struct chart *chart, double row_height,
                  const struct figure_plan_options *options, struct text *script, struct error *err)
{
    const struct figure_style *style = options->style;
    int columns = key_columns(chart, style), lines = (chart->key_count + columns - 1) / columns;
    double more = style->legends && lines > 2 ? (lines - 2) * figure_line_height(style) : 0;
    int height = FRAME_HEIGHT + (int)ceil(row_height * chart->count + more);
    if (!gnuplot_set_terminal(path, style->width, height, style->points, script, err))
        return false;
    text_add(script, "set xlabel ");
    gnuplot_add_string(script, chart->axis);
    text_format(script,
                "\nset border 3\nset tics nomirror out\n"
                "set key outside above horizontal maxcols %d left Left reverse samplen 1\n",
                columns);
    if (style->legends) {
        text_add(script, "set title ");
        gnuplot_add_string(script, options->title ? options->title : chart->title);
        text_add(script, "\n");
    }
    return true;
}

/* Data for boxxyerror: xlow xhigh ylow yhigh colour. A row of thin bars need not have a label. */
static void add_rows(const struct chart *chart, int step, struct text *script)
{
    for (int i = 0; i < chart->count; i += step) {
        text_add(script, i ? ", " : "set ytics (");
        gnuplot_add_tic(script, chart->rows[i].label, i);
    }
    text_format(script, ")\nset yrange [%d.7:-0.7]\n$bars << EOD\n", chart->count - 1);
    for (int i = 0; i < chart->count; i++) {
        const struct row *row = &chart->rows[i];
        double from = 0;
        for (int part = 0; part < row->part_count; part++) {
            double to = from + row->parts[part].seconds;
            text_format(script, "%.9g %.9g %d.0 0x%s\n", from, to, i, row->parts[part].colour + 1);
            from = to;
        }
    }
    text_add(script, "EOD\n");
}

static bool draw(const char *path, const struct chart *chart, const struct figure_plan_options *options,
                 struct error *err)
{
    struct text script = {0};
    double height = fmin(ROW_HEIGHT, (double)MAX_HEIGHT / chart->count);
    double half = height < 6 ? 0.5 : 0.38; /* gaps between many bars would be all that is seen */
    bool ok = begin(path, chart, height, options, &script, err);
    if (ok) {
        add_rows(chart, (int)ceil(figure_line_height(options->style) / height), &script);
        if (chart->line > 0)
            text_format(&script,
                        "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 2 linecolor rgb "
                        "'#444444' front\nset xrange [0:%.9g]\n",
                        chart->line, chart->line, 1.04 * chart->line);
        else
            text_add(&script, "set xrange [0:*]\n");
        text_format(&script,
                    "plot $bars using 1:3:1:2:($3-%.2f):($3+%.2f):4 with boxxyerror fillstyle solid noborder "
                    "linecolor rgb variable notitle",
                    half, half);
        for (int i = 0; i < chart->key_count && options->style->legends; i++) {
            text_format(&script, ", NaN with boxes fillstyle solid noborder linecolor rgb '%s' title ",
                        chart->keys[i].colour);
            gnuplot_add_string(&script, chart->keys[i].name);
        }
        text_add(&script, "\n");
        ok = gnuplot_run(path, &script, err);
    }
    text_release(&script);
    return ok;
}

/* ---- stages ---- */

static bool write_title(const struct plan *plan, char *line, size_t size)
{
    char proof[64] = "", model[96] = "";
    struct text time = {0};
    if (plan->proven_optimal)
        snprintf(proof, sizeof proof, ", proven optimal");
    else if (plan->lower_bound > 0)
        snprintf(proof, sizeof proof, ", at most %.2g %% from the optimum", 100 * plan_gap(plan));
    if (plan->model)
        snprintf(model, sizeof model, "%.80s, ", plan->model);
    plan_add_time(plan, 4, &time);
    bool ok = !time.failed;
    snprintf(line, size, "%siteration %s%s", model, ok ? time.data : "", proof);
    text_release(&time);
    return ok;
}

/* Device types of one name share a colour: the first one's. */
static int colour_of(const struct plan *plan, int type)
{
    for (int t = 0; t < type; t++)
        if (strcmp(plan->types[t].name, plan->types[type].name) == 0)
            return t;
    return type;
}

static void describe_stage(const struct plan *plan, int p, const struct plan_stage *stage, struct row *row)
{
    int colour = colour_of(plan, stage->type);
    double forward = isnan(stage->seconds.forward) ? 0 : stage->seconds.forward;
    char copies[48] = "", layers[48];
    add_part(row, 1e3 * forward, figure_colour(colour));
    add_part(row, 1e3 * (plan_stage_seconds(stage) - forward), figure_colour_light(colour));
    if (plan->pipeline_count > 1)
        snprintf(copies, sizeof copies, "pipeline %d: ", p);
    if (plan->pipelines[p].copies > 1)
        snprintf(copies + strlen(copies), sizeof copies - strlen(copies), "%d x ", plan->pipelines[p].copies);
    if (stage->layers.first == stage->layers.last)
        snprintf(layers, sizeof layers, "layer %d", stage->layers.first);
    else
        snprintf(layers, sizeof layers, "layers %d-%d", stage->layers.first, stage->layers.last);
    snprintf(row->label, sizeof row->label, "%s%d x %.60s, %s", copies, plan_stage_devices(stage),
             plan->types[stage->type].name, layers);
}

/* A row for each stage; false: out of memory. */
static bool chart_stages(const struct plan *plan, struct chart *chart)
{
    int count = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        count += plan->pipelines[p].stage_count;
    chart->axis = "ms per micro-batch; dark: forward, light: the rest, dashed: the slowest";
    chart->rows = ARENA_ARRAY(&chart->arena, (size_t)count + 1, struct row);
    for (int p = 0; chart->rows && p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            const struct plan_stage *stage = &plan->pipelines[p].stages[s];
            describe_stage(plan, p, stage, &chart->rows[chart->count++]);
            chart->line = fmax(chart->line, 1e3 * plan_stage_seconds(stage));
        }
    for (int t = 0; t < plan->type_count; t++)
        if (colour_of(plan, t) == t)
            add_key(chart, plan->types[t].name, figure_colour(t));
    return chart->rows;
}

static bool has_seconds(const struct plan *plan)
{
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (plan_stage_seconds(&plan->pipelines[p].stages[s]) > 0)
                return true;
    return false;
}

/* ---- the parts of an iteration, under each of several splits ---- */

/* Okabe and Ito's colours, told apart by all eyes; further parts are black. */
static const char *colour_of_part(int part)
{
    static const char *const colours[] = {"#0072b2", "#cccccc", "#e69f00", "#56b4e9",
                                          "#009e73", "#cc79a7", "#d55e00"};
    return part < (int)(sizeof colours / sizeof *colours) ? colours[part] : "#000000";
}

/* The label says in which ways training jobs can differ; other plans have no alternatives. */
static void describe_split(const struct plan *plan, const struct plan_alternative *split, struct row *row)
{
    snprintf(row->label, sizeof row->label, "this plan");
    if (split->microbatch > 0 && plan->pipeline_count == 1)
        snprintf(row->label, sizeof row->label, "tp %d cp %d ep %d pp %d dp %d, mbs %lld vp %d",
                 split->degrees.tensor, split->degrees.context, split->degrees.expert,
                 split->degrees.pipeline, split->degrees.data, (long long)split->microbatch, split->chunks);
    for (int i = 0; i < split->part_count; i++)
        add_part(row, split->parts[i].value, colour_of_part(i));
}

/* A row for this plan and for the best of each other split; false: out of memory. */
static bool chart_splits(const struct plan *plan, struct chart *chart)
{
    const struct plan_alternative own = plan_as_alternative(plan);
    chart->axis = plan_is_of_job(plan) ? "seconds of an iteration by formula" : "seconds of an iteration";
    chart->rows = ARENA_ARRAY(&chart->arena, (size_t)plan->alternative_count + 1, struct row);
    if (!chart->rows)
        return false;
    describe_split(plan, &own, &chart->rows[chart->count++]);
    for (int i = 0; i < plan->alternative_count; i++)
        if (!plan_in_front(plan, i))
            describe_split(plan, &plan->alternatives[i], &chart->rows[chart->count++]);
    for (int i = 0; i < plan->part_count; i++)
        add_key(chart, plan->parts[i].name, colour_of_part(i));
    return true;
}

const char *const figure_plan_kinds[] = {"auto", "stages", "iteration", NULL};

bool figure_plan(const char *path, const struct plan *plan, const struct figure_plan_options *options,
                 struct error *err)
{
    struct chart chart = {0};
    bool stages = has_seconds(plan), parts = plan->part_count > 0 && plan->iteration_time > 0;
    bool iteration = options->kind == FIGURE_PLAN_ITERATION ||
                     (options->kind == FIGURE_PLAN_AUTO && parts && (plan->alternative_count > 0 || !stages));
    if (iteration ? !parts : !stages)
        return error_set(err, ERROR_INPUT, "%s: the plan has no %s: nothing to draw",
                         plan->path ? plan->path : "the plan",
                         iteration ? "breakdown of its iteration" : "stage times");
    bool ok = write_title(plan, chart.title, sizeof chart.title) &&
                      (iteration ? chart_splits : chart_stages)(plan, &chart)
                  ? draw(path, &chart, options, err)
                  : error_memory(err);
    arena_release(&chart.arena);
    return ok;
}
