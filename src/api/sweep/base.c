#include "api/sweep/base.h"

#include "api/plan/handle.h"
#include "sim/play.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BATCH (INT64_C(1) << 31) /* samples */

/* Plays the plan once, so that missing prices are filled in, and threads only read it. */
static bool open_given(struct sweep_base *base, const struct plan_options *given, struct error *err)
{
    const struct sim_options options = {.plain = true, .straggler = -1};
    const char *batches = given->asked.global_batch;
    struct sim_result result;
    if (given->asked.from ? !api_plan_copy(given->asked.from, &base->given, err)
                          : !plan_load(&base->given, given->asked.plan, err))
        return false;
    if (!sim_play(&base->given, &options, &result, err))
        return false;
    base->utilisation = result.utilisation / result.samples;
    sim_result_release(&result);
    if (!budget_read_prices(given->asked.price, &base->split.chosen.added, &base->split.prices, err))
        return false;
    char own[32];
    int64_t samples = plan_samples(&base->given);
    snprintf(own, sizeof own, "%" PRId64, samples > 0 ? samples : 1);
    if (batches && samples == 0)
        return error_set(err, ERROR_USAGE, "--global-batch: '%s' gives no number of samples for its batch",
                         given->asked.plan ? given->asked.plan : "from");
    return range_parse("global-batch", batches ? batches : own, DIMENSION_SAMPLES, 1, MAX_BATCH,
                       &base->split.batches, err);
}

bool sweep_base_open(struct sweep_base *base, const struct plan_options *options, struct error *err)
{
    *base = (struct sweep_base){.split = {.options = options},
                                .is_given = options->asked.plan || options->asked.from};
    plan_init(&base->given);
    if (base->is_given ? !open_given(base, options, err) : !split_ask(&base->split, err))
        return false;
    base->count = base->split.batches.count * (base->is_given ? 1 : base->split.devices.count);
    base->plans = calloc((size_t)base->count, sizeof *base->plans);
    if (!base->plans) {
        base->count = 0;
        return error_memory(err);
    }
    for (int i = 0; i < base->count; i++)
        pthread_mutex_init(&base->plans[i].lock, NULL);
    return true;
}

void sweep_base_release(struct sweep_base *base)
{
    for (int i = 0; i < base->count; i++) {
        if (base->plans[i].state == BASE_READY)
            plan_release(&base->plans[i].plan);
        pthread_mutex_destroy(&base->plans[i].lock);
    }
    free(base->plans);
    plan_release(&base->given);
    split_release(&base->split);
}

/* A copy of the given plan whose pipelines have more or fewer micro-batches. Everything else lies in its arena. */
static bool with_batch(const struct plan *plan, int64_t batch, struct plan *copy, struct error *err)
{
    int64_t samples = plan_samples(plan);
    *copy = *plan;
    copy->arena = (struct arena){0};
    if (batch == samples || samples == 0)
        return true;
    copy->pipelines = ARENA_ARRAY(&copy->arena, (size_t)plan->pipeline_count, struct plan_pipeline);
    if (!copy->pipelines)
        return error_memory(err);
    for (int i = 0; i < plan->pipeline_count; i++) {
        int64_t microbatches = plan->pipelines[i].microbatches;
        copy->pipelines[i] = plan->pipelines[i];
        copy->pipelines[i].microbatches = microbatches * batch / samples;
        if (microbatches * batch % samples != 0) {
            arena_release(&copy->arena);
            return error_set(err, ERROR_INFEASIBLE,
                             "a batch of %" PRId64 " cannot be divided like that of %" PRId64
                             ", into %" PRId64 " micro-batches of pipeline %d",
                             batch, samples, microbatches, i);
        }
    }
    if (copy->global_batch > 0)
        copy->global_batch = batch;
    copy->iteration_time = 0.0; /* of another batch */
    copy->part_count = 0;
    return true;
}

const struct plan *sweep_base_plan(struct sweep_base *base, int batch, int devices, struct error *err)
{
    int device_count = base->is_given ? 1 : base->split.devices.count;
    struct sweep_base_plan *slot = &base->plans[batch * device_count + devices];
    pthread_mutex_lock(&slot->lock);
    if (slot->state == BASE_OPEN) {
        int64_t samples = base->split.batches.values[batch];
        bool made = base->is_given
                        ? with_batch(&base->given, samples, &slot->plan, &slot->error)
                        : split_plan(&base->split, samples, (int)base->split.devices.values[devices],
                                     &slot->plan, &slot->error);
        slot->state = made ? BASE_READY : BASE_FAILED;
    }
    pthread_mutex_unlock(&slot->lock);
    if (slot->state == BASE_READY)
        return &slot->plan;
    *err = slot->error;
    return NULL;
}
