/* The stages of the pipelines of a plan. */
#include "core/json.h"
#include "plan/plan.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIPELINES 50 /* pipelines with a table of stages */

/* What a device does for one micro-batch, all chunks of its stage together; neighbours that differ in memory alone
 * share a row, as in the table of `plan`. */
struct stage_row {
    struct plan_stage stage; /* of the first chunk; seconds of all */
    int first, last, layers;
    double least; /* bytes of the emptiest device */
};

/* Devices of a pipeline: chunks share them. */
static int count_places(const struct plan *plan, const struct plan_pipeline *pipeline)
{
    bool shared = plan->chunks > 1 && pipeline->stage_count % plan->chunks == 0;
    return shared ? pipeline->stage_count / plan->chunks : pipeline->stage_count;
}

static struct stage_row row_of(const struct plan *plan, const struct plan_pipeline *pipeline, int place)
{
    const struct plan_stage *stages = pipeline->stages;
    struct stage_row row = {stages[place], place, place, 0, stages[place].bytes.total};
    bool shared = count_places(plan, pipeline) < pipeline->stage_count;
    for (int s = place; s < pipeline->stage_count;
         s = shared ? plan_next_chunk(plan, pipeline, s) : pipeline->stage_count) {
        const struct plan_seconds *from = &stages[s].seconds;
        struct plan_seconds *to = &row.stage.seconds;
        row.layers += stages[s].layers.last - stages[s].layers.first + 1;
        if (s == place)
            continue;
        to->forward += from->forward;
        to->backward += from->backward;
        to->recompute += from->recompute;
        to->collectives += from->collectives;
        to->send += from->send;
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
    *row = row_of(plan, pipeline, place);
    for (int next = place + 1; next < count_places(plan, pipeline); next++) {
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

/* A number that tells something; of one that does not there is no cell, and of a column without cells no column. */
static void tell(struct json *json, const char *key, double value, double above)
{
    if (value > above)
        json_number(json, key, value);
}

static void write_seconds(struct json *json, const struct plan_stage *stage)
{
    const struct plan_seconds *seconds = &stage->seconds;
    tell(json, "forward", seconds->forward, -1);
    tell(json, "backward", seconds->backward, -1);
    tell(json, "recompute", seconds->recompute, 0);
    tell(json, "collectives", seconds->collectives, 0);
    tell(json, "send", seconds->send, 0);
}

static void write_row(const struct plan *plan, const struct stage_row *row, struct json *json)
{
    const struct plan_stage *stage = &row->stage;
    const struct plan_device_type *type = &plan->types[stage->type];
    const struct layer_range *layers = &stage->layers;
    char text[64];
    json_open_flat(json, NULL, '{');
    snprintf(text, sizeof text, row->last > row->first ? "%d-%d" : "%d", row->first, row->last);
    json_string(json, "stages", text);
    json_open_flat(json, "seconds", '{');
    write_seconds(json, stage);
    json_close(json);
    if (plan->chunks > 1 || row->layers == 0)
        snprintf(text, sizeof text, row->last > row->first ? "%d each" : "%d", row->layers);
    else
        snprintf(text, sizeof text, layers->first < layers->last ? "%d\u2013%d" : "%d", layers->first,
                 layers->last);
    json_string(json, "layers", text);
    if (plan->type_count > 1)
        json_string(json, "device_type", type->name);
    if (plan->type_count > 1 || !plan_is_of_job(plan)) { /* one split is told before */
        tell(json, "tensor", stage->degrees.tensor, 1);
        tell(json, "context", stage->degrees.context, 1);
        tell(json, "expert", stage->degrees.expert, 1);
        tell(json, "data", stage->degrees.data, 1);
    }
    write_seconds(json, stage);
    tell(json, "together", plan_stage_seconds(stage), 0);
    tell(json, "all-reduce", stage->seconds.gradients, -1);
    tell(json, "optimizer", stage->seconds.optimizer, -1);
    tell(json, "memory", stage->bytes.total, -1);
    tell(json, "least_memory", row->least < stage->bytes.total ? row->least : NAN, -1);
    tell(json, "limit_share", type->nodes.memory > 0 ? stage->bytes.total / (double)type->nodes.memory : NAN,
         -1);
    json_close(json);
}

static void add_stages(const struct plan *plan, const struct plan_pipeline *pipeline, struct text *out)
{
    struct text rows = {0};
    struct json json = {.out = &rows};
    struct stage_row row;
    struct error err;
    struct doc doc;
    json_open(&json, NULL, '[');
    for (int place = 0; place < count_places(plan, pipeline);) {
        place = take_row(plan, pipeline, place, &row);
        write_row(plan, &row, &json);
    }
    json_close(&json);
    bool ok = !rows.failed && doc_parse(&doc, DOC_JSON, "stages", rows.data, rows.length, &err);
    if (ok) {
        report_rows(out, NULL, doc.root);
        doc_release(&doc);
    }
    out->failed |= !ok;
    text_release(&rows);
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
