#include "plan/plan_fields.h"

static void write_fields(struct json *json, enum plan_map map, const void *of)
{
    size_t count;
    const struct field *fields = plan_fields_of(map, &count);
    fields_write(of, fields, count, json);
}

static void write_map(struct json *json, const char *key, enum plan_map map, const void *of)
{
    json_open_flat(json, key, '{');
    write_fields(json, map, of);
    json_close(json);
}

static void write_figures(struct json *json, const char *key, int count, const struct plan_figure *figures)
{
    json_open_flat(json, key, '{');
    for (int i = 0; i < count; i++)
        json_number(json, figures[i].name, figures[i].value);
    json_close(json);
}

static void write_cluster(const struct plan *plan, struct json *json)
{
    json_open(json, "cluster", '{');
    json_string(json, "digest", plan->cluster_digest);
    json_integer(json, "nodes", plan_nodes(plan));
    json_integer(json, "devices", plan_devices(plan));
    json_open(json, "device_types", '[');
    for (int t = 0; t < plan->type_count; t++)
        write_map(json, NULL, PLAN_MAP_TYPE, &plan->types[t]);
    json_close(json);
    json_close(json);
    json_open(json, "links", '[');
    for (int l = 0; l < plan->link_count; l++)
        write_map(json, NULL, PLAN_MAP_LINK, &plan->links[l]);
    json_close(json);
}

static void write_stage(const struct plan_stage *stage, struct json *json)
{
    json_open(json, NULL, '{');
    json_open_flat(json, "layers", '[');
    json_integer(json, NULL, stage->first_layer);
    json_integer(json, NULL, stage->last_layer);
    json_close(json);
    json_integer(json, "device_type", stage->type);
    write_fields(json, PLAN_MAP_STAGE, stage);
    json_open_flat(json, "devices", '[');
    for (int r = 0; r < stage->run_count; r++)
        write_map(json, NULL, PLAN_MAP_RUN, &stage->runs[r]);
    json_close(json);
    write_map(json, "seconds", PLAN_MAP_SECONDS, &stage->seconds);
    write_map(json, "bytes", PLAN_MAP_BYTES, &stage->bytes);
    json_close(json);
}

static void write_pipelines(const struct plan *plan, struct json *json)
{
    json_open(json, "pipelines", '[');
    for (int p = 0; p < plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        json_open(json, NULL, '{');
        write_fields(json, PLAN_MAP_PIPELINE, pipeline);
        json_open(json, "stages", '[');
        for (int s = 0; s < pipeline->stage_count; s++)
            write_stage(&pipeline->stages[s], json);
        json_close(json);
        json_close(json);
    }
    json_close(json);
}

static void write_alternatives(const struct plan *plan, struct json *json)
{
    json_open(json, "alternatives", '[');
    for (int i = 0; i < plan->alternative_count; i++) {
        json_open(json, NULL, '{');
        write_fields(json, PLAN_MAP_ALTERNATIVE, &plan->alternatives[i]);
        write_figures(json, "parts", plan->alternatives[i].part_count, plan->alternatives[i].parts);
        json_close(json);
    }
    json_close(json);
    json_open(json, "sensitivity", '[');
    for (int i = 0; i < plan->sensitivity_count; i++)
        write_map(json, NULL, PLAN_MAP_SENSITIVITY, &plan->sensitivity[i]);
    json_close(json);
}

void plan_write_json(const struct plan *plan, struct json *json, const char *key)
{
    json_open(json, key, '{');
    json_string(json, "format", PLAN_FORMAT);
    write_map(json, "made_by", PLAN_MAP_MADE_BY, plan);
    write_fields(json, PLAN_MAP_HEAD, plan);
    json_number(json, "gap", plan_gap(plan));
    write_map(json, "model", PLAN_MAP_MODEL, plan);
    write_map(json, "training", PLAN_MAP_TRAINING, plan);
    write_map(json, "schedule", PLAN_MAP_SCHEDULE, plan);
    json_open(json, "iteration", '{');
    write_fields(json, PLAN_MAP_ITERATION, plan);
    write_figures(json, "parts", plan->part_count, plan->parts);
    write_map(json, "bottleneck", PLAN_MAP_BOTTLENECK, plan);
    json_close(json);
    write_figures(json, "figures", plan->figure_count, plan->figures);
    write_cluster(plan, json);
    write_pipelines(plan, json);
    write_alternatives(plan, json);
    json_close(json);
}
