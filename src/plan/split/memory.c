#include "plan/score/memory.h"
#include "plan/split/job.h"

#include <math.h>

/* Returns the micro-batches whose activations a stage holds at once under 1F1B; an interleaved pipeline holds more
 * (Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.3). */
static double in_flight(const struct job *job, int stage)
{
    double stages = job->pipeline, from_end = stages - stage, chunks = job->chunks;
    if (chunks > 1.0)
        from_end += (stages - 1.0) / chunks;
    return memory_in_flight(MEMORY_IN_FLIGHT, (double)job_microbatches(job), from_end);
}

/* Returns the bytes of all parameters of a stage at `bytes` each, sharded over data parallel ranks from ZeRO stage `from`
 * on. */
static double held(const struct job *job, const struct job_layer *stage, double bytes, int from)
{
    double ranks = (double)job->data * job->context;
    double expert_ranks = fmax(ranks * job->tensor / (job->expert > 1 ? job->expert : job->tensor), 1.0);
    bool shared = job->sharding >= from;
    return bytes *
           (stage->parameters / (shared ? ranks : 1.0) + stage->experts / (shared ? expert_ranks : 1.0));
}

/* Returns the further bytes: of a block in its backward pass or the loss, and of gathered shards. */
static double working(const struct job *job, const struct job_layers *layers, bool last,
                      const struct job_layer *stage)
{
    const struct software *software = job->software;
    double bytes = stage->working + software->matrix_working * (last ? 1.0 : 0.5) * stage->largest_matrix;
    if (last)
        bytes = fmax(bytes, layers->head.activations);
    if (job->sharding >= 3 && job->pipeline > 1 && software->keeps_gathered)
        bytes += (2.0 + software->stored_gradient_bytes) * (stage->parameters + stage->experts);
    else if (job->sharding >= 3) /* gathered: this block, the next one, and the gradients of one */
        bytes += 2.0 * 3.0 * stage->gathered;
    return bytes;
}

struct job_memory job_stage_memory(const struct job *job, const struct job_layers *layers, int stage,
                                   const struct job_layer *layer)
{
    const struct software *software = job->software;
    double flying = in_flight(job, stage);
    struct job_memory memory = {
        .parameters = held(job, layer, software->parameter_bytes, 3),
        .gradients = job->frozen ? 0.0 : held(job, layer, software->stored_gradient_bytes, 2),
        .optimizer = job->frozen ? 0.0 : held(job, layer, software->state_bytes, 1),
        .activations = layer->kept * flying,
        .working = working(job, layers, stage == job->pipeline - 1, layer),
        .runtime = software->runtime_share * (double)job->device->memory,
    };
    const struct memory_stage bytes = {
        .state = memory.parameters + memory.gradients + memory.optimizer,
        .kept = layer->kept,
        .working = memory.working,
        .runtime = memory.runtime,
    };
    memory.total = memory_of_stage(&bytes, flying);
    return memory;
}

struct job_memory job_memory_of(const struct job *job, const struct job_layers *layers)
{
    struct job_memory fullest = {0};
    for (int stage = 0; stage < job->pipeline; stage++) {
        if (!job_stage_tells(job, layers, stage))
            continue;
        int first = job_stage_first(job, layers->block_count, stage);
        int last = job_stage_first(job, layers->block_count, stage + 1);
        struct job_layer layer = job_stage(job, layers, stage, first, last);
        struct job_memory memory = job_stage_memory(job, layers, stage, &layer);
        if (memory.total > fullest.total)
            fullest = memory;
    }
    return fullest;
}

struct job_memory job_memory(const struct job *job)
{
    struct job_layers layers = job_layers_of(job);
    return job_memory_of(job, &layers);
}
