#include "job/job.h"

#include <math.h>

/* Micro-batches whose activations a stage holds at once under 1F1B, in units of the stage's own (Narayanan et al.
 * 2021, arXiv:2104.04473, section 2.2; interleaved: Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.3). */
static double in_flight(const struct job *job, int stage)
{
    double count = (double)job_microbatches(job), stages = job->pipeline, behind = stages - stage;
    double chunks = job->chunks;
    double held = chunks > 1.0 ? behind + (stages - 1.0) / chunks : behind;
    return fmin(held, count);
}

static double kept(const struct job *job, const struct layer_work *work)
{
    return job->recompute == RECOMPUTE_FULL        ? work->input_bytes
           : job->recompute == RECOMPUTE_SELECTIVE ? work->selective_bytes
                                                   : work->activation_bytes;
}

/* A stage of the pipeline: its blocks, and what of them memory depends on. */
struct stage {
    bool first, last;
    double parameters, experts; /* on this device */
    double kept;                /* bytes of one micro-batch, all blocks */
    struct layer_work largest;  /* the block with the most activations */
};

struct model_ends {
    struct layer_work embedding, head;
};

static struct stage stage_of(const struct job *job, int index, const struct layer_split *split,
                             const struct model_ends *ends)
{
    int64_t blocks = job->model->layers + job->model->encoder_layers;
    int first = (int)(blocks * index / job->pipeline), last = (int)(blocks * (index + 1) / job->pipeline);
    struct stage stage = {.first = index == 0, .last = index == job->pipeline - 1};
    struct layer_work work;
    for (int i = first; i < last; i++) {
        transformer_block(&work, job->model, i, split);
        stage.kept += kept(job, &work);
        stage.parameters += work.parameters;
        stage.experts += work.expert_parameters;
        if (i == first || work.activation_bytes > stage.largest.activation_bytes)
            stage.largest = work;
    }
    if (stage.first) {
        stage.parameters += ends->embedding.parameters;
        stage.kept += ends->embedding.activation_bytes;
    }
    if (stage.last)
        stage.parameters += ends->head.parameters;
    if (stage.last && !stage.first && job->model->tied) /* a copy of the embedding's matrix */
        stage.parameters += (double)job->model->hidden * (double)job->model->vocabulary / job->tensor;
    return stage;
}

/* Bytes of all parameters of a stage at `bytes` each, split over the ranks that share them from ZeRO stage `from` on. */
static double held(const struct job *job, const struct stage *stage, double bytes, int from)
{
    double ranks = (double)job->data * job->context;
    double expert_ranks = fmax(ranks * job->tensor / (job->expert > 1 ? job->expert : job->tensor), 1.0);
    bool shared = job->sharding >= from;
    return bytes *
           (stage->parameters / (shared ? ranks : 1.0) + stage->experts / (shared ? expert_ranks : 1.0));
}

/* What is there beside what is kept: a block in its backward pass or the loss, and gathered shards. */
static double working(const struct job *job, const struct stage *stage, const struct layer_work *head)
{
    const struct software *software = job->software;
    const struct layer_work *largest = &stage->largest;
    double recomputed = job->recompute == RECOMPUTE_FULL ? largest->activation_bytes : 0.0;
    double backward = recomputed + software->backward_working * largest->working_bytes +
                      software->matrix_working * (stage->last ? 1.0 : 0.5) * largest->largest_matrix;
    double bytes = fmax(backward, stage->last ? head->activation_bytes : 0.0);
    if (job->sharding >= 3 && job->pipeline > 1 && software->keeps_gathered)
        bytes += (2.0 + software->stored_gradient_bytes) * (stage->parameters + stage->experts);
    else if (job->sharding >= 3) /* this block's and the next one's, gathered; and a block's gradients */
        bytes += 2.0 * 3.0 * (largest->parameters + largest->expert_parameters);
    return bytes;
}

static struct job_memory stage_memory(const struct job *job, int index, const struct layer_split *split,
                                      const struct model_ends *ends)
{
    const struct software *software = job->software;
    struct stage stage = stage_of(job, index, split, ends);
    struct job_memory memory = {
        .parameters = held(job, &stage, software->parameter_bytes, 3),
        .gradients = job->frozen ? 0.0 : held(job, &stage, software->stored_gradient_bytes, 2),
        .optimizer = job->frozen ? 0.0 : held(job, &stage, software->state_bytes, 1),
        .activations = stage.kept * in_flight(job, index),
        .working = working(job, &stage, &ends->head),
        .runtime = software->runtime_share * (double)job->device->memory,
    };
    memory.total = memory.parameters + memory.gradients + memory.optimizer + memory.activations +
                   memory.working + memory.runtime;
    return memory;
}

struct job_memory job_memory(const struct job *job)
{
    struct layer_split split = job_split(job);
    struct model_ends ends;
    transformer_embedding(&ends.embedding, job->model, &split);
    transformer_head(&ends.head, job->model, &split);
    struct job_memory fullest = stage_memory(job, 0, &split, &ends);
    for (int stage = 1; stage < job->pipeline; stage++) {
        struct job_memory memory = stage_memory(job, stage, &split, &ends);
        if (memory.total > fullest.total)
            fullest = memory;
    }
    return fullest;
}
