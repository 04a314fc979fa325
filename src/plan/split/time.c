#include "plan/split/job.h"

#include "cost/collective.h"

#include <math.h>

/* ---- transfers ---- */

struct collective_group job_group(const struct job *job, int devices, int apart)
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

double job_transfer(const struct job *job, enum collective_kind kind, int devices, int apart, double bytes)
{
    struct collective_group group = job_group(job, devices, apart);
    return transfer_seconds(kind, &group, bytes, job->calibration);
}

/* ---- the parts of an iteration ---- */

int64_t job_microbatches(const struct job *job)
{
    int64_t per_rank = job->batch / job->data;
    return per_rank > job->microbatch ? per_rank / job->microbatch : 1;
}

/* Gradients once per iteration: all-reduce, or reduce-scatter and all-gather of the parameters. */
static double gradient_seconds(const struct job *job, enum collective_kind kind,
                               const struct job_exchange *held)
{
    const struct software *software = job->software;
    int ranks = job->data * job->context;
    int expert_ranks = ranks * job->tensor / (job->expert > 1 ? job->expert : job->tensor);
    double seconds =
        job_transfer(job, kind, ranks, job->tensor, held->parameters * software->gradient_bytes) +
        job_transfer(job, kind, expert_ranks, job->devices_per_node,
                     held->experts * software->gradient_bytes);
    return seconds * software->data_shown;
}

static double shard_seconds(const struct job *job, int blocks, const struct job_exchange *held)
{
    int apart = job->tensor, ranks = job->data * job->context;
    double pieces =
        (double)blocks / job->pipeline + 1.0; /* gathered one after another: blocks, and the ends */
    double bytes = 2.0 * (held->parameters + held->experts) / pieces;
    double gather = job_transfer(job, COLLECTIVE_ALL_GATHER, ranks, apart, bytes);
    double scatter = job_transfer(job, COLLECTIVE_REDUCE_SCATTER, ranks, apart,
                                  bytes * job->software->gradient_bytes / 2.0);
    return (2.0 * gather + scatter) * pieces;
}

struct job_exchange job_exchange_of(const struct job *job, const struct job_layers *layers)
{
    double stages = job->pipeline;
    struct job_exchange exchange = {
        .parameters = layers->blocks.parameters / stages + layers->embedding.parameters +
                      (job->pipeline == 1 ? layers->head.parameters : 0.0),
        .experts = layers->blocks.experts / stages,
    };
    if (job->sharding == 3)
        exchange.shards = shard_seconds(job, layers->block_count, &exchange);
    else
        exchange.gradients = gradient_seconds(job, COLLECTIVE_ALL_REDUCE, &exchange);
    if (job->sharding == 2)
        exchange.scatter = gradient_seconds(job, COLLECTIVE_REDUCE_SCATTER, &exchange);
    return exchange;
}

/* Gathers and scatters of shards hide behind the kernels of other blocks. Sharded gradients are scattered after every
 * micro-batch. */
static double data_seconds(const struct job *job, const struct job_exchange *exchange, double compute)
{
    const struct calibration *c = job->calibration;
    double count = (double)job_microbatches(job);
    double seconds = exchange->gradients;
    if (job->sharding == 3) {
        double moved = exchange->shards * count;
        seconds = fmax(moved - c->hide_shards * compute, 0.0) + c->slow_shards * moved;
    } else if (job->sharding == 2) {
        seconds += (count - 1.0) * exchange->scatter;
    }
    return job->frozen ? 0.01 * seconds : seconds;
}

static double optimizer_seconds(const struct job *job, const struct job_exchange *held)
{
    double parameters = held->parameters + held->experts;
    if (job->frozen)
        parameters *= 0.01;
    double ranks = (double)job->data * job->context;
    double own = job->sharding >= 1 ? parameters / ranks : parameters;
    double rate = job->device->bandwidth * JOB_STREAM_RATE;
    /* gradients are added to those of earlier micro-batches */
    double added = parameters * job->software->accumulate * (double)job_microbatches(job);
    return (own * job->software->optimizer + added) / rate;
}

bool job_stage_tells(const struct job *job, const struct job_layers *layers, int stage)
{
    return stage < 2 || stage == job->pipeline - 1 || job->stage_blocks || layers->kind_count > 1;
}

/* Returns the pass of the slowest stage, which sets the pace. */
static struct job_pass slowest_stage(const struct job *job, const struct job_layers *layers)
{
    struct job_pass slowest = {0};
    for (int stage = 0; stage < job->pipeline; stage++) {
        if (!job_stage_tells(job, layers, stage))
            continue;
        int first = job_stage_first(job, layers->block_count, stage);
        int last = job_stage_first(job, layers->block_count, stage + 1);
        struct job_pass pass = job_stage(job, layers, stage, first, last).pass;
        if (job_pass_seconds(&pass) > job_pass_seconds(&slowest))
            slowest = pass;
    }
    return slowest;
}

bool job_chunks_alike(int block_count, int chunks)
{
    return block_count % chunks == 0 || (block_count + 1) % chunks == 0 || (block_count + 2) % chunks == 0;
}

struct job_time job_time_of(const struct job *job, const struct job_layers *layers,
                            const struct job_exchange *exchange)
{
    double count = (double)job_microbatches(job), stages = job->pipeline;
    struct job_pass slowest = slowest_stage(job, layers);
    struct job_time time = {.compute = count * (slowest.forward + slowest.backward + slowest.recompute),
                            .tensor = count * slowest.tensor};
    if (job->pipeline > 1) {
        bool inside = job->devices_per_node / (job->tensor * job->context * job->data) >= 2;
        double send = job->chunks * (inside ? layers->send_inside : layers->send_across);
        double block = job_pass_seconds(&layers->blocks.pass) / layers->block_count;
        time.send = count * send;
        /* a pipeline fills with its largest chunk; equal chunks count with their mean */
        double chunks = (double)job->pipeline * job->chunks, chunk = layers->block_count / chunks;
        if (job->chunks > 1 && !job_chunks_alike(layers->block_count, job->pipeline * job->chunks))
            chunk = ceil(chunk);
        time.bubble = (stages - 1.0) * (block * chunk + send / job->chunks);
    }
    time.flops =
        count * (layers->blocks.pass.flops + layers->head.pass.flops + layers->embedding.pass.flops) / stages;
    time.data = data_seconds(job, exchange, time.compute + time.tensor);
    time.optimizer = optimizer_seconds(job, exchange);
    /* devices wait for the slowest of them at every exchange: longer the more there are */
    double nodes = fmax((double)job->devices / job->devices_per_node, 1.0);
    time.other = job->calibration->step + job->calibration->jitter * log2(nodes) * time.compute;
    time.seconds =
        time.compute + time.bubble + time.tensor + time.send + time.data + time.optimizer + time.other;
    return time;
}

struct job_time job_time(const struct job *job)
{
    struct job_layers layers = job_layers_of(job);
    struct job_exchange exchange = job_exchange_of(job, &layers);
    return job_time_of(job, &layers, &exchange);
}
