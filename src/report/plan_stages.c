/* The table of stages of each pipeline of a plan. */
#include "report/plan_stages.h"

#include "figure/style.h"
#include "report/html.h"

#include <math.h>
#include <stdio.h>

#define MAX_ROWS      200 /* of a table of stages */
#define MAX_PIPELINES 50  /* whose stages are shown */

/* A column that no stage of a pipeline fills is not there. */
enum stage_column {
    LAYERS,
    CHUNK,
    TYPE,
    TENSOR,
    CONTEXT,
    EXPERT,
    DATA,
    DEVICES,
    FORWARD,
    BACKWARD,
    RECOMPUTE,
    COLLECTIVES,
    SEND,
    SECONDS,
    BAR,
    GRADIENTS,
    OPTIMIZER,
    MEMORY,
    LIMIT,
    STAGE_COLUMNS
};

static const struct {
    const char *title;
    enum unit_kind unit;
    int digits; /* 0: a whole number, or no number */
} columns[STAGE_COLUMNS] = {
    [LAYERS] = {"<layers", 0, 0},
    [CHUNK] = {">chunk", 0, 0},
    [TYPE] = {"<device type", 0, 0},
    [TENSOR] = {">tensor", 0, 0},
    [CONTEXT] = {">context", 0, 0},
    [EXPERT] = {">expert", 0, 0},
    [DATA] = {">data", 0, 0},
    [DEVICES] = {">devices", 0, 0},
    [FORWARD] = {">forward", UNIT_TIME, 4},
    [BACKWARD] = {">backward", UNIT_TIME, 4},
    [RECOMPUTE] = {">recompute", UNIT_TIME, 4},
    [COLLECTIVES] = {">collectives", UNIT_TIME, 4},
    [SEND] = {">send", UNIT_TIME, 4},
    [SECONDS] = {">together", UNIT_TIME, 4},
    [BAR] = {"<of the slowest stage", 0, 0},
    [GRADIENTS] = {">all-reduce", UNIT_TIME, 4},
    [OPTIMIZER] = {">optimizer", UNIT_TIME, 4},
    [MEMORY] = {">memory of a device", UNIT_BYTES, 3},
    [LIMIT] = {">of the limit", 0, 0},
};

/* The number in a column of numbers; NAN: there is none. */
static double stage_value(const struct plan *plan, const struct plan_stage *stage, enum stage_column column)
{
    const struct plan_device_type *type = &plan->types[stage->type];
    const double values[STAGE_COLUMNS] = {
        [LAYERS] = NAN,
        [CHUNK] = stage->chunk,
        [TYPE] = NAN,
        [TENSOR] = stage->tensor,
        [CONTEXT] = stage->context,
        [EXPERT] = stage->expert,
        [DATA] = stage->data,
        [DEVICES] = plan_stage_devices(stage),
        [FORWARD] = stage->seconds.forward,
        [BACKWARD] = stage->seconds.backward,
        [RECOMPUTE] = stage->seconds.recompute,
        [COLLECTIVES] = stage->seconds.collectives,
        [SEND] = stage->seconds.send,
        [SECONDS] = plan_stage_seconds(stage) > 0 ? plan_stage_seconds(stage) : NAN,
        [BAR] = NAN,
        [GRADIENTS] = stage->seconds.gradients,
        [OPTIMIZER] = stage->seconds.optimizer,
        [MEMORY] = stage->bytes.total,
        [LIMIT] = type->memory > 0 ? stage->bytes.total / (double)type->memory : NAN,
    };
    return values[column];
}

static bool has_column(const struct plan *plan, const struct plan_pipeline *pipeline,
                       enum stage_column column)
{
    bool is_degree = column >= TENSOR && column <= DATA;
    bool is_transfer = column >= RECOMPUTE && column <= SEND;
    if (column == LAYERS || column == TYPE)
        return true;
    if (column == BAR)
        column = SECONDS;
    for (int s = 0; s < pipeline->stage_count; s++) {
        double value = stage_value(plan, &pipeline->stages[s], column);
        if (is_degree ? value > 1 : column == CHUNK || is_transfer ? value > 0 : isfinite(value))
            return true;
    }
    return false;
}

/* Forward, the rest of what is computed, and what is sent. */
static void add_stage_bar(const struct plan_stage *stage, double slowest, struct text *out)
{
    const struct plan_seconds *s = &stage->seconds;
    struct html_part parts[] = {
        {"forward", s->forward, figure_colour(0)},     {"backward", s->backward, figure_colour_light(0)},
        {"recompute", s->recompute, figure_colour(1)}, {"collectives", s->collectives, figure_colour(4)},
        {"send", s->send, figure_colour(3)},
    };
    text_add(out, "<td class=\"bars\">");
    html_bar(out, parts, 5, slowest);
    text_add(out, "</td>");
}

static void add_stage_cell(const struct plan *plan, const struct plan_stage *stage, enum stage_column column,
                           double slowest, struct text *out)
{
    char layers[64];
    double value = stage_value(plan, stage, column);
    if (column == LAYERS) {
        snprintf(layers, sizeof layers, stage->first_layer == stage->last_layer ? "%d" : "%d\u2013%d",
                 stage->first_layer, stage->last_layer);
        html_cell(out, stage->last_layer < stage->first_layer ? "none" : layers);
    } else if (column == TYPE)
        html_cell(out, plan->types[stage->type].name);
    else if (column == BAR)
        add_stage_bar(stage, slowest, out);
    else if (column == LIMIT)
        html_share(out, value);
    else if (columns[column].digits > 0)
        html_quantity(out, value, columns[column].unit, columns[column].digits);
    else
        html_number(out, value, 0);
}

static void add_stages(const struct plan *plan, const struct plan_pipeline *pipeline, struct text *out)
{
    const char *titles[STAGE_COLUMNS + 2] = {"<stage"};
    bool shown[STAGE_COLUMNS];
    double slowest = 0;
    int count = 1;
    for (int c = 0; c < STAGE_COLUMNS; c++) {
        shown[c] = has_column(plan, pipeline, (enum stage_column)c);
        if (shown[c])
            titles[count++] = columns[c].title;
    }
    for (int s = 0; s < pipeline->stage_count; s++)
        slowest = fmax(slowest, plan_stage_seconds(&pipeline->stages[s]));
    html_table(out, NULL, titles);
    for (int s = 0; s < pipeline->stage_count && s < MAX_ROWS; s++) {
        char name[16];
        snprintf(name, sizeof name, "%d", s);
        html_row(out);
        html_row_head(out, name);
        for (int c = 0; c < STAGE_COLUMNS; c++)
            if (shown[c])
                add_stage_cell(plan, &pipeline->stages[s], (enum stage_column)c, slowest, out);
        html_row_end(out);
    }
    html_table_end(out);
    if (pipeline->stage_count > MAX_ROWS)
        html_element(out, "p", "soft", "And %d more stages in the file.", pipeline->stage_count - MAX_ROWS);
}

void report_pipelines(const struct plan *plan, struct text *out)
{
    for (int p = 0; p < plan->pipeline_count && p < MAX_PIPELINES; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        if (plan->pipeline_count > 1 || pipeline->copies > 1)
            html_element(out, "h4", NULL, "%d %s of %d stage%s, %lld micro-batches each", pipeline->copies,
                         pipeline->copies == 1 ? "pipeline" : "pipelines alike", pipeline->stage_count,
                         pipeline->stage_count == 1 ? "" : "s", (long long)pipeline->microbatches);
        add_stages(plan, pipeline, out);
    }
    if (plan->pipeline_count > MAX_PIPELINES)
        html_element(out, "p", "soft", "And %d more kinds of pipelines in the file.",
                     plan->pipeline_count - MAX_PIPELINES);
}
