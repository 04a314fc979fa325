/* Launches of kernels by the host: of a layer, forward and backward. */
#include "plan/split/job.h"

#include <math.h>

/* Launches of an expert by itself where the software has none: half of a dense MLP's share of a block of the Trainer's,
 * which launches about as many kernels. */
#define EXPERT_APART 10.0

/* Returns the matrices with LoRA's beside them, as a block has them: queries, keys and values are one, gate and up. */
static int adapted(unsigned targets)
{
    static const unsigned matrices[] = {TARGET_QUERY | TARGET_KEY | TARGET_VALUE, TARGET_OUTPUT,
                                        TARGET_GATE | TARGET_UP, TARGET_DOWN};
    int count = 0;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        count += (targets & matrices[i]) != 0;
    return count;
}

/* Returns the launches of a block's experts, forward and backward. */
static double expert_launches(const struct job *job)
{
    const struct software *software = job->software;
    double each = job->technique.expert_kernels == SWITCH_OFF  ? fmax(software->each_launches, EXPERT_APART)
                  : job->technique.expert_kernels == SWITCH_ON ? 0.0
                                                               : software->each_launches;
    return software->expert_launches + each * fmax((double)job->model->experts / job->degrees.expert, 1.0);
}

/* Returns the launches for the documents of a sequence: each is cut out, turned by its positions and put back. */
static double document_launches(const struct job *job)
{
    const struct software *software = job->software;
    if (job->technique.rope != SWITCH_OFF || job->document <= 0)
        return 0.0;
    double count = ceil((double)job->sequence / (double)job->document) * (double)job->microbatch;
    bool heads = job->degrees.context > 1 && (job->technique.context_kind == CONTEXT_ULYSSES ||
                                              job->technique.context_kind == CONTEXT_HIERARCHICAL);
    return count * (software->document_launches + (heads ? software->document_moved_launches : 0.0));
}

double job_launches(const struct job *job, const struct layer_work *work)
{
    const struct software *software = job->software;
    bool narrow = cost_type_bytes(cost_device_type(job->device, job->type)) <= 1.0,
         experts = work->expert_parameters > 0.0;
    if (work->forward_count <= 3 || job->technique.graphs == GRAPHS_ITERATION)
        return 0.0;
    if (job->technique.graphs == GRAPHS_LAYERS)
        return experts ? software->graph_launches : 0.0;
    unsigned targets = job->technique.targets ? (unsigned)job->technique.targets : TARGETS_ALL;
    targets &= job->model->experts > 0 ? TARGETS_ATTENTION : TARGETS_ALL;
    double sum = software->block_launches + document_launches(job);
    sum += experts ? expert_launches(job) : 0.0;
    sum += job->model->kv_rank > 0 ? software->latent_launches : 0.0;
    sum += job_is_frozen(job) ? software->adapter_launches * adapted(targets) : 0.0;
    sum += software->tensor_launches * (work->tensor_forward + work->tensor_backward);
    return sum + (narrow ? software->narrow_launches : 0.0);
}

int job_parts_again(const struct job *job, const struct layer_work *work, unsigned modules)
{
    unsigned there = 0;
    for (int i = 0; i < work->forward_count; i++)
        there |= work->modules[i];
    if (job->technique.graphs == GRAPHS_LAYERS) /* parts within a graph are launched with it */
        there &= 1u << MODULE_EXPERTS | 1u << MODULE_EXPERT_ACTIVATION | 1u << MODULE_SHARED_EXPERTS;
    bool norms = modules >> MODULE_NORMS & 1 && job->technique.graphs != GRAPHS_LAYERS;
    return __builtin_popcount(modules & there & ~(1u << MODULE_NORMS)) + (norms ? 2 : 0);
}
