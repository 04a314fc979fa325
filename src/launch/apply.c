/* Sets launch options in a job, or fixes them in a search. */
#include "launch/launch.h"

#include <inttypes.h>
#include <limits.h>

static bool check_model(const struct launch_options *options, const struct architecture *model,
                        struct error *err)
{
    bool latent = model->kv_rank > 0, dense = architecture_expert_blocks(model) < model->layers;
    const struct {
        const char *name;
        const struct launch_value *said;
        int64_t is;
        bool counts;
    } sizes[] = {
        {"layers", &options->layers, model->layers, true},
        {"hidden size", &options->hidden, model->hidden, true},
        {"heads", &options->heads, model->heads, true},
        {"groups of heads", &options->kv_heads, model->kv_heads, !latent},
        {"head width", &options->head_width, model->head_width, !latent},
        {"feed-forward width", &options->ffn, model->ffn, dense},
        {"experts", &options->experts, model->experts, true},
        {"active experts", &options->active_experts, model->active_experts, model->experts > 0},
        {"experts' width", &options->expert_ffn, model->expert_ffn, model->experts > 0},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct launch_value *said = sizes[i].said;
        if (said->given && said->value != sizes[i].is && sizes[i].counts)
            return error_set(err, ERROR_INFEASIBLE,
                             "the arguments do not match '%s': %s is %" PRId64 " in line %d, not %" PRId64,
                             model->name, sizes[i].name, said->value, said->line, sizes[i].is);
    }
    return true;
}

static bool set_degrees(const struct launch_options *options, struct job *job, struct error *err)
{
    const struct {
        const struct launch_value *said;
        int *to;
    } degrees[] = {
        {&options->tensor, &job->degrees.tensor},   {&options->pipeline, &job->degrees.pipeline},
        {&options->context, &job->degrees.context}, {&options->expert, &job->degrees.expert},
        {&options->chunks, &job->chunks},           {&options->sharding, &job->sharding},
    };
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        if (!degrees[i].said->given)
            continue;
        if (degrees[i].said->value > INT_MAX)
            return error_set(err, ERROR_INFEASIBLE, "line %d: %" PRId64 " is too large",
                             degrees[i].said->line, degrees[i].said->value);
        *degrees[i].to = (int)degrees[i].said->value;
    }
    int64_t tensor = job->degrees.tensor, model_parallel = tensor * job->degrees.pipeline;
    if (model_parallel > job->devices || model_parallel * job->degrees.context > job->devices ||
        job->devices % (model_parallel * job->degrees.context) != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "tensor %d x pipeline %d x context %d parallel does not divide %d devices",
                         job->degrees.tensor, job->degrees.pipeline, job->degrees.context, job->devices);
    job->degrees.data = (int)(job->devices / (model_parallel * job->degrees.context));
    return true;
}

static bool set_chunks(const struct launch_options *options, struct job *job, struct error *err)
{
    int64_t places = job_block_count(job) + options->counts_embedding.given + options->counts_head.given;
    if (!options->chunk_blocks.given)
        return true;
    int64_t blocks = options->chunk_blocks.value;
    if (places % job->degrees.pipeline != 0 || places / job->degrees.pipeline % blocks != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "%" PRId64 " blocks on %d stages cannot be divided into chunks of %" PRId64, places,
                         job->degrees.pipeline, blocks);
    job->chunks = (int)(places / job->degrees.pipeline / blocks);
    return true;
}

/* Sets the blocks of each stage: given ends, and the rest spread evenly over the other stages. */
static bool spread(struct launch_options *options, struct job *job, struct error *err)
{
    int last = job->degrees.pipeline - 1;
    const struct launch_value *ends[2] = {&options->first_blocks, &options->last_blocks};
    bool ends_given[2] = {ends[0]->given, ends[1]->given && last > 0};
    int64_t left = job_block_count(job) + options->counts_embedding.given + options->counts_head.given;
    int64_t inside = job->degrees.pipeline;
    for (int i = 0; i < 2; i++)
        if (ends_given[i]) {
            left -= ends[i]->value;
            inside--;
        }
    int *blocks = ARENA_ARRAY(&options->arena, (size_t)job->degrees.pipeline, int);
    if (!blocks)
        return error_memory(err);
    if (left < 0 || (inside == 0 ? left != 0 : left % inside != 0))
        return error_set(err, ERROR_INFEASIBLE,
                         "%d blocks cannot be placed on %d stages as the arguments require",
                         job_block_count(job), job->degrees.pipeline);
    for (int i = 0; i <= last; i++)
        blocks[i] = inside > 0 ? (int)(left / inside) : 0;
    if (ends_given[0])
        blocks[0] = (int)ends[0]->value;
    if (ends_given[1])
        blocks[last] = (int)ends[1]->value;
    blocks[0] -= options->counts_embedding.given;
    blocks[last] -= options->counts_head.given;
    job->stage_blocks = blocks;
    return (blocks[0] >= 0 && blocks[last] >= 0) ||
           error_set(err, ERROR_INFEASIBLE, "no block is left for the first or last stage");
}

static bool set_stages(struct launch_options *options, struct job *job, struct error *err)
{
    job->stage_blocks = NULL;
    if (options->first_blocks.given || options->last_blocks.given || options->counts_embedding.given ||
        options->counts_head.given)
        return spread(options, job, err);
    if (!options->stage_blocks)
        return true;
    const struct launch_value *schedule = &options->technique[TECHNIQUE_SCHEDULE];
    struct job own = *job;
    if (schedule->given)
        own.technique.schedule = (int)schedule->value;
    int64_t sum = 0;
    bool differs = !job_is_folded(&own); /* other software's own layouts depend on what it counts */
    for (int i = 0; i < options->stage_count; i++)
        sum += options->stage_blocks[i];
    if (options->stage_count != job_depth(&own) || sum != job_block_count(job))
        return error_set(err, ERROR_INFEASIBLE,
                         "the layout has %" PRId64
                         " blocks on %d stages, the model %d, the pipeline %d stages",
                         sum, options->stage_count, job_block_count(job), job->degrees.pipeline);
    for (int i = 0; i < options->stage_count && !differs; i++)
        differs = options->stage_blocks[i] != job_stage_blocks(&own, i);
    job->stage_blocks = differs ? options->stage_blocks : NULL;
    return true;
}

static void set_batch(const struct launch_options *options, struct job *job)
{
    if (options->sequence.given)
        job->sequence = options->sequence.value;
    if (options->microbatch.given)
        job->microbatch = options->microbatch.value;
    if (options->batch.given)
        job->batch = options->batch.value;
    else if (options->rank_batch.given)
        job->batch = options->rank_batch.value * job->degrees.data;
    else if (options->accumulation.given && options->microbatch.given &&
             options->microbatch.value < 1 << 24 && options->accumulation.value < 1 << 24)
        job->batch = options->microbatch.value * options->accumulation.value * job->degrees.data;
    if (options->document.given)
        job->document = options->document.value;
    if (options->frozen.given) {
        bool ranked = options->rank.given && options->rank.value > 0 && options->rank.value <= INT32_MAX;
        job->technique.rank = !options->frozen.value ? 0 : ranked ? (int)options->rank.value : LORA_RANK;
    }
    if (options->recompute.given)
        job->recompute = (enum recompute)options->recompute.value;
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        if (options->technique[k].given)
            technique_set(&job->technique, (enum technique_kind)k, (int)options->technique[k].value);
    if (options->type.given)
        job->type = (enum cost_type)options->type.value;
}

bool launch_apply(struct launch_options *options, struct job *job, struct error *err)
{
    struct job applied = *job;
    if (!check_model(options, applied.model, err) || !set_degrees(options, &applied, err) ||
        !set_chunks(options, &applied, err) || !set_stages(options, &applied, err))
        return false;
    set_batch(options, &applied);
    *job = applied;
    return true;
}

/* Fixes a given dimension. A range of the question must contain it. */
static bool fix(struct job_question *question, enum job_dimension dimension, const struct job *job,
                bool given, struct error *err)
{
    struct job_range *range = &question->ranges[dimension];
    int64_t value = job_dimension_value(job, dimension);
    if (!given)
        return true;
    if (range->given && (value < range->min || value > range->max))
        return error_set(err, ERROR_USAGE, "%s is fixed to another value than the arguments' %" PRId64,
                         job_dimension_name(dimension), value);
    *range = (struct job_range){value, value, true};
    return true;
}

bool launch_fix(struct launch_options *options, struct job_question *question, struct error *err)
{
    struct job job = question->job;
    job.degrees = DEGREES_ONE;
    job.chunks = 1;
    if (!launch_check(options, question->job.devices, err) || !launch_apply(options, &job, err))
        return false;
    question->job.batch = job.batch;
    question->job.sequence = job.sequence;
    question->job.type = job.type;
    question->stage_blocks = job.stage_blocks;
    question->stage_count = job.degrees.pipeline;
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        if (!fix(question, (enum job_dimension)(JOB_TECHNIQUE + k), &job, options->technique[k].given, err))
            return false;
    bool chunks = options->chunks.given || options->chunk_blocks.given;
    return fix(question, JOB_TENSOR, &job, options->tensor.given, err) &&
           fix(question, JOB_PIPELINE, &job, options->pipeline.given, err) &&
           fix(question, JOB_CONTEXT, &job, options->context.given, err) &&
           fix(question, JOB_EXPERT, &job, options->expert.given, err) &&
           fix(question, JOB_MICROBATCH, &job, options->microbatch.given, err) &&
           fix(question, JOB_CHUNKS, &job, chunks, err) &&
           fix(question, JOB_SHARDING, &job, options->sharding.given, err) &&
           fix(question, JOB_RECOMPUTE, &job, options->recompute.given, err);
}
