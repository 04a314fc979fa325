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

struct stage_bytes {
    double activations, working;
};

static double kept(const struct job *job, const struct layer_work *work)
{
    return job->recompute == RECOMPUTE_FULL        ? work->input_bytes
           : job->recompute == RECOMPUTE_SELECTIVE ? work->selective_bytes
                                                   : work->activation_bytes;
}

/* What blocks first..last-1 keep of one micro-batch, and the largest of them. */
static struct layer_work blocks_of(const struct job *job, int first, int last,
                                   const struct layer_split *split, double *sum)
{
    struct layer_work work, largest = {0};
    *sum = 0.0;
    for (int i = first; i < last; i++) {
        transformer_block(&work, job->model, i, split);
        *sum += kept(job, &work);
        if (i == first || work.activation_bytes > largest.activation_bytes)
            largest = work;
    }
    return largest;
}

struct job_memory job_memory(const struct job *job)
{
    const struct software *software = job->software;
    struct layer_split split = {
        .microbatch = job->microbatch,
        .sequence = job->sequence,
        .tensor = job->tensor,
        .context = job->context,
        .expert = job->expert,
        .type = job->type,
        .software = software,
    };
    struct layer_work embedding, head;
    transformer_embedding(&embedding, job->model, &split);
    transformer_head(&head, job->model, &split);
    int blocks = job->model->layers + job->model->encoder_layers;
    double ranks = (double)job->data * job->context;
    double expert_ranks = fmax(ranks * job->tensor / (job->expert > 1 ? job->expert : job->tensor), 1.0);
    struct job_memory fullest = {0};
    int ends[2] = {0, job->pipeline - 1};
    for (int i = 0; i < (job->pipeline > 1 ? 2 : 1); i++) {
        int stage = ends[i];
        int first = (int)((int64_t)blocks * stage / job->pipeline);
        int last = (int)((int64_t)blocks * (stage + 1) / job->pipeline);
        struct job_memory memory = {0};
        double activations, parameters = 0.0, experts = 0.0;
        struct layer_work largest = blocks_of(job, first, last, &split, &activations), work;
        for (int block = first; block < last; block++) {
            transformer_block(&work, job->model, block, &split);
            parameters += work.parameters;
            experts += work.expert_parameters;
        }
        bool has_head = stage == job->pipeline - 1;
        if (stage == 0)
            parameters += embedding.parameters;
        if (has_head) /* a tied matrix has a copy of its own on the last stage */
            parameters += head.parameters +
                          (job->model->tied && stage > 0
                               ? (double)job->model->hidden * (double)job->model->vocabulary / job->tensor
                               : 0.0);
        double state = job->frozen ? 0.0 : 1.0;
        bool shards_states = job->sharding >= 1, shards_gradients = job->sharding >= 2;
        bool shards_parameters = job->sharding >= 3;
        memory.parameters = software->parameter_bytes * (parameters / (shards_parameters ? ranks : 1.0) +
                                                         experts / (shards_parameters ? expert_ranks : 1.0));
        memory.gradients = state * software->stored_gradient_bytes *
                           (parameters / (shards_gradients ? ranks : 1.0) +
                            experts / (shards_gradients ? expert_ranks : 1.0));
        memory.optimizer =
            state * software->state_bytes *
            (parameters / (shards_states ? ranks : 1.0) + experts / (shards_states ? expert_ranks : 1.0));
        memory.activations =
            (activations + (stage == 0 ? embedding.activation_bytes : 0.0)) * in_flight(job, stage);
        double recomputed = job->recompute == RECOMPUTE_FULL ? largest.activation_bytes : 0.0;
        double backward = recomputed + software->backward_working * largest.working_bytes +
                          software->matrix_working * (has_head ? 1.0 : 0.5) * largest.largest_matrix;
        double loss = has_head ? head.activation_bytes : 0.0;
        memory.working = fmax(backward, loss);
        if (shards_parameters && job->pipeline > 1) /* a pipeline keeps its stage gathered (torchtitan) */
            memory.working += (2.0 + software->stored_gradient_bytes) * (parameters + experts);
        else if (shards_parameters) /* this block's and the next one's, gathered; and a block's gradients */
            memory.working += 2.0 * 3.0 * (largest.parameters + largest.expert_parameters);
        memory.runtime = software->runtime_share * (double)job->device->memory;
        memory.total = memory.parameters + memory.gradients + memory.optimizer + memory.activations +
                       memory.working + memory.runtime;
        if (memory.total > fullest.total)
            fullest = memory;
    }
    return fullest;
}
