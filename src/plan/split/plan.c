#include "plan/split/plan.h"

#include "cost/model_profile.h"
#include "plan/plan_digest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double job_utilisation(const struct job *job, const struct job_time *time)
{
    return time->flops / (time->seconds * job->device->peak[cost_device_type(job->device, job->type)]);
}

/* ---- out: stages ---- */

static struct job_memory stage_memory(const struct job *job, const struct job_layers *layers, int stage)
{
    struct job_layer layer = job_stage(job, layers, stage, job_stage_first(job, layers->block_count, stage),
                                       job_stage_first(job, layers->block_count, stage + 1));
    return job_stage_memory(job, layers, stage, &layer);
}

/* Returns what a chunk holds of the memory of its stage. */
static struct job_memory chunk_memory(const struct job *job, const struct job_layers *layers, int stage,
                                      const struct job_layer *layer)
{
    struct job_memory memory = job_stage_memory(job, layers, stage, layer);
    if (job_is_folded(job)) { /* without the other stage of its device */
        struct job deep = *job;
        double passes = memory.activations;
        deep.degrees.pipeline = job_depth(job);
        deep.technique.schedule = SCHEDULE_USUAL;
        memory = job_stage_memory(&deep, layers, stage, layer);
        memory.activations = passes / 2.0;
    }
    return memory;
}

static void set_stage(struct plan_stage *to, const struct job *job, const struct job_layers *layers,
                      const struct job_time *time, int chunk, int first, int blocks)
{
    int count = job->degrees.pipeline * job->chunks,
        stage = job_is_folded(job) ? chunk : chunk % job->degrees.pipeline;
    const struct job_part part = {first, first + blocks, chunk == 0, chunk == count - 1};
    struct job_layer layer = job_part_layer(job, layers, &part);
    struct job_memory all = stage_memory(job, layers, stage), own = chunk_memory(job, layers, stage, &layer);
    bool inside =
        job->devices_per_node / (job->degrees.tensor * job->degrees.context * job->degrees.data) >= 2;
    bool turns =
        job_is_folded(job) && chunk == job->degrees.pipeline - 1; /* the next stage is on the same device */
    to->layers.first = chunk == 0 ? 0 : first + 1;
    to->layers.last = first + blocks + (chunk == count - 1);
    to->chunk = chunk / job->degrees.pipeline;
    to->degrees = job->degrees;
    to->degrees.pipeline = to->degrees.data = 1;
    to->seconds = (struct plan_seconds){
        .forward = layer.pass.forward,
        .backward = layer.pass.backward,
        .backward_weight = job_is_timed(job) ? layer.pass.weight : NAN,
        .recompute = layer.pass.recompute,
        .collectives = layer.pass.tensor,
        .send = chunk == count - 1 || turns ? 0
                : inside                    ? layers->send_inside
                                            : layers->send_across,
        .gradients = to->chunk == 0 ? time->data : 0,
        .optimizer = to->chunk == 0 ? time->optimizer : 0,
    };
    to->bytes = (struct plan_bytes){
        .parameters = own.parameters,
        .gradients = own.gradients,
        .optimizer = own.optimizer,
        .activations = layer.kept,
        .in_flight = layer.kept > 0 ? own.activations / layer.kept : 0,
        .working = all.working + all.runtime,
        .sent = chunk == count - 1 || turns ? 0 : layers->sent,
        .total = all.total,
    };
}

static bool add_stages(struct plan *plan, const struct job *job, const struct job_time *time,
                       struct error *err)
{
    struct job_layers layers = job_layers_of(job);
    int count = job->degrees.pipeline * job->chunks;
    if (!plan_add_pipelines(plan, 1, err) || !plan_add_stages(plan, &plan->pipelines[0], count, err))
        return false;
    plan->pipelines[0].copies = job->degrees.data;
    plan->pipelines[0].microbatches = job_microbatches(job);
    plan->layer_count = layers.block_count + 2;
    for (int chunk = 0, first = 0; chunk < count; chunk++) {
        int blocks = job_chunk_blocks(job, chunk);
        set_stage(&plan->pipelines[0].stages[chunk], job, &layers, time, chunk, first, blocks);
        first += blocks;
    }
    return plan_add_transfers_of_job(plan, job, &layers, time) || error_memory(err);
}

/* ---- out: the rest ---- */

static bool add_cluster(struct plan *plan, const struct job *job, int devices, struct error *err)
{
    if (!plan_add_types(plan, 1, err))
        return false;
    if (job->network)
        plan->network = *job->network;
    struct plan_device_type *type = &plan->types[0];
    type->name = arena_string(&plan->arena, job->device->name);
    type->nodes = (struct equal_nodes){(devices + job->devices_per_node - 1) / job->devices_per_node,
                                       job->devices_per_node, job->device->memory};
    /* as plan_link_latency has it */
    const struct cost_link *inside = job->devices_per_node > 1 ? job->inside : job->across,
                           *across = job->across;
    type->inside =
        plan_add_link(plan, job->inside->name, job->inside->bandwidth,
                      inside->has_latency ? inside->latency : job_transfer(job, COLLECTIVE_SEND, 2, 1, 1.0));
    type->across = plan_add_link(plan, across->name, across->bandwidth,
                                 across->has_latency
                                     ? across->latency
                                     : job_transfer(job, COLLECTIVE_SEND, 2, job->devices_per_node, 1.0));
    return (type->name && type->inside >= 0 && type->across >= 0) || error_memory(err);
}

static int parts_of(const struct job_time *time, struct plan_figure parts[PLAN_MAX_PARTS])
{
    const struct plan_figure all[] = {
        {"compute", time->compute}, {"bubble", time->bubble}, {"tensor", time->tensor},
        {"send", time->send},       {"data", time->data},     {"optimizer", time->optimizer},
        {"other", time->other},
    };
    memcpy(parts, all, sizeof all);
    return sizeof all / sizeof *all;
}

static struct plan_alternative alternative_of(const struct job_choice *choice)
{
    const struct job *job = &choice->job;
    struct plan_alternative alternative = {
        .iteration_time = choice->time.seconds,
        .devices = job->devices,
        .degrees = job->degrees,
        .chunks = job->chunks,
        .sharding = job->sharding,
        .microbatch = job->microbatch,
        .microbatches = job_microbatches(job),
        .recompute = recompute_name(job->recompute),
        .memory = choice->memory.total,
        .utilisation = job_utilisation(job, &choice->time),
        .on_front = choice->on_front,
    };
    alternative.part_count = parts_of(&choice->time, alternative.parts);
    return alternative;
}

static bool add_alternatives(struct plan *plan, const struct job_answer *answer, struct error *err)
{
    const struct job_search *front = answer->front;
    int others = answer->search->plan_count - 1, count = others + (front ? front->plan_count : 0);
    plan->alternatives = ARENA_ARRAY(&plan->arena, (size_t)count + 1, struct plan_alternative);
    if (!plan->alternatives)
        return error_memory(err);
    for (int i = 0; i < count; i++) {
        struct plan_alternative *to = &plan->alternatives[plan->alternative_count++];
        *to = alternative_of(i < others ? &answer->search->plans[i + 1] : &front->plans[i - others]);
        to->on_front = front ? i >= others : to->on_front; /* the front is a list of its own */
    }
    plan->has_front = front;
    return true;
}

static bool add_sensitivity(struct plan *plan, const struct job_answer *answer, struct error *err)
{
    if (!answer->sensitivity)
        return true;
    plan->sensitivity = ARENA_ARRAY(&plan->arena, JOB_RESOURCES, struct plan_sensitivity);
    if (!plan->sensitivity)
        return error_memory(err);
    for (int r = 0; r < JOB_RESOURCES; r++)
        plan->sensitivity[plan->sensitivity_count++] = (struct plan_sensitivity){
            .resource = job_resource_name((enum job_resource)r),
            .more = r == JOB_ALL_MEMORY ? NAN : answer->more,
            .iteration_time = answer->sensitivity[r].seconds,
            .split_differs = answer->sensitivity[r].differs,
        };
    return true;
}

static uint64_t digest_of_layer(uint64_t digest, const struct job_layer *layer)
{
    const double numbers[] = {layer->pass.forward, layer->pass.backward, layer->pass.recompute,
                              layer->pass.tensor,  layer->parameters,    layer->experts,
                              layer->kept,         layer->working};
    return plan_digest_numbers(digest, numbers, sizeof numbers / sizeof *numbers);
}

static uint64_t digest_of(const struct job *job)
{
    struct job_layers layers = job_layers_of(job);
    uint64_t digest = digest_of_layer(PLAN_DIGEST_BEGIN, &layers.embedding);
    for (int i = 0; i < layers.kind_count; i++) {
        const struct job_kind *kind = &layers.kinds[i];
        const int64_t which[] = {kind->first,   kind->last,          kind->every,
                                 kind->is_last, kind->experts_every, kind->has_experts};
        digest = plan_digest_integers(digest, which, kind->experts_every > 0 ? 6 : 4);
        for (int block = kind->first; kind->pattern && block < kind->last; block++) {
            const int64_t before = job_kind_before(kind, block + 1);
            digest = plan_digest_integers(digest, &before, 1);
        }
        digest = digest_of_layer(digest, &kind->layer);
    }
    return digest_of_layer(digest, &layers.head);
}

static bool set_job(struct plan *plan, const struct job *job, const struct job_time *time,
                    const struct job_memory *memory, int devices, struct error *err)
{
    plan->objective = "iteration";
    plan->model = arena_string(&plan->arena, job->model->name);
    plan->software = arena_string(&plan->arena, job->software->name);
    plan->precision = cost_type_name(job->type);
    plan->recompute = recompute_name(job->recompute);
    plan->technique = job->technique;
    plan->technique.schedule = SCHEDULE_USUAL; /* said by schedule.kind */
    plan->global_batch = job->batch;
    plan->microbatch = job->microbatch;
    plan->asked_microbatches = job_microbatches(job);
    plan->sequence = job->sequence;
    plan->sharding = job->sharding;
    plan->send_blocks = job->software->send_blocks;
    plan->prefetch = job->sharding == 3 ? 1 : -1;
    plan->keeps_gathered = job->sharding == 3 ? job_keeps_gathered(job) : -1;
    plan->shards_share = job->sharding == 3 ? job_slow_shards(job) : NAN;
    plan->schedule = job_schedule_name(job);
    plan->chunks = job->chunks;
    plan->iteration_time = time->seconds;
    plan->memory = memory->total;
    plan->part_count = parts_of(time, plan->parts);
    plan_add_figure(plan, "devices", devices);
    plan_add_figure(plan, "utilisation", job_utilisation(job, time));
    if (!plan->model || !plan->software)
        return error_memory(err);
    return add_cluster(plan, job, devices, err) && add_stages(plan, job, time, err) &&
           plan_set_digests(plan, digest_of(job), err) && plan_place(plan, err);
}

bool plan_of_job(struct plan *plan, const struct job_answer *answer, struct error *err)
{
    const struct job_search *search = answer->search;
    const struct job_choice *best = &search->plans[0];
    plan->planner = "split";
    plan->search = "exact";
    plan->headroom = answer->question->headroom;
    plan->lower_bound = answer->in_time ? 0.0 : search->lower_bound; /* it bounds seconds, not money */
    plan->proven_optimal = search->complete && !answer->in_time;
    plan->proof_over =
        answer->in_time && search->complete
            ? "the fewest device-hours in time, of all devices, degrees, micro-batches, chunks, shardings, "
              "recomputations and blocks of each stage"
            : "degrees, micro-batch, chunks, sharding, recomputation and blocks of each stage";
    plan_add_figure(plan, "combinations", search->combinations);
    if (set_job(plan, &best->job, &best->time, &best->memory, answer->question->job.devices, err) &&
        add_alternatives(plan, answer, err) && add_sensitivity(plan, answer, err))
        return true;
    plan_release(plan);
    return false;
}

bool plan_of_one_job(struct plan *plan, const struct job *job, int devices, struct error *err)
{
    struct job_time time = job_time(job);
    struct job_memory memory = job_memory(job);
    if (set_job(plan, job, &time, &memory, devices, err))
        return true;
    plan_release(plan);
    return false;
}

/* ---- back ---- */

static bool no_job(const struct plan *plan, struct error *err, const char *why)
{
    return error_set(err, ERROR_INFEASIBLE, "%s%snot a training job on devices of one type: %s",
                     plan->path ? plan->path : "", plan->path ? ": " : "", why);
}

static bool check_alike(const struct plan *plan, struct error *err)
{
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    const struct plan_stage *first = &pipeline->stages[0];
    if (plan->pipeline_count != 1)
        return no_job(plan, err, "it has pipelines that differ");
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        if (stage->type != first->type)
            return no_job(plan, err, "its stages run on several device types");
        if (!degrees_are_equal(&stage->degrees, &first->degrees) || stage->degrees.data != 1)
            return no_job(plan, err, "its stages differ in their parallel degrees");
    }
    return true;
}

/* Counts the blocks of each stage over all its chunks, without embedding and head. */
static void count_blocks(const struct plan_pipeline *pipeline, int stages, int *blocks)
{
    for (int s = 0; s < stages; s++)
        blocks[s] = 0;
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        blocks[s % stages] +=
            stage->layers.last - stage->layers.first + 1 - (s == 0) - (s == pipeline->stage_count - 1);
    }
}

/* Sets stage_blocks, unless the layout is the one that software makes by itself. */
static bool set_layout(struct job *job, struct plan *plan, struct error *err)
{
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    int total = job_block_count(job);
    int *blocks = ARENA_ARRAY(&plan->arena, (size_t)pipeline->stage_count + 1, int);
    if (!blocks)
        return error_memory(err);
    if (pipeline->stages[pipeline->stage_count - 1].layers.last != total + 1) {
        char why[160];
        snprintf(why, sizeof why, "it has %d layers, '%.60s' has %d with embedding and head",
                 pipeline->stages[pipeline->stage_count - 1].layers.last + 1, job->model->name, total + 2);
        return no_job(plan, err, why);
    }
    int stages = job_depth(job);
    count_blocks(pipeline, stages, blocks);
    bool even = true;
    job->stage_blocks = NULL;
    for (int s = 0; s < stages; s++)
        even &= blocks[s] == job_stage_blocks(job, s);
    job->stage_blocks = even ? NULL : blocks;
    for (int s = 0, layer = 1; s < pipeline->stage_count; s++) {
        layer += job_chunk_blocks(job, s);
        if (pipeline->stages[s].layers.last + 1 != layer + (s == pipeline->stage_count - 1))
            return no_job(plan, err, "its chunks are more uneven than software makes them");
    }
    return true;
}

bool plan_recompute_of(const struct plan *plan, enum recompute *recompute, struct error *err)
{
    *recompute = RECOMPUTE_NONE;
    return !plan->recompute || recompute_find(plan->recompute, recompute) ||
           error_set(err, ERROR_INPUT, "%s: training.recompute: expected none, selective or full, found '%s'",
                     plan->path ? plan->path : "plan", plan->recompute);
}

bool job_of_plan(struct job *job, struct plan *plan, struct error *err)
{
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    const struct plan_stage *first = &pipeline->stages[0];
    if (!check_alike(plan, err))
        return false;
    job->degrees = first->degrees;
    enum pipeline_schedule schedule = SCHEDULE_USUAL;
    if (plan->schedule)
        job_schedule_find(plan->schedule, &schedule);
    job->technique = plan->technique;
    job->technique.schedule = schedule;
    job->chunks = plan->chunks;
    job->degrees.pipeline = pipeline->stage_count / plan->chunks;
    job->degrees.data = pipeline->copies;
    int64_t devices = (int64_t)job->degrees.tensor * job->degrees.context *
                      job->degrees.data; /* of a stage: checked when it was read */
    if (devices * job->degrees.pipeline > PLAN_MAX_DEVICES)
        return no_job(plan, err, "it has more than 16777216 devices");
    job->devices = (int)devices * job->degrees.pipeline;
    job->sharding = plan->sharding > 0 ? plan->sharding : 0;
    job->microbatch = plan->microbatch > 0 ? plan->microbatch : 1;
    job->batch = plan->global_batch > 0 ? plan->global_batch
                                        : pipeline->microbatches * job->microbatch * job->degrees.data;
    return plan_recompute_of(plan, &job->recompute, err) && set_layout(job, plan, err);
}

bool plan_is_job(const struct plan *plan)
{
    struct error unused;
    return plan->type_count == 1 && check_alike(plan, &unused);
}

bool plan_precision_of(const struct plan *plan, const struct cost_device *device, enum cost_type *type,
                       struct error *err)
{
    *type = model_type(device, MODEL_MIXED);
    return !plan->precision || strcmp(plan->precision, "mixed") == 0 ||
           cost_type_find(plan->precision, type) ||
           error_set(err, ERROR_INPUT,
                     "%s: training.precision: expected mixed or a type (bf16, fp16, fp8, ...), found '%s'",
                     plan->path ? plan->path : "plan", plan->precision);
}

bool job_remake(struct job *job, struct plan *plan, const struct plan_parts *given, struct error *err)
{
    memset(job, 0, sizeof *job);
    job->model = plan_model_of(plan, given, err);
    job->software = job->model ? plan_software_of(plan, given, err) : NULL;
    const struct cluster_group *group = job->software ? plan_groups_of(plan, given, err) : NULL;
    if (!group || !plan_precision_of(plan, group->type, &job->type, err))
        return false;
    job_set_group(job, group);
    job->sequence = plan->sequence > 0 ? plan->sequence : job->model->sequence;
    if (job->sequence < 1)
        return error_set(err, ERROR_USAGE,
                         "%s: no sequence length in the plan or for '%s': add training.sequence",
                         plan->path ? plan->path : "plan", job->model->name);
    if (plan->global_batch < 1 && plan->pipelines[0].microbatches < 1)
        return error_set(err, ERROR_USAGE, "%s: no global batch in the plan: add --global-batch N",
                         plan->path ? plan->path : "plan");
    return job_of_plan(job, plan, err);
}
