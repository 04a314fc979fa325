#include "evidence/search_report.h"

static void write_time(const struct job_time *time, struct json *json)
{
    json_open_flat(json, "parts", '{');
    json_number(json, "compute", time->compute);
    json_number(json, "bubble", time->bubble);
    json_number(json, "tensor", time->tensor);
    json_number(json, "send", time->send);
    json_number(json, "data", time->data);
    json_number(json, "optimizer", time->optimizer);
    json_number(json, "other", time->other);
    json_close(json);
}

static void write_memory(const struct job_memory *memory, struct json *json)
{
    json_open_flat(json, "memory", '{');
    json_number(json, "total", memory->total);
    json_number(json, "parameters", memory->parameters);
    json_number(json, "gradients", memory->gradients);
    json_number(json, "optimizer", memory->optimizer);
    json_number(json, "activations", memory->activations);
    json_number(json, "working", memory->working);
    json_number(json, "runtime", memory->runtime);
    json_close(json);
}

static void write_plan(const struct job_choice *plan, struct json *json)
{
    const struct job *job = &plan->job;
    int blocks = job->model->layers + job->model->encoder_layers;
    json_open(json, NULL, '{');
    json_number(json, "iteration_time", plan->time.seconds);
    json_integer(json, "devices", job->devices);
    for (int d = 0; d < JOB_RECOMPUTE; d++)
        json_integer(json, job_dimension_name((enum job_dimension)d),
                     job_dimension_value(job, (enum job_dimension)d));
    json_string(json, "recompute", job_recompute_name(job->recompute));
    json_integer(json, "microbatches", job_microbatches(job));
    json_number(json, "utilisation", job_utilisation(plan));
    json_bool(json, "on_front", plan->on_front);
    write_time(&plan->time, json);
    write_memory(&plan->memory, json);
    json_open_flat(json, "stage_blocks", '[');
    for (int stage = 0; stage < job->pipeline; stage++)
        json_integer(json, NULL,
                     job_stage_first(job, blocks, stage + 1) - job_stage_first(job, blocks, stage));
    json_close(json);
    json_close(json);
}

static void write_sensitivity(const struct job_search_report *report, struct json *json)
{
    json_open(json, "sensitivity", '[');
    for (int r = 0; report->sensitivity && r < JOB_RESOURCES; r++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "resource", job_resource_name((enum job_resource)r));
        if (r != JOB_ALL_MEMORY)
            json_number(json, "more", report->more);
        json_number(json, "iteration_time", report->sensitivity[r].seconds);
        json_bool(json, "split_differs", report->sensitivity[r].differs);
        json_close(json);
    }
    json_close(json);
}

void job_search_write_json(const struct job_search_report *report, struct json *json, const char *key)
{
    const struct job_search *search = report->search;
    const struct job *job = &report->question->job;
    double best = search->plans[0].time.seconds;
    json_open(json, key, '{');
    json_string(json, "format", "rehearse-plan/1");
    json_string(json, "objective", "iteration");
    json_string(json, "model", job->model->name);
    json_string(json, "device_type", job->device->name);
    json_integer(json, "devices", job->devices);
    json_integer(json, "devices_per_node", job->devices_per_node);
    json_string(json, "inside", job->inside->name);
    json_string(json, "across", job->across->name);
    json_string(json, "software", job->software->name);
    json_string(json, "precision", cost_type_name(job->type));
    json_integer(json, "global_batch", job->batch);
    json_integer(json, "sequence", job->sequence);
    json_number(json, "headroom", report->question->headroom);
    json_number(json, "iteration_time", best);
    json_number(json, "iteration_time_low", report->interval.low);
    json_number(json, "iteration_time_high", report->interval.high);
    json_bool(json, "extrapolates", report->interval.extrapolates);
    json_number(json, "lower_bound", search->lower_bound);
    json_number(json, "gap", best / search->lower_bound - 1.0);
    json_bool(json, "proven_optimal", search->complete);
    json_number(json, "combinations", search->combinations);
    json_open(json, "plans", '[');
    for (int i = 0; i < search->plan_count; i++)
        write_plan(&search->plans[i], json);
    json_close(json);
    if (report->front) {
        json_open(json, "front", '[');
        for (int i = 0; i < report->front->plan_count; i++)
            write_plan(&report->front->plans[i], json);
        json_close(json);
    }
    if (report->sensitivity)
        write_sensitivity(report, json);
    json_close(json);
}
