/* Derived values: rates and latencies, and the model of compute time. */
#include "trace/steps/stats.h"

#include <stdlib.h>

const char *const steps_metric_names[STEPS_METRICS] = {
    "storage_throughput", "load_throughput", "compute_throughput", "step_throughput",
    "load_latency",       "storage_latency", "prepare_latency"};

static bool has(const struct steps *steps, int event)
{
    for (size_t i = 0; i < steps->group_count; i++)
        if (steps->groups[i].events[event].count > 0)
            return true;
    return false;
}

int steps_metric_event(const struct steps *steps, enum steps_metric metric)
{
    static const int choices[STEPS_METRICS][2] = {
        [STEPS_RATE_STORAGE] = {STEPS_SAMPLE_LOAD, STEPS_BATCH_LOAD},
        [STEPS_RATE_LOAD] = {STEPS_INNER, STEPS_LOAD},
        [STEPS_RATE_COMPUTE] = {STEPS_COMPUTE, STEPS_COMPUTE},
        [STEPS_RATE_STEP] = {STEPS_STEP, STEPS_STEP},
        [STEPS_LATENCY_LOAD] = {STEPS_INNER, STEPS_LOAD},
        [STEPS_LATENCY_STORAGE] = {STEPS_SAMPLE_LOAD, STEPS_BATCH_LOAD},
        [STEPS_LATENCY_PREPARE] = {STEPS_SAMPLE_PREPARE, STEPS_BATCH_PREPARE},
    };
    /* The study divides by the whole step here, for BERT alone. */
    if (metric == STEPS_RATE_COMPUTE && steps->as_study && steps->source == STEPS_PROFILER)
        return STEPS_STEP;
    for (int i = 0; i < 2; i++)
        if (has(steps, choices[metric][i]))
            return choices[metric][i];
    return -1;
}

bool steps_metric_values(const struct steps *steps, const struct steps_group *group, enum steps_metric metric,
                         double **values, size_t *count, struct error *err)
{
    int event = steps_metric_event(steps, metric);
    *values = NULL;
    *count = 0;
    if (event < 0 || group->events[event].count == 0)
        return true;
    const struct steps_values *from = &group->events[event];
    double samples = event == STEPS_SAMPLE_LOAD ? 1 : (double)group->batch;
    double *made = malloc(from->count * sizeof *made);
    if (!made)
        return error_memory(err);
    for (size_t i = 0; i < from->count; i++) {
        double seconds = metric < STEPS_LATENCY_LOAD ? from->items[from->count - 1 - i] : from->items[i];
        if (metric >= STEPS_LATENCY_LOAD)
            made[(*count)++] = seconds;
        else if (seconds > 0) /* without a wait there is no rate */
            made[(*count)++] = samples / seconds;
    }
    *values = made;
    if (*count == 0) {
        free(made);
        *values = NULL;
    }
    return true;
}

static bool fit_planes(const struct steps *steps, struct steps_model *model, struct error *err)
{
    double *numbers = calloc(4 * steps->group_count + 1, sizeof *numbers);
    double *gpus = numbers, *batches = numbers + steps->group_count;
    double *means = batches + steps->group_count, *sigmas = means + steps->group_count;
    size_t n = 0;
    if (!numbers)
        return error_memory(err);
    for (size_t i = 0; i < steps->group_count; i++) {
        if (model->normals[i].count == 0)
            continue;
        gpus[n] = (double)steps->groups[i].gpus;
        batches[n] = (double)steps->groups[i].batch;
        means[n] = model->normals[i].mean;
        sigmas[n++] = model->normals[i].sigma;
    }
    model->count = n;
    steps_fit_plane(gpus, batches, means, n, &model->mean);
    steps_fit_plane(gpus, batches, sigmas, n, &model->sigma);
    free(numbers);
    return true;
}

bool steps_model(const struct steps *steps, struct steps_model *model, struct error *err)
{
    *model = (struct steps_model){.normals = calloc(steps->group_count + 1, sizeof *model->normals)};
    if (!model->normals)
        return error_memory(err);
    for (size_t i = 0; i < steps->group_count; i++) {
        const struct steps_values *values = &steps->groups[i].events[STEPS_COMPUTE];
        if (values->count > 0)
            steps_fit_normal(values->items, values->count, &model->normals[i]);
    }
    if (fit_planes(steps, model, err))
        return true;
    steps_model_release(model);
    return false;
}

void steps_model_release(struct steps_model *model)
{
    free(model->normals);
    *model = (struct steps_model){0};
}
