#include "plan/plan_fields.h"

#include <math.h>
#include <string.h>

static void write_fields(struct json *json, const struct plan_map *map, const void *of)
{
    fields_write(of, map->fields, map->count, json);
}

static void write_map(struct json *json, const char *key, const struct plan_map *map, const void *of)
{
    json_open_flat(json, key, '{');
    write_fields(json, map, of);
    json_close(json);
}

/* Writes a list of structs that a map describes, each on a line. */
#define WRITE_LIST(json, key, items, number, map)                                                            \
    fields_write_list((items), (size_t)(number), sizeof *(items), (map).fields, (map).count, (json), (key))

/* No text is empty where a plan is read. */
void plan_write_nearest(const struct plan_nearest *nearest, struct json *json)
{
    struct plan_nearest written = *nearest;
    if (written.differs && *written.differs == '\0')
        written.differs = NULL;
    if (nearest->id)
        write_map(json, "nearest", &plan_map_nearest, &written);
}

static void write_figures(struct json *json, const char *key, int count, const struct plan_figure *figures)
{
    json_open_flat(json, key, '{');
    for (int i = 0; i < count; i++)
        json_number(json, figures[i].name, figures[i].value);
    json_close(json);
}

/* Only of techniques that are not the software's own. */
static void write_training(const struct plan *plan, struct json *json)
{
    json_open_flat(json, "training", '{');
    write_fields(json, &plan_map_training, plan);
    if (!technique_is_usual(&plan->technique)) {
        json_open_flat(json, "technique", '{');
        for (int k = 0; k < TECHNIQUE_COUNT; k++) {
            int chosen = technique_get(&plan->technique, (enum technique_kind)k);
            if (chosen == 0)
                continue;
            struct text value = {0};
            technique_write(&value, (enum technique_kind)k, chosen);
            json_string(json, technique_name((enum technique_kind)k), value.data);
            text_release(&value);
        }
        json_close(json);
    }
    json_close(json);
}

static void write_cluster(const struct plan *plan, struct json *json)
{
    json_open(json, "cluster", '{');
    json_string(json, "digest", plan->cluster_digest);
    json_integer(json, "nodes", plan_nodes(plan));
    json_integer(json, "devices", plan_devices(plan));
    WRITE_LIST(json, "device_types", plan->types, plan->type_count, plan_map_device_type);
    cluster_network_write(&plan->network, json);
    if (plan->not_counted)
        json_string(json, "not_counted", plan->not_counted);
    json_close(json);
    WRITE_LIST(json, "links", plan->links, plan->link_count, plan_map_link);
}

static void write_transfers(const struct plan_stage *stage, struct json *json)
{
    if (stage->transfer_count == 0)
        return;
    json_open(json, "transfers", '[');
    for (int t = 0; t < stage->transfer_count; t++) {
        const struct plan_transfer *transfer = &stage->transfers[t];
        json_open_flat(json, NULL, '{');
        json_string(json, "kind", collective_kind_name(transfer->kind));
        json_string(json, "purpose", plan_purposes[transfer->purpose]);
        json_string(json, "when", plan_whens[transfer->when]);
        write_fields(json, &plan_map_transfer, transfer);
        json_close(json);
    }
    json_close(json);
}

static void write_stage(const struct plan_stage *stage, struct json *json)
{
    json_open(json, NULL, '{');
    json_open_flat(json, "layers", '[');
    json_integer(json, NULL, stage->layers.first);
    json_integer(json, NULL, stage->layers.last);
    json_close(json);
    json_integer(json, "device_type", stage->type);
    write_fields(json, &plan_map_stage, stage);
    json_open_flat(json, "devices", '[');
    for (int r = 0; r < stage->run_count; r++)
        write_map(json, NULL, &plan_map_run, &stage->runs[r]);
    json_close(json);
    write_map(json, "seconds", &plan_map_seconds, &stage->seconds);
    write_map(json, "bytes", &plan_map_bytes, &stage->bytes);
    write_transfers(stage, json);
    json_close(json);
}

static void write_pipelines(const struct plan *plan, struct json *json)
{
    json_open(json, "pipelines", '[');
    for (int p = 0; p < plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        json_open(json, NULL, '{');
        write_fields(json, &plan_map_pipeline, pipeline);
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
    fields_tell(plan_map_alternative.fields, plan_map_alternative.count, json);
    for (int i = 0; i < plan->alternative_count; i++) {
        json_open(json, NULL, '{');
        write_fields(json, &plan_map_alternative, &plan->alternatives[i]);
        write_figures(json, "parts", plan->alternatives[i].part_count, plan->alternatives[i].parts);
        json_close(json);
    }
    json_close(json);
    WRITE_LIST(json, "sensitivity", plan->sensitivity, plan->sensitivity_count, plan_map_sensitivity);
}

/* Only of plans over several types. */
static void write_fleets(const struct plan *plan, struct json *json)
{
    if (plan->idle_count > 0)
        WRITE_LIST(json, "idle", plan->idle, plan->idle_count, plan_map_idle);
    if (plan->fleet_count == 0)
        return;
    json_open(json, "fleets", '[');
    for (int i = 0; i < plan->fleet_count; i++) {
        json_open_flat(json, NULL, '{');
        write_fields(json, &plan_map_fleet, &plan->fleets[i]);
        json_open_flat(json, "works", '[');
        for (int t = 0; t < plan->type_count; t++)
            json_integer(json, NULL, plan->fleets[i].works[t]);
        json_close(json);
        json_close(json);
    }
    json_close(json);
}

/* By the expected time where it is known, as they are printed; plan_read.c skips them. */
static void write_rates(const struct plan *plan, struct json *json)
{
    double seconds = isfinite(plan->expected) ? plan->expected : plan->iteration_time;
    double samples = (double)plan->global_batch / seconds;
    if (plan->global_batch <= 0 || !isfinite(samples))
        return;
    json_number(json, "samples_per_second", samples);
    if (plan->sequence > 0)
        json_number(json, "tokens_per_second", samples * (double)plan->sequence);
    for (int i = 0; i < plan->figure_count; i++)
        if (strcmp(plan->figures[i].name, "utilisation") == 0)
            json_number(json, "utilisation", plan->figures[i].value * plan->iteration_time / seconds);
}

void plan_write_json(const struct plan *plan, struct json *json, const char *key)
{
    json_open(json, key, '{');
    json_document(json, PLAN_FORMAT);
    write_map(json, "made_by", &plan_map_made_by, plan);
    write_fields(json, &plan_map_head, plan);
    json_number(json, "gap", plan_gap(plan));
    write_map(json, "model", &plan_map_model, plan);
    write_training(plan, json);
    write_map(json, "schedule", &plan_map_schedule, plan);
    json_open(json, "iteration", '{');
    write_fields(json, &plan_map_iteration, plan);
    write_rates(plan, json);
    plan_write_nearest(&plan->nearest, json);
    write_figures(json, "parts", plan->part_count, plan->parts);
    write_map(json, "bottleneck", &plan_map_bottleneck, plan);
    json_close(json);
    if (plan->budget.tokens > 0.0 || plan->budget.dollars_per_hour >= 0.0)
        write_map(json, "budget", &plan_map_budget, &plan->budget);
    if (plan->storage.seconds > 0.0)
        write_map(json, "storage", &plan_map_storage, &plan->storage);
    write_figures(json, "figures", plan->figure_count, plan->figures);
    write_cluster(plan, json);
    write_pipelines(plan, json);
    write_alternatives(plan, json);
    write_fleets(plan, json);
    json_close(json);
}
