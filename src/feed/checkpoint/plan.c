#include "feed/checkpoint/plan.h"

#include "devices/device.h"
#include "devices/tables.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_RANKS ((int64_t)1 << 20) /* whose files are counted one by one */

/* Notes why there are no sizes, which is no error. */
static bool not_sized(struct checkpoint_of_plan *of, const char *format, ...) PRINTF_LIKE(2, 3);

static bool not_sized(struct checkpoint_of_plan *of, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(of->why, sizeof of->why, format, args);
    va_end(args);
    return false;
}

static const char *name_of(const struct plan *plan)
{
    return plan->path ? plan->path : "the plan";
}

/* False: the stages of the plan hold unlike shares of the model, or the plan does not say which model it
 * is. */
static bool find_degrees(struct checkpoint_of_plan *of, const struct plan *plan, struct degrees *degrees)
{
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    const struct plan_stage *first = &pipeline->stages[0];
    if (plan->pipeline_count > 1)
        return not_sized(of, "its pipelines differ, so each rank's share of a checkpoint is unknown");
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        if (stage->type != first->type)
            return not_sized(
                of,
                "its stages run on different device types, so each rank's share of a checkpoint is unknown");
        if (!degrees_are_equal(&stage->degrees, &first->degrees))
            return not_sized(of, "its stages differ in their parallel degrees");
    }
    if (!plan->model || !plan->precision)
        return not_sized(of, "it names no model or no precision, so the size of a checkpoint is unknown");
    if (of->devices > MAX_RANKS)
        return not_sized(of, "it uses more than %lld devices", (long long)MAX_RANKS);
    if (pipeline->stage_count % plan->chunks != 0)
        return not_sized(of, "its %d chunks do not divide its %d stages", plan->chunks,
                         pipeline->stage_count);
    *degrees = first->degrees;
    degrees->pipeline = pipeline->stage_count / plan->chunks;
    degrees->data *= pipeline->copies; /* at most MAX_RANKS */
    return true;
}

/* Bytes per parameter: of its weight, and of the optimizer's states. Mixed precision is one of 16 bits, whichever of
 * them a device type has. */
static bool element_bytes(const struct plan *plan, int64_t *weight, int64_t *states, struct error *err)
{
    enum cost_type type = COST_BF16;
    if (strcmp(plan->precision, "mixed") != 0 && !cost_type_find(plan->precision, &type))
        return error_set(err, ERROR_INPUT, "%s: precision: unknown number format '%.80s'", name_of(plan),
                         plan->precision);
    *weight = (int64_t)fmax(cost_type_bytes(type), 2);
    *states = *weight == 2 ? 12 : 8;
    return true;
}

/* ZeRO 3 splits experts over all ranks, as it does the rest. Else they are apart where their ranks are
 * others than those of the rest: an expert is not split between tensor ranks then. */
static double split_experts(struct checkpoint_shards *shards, const struct degrees *degrees,
                            const struct architecture *model)
{
    if (degrees->expert == 1 || shards->split.zero_stage == 3)
        return 0;
    double experts = (double)architecture_expert_blocks(model) * (double)model->experts *
                     architecture_expert_parameters(model);
    shards->expert = degrees->expert;
    shards->experts = (int64_t)(experts / (double)shards->layers / (double)degrees->expert);
    return experts;
}

static void split_layers(struct checkpoint_shards *shards, const struct degrees *degrees,
                         const struct architecture *model)
{
    double parts =
        (double)shards->split.tensor * (shards->split.zero_stage == 3 ? (double)shards->split.data : 1);
    double embedding = architecture_embedding_parameters(model), head = architecture_head_parameters(model);
    double norm = fmin((double)model->hidden * (model->norm_biased ? 2 : 1), head);
    shards->layers = model->layers + architecture_first_block(model);
    double blocks = architecture_parameters(model) - embedding - head - split_experts(shards, degrees, model);
    shards->embedding = (int64_t)(embedding / parts);
    shards->head = (int64_t)((head - norm) / parts);
    shards->norm = (int64_t)(norm / parts);
    shards->block = (int64_t)(blocks / (double)shards->layers / parts);
}

static void split(struct checkpoint_of_plan *of, const struct degrees *degrees,
                  const struct architecture *model, int zero, int64_t weight, int64_t states)
{
    struct checkpoint_shards *shards = &of->shards;
    *shards = (struct checkpoint_shards){
        .ranks = of->devices,
        .split = {degrees->tensor, degrees->pipeline, (int64_t)degrees->data * degrees->context, zero},
        .model_type = weight == 2   ? WORKLOAD_DATATYPE_BF16
                      : weight == 4 ? WORKLOAD_DATATYPE_FP32
                                    : WORKLOAD_DATATYPE_FP64,
        .optimizer_type = WORKLOAD_DATATYPE_FP32,
        .model_element = weight,
        .parameters = architecture_parameters(model),
        .ending = "pt",
    };
    split_layers(shards, degrees, model);
    double parts =
        (double)(shards->split.tensor * shards->split.pipeline) * (zero > 0 ? (double)shards->split.data : 1);
    shards->optimizer = (int64_t)(shards->parameters / parts) * states;
    of->parameters = shards->parameters;
    of->sized = true;
}

static void sum_up(struct checkpoint_of_plan *of)
{
    struct checkpoint_shard shard;
    for (int64_t rank = 0; rank < of->shards.ranks; rank++) {
        for (int i = 0, count = checkpoint_shards_count(&of->shards, rank); i < count; i++) {
            checkpoint_shards_get(&of->shards, rank, i, &shard);
            *(shard.kind == CHECKPOINT_MODEL ? &of->model_bytes : &of->optimizer_bytes) +=
                (double)shard.bytes;
        }
    }
}

static bool size(struct checkpoint_of_plan *of, const struct plan *plan, const struct degrees *degrees,
                 const struct architecture *model, struct error *err)
{
    int64_t weight = 0, states = 0, stage = (int64_t)degrees->tensor * degrees->data * degrees->context;
    int zero = plan->sharding > 0 ? plan->sharding : 0;
    if (!element_bytes(plan, &weight, &states, err) || !tables_ready(err))
        return false;
    if (degrees->expert > stage)
        return error_set(err, ERROR_INPUT, "%s: ep %d exceeds tp x dp x cp = %lld", name_of(plan),
                         degrees->expert, (long long)stage);
    if (!model)
        model = architecture_find(plan->model);
    if (!model)
        not_sized(of, "unknown model '%.80s': give its file", plan->model);
    else if (degrees->expert > 1 && zero == 0)
        not_sized(of, "expert parallelism without ZeRO: each rank's share of expert states is unknown");
    else {
        split(of, degrees, model, zero, weight, states);
        sum_up(of);
    }
    return true;
}

bool checkpoint_of_plan(struct checkpoint_of_plan *of, const struct plan *plan, int64_t ranks,
                        const struct architecture *model, struct error *err)
{
    struct degrees degrees = {0};
    *of = (struct checkpoint_of_plan){.devices = plan_devices_used(plan)};
    if (!find_degrees(of, plan, &degrees))
        return true;
    if (!size(of, plan, &degrees, model, err))
        return false;
    if (!of->sized || ranks == 0)
        return true;
    if (ranks < 0 || ranks > of->devices)
        return error_set(err, ERROR_USAGE, "%s: %lld ranks, but the plan uses %lld devices", name_of(plan),
                         (long long)ranks, (long long)of->devices);
    of->shards.ranks = ranks;
    return true;
}
