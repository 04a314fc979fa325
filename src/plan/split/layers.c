#include "plan/split/job.h"

#include "cost/collective.h"

#include <math.h>

struct layer_split job_split(const struct job *job)
{
    return (struct layer_split){
        .microbatch = job->microbatch,
        .sequence = job->sequence,
        .document = job->document,
        .tensor = job->tensor,
        .context = job->context,
        .expert = job->expert,
        .type = cost_device_type(job->device, job->type),
        .software = job->software,
    };
}

/* Returns the seconds to send tokens to their experts, or back. A token goes once to a node that has several of its
 * experts (DeepEP, github.com/deepseek-ai/DeepEP, and Megatron-Core's flexible dispatcher): of `active` experts spread
 * evenly over n nodes, n (1 - (1 - 1/n)^active) are on different nodes. */
static double exchange_seconds(const struct job *job, double bytes)
{
    if (job->expert <= 1 || bytes <= 0.0)
        return 0.0;
    struct collective_group group = job_group(job, job->expert, 1);
    double nodes = (double)group.devices / group.devices_per_node, active = job->model->active_experts;
    if (nodes > 1.0)
        bytes *= nodes * (1.0 - pow(1.0 - 1.0 / nodes, active)) / active;
    return transfer_seconds(COLLECTIVE_ALL_TO_ALL, &group, bytes, job->calibration);
}

static double kernels(const struct job *job, const struct layer_work *work, int first, int count,
                      double *flops)
{
    double seconds = 0.0;
    for (int i = first; i < first + count; i++) {
        if (job->frozen && work->kernels[i].weights)
            continue;
        struct kernel_time time = kernel_time(&work->kernels[i], job->device, job->calibration);
        seconds += time.seconds;
        if (flops && work->kernels[i].kind != KERNEL_STREAM && work->kernels[i].kind != KERNEL_QUANTIZE)
            *flops += time.flops;
    }
    return seconds;
}

/* Returns the seconds of the backward pass's transfers: tensor parallel all-reduces, keys and values round the context
 * parallel ranks, tokens to their experts. */
static double layer_transfers(const struct job *job, const struct layer_work *work, double *forward)
{
    double reduce = job_transfer(job, COLLECTIVE_ALL_REDUCE, job->tensor, 1, work->tensor_bytes) *
                    job->software->tensor_shown;
    double exchange = exchange_seconds(job, work->expert_bytes);
    double ring = job_transfer(job, COLLECTIVE_ALL_GATHER, job->context, job->tensor,
                               work->context_bytes * job->context) *
                  job->software->tensor_shown;
    *forward = work->tensor_forward * reduce + 2.0 * exchange + ring;
    return work->tensor_backward * reduce + 2.0 * exchange + 2.0 * ring;
}

static struct job_pass layer_pass(const struct job *job, const struct layer_work *work, bool block)
{
    struct job_pass pass = {0};
    pass.forward = kernels(job, work, 0, work->forward_count, &pass.flops);
    pass.backward = kernels(job, work, work->forward_count, work->count - work->forward_count, &pass.flops);
    double forward_transfers, backward_transfers = layer_transfers(job, work, &forward_transfers);
    pass.tensor = forward_transfers + backward_transfers;
    if (block && job->recompute == RECOMPUTE_FULL) {
        pass.recompute = pass.forward;
        pass.tensor += forward_transfers;
    } else if (block && job->recompute == RECOMPUTE_SELECTIVE) {
        pass.recompute = job->software->attention == ATTENTION_UNFUSED
                             ? kernels(job, work, work->attention_first, work->attention_count, NULL)
                             : job->software->selective * pass.forward;
    }
    if (work->expert_parameters > 0.0)
        pass.backward += fmax(
            job->software->expert_host - (pass.forward + pass.backward + pass.recompute + pass.tensor), 0.0);
    return pass;
}

static struct job_layer block_of(const struct job *job, const struct layer_work *work)
{
    double recomputed = job->recompute == RECOMPUTE_FULL ? work->activation_bytes : 0.0;
    return (struct job_layer){
        .pass = layer_pass(job, work, true),
        .parameters = work->parameters,
        .experts = work->expert_parameters,
        .kept = job->recompute == RECOMPUTE_FULL        ? work->input_bytes
                : job->recompute == RECOMPUTE_SELECTIVE ? work->selective_bytes
                                                        : work->activation_bytes,
        .activations = work->activation_bytes,
        .working = recomputed + job->software->backward_working * work->working_bytes,
        .largest_matrix = work->largest_matrix,
        .gathered = work->parameters + work->expert_parameters,
    };
}

static struct job_layer end_of(const struct job *job, const struct layer_work *work, double kept)
{
    return (struct job_layer){
        .pass = layer_pass(job, work, false),
        .parameters = work->parameters,
        .kept = kept,
        .activations = work->activation_bytes,
    };
}

static void add_pass(struct job_pass *sum, const struct job_pass *pass, double times)
{
    sum->forward += times * pass->forward;
    sum->backward += times * pass->backward;
    sum->recompute += times * pass->recompute;
    sum->tensor += times * pass->tensor;
    sum->flops += times * pass->flops;
}

static void add_layer(struct job_layer *sum, const struct job_layer *layer, double times)
{
    add_pass(&sum->pass, &layer->pass, times);
    sum->parameters += times * layer->parameters;
    sum->experts += times * layer->experts;
    sum->kept += times * layer->kept;
    sum->activations += times * layer->activations;
    sum->working = fmax(sum->working, layer->working);
    sum->largest_matrix = fmax(sum->largest_matrix, layer->largest_matrix);
    sum->gathered = fmax(sum->gathered, layer->gathered);
}

/* Returns how many of the first `end` blocks are of a kind. */
static int count_before(const struct job_kind *kind, int end)
{
    end = end < kind->first ? kind->first : end > kind->last ? kind->last : end;
    if (kind->every == 0)
        return end - kind->first;
    int lasts = end / kind->every - kind->first / kind->every;
    return kind->is_last ? lasts : end - kind->first - lasts;
}

static void add_kind(struct job_layers *layers, const struct job *job, struct job_kind kind)
{
    int example = kind.first;
    while (example < kind.last && kind.every > 0 && (example % kind.every == kind.every - 1) != kind.is_last)
        example++;
    if (example >= kind.last)
        return;
    struct layer_work work;
    struct layer_split split = job_split(job);
    transformer_block(&work, job->model, example, &split);
    kind.layer = block_of(job, &work);
    layers->kinds[layers->kind_count++] = kind;
    add_layer(&layers->blocks, &kind.layer, count_before(&kind, kind.last));
    /* each rank sends its share of the tokens */
    double bytes = work.output_bytes / job->tensor;
    layers->sent = bytes;
    layers->send_inside = 2.0 * job_transfer(job, COLLECTIVE_SEND, 2, 1, bytes) * job->calibration->send;
    layers->send_across =
        2.0 * job_transfer(job, COLLECTIVE_SEND, 2, job->devices_per_node, bytes) * job->calibration->send;
}

/* The kind of block changes at the first block of the decoder and at the first block with experts. */
static void add_kinds(struct job_layers *layers, const struct job *job)
{
    const struct architecture *model = job->model;
    int decoder = model->encoder_layers, experts = model->experts > 0 ? model->dense_layers : 0;
    bool mixes = model->window > 0 && model->window < job->sequence && model->window_every > 0;
    int starts[] = {0, decoder < experts ? decoder : experts, decoder < experts ? experts : decoder,
                    layers->block_count};
    for (int i = 0; i < 3; i++) {
        int last = starts[i + 1] < layers->block_count ? starts[i + 1] : layers->block_count;
        struct job_kind kind = {.first = starts[i], .last = last, .every = mixes ? model->window_every : 0};
        add_kind(layers, job, kind);
        kind.is_last = true;
        if (mixes)
            add_kind(layers, job, kind);
    }
}

struct job_layers job_layers_of(const struct job *job)
{
    struct job_layers layers = {.block_count = job_block_count(job)};
    struct layer_split split = job_split(job);
    struct layer_work work;
    add_kinds(&layers, job);
    transformer_embedding(&work, job->model, &split);
    layers.embedding = end_of(job, &work, work.activation_bytes);
    transformer_head(&work, job->model, &split);
    layers.head = end_of(job, &work, 0.0); /* the loss holds its activations for one micro-batch at a time */
    return layers;
}

int job_stage_first(const struct job *job, int block_count, int stage)
{
    int sum = 0;
    if (job->stage_blocks) {
        for (int i = 0; i < stage; i++)
            sum += job->stage_blocks[i];
        return sum;
    }
    int each = block_count / job->pipeline, more = block_count % job->pipeline;
    int from = more == job->pipeline - 1 ? stage : stage - 1; /* without embedding or head first */
    return each * stage + (from < 0 ? 0 : from > more ? more : from);
}

int job_block_count(const struct job *job)
{
    return job->model->layers + job->model->encoder_layers;
}

int job_stage_blocks(const struct job *job, int stage)
{
    int count = job_block_count(job);
    return job_stage_first(job, count, stage + 1) - job_stage_first(job, count, stage);
}

int job_chunk_blocks(const struct job *job, int chunk)
{
    int stage = chunk % job->pipeline, at = chunk / job->pipeline, chunks = job->chunks;
    int64_t blocks = job_stage_blocks(job, stage), up = stage == job->pipeline - 1 ? chunks - 1 : 0;
    return (int)((blocks * (at + 1) + up) / chunks - (blocks * at + up) / chunks);
}

struct job_layer job_stage(const struct job *job, const struct job_layers *layers, int stage, int first,
                           int last)
{
    struct job_layer sum = {0};
    for (int i = 0; i < layers->kind_count; i++) {
        int count = count_before(&layers->kinds[i], last) - count_before(&layers->kinds[i], first);
        if (count > 0)
            add_layer(&sum, &layers->kinds[i].layer, count);
    }
    bool is_last = stage == job->pipeline - 1;
    if (stage == 0)
        add_layer(&sum, &layers->embedding, 1.0);
    if (is_last)
        add_layer(&sum, &layers->head, 1.0);
    if (is_last && stage > 0 && job->model->tied) /* the embedding's matrix, copied */
        sum.parameters += (double)job->model->hidden * (double)job->model->vocabulary / job->tensor;
    return sum;
}
