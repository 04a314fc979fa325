/* The table of stages of each pipeline of a plan. */
#include "report/plan_stages.h"

#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIPELINES 50 /* pipelines with a table of stages */

/* A column that no stage of a pipeline fills is not there. */
enum stage_column {
    STAGE,
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

static const char *const titles[STAGE_COLUMNS] = {
    [STAGE] = "<stage",
    [LAYERS] = "<layers",
    [CHUNK] = ">chunk",
    [TYPE] = "<device type",
    [TENSOR] = ">tensor",
    [CONTEXT] = ">context",
    [EXPERT] = ">expert",
    [DATA] = ">data",
    [DEVICES] = ">devices",
    [FORWARD] = ">forward",
    [BACKWARD] = ">backward",
    [RECOMPUTE] = ">recompute",
    [COLLECTIVES] = ">collectives",
    [SEND] = ">send",
    [SECONDS] = ">together",
    [BAR] = "<of the slowest stage",
    [GRADIENTS] = ">all-reduce",
    [OPTIMIZER] = ">optimizer",
    [MEMORY] = ">memory of a device",
    [LIMIT] = ">of the limit",
};

/* The cells of one stage, with room for their texts and the parts of the bar. */
struct stage_row {
    struct html_cell cells[STAGE_COLUMNS];
    char name[16], layers[64];
    struct html_part parts[5];
};

static void fill_row(struct stage_row *row, const struct plan *plan, const struct plan_pipeline *pipeline,
                     int s, double slowest)
{
    const struct plan_stage *stage = &pipeline->stages[s];
    const struct plan_device_type *type = &plan->types[stage->type];
    const struct plan_seconds *seconds = &stage->seconds;
    double all = plan_stage_seconds(stage), memory = (double)type->memory;
    const struct html_part parts[5] = {
        {"forward", seconds->forward, figure_colour(0)},
        {"backward", seconds->backward, figure_colour_light(0)},
        {"recompute", seconds->recompute, figure_colour(1)},
        {"collectives", seconds->collectives, figure_colour(4)},
        {"send", seconds->send, figure_colour(3)},
    };
    memcpy(row->parts, parts, sizeof parts);
    snprintf(row->name, sizeof row->name, "%d", s);
    if (stage->first_layer > stage->last_layer)
        snprintf(row->layers, sizeof row->layers, "none");
    else if (stage->first_layer == stage->last_layer)
        snprintf(row->layers, sizeof row->layers, "%d", stage->first_layer);
    else
        snprintf(row->layers, sizeof row->layers, "%d\u2013%d", stage->first_layer, stage->last_layer);
    const struct html_cell cells[STAGE_COLUMNS] = {
        [STAGE] = cell_head(row->name),
        [LAYERS] = cell_text(row->layers),
        [CHUNK] = cell_number(HTML_COUNT, stage->chunk),
        [TYPE] = cell_text(type->name),
        [TENSOR] = cell_number(HTML_COUNT, stage->tensor),
        [CONTEXT] = cell_number(HTML_COUNT, stage->context),
        [EXPERT] = cell_number(HTML_COUNT, stage->expert),
        [DATA] = cell_number(HTML_COUNT, stage->data),
        [DEVICES] = cell_number(HTML_COUNT, plan_stage_devices(stage)),
        [FORWARD] = cell_number(HTML_TIME, seconds->forward),
        [BACKWARD] = cell_number(HTML_TIME, seconds->backward),
        [RECOMPUTE] = cell_number(HTML_TIME, seconds->recompute),
        [COLLECTIVES] = cell_number(HTML_TIME, seconds->collectives),
        [SEND] = cell_number(HTML_TIME, seconds->send),
        [SECONDS] = cell_number(HTML_TIME, all > 0 ? all : NAN),
        [BAR] = cell_bars(row->parts, 5, slowest),
        [GRADIENTS] = cell_number(HTML_TIME, seconds->gradients),
        [OPTIMIZER] = cell_number(HTML_TIME, seconds->optimizer),
        [MEMORY] = cell_number(HTML_BYTES, stage->bytes.total),
        [LIMIT] = cell_number(HTML_SHARE, memory > 0 ? stage->bytes.total / memory : NAN),
    };
    memcpy(row->cells, cells, sizeof cells);
}

/* Whether a cell has anything to tell: degrees from 2 on, transfers and chunks from above 0. */
static bool is_telling(const struct html_cell *cell, int column)
{
    if (column >= TENSOR && column <= DATA)
        return cell->number > 1;
    if (column == CHUNK || (column >= RECOMPUTE && column <= SEND) || column == BAR)
        return cell->number > 0;
    return cell->text || isfinite(cell->number);
}

static void add_stages(const struct plan *plan, const struct plan_pipeline *pipeline, struct text *out)
{
    const char *shown[STAGE_COLUMNS + 1] = {NULL};
    bool telling[STAGE_COLUMNS] = {false};
    struct stage_row row;
    double slowest = 0;
    int count = 0;
    for (int s = 0; s < pipeline->stage_count; s++)
        slowest = fmax(slowest, plan_stage_seconds(&pipeline->stages[s]));
    for (int s = 0; s < pipeline->stage_count; s++) {
        fill_row(&row, plan, pipeline, s, slowest);
        for (int c = 0; c < STAGE_COLUMNS; c++)
            telling[c] |= is_telling(&row.cells[c], c);
    }
    for (int c = 0; c < STAGE_COLUMNS; c++)
        if (telling[c])
            shown[count++] = titles[c];
    html_table(out, NULL, shown);
    for (int s = 0; s < pipeline->stage_count && s < REPORT_MAX_ROWS; s++) {
        struct html_cell cells[STAGE_COLUMNS + 1] = {0};
        count = 0;
        fill_row(&row, plan, pipeline, s, slowest);
        for (int c = 0; c < STAGE_COLUMNS; c++)
            if (telling[c])
                cells[count++] = row.cells[c];
        html_row(out, cells);
    }
    html_table_end(out);
    report_more(out, pipeline->stage_count, REPORT_MAX_ROWS, "stages");
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
    report_more(out, plan->pipeline_count, MAX_PIPELINES, "kinds of pipelines");
}
