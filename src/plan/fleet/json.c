#include "plan/fleet/report.h"

#include <math.h>

static void write_types(const struct fleet_report *report, struct json *json)
{
    const struct fleet_answer *answer = report->answer;
    json_open(json, "device_types", '[');
    for (int t = 0; t < answer->problem.type_count; t++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "device_type", report->types[t]);
        json_integer(json, "devices", answer->problem.types[t].devices);
        json_integer(json, "idle", fleet_idle(answer, t));
        json_number(json, "memory", report->memory[t]); /* null: no limit */
        json_close(json);
    }
    json_close(json);
}

static void write_stage(const struct fleet_report *report, const struct fleet_pipeline *pipeline, int index,
                        struct json *json)
{
    const struct fleet_problem *problem = &report->answer->problem;
    const struct fleet_stage *stage = &pipeline->stages[index];
    const struct fleet_option *option = &problem->options[stage->option];
    json_open_flat(json, NULL, '{');
    json_integer(json, "first_layer", stage->first);
    json_integer(json, "last_layer", stage->last - 1);
    json_string(json, "device_type", report->types[option->type]);
    json_integer(json, "devices", option->tensor);
    json_number(json, "seconds", fleet_stage_seconds(problem, stage));
    json_number(json, "memory", fleet_stage_memory(problem, stage, pipeline->stage_count - index));
    json_close(json);
}

static void write_pipeline(const struct fleet_report *report, const struct fleet_pipeline *pipeline,
                           struct json *json)
{
    json_open(json, NULL, '{');
    json_integer(json, "copies", pipeline->copies);
    json_integer(json, "microbatches", pipeline->microbatches);
    json_number(json, "fill", pipeline->fill);
    json_number(json, "cycle", pipeline->cycle);
    json_open(json, "stages", '[');
    for (int i = 0; i < pipeline->stage_count; i++)
        write_stage(report, pipeline, i, json);
    json_close(json);
    json_close(json);
}

void fleet_write_json(const struct fleet_report *report, struct json *json, const char *key)
{
    const struct fleet_answer *answer = report->answer;
    json_open(json, key, '{');
    json_string(json, "format", "rehearse-plan/1");
    json_string(json, "objective", "iteration");
    json_string(json, "model", report->model);
    json_string(json, "software", report->software);
    json_integer(json, "global_batch", report->batch);
    json_integer(json, "sequence", report->sequence);
    json_integer(json, "mbs", answer->microbatch);
    json_string(json, "recompute", job_recompute_name(answer->recompute));
    json_bool(json, "optimizer_sharded", answer->sharded);
    json_number(json, "iteration_time", answer->time.seconds);
    json_open_flat(json, "parts", '{');
    json_number(json, "pipelines", answer->time.pipelines);
    json_number(json, "after", answer->time.after);
    json_number(json, "other", answer->time.other);
    json_close(json);
    json_number(json, "lower_bound", answer->lower_bound);
    json_number(json, "gap", answer->time.seconds / answer->lower_bound - 1.0);
    write_types(report, json);
    json_open(json, "pipelines", '[');
    for (int k = 0; k < answer->plan.pipeline_count; k++)
        write_pipeline(report, &answer->plan.pipelines[k], json);
    json_close(json);
    json_close(json);
}
