/* Transfers of a layer: how a job's devices exchange tokens of experts, and keys and values. */
#include "plan/split/job.h"

#include <math.h>
#include <string.h>

enum dispatcher job_dispatcher(const struct job *job)
{
    if (job->technique.dispatch != DISPATCH_USUAL)
        return (enum dispatcher)job->technique.dispatch;
    return job->software->dispatch != DISPATCH_USUAL ? job->software->dispatch : DISPATCH_ALLTOALL;
}

enum context_kind job_context_kind(const struct job *job)
{
    return job->technique.context_kind != CONTEXT_USUAL ? (enum context_kind)job->technique.context_kind
                                                        : CONTEXT_RING;
}

enum expert_overlap job_overlap(const struct job *job)
{
    if (job->degrees.expert <= 1)
        return OVERLAP_NONE;
    if (job_has_pairs(job))
        return OVERLAP_WEIGHTS; /* its pairs */
    return job->technique.expert_overlap != OVERLAP_USUAL ? (enum expert_overlap)job->technique.expert_overlap
                                                          : OVERLAP_NONE;
}

static int expert_tensor(const struct job *job)
{
    return job->degrees.expert > 1 && job->technique.expert_tensor > 1 ? job->technique.expert_tensor : 1;
}

int job_copies(const struct job *job)
{
    return job->degrees.data * job->degrees.context * (job_is_double(job) ? 2 : 1);
}

int job_expert_copies(const struct job *job)
{
    int ranks = job_copies(job) * job->degrees.tensor;
    int holders = job->degrees.expert > 1 ? job->degrees.expert * expert_tensor(job) : job->degrees.tensor;
    return ranks > holders ? ranks / holders : 1;
}

/* ---- experts ---- */

static struct expert_exchange exchange_of(const struct job *job, enum dispatcher dispatcher)
{
    double width = fmax(cost_type_bytes(cost_device_type(job->device, job->type)), 2.0);
    bool narrow =
        job->software->narrow_dispatch && cost_type_bytes(cost_device_type(job->device, job->type)) <= 1.0;
    return (struct expert_exchange){
        .model = job->model,
        .calibration = job->calibration,
        .group = job_group(job, job->degrees.expert, expert_tensor(job)),
        .dispatcher = dispatcher,
        .tokens =
            (double)job->microbatch * (double)job->sequence / job->degrees.context / job->degrees.tensor,
        .width = width,
        .out_width = narrow ? 1.0 : width,
        .imbalance = job_imbalance(job),
        .in_turn = job->in_turn,
    };
}

/* Ranks that split an expert gather the tokens sent to each of them, and scatter its outputs. */
static double inner_seconds(const struct job *job, enum collective_kind kind, double bytes)
{
    int ranks = expert_tensor(job);
    return job_transfer(job, kind, ranks, 1, bytes * ranks * job_imbalance(job));
}

static struct expert_seconds experts_of(const struct job *job, const struct layer_work *work,
                                        enum dispatcher dispatcher)
{
    if (job->degrees.expert <= 1 || work->expert_bytes <= 0.0)
        return (struct expert_seconds){0};
    struct expert_exchange exchange = exchange_of(job, dispatcher);
    struct expert_seconds seconds = expert_seconds_of(&exchange);
    seconds.dispatch += inner_seconds(job, COLLECTIVE_ALL_GATHER, work->expert_bytes);
    seconds.combine += inner_seconds(job, COLLECTIVE_REDUCE_SCATTER, work->expert_bytes);
    return seconds;
}

/* ---- context ---- */

static struct context_exchange ring_of(const struct job *job, const struct layer_work *work,
                                       enum context_kind kind, const double attention[2])
{
    bool latent = job->model->kv_rank > 0;
    return (struct context_exchange){
        .kind = kind,
        .group = job_group(job, job->degrees.context, job->degrees.tensor),
        .calibration = job->calibration,
        .keys_bytes = work->context_bytes,
        .queries_bytes = work->context_query_bytes,
        .heads = job->model->heads / job->degrees.tensor,
        .kv_heads = (latent ? job->model->heads : job->model->kv_heads) / job->degrees.tensor,
        .attention = {attention[0], attention[1]},
        .tokens = (double)job->sequence,
        .stream = job->device->bandwidth * job->device->stream_efficiency * job->calibration->stream,
        .neighbours = job->devices_per_node / job->degrees.tensor,
    };
}

int job_context_neighbours(const struct job *job)
{
    const double nothing[2] = {0.0, 0.0};
    const struct layer_work work = {0};
    struct context_exchange exchange = ring_of(job, &work, CONTEXT_HIERARCHICAL, nothing);
    return context_neighbours(&exchange);
}

/* ---- tensor ---- */

static double tensor_shown(const struct job *job)
{
    const struct software *software = job->software;
    bool overlaps = job->technique.tensor_overlap == SWITCH_ON && software->tensor_overlapped > 0.0;
    return overlaps ? software->tensor_overlapped : software->tensor_shown;
}

/* ---- all ---- */

struct job_moved job_moved_of(const struct job *job, const struct layer_work *work, const double attention[2])
{
    static const enum collective_kind kinds[] = {[CONTEXT_USUAL] = COLLECTIVE_SEND,
                                                 [CONTEXT_RING] = COLLECTIVE_SEND,
                                                 [CONTEXT_GATHER] = COLLECTIVE_ALL_GATHER,
                                                 [CONTEXT_ULYSSES] = COLLECTIVE_ALL_TO_ALL,
                                                 [CONTEXT_HIERARCHICAL] = COLLECTIVE_ALL_TO_ALL};
    struct context_exchange context = ring_of(job, work, job_context_kind(job), attention);
    return (struct job_moved){
        .reduce = job_transfer(job, COLLECTIVE_ALL_REDUCE, job->degrees.tensor, 1, work->tensor_bytes),
        .reduce_shown = tensor_shown(job),
        .experts = experts_of(job, work, job_dispatcher(job)),
        .context = context_seconds_of(&context),
        .context_kind = kinds[job_context_kind(job)],
    };
}

/* NVIDIA's devices from Ampere on (github.com/deepseek-ai/DeepEP). */
static bool runs_deepep(const struct job *job)
{
    const char *capability = job->device->capability;
    return capability && text_starts_with(capability, "sm_") &&
           (capability[3] >= '8' || strlen(capability) > strlen("sm_80")) &&
           software_supports(job->software, TECHNIQUE_DISPATCH);
}

static void choose_dispatcher(struct job *job, const struct layer_work *work)
{
    struct expert_seconds copies = experts_of(job, work, DISPATCH_ALLTOALL);
    struct expert_seconds merged = experts_of(job, work, DISPATCH_DEEPEP);
    bool faster = merged.dispatch + merged.combine < copies.dispatch + copies.combine;
    job->technique.dispatch = faster && runs_deepep(job) ? DISPATCH_DEEPEP : DISPATCH_ALLTOALL;
}

/* What a kind of exchange adds to a block that has all heads' attention; a window's blocks exchange the same. */
struct context_price {
    int kind;
    double moved, kernels; /* seconds */
};

/* Returns how many kinds are allowed and not worse than another one in both. */
static int price_kinds(struct context_price *prices, const struct job *job)
{
    struct layer_split split = job_split(job);
    struct layer_work work;
    double attention[2] = {0.0, 0.0};
    int count = 0, kept = 0;
    transformer_block(&work, job->model, architecture_last(job->model, false), &split);
    for (int i = 0; i < work.count; i++)
        if (work.kernels[i].kind == KERNEL_ATTENTION)
            attention[i >= work.forward_count] +=
                kernel_time(&work.kernels[i], job->device, job->calibration).seconds;
    for (int kind = CONTEXT_RING; kind <= CONTEXT_HIERARCHICAL; kind++) {
        struct context_exchange exchange = ring_of(job, &work, (enum context_kind)kind, attention);
        if (!context_allows(&exchange))
            continue;
        struct context_seconds seconds = context_seconds_of(&exchange);
        prices[count++] = (struct context_price){kind, seconds.forward + seconds.backward,
                                                 seconds.kernels[0] + seconds.kernels[1]};
    }
    for (int i = 0; i < count; i++) {
        bool useful = true;
        for (int j = 0; j < count && useful; j++)
            useful = j == i || prices[j].moved > prices[i].moved || prices[j].kernels > prices[i].kernels ||
                     (j > i && prices[j].moved == prices[i].moved && prices[j].kernels == prices[i].kernels);
        if (useful)
            prices[kept++] = prices[i];
    }
    return kept;
}

/* By the seconds that the iteration takes of all blocks: their passes, with their waiting for the host, and the jitter
 * of their kernels (time.c). */
static void choose_context_kind(struct job *job, struct kernel_memo *memo)
{
    struct context_price prices[CONTEXT_HIERARCHICAL + 1];
    double best = INFINITY, nodes = fmax((double)job->devices / job->devices_per_node, 1.0);
    struct job tried = *job;
    int count = price_kinds(prices, job);
    if (count == 1)
        job->technique.context_kind = prices[0].kind;
    for (int i = 0; i < count && count > 1; i++) {
        struct job_layers layers;
        tried.technique.context_kind = prices[i].kind;
        job_layers_each(&tried, 1, memo, &layers);
        const struct job_pass *pass = &layers.blocks.pass;
        double kernels = pass->forward + pass->backward + pass->recompute - pass->host;
        double seconds = job_pass_seconds(pass) + job->calibration->jitter * log2(nodes) * kernels;
        if (seconds < best) {
            best = seconds;
            job->technique.context_kind = prices[i].kind;
        }
    }
}

void job_choose_transfers(struct job *job, struct kernel_memo *memo, bool dispatch, bool context)
{
    bool experts =
        dispatch && job->degrees.expert > 1 && software_supports(job->software, TECHNIQUE_DISPATCH);
    if (experts) {
        struct layer_split split = job_split(job);
        struct layer_work work;
        transformer_block(&work, job->model, architecture_last(job->model, true), &split);
        choose_dispatcher(job, &work);
    }
    if (context && job->degrees.context > 1 && software_supports(job->software, TECHNIQUE_CONTEXT_KIND))
        choose_context_kind(job, memo);
}
