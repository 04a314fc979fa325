#include "job/job.h"

#include "cost/transfer.h"

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

int64_t job_microbatches(const struct job *job)
{
    int64_t per_rank = job->batch / job->data;
    return per_rank > job->microbatch ? per_rank / job->microbatch : 1;
}

/* A group of this many devices, `apart` ranks of which neighbours are apart: tensor parallel ranks are next to each
 * other, data parallel ranks tensor x context apart, as Megatron-LM lays them out. */
static struct collective_group group_of(const struct job *job, int devices, int apart)
{
    int per_node = job->devices_per_node / apart;
    if (per_node < 1)
        per_node = 1;
    if (per_node > devices)
        per_node = devices;
    return (struct collective_group){
        .devices = devices,
        .devices_per_node = per_node,
        .inside = job->inside,
        .across = job->across,
    };
}

static double transfer(const struct job *job, enum collective_kind kind, int devices, int apart, double bytes)
{
    struct collective_group group = group_of(job, devices, apart);
    return transfer_seconds(kind, &group, bytes, job->calibration);
}

/* Tokens to their experts, or back. To a node where several of its experts are a token goes once (DeepEP,
 * github.com/deepseek-ai/DeepEP, and Megatron-Core's flexible dispatcher): of `active` experts spread evenly over n
 * nodes, n (1 - (1 - 1/n)^active) are on different ones. */
static double exchange_seconds(const struct job *job, double bytes)
{
    if (job->expert <= 1 || bytes <= 0.0)
        return 0.0;
    struct collective_group group = group_of(job, job->expert, 1);
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

/* Tensor parallel all-reduces, keys and values round the context parallel ranks, tokens to their experts. */
static double layer_transfers(const struct job *job, const struct layer_work *work, double *forward)
{
    double reduce = transfer(job, COLLECTIVE_ALL_REDUCE, job->tensor, 1, work->tensor_bytes) *
                    job->software->tensor_shown;
    double exchange = exchange_seconds(job, work->expert_bytes);
    double ring =
        transfer(job, COLLECTIVE_ALL_GATHER, job->context, job->tensor, work->context_bytes * job->context) *
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

static void add_pass(struct job_pass *sum, const struct job_pass *pass)
{
    sum->forward += pass->forward;
    sum->backward += pass->backward;
    sum->recompute += pass->recompute;
    sum->tensor += pass->tensor;
    sum->flops += pass->flops;
}

static double pass_compute(const struct job_pass *pass)
{
    return pass->forward + pass->backward + pass->recompute;
}

struct job_layers job_layers_of(const struct job *job)
{
    struct job_layers layers = {.block_count = job->model->layers + job->model->encoder_layers};
    struct layer_split split = job_split(job);
    struct layer_work work = {0};
    struct job_pass pass = {0};
    for (int i = 0; i < layers.block_count; i++) {
        /* blocks are alike but for the first dense ones of a mixture, windows, and where the decoder begins */
        bool alike = i > 1 && i != job->model->dense_layers && i != job->model->encoder_layers &&
                     job->model->window_every == 0;
        if (!alike || i == job->model->dense_layers + 1) {
            transformer_block(&work, job->model, i, &split);
            pass = layer_pass(job, &work, true);
        }
        add_pass(&layers.blocks, &pass);
        layers.block_parameters += work.parameters;
        layers.block_expert_parameters += work.expert_parameters;
    }
    layers.output_bytes = work.output_bytes;
    transformer_embedding(&work, job->model, &split);
    layers.embedding = layer_pass(job, &work, false);
    layers.embedding_parameters = work.parameters;
    transformer_head(&work, job->model, &split);
    layers.head = layer_pass(job, &work, false);
    layers.head_parameters = work.parameters;
    return layers;
}

/* Parameters on a device of the fullest stage. */
struct held {
    double parameters, experts;
};

static struct held held_by(const struct job *job, const struct job_layers *layers)
{
    double ends = layers->embedding_parameters + (job->pipeline == 1 ? layers->head_parameters : 0.0);
    return (struct held){layers->block_parameters / job->pipeline + ends,
                         layers->block_expert_parameters / job->pipeline};
}

/* Gathers and scatters of parameter shards, a block at a time, behind the kernels of other blocks. */
static double shard_seconds(const struct job *job, const struct held *held, int blocks, double compute)
{
    const struct calibration *c = job->calibration;
    int apart = job->tensor, ranks = job->data * job->context;
    double pieces = (double)blocks / job->pipeline + 1.0;
    double bytes = 2.0 * (held->parameters + held->experts) / pieces;
    double gather = transfer(job, COLLECTIVE_ALL_GATHER, ranks, apart, bytes);
    double scatter =
        transfer(job, COLLECTIVE_REDUCE_SCATTER, ranks, apart, bytes * job->software->gradient_bytes / 2.0);
    double moved = (2.0 * gather + scatter) * pieces * (double)job_microbatches(job);
    return fmax(moved - c->hide_shards * compute, 0.0) + c->slow_shards * moved;
}

/* Devices wait for the slowest of them at every exchange: more of them, longer. */
static double jitter_seconds(const struct job *job, double compute)
{
    double nodes = fmax((double)job->devices / job->devices_per_node, 1.0);
    return job->calibration->jitter * log2(nodes) * compute;
}

/* Gradients once per iteration: all-reduce, or reduce-scatter and all-gather of the parameters. */
static double gradient_seconds(const struct job *job, const struct held *held)
{
    int ranks = job->data * job->context, apart = job->tensor;
    double bytes = held->parameters * job->software->gradient_bytes;
    double seconds = transfer(job, COLLECTIVE_ALL_REDUCE, ranks, apart, bytes);
    int expert_ranks = ranks * job->tensor / (job->expert > 1 ? job->expert : job->tensor);
    seconds += transfer(job, COLLECTIVE_ALL_REDUCE, expert_ranks, job->devices_per_node,
                        held->experts * job->software->gradient_bytes);
    return seconds * job->software->data_shown;
}

/* Share of the memory's bandwidth: long kernels that only stream. */
#define OPTIMIZER_RATE 0.8

static double optimizer_seconds(const struct job *job, const struct held *held)
{
    double parameters = held->parameters + held->experts;
    if (job->frozen)
        parameters *= 0.01;
    double ranks = (double)job->data * job->context;
    double own = job->sharding >= 1 ? parameters / ranks : parameters;
    double rate = job->device->bandwidth * OPTIMIZER_RATE;
    /* gradients are added to what earlier micro-batches left */
    double added = parameters * job->software->accumulate * (double)job_microbatches(job);
    return (own * job->software->optimizer + added) / rate;
}

/* Blocks that do not divide evenly are missing from the last stage first, where the head is. */
static double last_blocks(const struct job *job, int blocks)
{
    int most = (blocks + job->pipeline - 1) / job->pipeline;
    return blocks % job->pipeline == 0 ? most : most - 1;
}

struct job_time job_time_of(const struct job *job, const struct job_layers *layers)
{
    struct held held = held_by(job, layers);
    double count = (double)job_microbatches(job), stages = job->pipeline;
    struct job_time time = {0};
    double most = ceil(layers->block_count / stages), last = last_blocks(job, layers->block_count);
    double block = pass_compute(&layers->blocks) / layers->block_count;
    double block_tensor = layers->blocks.tensor / layers->block_count;
    double blocks = pass_compute(&layers->blocks) / stages, block_transfers = layers->blocks.tensor / stages;
    double send = 0.0;
    if (job->pipeline == 1) {
        time.compute = count * (blocks + pass_compute(&layers->head) + pass_compute(&layers->embedding));
        time.tensor = count * (block_transfers + layers->head.tensor + layers->embedding.tensor);
    } else {
        /* a rank sends its share of the tokens; there and back */
        double bytes = layers->output_bytes / job->tensor;
        int apart = job->tensor * job->context * job->data;
        send = 2.0 * transfer(job, COLLECTIVE_SEND, 2, apart, bytes) * job->chunks * job->calibration->send;
        /* the stage with the most blocks sets the pace, or the last one, with the head beside its own */
        bool is_last = last * block + pass_compute(&layers->head) > most * block;
        time.compute = count * (is_last ? last * block + pass_compute(&layers->head) : most * block);
        time.tensor = count * (is_last ? last * block_tensor + layers->head.tensor : most * block_tensor);
        time.send = count * send;
        time.bubble = (stages - 1.0) * (blocks + block_transfers + send) / job->chunks;
    }
    time.flops =
        count * (layers->blocks.flops / stages + (layers->head.flops + layers->embedding.flops) / stages);
    if (job->sharding == 3)
        time.data = shard_seconds(job, &held, layers->block_count, time.compute + time.tensor);
    else
        time.data = gradient_seconds(job, &held);
    if (job->frozen)
        time.data *= 0.01;
    time.optimizer = optimizer_seconds(job, &held);
    time.other = job->calibration->step + jitter_seconds(job, time.compute);
    time.seconds =
        time.compute + time.bubble + time.tensor + time.send + time.data + time.optimizer + time.other;
    return time;
}

struct job_time job_time(const struct job *job)
{
    struct job_layers layers = job_layers_of(job);
    return job_time_of(job, &layers);
}
