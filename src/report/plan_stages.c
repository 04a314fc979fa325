/* The table of stages of each pipeline of a plan. */
#include "report/plan_stages.h"

#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIPELINES 50 /* pipelines with a table of stages */

#define STAGE_COLUMNS 20
#define ANY           (-INFINITY)

/* The cells of one stage, with room for their texts and the parts of the bar. A column is there if a stage of the pipeline has a number above
 * `least`: degrees from 2 on, transfers and chunks above 0. */
struct stage_row {
    struct stage_cell {
        const char *title;
        double least;
        struct html_cell cell;
    } cells[STAGE_COLUMNS];
    char name[16], layers[64];
    struct html_part parts[5];
};

static void fill_row(struct stage_row *row, const struct plan *plan, const struct plan_pipeline *pipeline,
                     int s, double slowest)
{
    const struct plan_stage *stage = &pipeline->stages[s];
    const struct plan_device_type *type = &plan->types[stage->type];
    const struct plan_seconds *seconds = &stage->seconds;
    double all = plan_stage_seconds(stage), memory = (double)type->nodes.memory;
    const struct html_part parts[5] = {
        {"forward", seconds->forward, figure_colour(0)},
        {"backward", seconds->backward, figure_colour_light(0)},
        {"recompute", seconds->recompute, figure_colour(1)},
        {"collectives", seconds->collectives, figure_colour(4)},
        {"send", seconds->send, figure_colour(3)},
    };
    memcpy(row->parts, parts, sizeof parts);
    snprintf(row->name, sizeof row->name, "%d", s);
    if (stage->layers.first > stage->layers.last)
        snprintf(row->layers, sizeof row->layers, "none");
    else if (stage->layers.first == stage->layers.last)
        snprintf(row->layers, sizeof row->layers, "%d", stage->layers.first);
    else
        snprintf(row->layers, sizeof row->layers, "%d\u2013%d", stage->layers.first, stage->layers.last);
    const struct stage_cell cells[STAGE_COLUMNS] = {
        {"<stage", ANY, cell_head(row->name)},
        {"<layers", ANY, cell_text(row->layers)},
        {">chunk", 0, cell_number(HTML_COUNT, stage->chunk)},
        {"<device type", ANY, cell_text(type->name)},
        {">tensor", 1, cell_number(HTML_COUNT, stage->degrees.tensor)},
        {">context", 1, cell_number(HTML_COUNT, stage->degrees.context)},
        {">expert", 1, cell_number(HTML_COUNT, stage->degrees.expert)},
        {">data", 1, cell_number(HTML_COUNT, stage->degrees.data)},
        {">devices", ANY, cell_number(HTML_COUNT, plan_stage_devices(stage))},
        {">forward", ANY, cell_number(HTML_TIME, seconds->forward)},
        {">backward", ANY, cell_number(HTML_TIME, seconds->backward)},
        {">recompute", 0, cell_number(HTML_TIME, seconds->recompute)},
        {">collectives", 0, cell_number(HTML_TIME, seconds->collectives)},
        {">send", 0, cell_number(HTML_TIME, seconds->send)},
        {">together", ANY, cell_number(HTML_TIME, all > 0 ? all : NAN)},
        {"<of the slowest stage", 0, cell_bars(row->parts, 5, slowest)},
        {">all-reduce", ANY, cell_number(HTML_TIME, seconds->gradients)},
        {">optimizer", ANY, cell_number(HTML_TIME, seconds->optimizer)},
        {">memory of a device", ANY, cell_number(HTML_BYTES, stage->bytes.total)},
        {">of the limit", ANY, cell_number(HTML_SHARE, memory > 0 ? stage->bytes.total / memory : NAN)},
    };
    memcpy(row->cells, cells, sizeof cells);
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
            telling[c] |= row.cells[c].cell.number > row.cells[c].least;
    }
    for (int c = 0; c < STAGE_COLUMNS; c++)
        if (telling[c])
            shown[count++] = row.cells[c].title;
    html_table(out, NULL, shown);
    for (int s = 0; s < pipeline->stage_count && s < REPORT_MAX_ROWS; s++) {
        struct html_cell cells[STAGE_COLUMNS + 1] = {0};
        count = 0;
        fill_row(&row, plan, pipeline, s, slowest);
        for (int c = 0; c < STAGE_COLUMNS; c++)
            if (telling[c])
                cells[count++] = row.cells[c].cell;
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
