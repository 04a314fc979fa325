/* The stages of the pipelines of a plan. */
#include "figure/style.h"
#include "plan/plan.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIPELINES 50 /* pipelines with a table of stages */
#define STAGE_COLUMNS 19
#define ANY           (-INFINITY)

/* What a device does for one micro-batch, all chunks of its stage together; neighbours that differ in memory alone
 * share a row, as in the table of `plan`. */
struct stage_row {
    struct plan_stage stage; /* of the first chunk; seconds of all */
    int first, last, layers;
    double least; /* bytes of the emptiest device */
};

/* The cells of a row, with room for their texts and the parts of the bar. A column is there if a row has a number above
 * `least`: degrees from 2 on, transfers above 0. */
struct stage_cells {
    struct stage_cell {
        const char *title;
        double least;
        struct html_cell cell;
    } cells[STAGE_COLUMNS];
    char name[32], layers[64];
    struct html_part parts[5];
};

static double *seconds_of(struct plan_stage *stage, int i)
{
    struct plan_seconds *seconds = &stage->seconds;
    double *const all[] = {&seconds->forward, &seconds->backward,  &seconds->recompute, &seconds->collectives,
                           &seconds->send,    &seconds->gradients, &seconds->optimizer};
    return i < 7 ? all[i] : NULL;
}

/* Devices of a pipeline: chunks share them. */
static int count_places(const struct plan *plan, const struct plan_pipeline *pipeline)
{
    bool shared = plan->chunks > 1 && pipeline->stage_count % plan->chunks == 0;
    return shared ? pipeline->stage_count / plan->chunks : pipeline->stage_count;
}

static struct stage_row row_of(const struct plan *plan, const struct plan_pipeline *pipeline, int place)
{
    struct plan_stage *stages = pipeline->stages;
    struct stage_row row = {stages[place], place, place, 0, stages[place].bytes.total};
    bool shared = count_places(plan, pipeline) < pipeline->stage_count;
    for (int s = place; s < pipeline->stage_count;
         s = shared ? plan_next_chunk(plan, pipeline, s) : pipeline->stage_count) {
        row.layers += stages[s].layers.last - stages[s].layers.first + 1;
        for (int i = 0; s > place && seconds_of(&row.stage, i); i++)
            *seconds_of(&row.stage, i) += *seconds_of(&stages[s], i);
    }
    return row;
}

static bool rows_alike(const struct stage_row *a, const struct stage_row *b)
{
    double one = plan_stage_seconds(&a->stage), other = plan_stage_seconds(&b->stage);
    return a->stage.type == b->stage.type && a->layers == b->layers &&
           degrees_are_equal(&a->stage.degrees, &b->stage.degrees) && fabs(other - one) <= 1e-9 * one;
}

/* Takes the row at a place, and those after it that are like it. Returns the place after them. */
static int take_row(const struct plan *plan, const struct plan_pipeline *pipeline, int place,
                    struct stage_row *row)
{
    int places = count_places(plan, pipeline);
    *row = row_of(plan, pipeline, place);
    for (int next = place + 1; next < places; next++) {
        const struct stage_row other = row_of(plan, pipeline, next);
        if (!rows_alike(row, &other))
            break;
        row->last = next;
        row->stage.layers.last = other.stage.layers.last;
        row->stage.bytes.total = fmax(row->stage.bytes.total, other.least);
        row->least = fmin(row->least, other.least);
    }
    return row->last + 1;
}

static void fill_cells(struct stage_cells *to, const struct plan *plan, const struct stage_row *row,
                       double slowest)
{
    const struct plan_stage *stage = &row->stage;
    const struct plan_device_type *type = &plan->types[stage->type];
    const struct plan_seconds *seconds = &stage->seconds;
    double all = plan_stage_seconds(stage), memory = (double)type->nodes.memory;
    double degree =
        plan_is_of_job(plan) && plan->type_count == 1 ? INFINITY : 1; /* one split: it is told before */
    const struct html_part parts[5] = {
        {"forward", seconds->forward, figure_colour(0)},
        {"backward", seconds->backward, figure_colour_light(0)},
        {"recompute", seconds->recompute, figure_colour(1)},
        {"collectives", seconds->collectives, figure_colour(4)},
        {"send", seconds->send, figure_colour(3)},
    };
    memcpy(to->parts, parts, sizeof parts);
    snprintf(to->name, sizeof to->name, row->last > row->first ? "%d-%d" : "%d", row->first, row->last);
    if (row->layers == 0)
        snprintf(to->layers, sizeof to->layers, "none");
    else if (plan->chunks > 1)
        snprintf(to->layers, sizeof to->layers, "%d%s", row->layers, row->last > row->first ? " each" : "");
    else if (stage->layers.first == stage->layers.last)
        snprintf(to->layers, sizeof to->layers, "%d", stage->layers.first);
    else
        snprintf(to->layers, sizeof to->layers, "%d\u2013%d", stage->layers.first, stage->layers.last);
    const struct stage_cell cells[STAGE_COLUMNS] = {
        {"<stages", ANY, cell_head(to->name)},
        {"<of the slowest", 0, cell_bars(to->parts, 5, slowest)},
        {"<layers", ANY, cell_text(to->layers)},
        {"<device type", plan->type_count > 1 ? ANY : INFINITY, cell_text(type->name)},
        {">tensor", degree, cell_number(HTML_COUNT, stage->degrees.tensor)},
        {">context", degree, cell_number(HTML_COUNT, stage->degrees.context)},
        {">expert", degree, cell_number(HTML_COUNT, stage->degrees.expert)},
        {">data", degree, cell_number(HTML_COUNT, stage->degrees.data)},
        {">forward", ANY, cell_number(HTML_TIME, seconds->forward)},
        {">backward", ANY, cell_number(HTML_TIME, seconds->backward)},
        {">recompute", 0, cell_number(HTML_TIME, seconds->recompute)},
        {">collectives", 0, cell_number(HTML_TIME, seconds->collectives)},
        {">send", 0, cell_number(HTML_TIME, seconds->send)},
        {">together", ANY, cell_number(HTML_TIME, all > 0 ? all : NAN)},
        {">all-reduce", ANY, cell_number(HTML_TIME, seconds->gradients)},
        {">optimizer", ANY, cell_number(HTML_TIME, seconds->optimizer)},
        {">memory of a device", ANY, cell_number(HTML_BYTES, stage->bytes.total)},
        {">to", ANY, cell_number(HTML_BYTES, row->least < stage->bytes.total ? row->least : NAN)},
        {">of its limit", ANY, cell_number(HTML_SHARE, memory > 0 ? stage->bytes.total / memory : NAN)},
    };
    memcpy(to->cells, cells, sizeof cells);
}

static void add_stages(const struct plan *plan, const struct plan_pipeline *pipeline, struct text *out)
{
    const char *shown[STAGE_COLUMNS + 1] = {NULL};
    bool telling[STAGE_COLUMNS] = {false};
    int places = count_places(plan, pipeline), count = 0, rows = 0;
    struct stage_cells made;
    struct stage_row row;
    double slowest = 0;
    for (int place = 0; place < places;) {
        place = take_row(plan, pipeline, place, &row);
        slowest = fmax(slowest, plan_stage_seconds(&row.stage));
        fill_cells(&made, plan, &row, 1);
        for (int c = 0; c < STAGE_COLUMNS; c++)
            telling[c] |= made.cells[c].cell.number > made.cells[c].least;
    }
    for (int c = 0; c < STAGE_COLUMNS; c++)
        if (telling[c])
            shown[count++] = made.cells[c].title;
    html_table(out, NULL, shown);
    for (int place = 0; place < places && rows < REPORT_MAX_ROWS; rows++) {
        struct html_cell cells[STAGE_COLUMNS + 1] = {0};
        place = take_row(plan, pipeline, place, &row);
        fill_cells(&made, plan, &row, slowest);
        count = 0;
        for (int c = 0; c < STAGE_COLUMNS; c++)
            if (telling[c])
                cells[count++] = made.cells[c].cell;
        html_row(out, cells);
    }
    html_table_end(out);
    report_more(out, places, row.last + 1, "stages");
}

/* Adds a table of the stages of each pipeline: a column for all that one of them has. */
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
