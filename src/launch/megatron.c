/* A job as arguments of Megatron-LM. */
#include "launch/megatron.h"

#include "launch/part.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    enum megatron_kind kind;
} options[MEGATRON_COUNT] = {
#define X(id, name, kind)    {name, MEGATRON_##kind},
#define S(id, name, setting) {name, MEGATRON_NUMBER},
    MEGATRON_OPTIONS(X, S)
#undef X
#undef S
};

const char *megatron_name(enum megatron_option option)
{
    return options[option].name;
}

enum megatron_kind megatron_kind(enum megatron_option option)
{
    return options[option].kind;
}

bool megatron_find(const char *name, enum megatron_option *option)
{
    for (int i = 0; i < MEGATRON_COUNT; i++)
        if (strcmp(options[i].name, name) == 0) {
            *option = (enum megatron_option)i;
            return true;
        }
    return false;
}

/* ---- the job as values ---- */

static void flag(struct megatron_arguments *arguments, enum megatron_option option, bool on)
{
    arguments->values[option] = (struct megatron_value){.given = on, .number = on};
}

static void number(struct megatron_arguments *arguments, enum megatron_option option, int64_t value)
{
    arguments->values[option] = (struct megatron_value){.given = true, .number = value};
}

static void word(struct megatron_arguments *arguments, enum megatron_option option, const char *value)
{
    arguments->values[option] = (struct megatron_value){.given = true, .word = value};
}

static void attention(struct megatron_arguments *a, const struct architecture *model)
{
    bool latent = model->kv_rank > 0;
    flag(a, MEGATRON_LATENT, latent);
    if (latent) {
        if (model->query_rank > 0)
            number(a, MEGATRON_QUERY_RANK, model->query_rank);
        number(a, MEGATRON_KV_RANK, model->kv_rank);
        number(a, MEGATRON_NOPE_WIDTH, model->nope_width);
        number(a, MEGATRON_ROPE_WIDTH, model->rope_width);
        number(a, MEGATRON_VALUE_WIDTH, model->value_width);
    } else if (model->head_width * model->heads != model->hidden) {
        number(a, MEGATRON_HEAD_WIDTH, model->head_width);
    }
    if (!latent && model->kv_heads < model->heads) {
        flag(a, MEGATRON_GROUPED, true);
        number(a, MEGATRON_KV_HEADS, model->kv_heads);
    }
    flag(a, MEGATRON_QK_NORM, model->qk_norm);
    if (model->sinks)
        word(a, MEGATRON_SOFTMAX, "learnable");
}

static bool window(struct megatron_arguments *a, const struct architecture *model)
{
    const char *size = arena_format(&a->arena, "(%" PRId64 ",0)", model->window);
    const char *every = arena_format(&a->arena, "%d", model->window_every);
    if (model->window > 0)
        word(a, MEGATRON_WINDOW, size);
    if (model->window > 0 && model->window_every > 0)
        word(a, MEGATRON_WINDOW_EVERY, every);
    return size && every;
}

static bool experts(struct megatron_arguments *a, const struct job *job)
{
    const struct architecture *model = job->model;
    if (model->experts == 0)
        return true;
    number(a, MEGATRON_EXPERTS, model->experts);
    number(a, MEGATRON_ACTIVE_EXPERTS, model->active_experts);
    number(a, MEGATRON_EXPERT_FFN, model->expert_ffn);
    if (model->shared_experts > 0)
        number(a, MEGATRON_SHARED_FFN, model->shared_experts * model->expert_ffn);
    flag(a, MEGATRON_GROUPED_GEMM,
         job->type != COST_FP16 && job->type != COST_FP32 && job->type != COST_TF32);
    word(a, MEGATRON_DISPATCHER, "alltoall");
    number(a, MEGATRON_EXPERT, job->expert);
    /* with expert parallelism each expert is on one device (cost/transformer.c) */
    number(a, MEGATRON_EXPERT_TENSOR, job->expert > 1 ? 1 : job->tensor);
    if (model->dense_layers == 0)
        return true;
    const char *layers =
        arena_format(&a->arena, "([0]*%d+[1]*%d)", model->dense_layers, model->layers - model->dense_layers);
    word(a, MEGATRON_EXPERT_LAYERS, layers);
    return layers;
}

static void model_sizes(struct megatron_arguments *a, const struct job *job)
{
    const struct architecture *model = job->model;
    number(a, MEGATRON_LAYERS, model->layers);
    number(a, MEGATRON_HIDDEN, model->hidden);
    number(a, MEGATRON_FFN, model->ffn);
    number(a, MEGATRON_HEADS, model->heads);
    word(a, MEGATRON_POSITION_TYPE, model->positions > 0 ? "learned_absolute" : "rope");
    number(a, MEGATRON_SEQUENCE, job->sequence);
    number(a, MEGATRON_POSITIONS, model->positions > job->sequence ? model->positions : job->sequence);
    number(a, MEGATRON_VOCABULARY, model->vocabulary);
    if (model->rms_norm)
        word(a, MEGATRON_NORM, "RMSNorm");
    flag(a, MEGATRON_GATED, model->gated);
    flag(a, MEGATRON_UNBIASED, !model->biased);
    flag(a, MEGATRON_QKV_BIASED, !model->biased && model->qkv_biased);
    flag(a, MEGATRON_UNTIED, !model->tied);
    if (!model->dropout) {
        word(a, MEGATRON_HIDDEN_DROPOUT, "0.0");
        word(a, MEGATRON_ATTENTION_DROPOUT, "0.0");
    }
    if (job->software->attention == ATTENTION_UNFUSED)
        word(a, MEGATRON_ATTENTION, "unfused");
}

/* Are the stages even, and are all chunks whole blocks, if embedding and head count as blocks or not? */
static bool is_even(const struct job *job, bool embedding, bool head)
{
    int places = job_block_count(job) + embedding + head;
    if (places % (job->pipeline * job->chunks) != 0)
        return false;
    for (int i = 0; i < job->pipeline; i++) {
        int less = (embedding && i == 0) + (head && i == job->pipeline - 1);
        if (job_stage_blocks(job, i) != places / job->pipeline - less)
            return false;
    }
    return true;
}

/* Are all stages but the first and the last alike? Only for plain 1F1B: the blocks of chunks must divide. */
static bool is_even_inside(const struct job *job)
{
    bool even = job->chunks == 1;
    for (int i = 2; even && i < job->pipeline - 1; i++)
        even = job_stage_blocks(job, i) == job_stage_blocks(job, 1);
    return even;
}

/* Returns the number of micro-batches that go through a chunk before the next chunk's turn: the minimum without a short
 * rest (megatron/core/pipeline_parallel/schedules.py: a rest is at least as many as there are stages). */
static int64_t chunk_group(const struct job *job)
{
    int64_t count = job_microbatches(job), group = job->pipeline;
    while (count % group != 0 && count % group < job->pipeline)
        group++;
    return group;
}

static bool stages(struct megatron_arguments *a, const struct job *job)
{
    int first = job_stage_blocks(job, 0), last = job_stage_blocks(job, job->pipeline - 1);
    int inside = job->pipeline > 2 ? job_stage_blocks(job, 1) : last;
    number(a, MEGATRON_PIPELINE, job->pipeline);
    if (job->chunks > 1 && chunk_group(job) != job->pipeline)
        number(a, MEGATRON_CHUNK_GROUP, chunk_group(job));
    if (job->chunks == 1 && is_even_inside(job)) {
        if (first != inside)
            number(a, MEGATRON_FIRST_BLOCKS, first);
        if (last != inside)
            number(a, MEGATRON_LAST_BLOCKS, last);
        return true;
    }
    for (int counted = 0; counted < 4; counted++) {
        bool embedding = counted & 1, head = counted & 2;
        if (job->chunks == 1 || !is_even(job, embedding, head))
            continue;
        number(a, MEGATRON_CHUNKS, job->chunks);
        flag(a, MEGATRON_COUNTS_EMBEDDING, embedding);
        flag(a, MEGATRON_COUNTS_HEAD, head);
        return true;
    }
    const char *layout = megatron_layout_write(job, &a->arena);
    word(a, MEGATRON_LAYOUT, layout);
    return layout;
}

static void data_parallel(struct megatron_arguments *a, const struct job *job)
{
    flag(a, MEGATRON_DISTRIBUTED_OPTIMIZER, job->sharding >= 1);
    flag(a, MEGATRON_FSDP, job->sharding >= 2);
    if (job->sharding >= 2) {
        word(a, MEGATRON_SHARDING, job->sharding == 2 ? "optim_grads" : "optim_grads_params");
        word(a, MEGATRON_CHECKPOINT, "fsdp_dtensor"); /* the only format that Megatron-FSDP accepts */
    }
    flag(a, MEGATRON_OVERLAP_REDUCE, true);
    flag(a, MEGATRON_OVERLAP_GATHER, job->sharding >= 1);
}

static void recompute_and_type(struct megatron_arguments *a, const struct job *job)
{
    if (job->recompute != RECOMPUTE_NONE)
        word(a, MEGATRON_RECOMPUTE, job->recompute == RECOMPUTE_FULL ? "full" : "selective");
    if (job->recompute == RECOMPUTE_FULL) {
        word(a, MEGATRON_RECOMPUTE_METHOD, "uniform");
        number(a, MEGATRON_RECOMPUTE_LAYERS, 1);
    }
    flag(a, MEGATRON_FP16, job->type == COST_FP16);
    flag(a, MEGATRON_BF16, job->type == COST_BF16 || job->type == COST_FP8 || job->type == COST_FP4);
    if (job->type == COST_FP8)
        word(a, MEGATRON_FP8, "hybrid");
    if (job->type == COST_FP4)
        word(a, MEGATRON_FP4, "e2m1");
}

static bool arguments_of(const struct job *job, struct megatron_arguments *a)
{
    model_sizes(a, job);
    attention(a, job->model);
    number(a, MEGATRON_TENSOR, job->tensor);
    flag(a, MEGATRON_SEQUENCE_PARALLEL,
         job->tensor > 1 && (job->software->sequence_parallel || job->model->experts > 0));
    number(a, MEGATRON_CONTEXT, job->context);
    data_parallel(a, job);
    number(a, MEGATRON_MICROBATCH, job->microbatch);
    number(a, MEGATRON_BATCH, job->batch);
    recompute_and_type(a, job);
    return window(a, job->model) && experts(a, job) && stages(a, job);
}

static bool check(const struct job *job, struct error *err)
{
    if (job->model->encoder_layers > 0 || job->model->patch > 0)
        return error_set(
            err, ERROR_INFEASIBLE,
            "'%s' is no language model of one stack: Megatron-LM's arguments for it are not known here",
            job->model->name);
    if (job->frozen)
        return error_set(err, ERROR_INFEASIBLE, "Megatron-LM has no arguments for frozen weights (LoRA)");
    if (job->type == COST_FP64 || job->type == COST_INT8)
        return error_set(err, ERROR_INFEASIBLE, "Megatron-LM does not train in %s",
                         cost_type_name(job->type));
    if (job->context > 1 && job->sequence % (2 * (int64_t)job->context) != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "the sequence (%" PRId64 ") is not a multiple of twice context parallel (%d)",
                         job->sequence, job->context);
    if (job->chunks > 1 && job_microbatches(job) < job->pipeline)
        return error_set(err, ERROR_INFEASIBLE,
                         "an interleaved pipeline of %d stages needs as many micro-batches, not %" PRId64,
                         job->pipeline, job_microbatches(job));
    return true;
}

/* ---- values as text ---- */

static void add_word(struct text *out, const char *value)
{
    bool plain =
        value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,-")] == 0;
    const char *quote = plain ? "" : "'";
    text_format(out, " %s%s%s", quote, value, quote);
}

static void add_option(struct text *out, enum megatron_option option, const struct megatron_value *value)
{
    text_add(out, options[option].name);
    if (options[option].kind == MEGATRON_NUMBER)
        text_format(out, " %" PRId64, value->number);
    else if (options[option].kind == MEGATRON_WORD)
        add_word(out, value->word);
}

static void add_options(struct text *out, const struct megatron_arguments *arguments)
{
    bool first = true;
    for (int i = 0; i < MEGATRON_COUNT; i++) {
        if (!arguments->values[i].given)
            continue;
        text_add(out, first ? "" : " \\\n");
        add_option(out, (enum megatron_option)i, &arguments->values[i]);
        first = false;
    }
    text_add(out, "\n");
}

/* Adds the head with notes on settings that the arguments cannot express. */
static void add_head(struct text *out, const struct launch_subject *of)
{
    const struct job *job = of->job;
    const struct architecture *model = job->model;
    const struct launch_note notes[] = {
        {model->kv_rank == 0 && model->kv_heads % job->tensor != 0, /* transformer_config.py, up to 0.15 */
         "needs Megatron-Core 0.16 or later: groups of heads that tensor parallel does not divide"},
        {model->experts > 0 && job->tensor > 1 && !job->software->sequence_parallel, /* arguments.py */
         "sequence parallel, which experts with tensor parallel need there"},
        {model->masked || !model->causal, "not causal: for pretrain_bert.py"},
        {model->post_norm || model->embedding_norm,
         "no option: norms after attention and MLP, or after the embedding"},
        {model->embedding_width > 0 && model->embedding_width != model->hidden,
         "no option: an embedding narrower than the hidden size"},
        {model->biased && !model->qkv_biased,
         "no option: biases everywhere but on query, key and value; these have them too"},
        {model->router_biased,
         "not written: the router's bias, which --moe-router-enable-expert-bias or none "
         "of the options gives, by its kind"},
        {job->document > 0, "not written: sequences are packed from documents (--reset-attention-mask)"},
        {job->type == COST_TF32, "no option: TF32, which is PyTorch's own setting"},
        {job->sharding >= 2, "CUDA_DEVICE_MAX_CONNECTIONS must not be 1"},
    };
    launch_add_head(out, "Megatron-Core 0.15", notes, sizeof notes / sizeof *notes, of);
}

bool launch_write_megatron(const struct launch_subject *of, struct text *out, struct error *err)
{
    const struct job *job = of->job;
    if (!launch_check_job(of, "Megatron-LM", err) || !check(job, err))
        return false;
    struct arena arena = {0};
    struct megatron_arguments *arguments = ARENA_NEW(&arena, struct megatron_arguments);
    bool ok = arguments && arguments_of(job, arguments);
    if (ok) {
        add_head(out, of);
        add_options(out, arguments);
    }
    if (arguments)
        arena_release(&arguments->arena);
    arena_release(&arena);
    return ok || error_memory(err);
}
