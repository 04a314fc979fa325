#include "plan/split/job.h"

#include "cost/collective.h"
#include "cost/gemm.h"

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

double job_gradient_transfer(const struct job *job, enum collective_kind kind, int devices, int apart,
                             double bytes)
{
    struct collective_group group = job_group(job, devices, apart);
    return transfer_gradient_seconds(kind, &group, bytes, job->calibration);
}

/* ---- the parts of an iteration ---- */

int64_t job_microbatches(const struct job *job)
{
    int64_t per_rank = job->batch / job->degrees.data;
    return per_rank > job->microbatch ? per_rank / job->microbatch : 1;
}

double job_data_shown(const struct job *job)
{
    const struct technique *technique = &job->technique;
    double own = job->software->data_shown, gradients = technique->data_overlap == SWITCH_OFF ? 1.0 : own;
    bool exposed = technique->gather_overlap == SWITCH_OFF ||
                   (technique->data_overlap == SWITCH_OFF && technique->gather_overlap != SWITCH_ON);
    return (gradients + (exposed ? 1.0 : own)) / 2.0; /* as many bytes each way */
}

double job_exposed(double seconds, double shown, double compute)
{
    return fmax(seconds, seconds / shown - compute);
}

/* Gradients once per iteration: all-reduce, or reduce-scatter and all-gather of the parameters. */
static double gradient_seconds(const struct job *job, enum collective_kind kind,
                               const struct job_exchange *held)
{
    double wire = job_formats_of(job).wire;
    int ranks = job_copies(job);
    int expert_ranks = job_expert_copies(job);
    double seconds =
        job_gradient_transfer(job, kind, ranks, job->degrees.tensor, held->trained * wire) +
        job_gradient_transfer(job, kind, expert_ranks, ranks * job->degrees.tensor / expert_ranks,
                              held->trained_experts * wire);
    return seconds * job_data_shown(job);
}

bool job_keeps_gathered(const struct job *job)
{
    const struct software *software = job->software;
    bool experts = software->keeps_with_experts && job->model->experts > 0;
    return (experts || (software->keeps_gathered && job->degrees.pipeline > 1)) &&
           job->technique.reshard != SWITCH_ON;
}

/* A gather of `number` parameters that `ranks` share, of which there are `copies`, and a scatter of `trained` ones'
 * gradients. */
struct shard_pair {
    double gather, scatter;
};

static struct shard_pair shard_pair_of(const struct job *job, int ranks, int apart, int copies, double number,
                                       double trained)
{
    struct job_formats formats = job_formats_of(job);
    struct shard_pair pair = {
        .gather = job_transfer(job, COLLECTIVE_ALL_GATHER, ranks, apart, formats.gathered * number),
        .scatter = job_transfer(job, COLLECTIVE_REDUCE_SCATTER, ranks, apart, formats.wire * trained),
    };
    if (copies > 1) /* they add up their gradients */
        pair.scatter +=
            job_transfer(job, COLLECTIVE_ALL_REDUCE, copies, apart * ranks, formats.wire * trained / ranks);
    return pair;
}

/* Sets the seconds of shards. Experts that are spread over devices are gathered from those that hold the same ones. */
static void set_shards(const struct job *job, int blocks, struct job_exchange *held)
{
    int apart = job->degrees.tensor, all = job->degrees.data * job->degrees.context,
        ranks = (int)job_shard_ranks(job);
    int expert_ranks = (int)job_expert_shard_ranks(job), copies = ranks < all ? all / ranks : 1;
    double pieces =
        (double)blocks / job->degrees.pipeline + 1.0; /* gathered one after another: blocks, and the ends */
    bool spread = held->experts > 0.0 && expert_ranks < ranks;
    double together = (held->parameters + (spread ? 0.0 : held->experts)) / pieces;
    double trained = (held->trained + (spread ? 0.0 : held->trained_experts)) / pieces;
    struct shard_pair pair = shard_pair_of(job, ranks, apart, copies, together, trained);
    double gathers = job->technique.reshard == SWITCH_OFF || job_keeps_gathered(job) ? 1.0 : 2.0;
    held->shards = (gathers * pair.gather + pair.scatter) * pieces;
    if (spread) {
        int holders = all * apart / (expert_ranks * copies);
        pair = shard_pair_of(job, expert_ranks, holders, copies, held->experts / pieces,
                             held->trained_experts / pieces);
        held->expert_shards = (gathers * pair.gather + pair.scatter) * pieces;
    }
}

double job_trained(const struct job *job, const struct job_layer *layer)
{
    return !job_is_frozen(job) ? layer->parameters
                               : layer->adapters + (job->technique.ends == SWITCH_ON ? layer->ends : 0.0);
}

struct job_exchange job_exchange_of(const struct job *job, const struct job_layers *layers)
{
    double stages = job->degrees.pipeline,
           heads = job->degrees.pipeline == 1 || job_is_folded(job) ? 1.0 : 0.0;
    struct job_exchange exchange = {
        .parameters = layers->blocks.parameters / stages + layers->embedding.parameters +
                      heads * layers->head.parameters,
        .experts = layers->blocks.experts / stages,
        .trained = job_trained(job, &layers->blocks) / stages + job_trained(job, &layers->embedding) +
                   heads * job_trained(job, &layers->head),
    };
    for (int i = 0; i < 2; i++) {
        const struct layer_low *low = i == 0 ? &layers->blocks.low : &layers->blocks.expert_low;
        exchange.low.numbers += low->numbers / stages;
        exchange.low.fewer += low->fewer / stages;
        exchange.low.projectors += low->projectors / stages;
    }
    exchange.trained_experts = job_is_frozen(job) ? 0.0 : exchange.experts;
    if (job_is_double(job)) { /* as many again, of the other stage */
        exchange.parameters *= 2.0;
        exchange.experts *= 2.0;
        exchange.trained *= 2.0;
        exchange.trained_experts *= 2.0;
    }
    if (job->sharding == 3)
        set_shards(job, layers->block_count, &exchange);
    else
        exchange.gradients = gradient_seconds(job, COLLECTIVE_ALL_REDUCE, &exchange);
    if (job->sharding == 2)
        exchange.scatter = gradient_seconds(job, COLLECTIVE_REDUCE_SCATTER, &exchange);
    return exchange;
}

/* Gathers and scatters of shards hide behind the kernels of other blocks: those of all micro-batches, or of one where
 * parameters stay gathered. Sharded gradients are scattered after every micro-batch. */
static double data_seconds(const struct job *job, const struct job_exchange *exchange, double compute)
{
    const struct calibration *c = job->calibration;
    double count = (double)job_microbatches(job);
    double seconds = exchange->gradients;
    if (job->sharding == 3) {
        double times = job_keeps_gathered(job) ? 1.0 : count, moved = exchange->shards * times;
        double all = moved + exchange->expert_shards * times;
        double hidden = job->software->shows_shards || job->technique.data_overlap == SWITCH_OFF
                            ? 0.0
                            : c->hide_shards * compute * times / count;
        seconds = fmax(all - hidden, 0.0) + job_slow_shards(job) * moved;
    } else if (job->sharding == 2) {
        seconds += (count - 1.0) * exchange->scatter;
    }
    return job->sharding < 3 ? job_exposed(seconds, job_data_shown(job), compute) : seconds;
}

double job_slow_shards(const struct job *job)
{
    return job->software->shows_shards ? 1.0 : job->calibration->slow_shards;
}

/* Seconds of projecting all gradients, and GaLore's steps back, as products of square matrices as wide as the model. */
static double project_seconds(const struct job *job, const struct job_exchange *held)
{
    int rank = job_low_rank(job);
    if (rank == 0)
        return 0.0;
    int64_t hidden = job->model->hidden;
    double ways = job->technique.optimizer == OPTIMIZER_GALORE ? 2.0 : 1.0;
    double matrices = held->low.numbers / ((double)hidden * (double)hidden);
    return ways * matrices *
           gemm_time(job->device, job->type, (struct product_size){1, hidden, rank, hidden}).seconds;
}

static double optimizer_seconds(const struct job *job, const struct job_exchange *held)
{
    double parameters = held->trained + held->trained_experts;
    struct job_formats formats = job_formats_of(job);
    double own = parameters, parts = 0.0;
    if (job->sharding >= 1) {
        double ranks = job_shard_ranks(job),
               kept = ranks / job_copies(job); /* without copies of the shards */
        own = held->trained / ranks + held->trained_experts / fmax(job_expert_copies(job) * kept, 1.0);
        parts = job->sharding < 3 ? ranks * job->software->state_each : 0.0;
    }
    double rate = job->device->bandwidth * JOB_STREAM_RATE;
    /* gradients are added to those of earlier micro-batches */
    double added = parameters * formats.added * (double)job_microbatches(job);
    if (job_is_double(job)) /* half of them go through each of its two stages */
        added /= 2.0;
    double here = own * (1.0 - job->technique.offload / 100.0);
    double low = 2.0 * job_low_bytes(job, &held->low) * here / fmax(parameters, 1.0);
    return (here * formats.step - low + added) / rate + parts + project_seconds(job, held) +
           job_offload_seconds(job, own);
}

/* Of a dense block's modules, those of an expert: three of nine. */
#define EXPERT_MODULES (1.0 / 3.0)

/* Seconds of a micro-batch in which the host alone works: it asks for the shards of each module, and so of each expert
 * where these run one after another. */
static double shard_host(const struct job *job)
{
    const struct software *software = job->software;
    double blocks = job_block_count(job);
    if (software->each_launches > 0.0 && job->model->experts > 0)
        blocks += EXPERT_MODULES * job->model->experts / job->degrees.expert *
                  architecture_expert_blocks(job->model);
    return job->sharding == 3 ? software->launch * software->shard_launches * blocks / job->degrees.pipeline
                              : 0.0;
}

double job_rest_floor(const struct job *job, const struct job_exchange *exchange)
{
    double data = job->sharding == 3 ? 0.0 : exchange->gradients;
    return data + optimizer_seconds(job, exchange);
}

/* Are all blocks from first to last - 1 of one kind? */
static bool is_one_kind(const struct job_layers *layers, int first, int last)
{
    for (int i = 0; i < layers->kind_count; i++) {
        const struct job_kind *kind = &layers->kinds[i];
        if (kind->every == 0 && kind->experts_every == 0 && !kind->pattern && first >= kind->first &&
            last <= kind->last)
            return true;
    }
    return false;
}

bool job_stage_tells(const struct job *job, const struct job_layers *layers, int stage)
{
    if (stage < 2 || stage == job->degrees.pipeline - 1 || job->stage_blocks)
        return true;
    if (layers->kind_count == 1 && !job_is_folded(job))
        return false;
    int before = job_stage_first(job, layers->block_count, stage - 1),
        first = job_stage_first(job, layers->block_count, stage),
        last = job_stage_first(job, layers->block_count, stage + 1);
    return job_is_double(job) || job_is_folded(job) || last - first > first - before ||
           !is_one_kind(layers, before, last);
}

/* Returns the pass of the slowest stage, which sets the pace. */
static struct job_pass slowest_stage(const struct job *job, const struct job_layers *layers)
{
    struct job_pass slowest = {0};
    for (int stage = 0; stage < job->degrees.pipeline; stage++) {
        if (!job_stage_tells(job, layers, stage))
            continue;
        struct job_pass pass = job_device_pass(job, layers, stage);
        if (job_pass_seconds(&pass) > job_pass_seconds(&slowest))
            slowest = pass;
    }
    return slowest;
}

bool job_chunks_alike(int block_count, int chunks)
{
    return block_count % chunks == 0 || (block_count + 1) % chunks == 0 || (block_count + 2) % chunks == 0;
}

/* Where all devices of an interleaved pipeline take the steps of one table together, each forward pass beside a
 * backward pass of another device takes as long as that. A device is alone with forward passes while the pipeline
 * fills, (v - 1) p + p - 1 of m v in the mean. */
static double wait_for_step(const struct job *job, const struct job_pass *pass, double count)
{
    double stages = job->degrees.pipeline, chunks = job->chunks, each = count / fmax(job->rounds, 1.0);
    double filling = ((chunks - 1.0) * stages + stages - 1.0) / (each * chunks);
    double forward = pass->forward + pass->ahead;
    return count * fmax(job_pass_seconds(pass) - 2.0 * forward, 0.0) * fmax(1.0 - filling, 0.0);
}

/* `floor`: with a floor of the bubble of a schedule that is timed. */
static struct job_time time_of(const struct job *job, const struct job_layers *layers,
                               const struct job_exchange *exchange, bool floor)
{
    double count = (double)job_microbatches(job), stages = job->degrees.pipeline;
    struct job_pass slowest = slowest_stage(job, layers);
    struct job_time time = {.compute = count * (slowest.forward + slowest.backward + slowest.recompute),
                            .tensor = count * slowest.tensor};
    if (job_is_timed(job)) {
        double busy = time.compute + time.tensor;
        time.bubble = floor ? fmax(job_makespan_floor(job, layers) - busy, 0.0)
                            : job_makespan(job, layers) - busy; /* with its sends */
    } else if (job->degrees.pipeline > 1) {
        double send = job->chunks * (job_sends_inside(job) ? layers->send_inside : layers->send_across);
        double share = job_again_share(job, layers->block_count);
        double block =
            (job_pass_alone(&layers->blocks.pass) * (1.0 - share) + job_pass_alone(&layers->again) * share) /
            layers->block_count;
        time.send = count * (send + job->software->launch * job->software->send_launches);
        /* a pipeline fills with its largest chunk; equal chunks count with their mean */
        double chunks = (double)job->degrees.pipeline * job->chunks, chunk = layers->block_count / chunks;
        if (job->chunks > 1 && !job_chunks_alike(layers->block_count, job->degrees.pipeline * job->chunks))
            chunk = ceil(chunk);
        time.bubble = (stages - 1.0) * (block * chunk + send / job->chunks) * fmax(job->rounds, 1.0);
        if (job->software->steps_together && job->chunks > 1)
            time.bubble += wait_for_step(job, &slowest, count);
    }
    time.flops = count *
                 (layers->blocks.pass.flops + layers->head.pass.flops + layers->embedding.pass.flops +
                  layers->further.pass.flops) /
                 stages;
    time.data = data_seconds(job, exchange, time.compute + time.tensor);
    time.optimizer = optimizer_seconds(job, exchange);
    /* devices wait for the slowest of them at every exchange: longer the more there are */
    double nodes = fmax((double)job->devices / job->devices_per_node, 1.0);
    time.other = job->calibration->step + job->software->step_host + count * shard_host(job) +
                 job->calibration->jitter * log2(nodes) * (time.compute - count * slowest.host);
    time.seconds =
        time.compute + time.bubble + time.tensor + time.send + time.data + time.optimizer + time.other;
    return time;
}

struct job_time job_time_of(const struct job *job, const struct job_layers *layers,
                            const struct job_exchange *exchange)
{
    return time_of(job, layers, exchange, false);
}

double job_time_floor(const struct job *job, const struct job_layers *layers,
                      const struct job_exchange *exchange)
{
    return time_of(job, layers, exchange, true).seconds;
}

struct job_time job_time(const struct job *job)
{
    struct job_layers layers = job_layers_of(job);
    struct job_exchange exchange = job_exchange_of(job, &layers);
    return job_time_of(job, &layers, &exchange);
}
