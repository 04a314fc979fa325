#include "plan/split/space.h"

#include <inttypes.h>
#include <string.h>

/* ---- names and values of dimensions ---- */

static const char *const names[] = {"tp", "pp", "dp", "cp", "ep", "mbs", "vp", "zero", "recompute"};

const char *job_dimension_name(enum job_dimension dimension)
{
    return names[dimension];
}

const char *job_recompute_name(enum recompute recompute)
{
    static const char *const words[] = {"none", "selective", "full"};
    return words[recompute];
}

int64_t job_dimension_value(const struct job *job, enum job_dimension dimension)
{
    const int64_t values[] = {job->tensor,     job->pipeline, job->data,     job->context,  job->expert,
                              job->microbatch, job->chunks,   job->sharding, job->recompute};
    return values[dimension];
}

/* ---- allowed values ---- */

static bool offers(const struct space *space, unsigned what)
{
    return (space->question->job.software->offers & what) != 0;
}

/* A tensor parallel group lies within a node, or consists of whole nodes if the question gives its degree. */
static bool tensor_allowed(const struct space *space, int tensor)
{
    const struct job *job = &space->question->job;
    const struct architecture *model = job->model;
    if (!space_allows(space->question, JOB_TENSOR, tensor))
        return false;
    if (tensor > 1 && (!offers(space, OFFERS_TENSOR) || model->heads % tensor || model->kv_heads % tensor ||
                       model->ffn % tensor))
        return false;
    if (tensor <= job->devices_per_node)
        return job->devices_per_node % tensor == 0;
    return space->question->ranges[JOB_TENSOR].given && tensor % job->devices_per_node == 0;
}

/* Each rank has two pieces, one from either end, so that all ranks attend to equally many tokens (Megatron-Core). */
static bool context_allowed(const struct space *space, int context)
{
    if (!space_allows(space->question, JOB_CONTEXT, context))
        return false;
    return context == 1 ||
           (offers(space, OFFERS_CONTEXT) && space->question->job.sequence % (2 * (int64_t)context) == 0);
}

static bool expert_allowed(const struct space *space, int expert)
{
    const struct architecture *model = space->question->job.model;
    if (!space_allows(space->question, JOB_EXPERT, expert))
        return false;
    return expert == 1 ||
           (offers(space, OFFERS_EXPERT) && model->experts > 0 && model->experts % expert == 0);
}

/* Selective recomputation of activations that are never kept is the same as none. */
static bool recompute_allowed(const struct space *space, enum recompute recompute)
{
    const struct software *software = space->question->job.software;
    bool same = recompute == RECOMPUTE_SELECTIVE && software->attention != ATTENTION_UNFUSED &&
                software->selective_kept >= 1.0;
    return space_allows(space->question, JOB_RECOMPUTE, recompute) &&
           (!same || space->question->ranges[JOB_RECOMPUTE].given);
}

static bool microbatch_allowed(const struct space *space, int64_t microbatch)
{
    const struct job_question *question = space->question;
    return space_allows(question, JOB_MICROBATCH, microbatch) &&
           (question->ranges[JOB_MICROBATCH].given || microbatch <= SPACE_MICROBATCHES);
}

static bool list_divisors(struct space *space, struct arena *arena)
{
    int64_t batch = space->question->job.batch;
    int count = 0;
    for (int64_t d = 1; d <= batch / d; d++)
        if (batch % d == 0)
            count += d == batch / d ? 1 : 2;
    space->divisors = arena_alloc(arena, (size_t)count, sizeof *space->divisors);
    if (!space->divisors)
        return false;
    int low = 0, high = count;
    for (int64_t d = 1; d <= batch / d; d++)
        if (batch % d == 0) {
            space->divisors[low++] = d;
            if (d != batch / d)
                space->divisors[--high] = batch / d;
        }
    space->divisor_count = count;
    return true;
}

/* Lists the layers of a cut; only counts them while there is no room yet. */
static void list_layers(struct space *space, struct space_cut *cut)
{
    int64_t model_parallel = (int64_t)cut->tensor * cut->context;
    cut->first_layers = space->layers_count;
    for (int i = 0; i < space->divisor_count && model_parallel <= space->question->job.devices; i++) {
        if (!microbatch_allowed(space, space->divisors[i]))
            continue;
        for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute++) {
            if (!recompute_allowed(space, (enum recompute)recompute))
                continue;
            if (space->layers) {
                struct space_layers *layers = &space->layers[space->layers_count];
                layers->cut = &space->cuts[space->cut_count];
                layers->microbatch = space->divisors[i];
                layers->recompute = (enum recompute)recompute;
            }
            space->layers_count++;
        }
    }
    cut->layers = space->layers_count - cut->first_layers;
}

static void list_cuts(struct space *space)
{
    const struct job *job = &space->question->job;
    int max_experts = job->model->experts > 0 ? (int)job->model->experts : 1;
    space->cut_count = space->layers_count = 0;
    for (int tensor = 1; tensor <= job->devices; tensor++) {
        if (!tensor_allowed(space, tensor))
            continue;
        for (int context = 1; context <= job->devices / tensor; context++) {
            if (!context_allowed(space, context))
                continue;
            for (int expert = 1; expert <= max_experts && expert <= job->devices; expert++) {
                if (!expert_allowed(space, expert))
                    continue;
                struct space_cut cut = {.tensor = tensor, .context = context, .expert = expert};
                list_layers(space, &cut);
                if (space->cuts)
                    space->cuts[space->cut_count] = cut;
                space->cut_count++;
            }
        }
    }
}

bool space_init(struct space *space, const struct job_question *question, struct arena *arena,
                struct error *err)
{
    *space = (struct space){.question = question};
    space->memory = (double)question->job.device->memory * (1.0 - question->headroom);
    if (!list_divisors(space, arena))
        return error_memory(err);
    list_cuts(space);
    if (space->layers_count == 0)
        return error_set(
            err, ERROR_INFEASIBLE,
            "no tensor, context and expert parallel degrees and micro-batch are allowed for '%s' on %d "
            "devices with a global batch of %" PRId64,
            question->job.model->name, question->job.devices, question->job.batch);
    space->cuts = arena_alloc(arena, (size_t)space->cut_count, sizeof *space->cuts);
    space->layers = arena_alloc(arena, (size_t)space->layers_count, sizeof *space->layers);
    if (!space->cuts || !space->layers)
        return error_memory(err);
    list_cuts(space);
    return true;
}

struct job space_job(const struct space *space, const struct space_layers *layers)
{
    const struct space_cut *cut = layers->cut;
    struct job job = space->question->job;
    job.tensor = cut->tensor;
    job.context = cut->context;
    job.expert = cut->expert;
    job.microbatch = layers->microbatch;
    job.recompute = layers->recompute;
    job.pipeline = job.data = job.chunks = 1;
    job.stage_blocks = space->question->stage_blocks;
    return job;
}

void space_price(const struct space *space, struct space_layers *layers)
{
    struct job job = space_job(space, layers);
    layers->priced = job_layers_of(&job);
    layers->ends =
        job_pass_seconds(&layers->priced.embedding.pass) + job_pass_seconds(&layers->priced.head.pass);
    layers->blocks = job_pass_seconds(&layers->priced.blocks.pass);
}

/* Micro-batches come in groups as large as the pipeline. Chunks are equal unless the software takes any layout. */
bool space_has_chunks(const struct space *space, const struct job *job, int chunks)
{
    int blocks = job_block_count(job);
    if (!space_allows(space->question, JOB_CHUNKS, chunks))
        return false;
    if (space->question->stage_blocks) /* a given layout decides where chunks begin */
        return true;
    return chunks == 1 ||
           (job->pipeline > 1 && offers(space, OFFERS_CHUNKS) && job_microbatches(job) % job->pipeline == 0 &&
            blocks + 2 >= job->pipeline * chunks &&
            (offers(space, OFFERS_LAYOUTS) || job_chunks_alike(blocks, job->pipeline * chunks)));
}

int space_max_chunks(const struct space *space, int pipeline)
{
    const struct job *job = &space->question->job;
    int blocks = job_block_count(job);
    return pipeline > 1 && offers(space, OFFERS_CHUNKS) ? (blocks + 2) / pipeline : 1;
}

unsigned space_shardings(const struct space *space, int pipeline)
{
    const struct software *software = space->question->job.software;
    unsigned offered = pipeline > 1 ? software->zero_staged : software->zero, allowed = 0;
    for (int z = 0; z <= 3; z++)
        if ((offered >> z & 1) && space_allows(space->question, JOB_SHARDING, z))
            allowed |= 1u << z;
    return allowed;
}
