/* A job as arguments of Megatron-LM. */
#include "launch/megatron.h"

#include "launch/part.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    enum megatron_kind kind;
} options[MEGATRON_COUNT] = {
#define X(id, name, kind) {name, MEGATRON_##kind},
    EACH_megatron_option(X)
#undef X
};

const char *megatron_name(enum megatron_option option)
{
    return options[option].name;
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
    flag(a, MEGATRON_QK_NORM, model->qk_norm || latent); /* of the latent vectors */
    if (model->sinks)
        word(a, MEGATRON_SOFTMAX, "learnable");
}

/* Latent attention's fused kernel has YaRN only; a factor of 1 stretches nothing. A model's own stretching begins
 * behind its first sequences. */
static bool stretch(struct megatron_arguments *a, const struct job *job)
{
    const struct architecture *model = job->model;
    bool yarn = model->rope_yarn > 0.0 && job->sequence > model->sequence;
    const char *factor = arena_format(&a->arena, "%.10g", yarn ? model->rope_yarn : 1.0);
    if (model->kv_rank > 0) {
        word(a, MEGATRON_ROPE_TYPE, "yarn");
        word(a, MEGATRON_ROPE_YARN, factor);
    } else if (yarn) {
        word(a, MEGATRON_POSITION_TYPE, "yarn");
        word(a, MEGATRON_ROPE_YARN, factor);
        number(a, MEGATRON_YARN_FROM, model->sequence);
    }
    return factor;
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

/* DeepEP needs the router's weights in fp32 (megatron/core/transformer/transformer_config.py). */
static void exchanges(struct megatron_arguments *a, const struct job *job)
{
    bool deepep = job->degrees.expert > 1 && job_dispatcher(job) == DISPATCH_DEEPEP;
    enum expert_overlap overlap = job_overlap(job);
    word(a, MEGATRON_DISPATCHER, deepep ? "flex" : "alltoall");
    flag(a, MEGATRON_DEEPEP, deepep);
    if (deepep)
        word(a, MEGATRON_ROUTER_TYPE, "fp32");
    flag(a, MEGATRON_EXPERT_OVERLAP, overlap >= OVERLAP_PASSES);
    flag(a, MEGATRON_DELAYED_WEIGHTS, overlap == OVERLAP_WEIGHTS);
}

static bool context(struct megatron_arguments *a, const struct job *job)
{
    static const char *const kinds[] = {[CONTEXT_RING] = "p2p",
                                        [CONTEXT_GATHER] = "all_gather",
                                        [CONTEXT_ULYSSES] = "a2a",
                                        [CONTEXT_HIERARCHICAL] = "a2a+p2p"};
    enum context_kind kind = job_context_kind(job);
    number(a, MEGATRON_CONTEXT, job->degrees.context);
    if (job->degrees.context == 1 || job->technique.context_kind == CONTEXT_USUAL)
        return true;
    word(a, MEGATRON_CONTEXT_KIND, kinds[kind]);
    if (kind != CONTEXT_HIERARCHICAL)
        return true;
    int neighbours = job_context_neighbours(job);
    const char *sizes = arena_format(&a->arena, "%d %d", neighbours, job->degrees.context / neighbours);
    word(a, MEGATRON_CONTEXT_SIZES, sizes);
    return sizes;
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
        number(a, MEGATRON_SHARED_FFN,
               model->shared_ffn > 0 ? model->shared_ffn : model->shared_experts * model->expert_ffn);
    flag(a, MEGATRON_SHARED_GATE, model->shared_gate);
    if (model->expert_latent > 0)
        number(a, MEGATRON_EXPERT_LATENT, model->expert_latent);
    flag(a, MEGATRON_GROUPED_GEMM,
         job->technique.expert_kernels != SWITCH_OFF && job->type != COST_FP16 && job->type != COST_FP32 &&
             job->type != COST_TF32);
    exchanges(a, job);
    number(a, MEGATRON_EXPERT, job->degrees.expert);
    /* without expert parallelism experts are split like all else (cost/transformer.c) */
    int split = job->technique.expert_tensor > 1 ? job->technique.expert_tensor : 1;
    number(a, MEGATRON_EXPERT_TENSOR, job->degrees.expert > 1 ? split : job->degrees.tensor);
    return megatron_expert_layers(a, model);
}

static void model_sizes(struct megatron_arguments *a, const struct job *job)
{
    const struct architecture *model = job->model;
    number(a, MEGATRON_LAYERS, model->layers);
    number(a, MEGATRON_HIDDEN, model->hidden);
    number(a, MEGATRON_FFN, model->ffn);
    number(a, MEGATRON_HEADS, model->heads);
    number(a, MEGATRON_SEQUENCE, job->sequence);
    number(a, MEGATRON_POSITIONS, model->positions > job->sequence ? model->positions : job->sequence);
    number(a, MEGATRON_VOCABULARY, model->vocabulary);
    if (model->rms_norm)
        word(a, MEGATRON_NORM, "RMSNorm");
    flag(a, MEGATRON_UNBIASED, !model->biased);
    flag(a, MEGATRON_QKV_BIASED, !model->biased && model->qkv_biased);
    flag(a, MEGATRON_UNTIED, !model->tied);
    if (model->mtp_layers > 0)
        number(a, MEGATRON_MTP_LAYERS, model->mtp_layers);
    if (!model->dropout) {
        word(a, MEGATRON_HIDDEN_DROPOUT, "0.0");
        word(a, MEGATRON_ATTENTION_DROPOUT, "0.0");
    }
    if (software_attention(job->software, job->technique.attention) == ATTENTION_UNFUSED)
        word(a, MEGATRON_ATTENTION, "unfused");
}

/* Are the stages even, and are all chunks whole blocks, if embedding and head count as blocks or not? */
static bool is_even(const struct job *job, bool embedding, bool head)
{
    int places = job_block_count(job) + embedding + head;
    if (places % (job->degrees.pipeline * job->chunks) != 0)
        return false;
    for (int i = 0; i < job->degrees.pipeline; i++) {
        int less = (embedding && i == 0) + (head && i == job->degrees.pipeline - 1);
        if (job_stage_blocks(job, i) != places / job->degrees.pipeline - less)
            return false;
    }
    return true;
}

/* Are all stages but the first and the last alike? Only for plain 1F1B: the blocks of chunks must divide. A stage
 * without a block is said by a layout alone. */
static bool is_even_inside(const struct job *job)
{
    bool even = job->chunks == 1;
    for (int i = 0; even && i < job->degrees.pipeline; i++)
        even = job_stage_blocks(job, i) > 0;
    for (int i = 2; even && i < job->degrees.pipeline - 1; i++)
        even = job_stage_blocks(job, i) == job_stage_blocks(job, 1);
    return even;
}

/* Returns the number of micro-batches that go through a chunk before the next chunk's turn: the minimum without a short
 * rest (megatron/core/pipeline_parallel/schedules.py: a rest is at least as many as there are stages). */
static int64_t chunk_group(const struct job *job)
{
    int64_t count = job_microbatches(job), group = job->degrees.pipeline;
    while (count % group != 0 && count % group < job->degrees.pipeline)
        group++;
    return group;
}

static bool stages(struct megatron_arguments *a, const struct job *job)
{
    int first = job_stage_blocks(job, 0), last = job_stage_blocks(job, job->degrees.pipeline - 1);
    int inside = job->degrees.pipeline > 2 ? job_stage_blocks(job, 1) : last;
    number(a, MEGATRON_PIPELINE, job->degrees.pipeline);
    if (megatron_blocks_of(job->model) == BLOCKS_PATTERN)
        return true; /* the pattern says them */
    if (job->chunks > 1 && chunk_group(job) != job->degrees.pipeline)
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
    bool overlaps = job->technique.data_overlap != SWITCH_OFF;
    flag(a, MEGATRON_OVERLAP_REDUCE, overlaps);
    flag(a, MEGATRON_OVERLAP_GATHER,
         overlaps && job->sharding >= 1 && job->technique.gather_overlap != SWITCH_OFF);
}

/* Returns a value of a technique as its word, modules with blanks between; NULL: out of memory. */
static const char *technique_words(struct megatron_arguments *a, enum technique_kind kind, int value)
{
    struct text text = {0};
    technique_write(&text, kind, value);
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] == '+')
            text.data[i] = ' ';
    const char *copy = text.failed ? NULL : arena_string(&a->arena, text.data);
    text_release(&text);
    return copy;
}

/* Formats of numbers, and states on the host. Without precision-aware states their formats are fixed. */
static void formats(struct megatron_arguments *a, const struct technique *technique)
{
    bool states = technique->master || technique->moments;
    flag(a, MEGATRON_GRADIENTS_BF16, technique->gradients == FORMAT_BF16);
    flag(a, MEGATRON_PRECISION_AWARE, states || technique->offload > 0);
    if (technique->master)
        word(a, MEGATRON_MASTER, technique_words(a, TECHNIQUE_MASTER, technique->master));
    if (technique->moments) {
        word(a, MEGATRON_FIRST_MOMENT, technique_words(a, TECHNIQUE_MOMENTS, technique->moments));
        word(a, MEGATRON_SECOND_MOMENT, technique_words(a, TECHNIQUE_MOMENTS, technique->moments));
    }
    flag(a, MEGATRON_FP8_PARAMETERS, technique->parameters == FORMAT_FP8);
    if (technique->recipe && technique->recipe != RECIPE_NVFP4)
        word(a, MEGATRON_FP8_RECIPE, technique_words(a, TECHNIQUE_RECIPE, technique->recipe));
    if (technique->recipe == RECIPE_NVFP4)
        word(a, MEGATRON_FP4_RECIPE, "nvfp4");
    flag(a, MEGATRON_OFFLOAD, technique->offload > 0);
    if (technique->offload > 0)
        word(a, MEGATRON_OFFLOAD_FRACTION, arena_format(&a->arena, "%.2f", technique->offload / 100.0));
    if (technique->offload_activations > 0)
        number(a, MEGATRON_OFFLOAD_LAYERS, technique->offload_activations);
    if (technique->replicate > 1)
        number(a, MEGATRON_REPLICATE, technique->replicate);
    if (technique->graphs >= GRAPHS_ITERATION)
        word(a, MEGATRON_GRAPHS,
             technique->graphs == GRAPHS_LAYERS ? "transformer_engine" : "full_iteration");
    flag(a, MEGATRON_UNCHECKED, technique->graphs == GRAPHS_ITERATION);
}

static void recompute_and_type(struct megatron_arguments *a, const struct job *job)
{
    const struct technique *technique = &job->technique;
    if (job->recompute != RECOMPUTE_NONE)
        word(a, MEGATRON_RECOMPUTE, job->recompute == RECOMPUTE_FULL ? "full" : "selective");
    if (job->recompute == RECOMPUTE_SELECTIVE && technique->modules != 0)
        word(a, MEGATRON_RECOMPUTE_MODULES, technique_words(a, TECHNIQUE_MODULES, technique->modules));
    if (job->recompute == RECOMPUTE_FULL) {
        bool some = technique->layers > 0;
        word(a, MEGATRON_RECOMPUTE_METHOD, some && technique->method == METHOD_BLOCK ? "block" : "uniform");
        number(a, MEGATRON_RECOMPUTE_LAYERS, some ? technique->layers : 1);
    }
    formats(a, technique);
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
    number(a, MEGATRON_TENSOR, job->degrees.tensor);
    flag(a, MEGATRON_SEQUENCE_PARALLEL,
         job->degrees.tensor > 1 &&
             (software_splits_norms(job->software, job->technique.sequence) || job->model->experts > 0));
    flag(a, MEGATRON_TENSOR_OVERLAP, job->degrees.tensor > 1 && job->technique.tensor_overlap == SWITCH_ON);
    data_parallel(a, job);
    number(a, MEGATRON_MICROBATCH, job->microbatch);
    number(a, MEGATRON_BATCH, job->batch);
    recompute_and_type(a, job);
    return megatron_facts(a, job->model) && stretch(a, job) && context(a, job) && window(a, job->model) &&
           experts(a, job) && megatron_blocks(a, job) && stages(a, job);
}

static bool check(const struct job *job, struct error *err)
{
    if (job->model->encoder_layers > 0 || job->model->patch > 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "'%s' is not a single-stack language model: its Megatron-LM arguments are unknown",
                         job->model->name);
    if (!megatron_check_facts(job->model, err))
        return false;
    uint64_t cannot = UINT64_C(1) << TECHNIQUE_RESHARD | UINT64_C(1) << TECHNIQUE_PREFETCH |
                      UINT64_C(1) << TECHNIQUE_ACTIVATIONS | UINT64_C(1) << TECHNIQUE_OFFLOAD_TO;
    const uint64_t written = UINT64_C(1) << TECHNIQUE_SEQUENCE | UINT64_C(1) << TECHNIQUE_DATA_OVERLAP |
                             UINT64_C(1) << TECHNIQUE_GATHER_OVERLAP |
                             UINT64_C(1) << TECHNIQUE_EXPERT_KERNELS | UINT64_C(1) << TECHNIQUE_ATTENTION |
                             UINT64_C(1) << TECHNIQUE_GRAPHS;
    for (int k = TECHNIQUE_OPTIMIZER; k < TECHNIQUE_IMBALANCE; k++)
        cannot |= ~written & UINT64_C(1) << k;
    if (!launch_check_techniques(LAUNCH_MEGATRON, job, ~cannot, "Megatron-LM", err))
        return false;
    if (megatron_blocks_of(job->model) == BLOCKS_INDEXED && job->degrees.context > 1 &&
        job_context_kind(job) != CONTEXT_GATHER) /* transformer_config.py */
        return error_set(
            err, ERROR_INFEASIBLE,
            "Megatron-LM gathers keys where an indexer chooses them (--fix cp-comm=all_gather, or cp=1)");
    if (job->technique.parameters != FORMAT_USUAL && job->technique.parameters != FORMAT_FP8)
        return error_set(err, ERROR_INFEASIBLE, "Megatron-LM keeps parameters in 16 bits, or in fp8");
    if (job->technique.gradients != FORMAT_USUAL && job->technique.gradients != FORMAT_BF16 &&
        job->technique.gradients != FORMAT_FP32)
        return error_set(err, ERROR_INFEASIBLE, "Megatron-LM exchanges gradients in fp32 or bf16");
    if (job_is_timed(job))
        return error_set(err, ERROR_INFEASIBLE, "Megatron-LM has no schedule '%s'", job_schedule_name(job));
    if (job->recompute == RECOMPUTE_FULL && job->technique.method == METHOD_EVERY)
        return error_set(err, ERROR_INFEASIBLE,
                         "Megatron-LM does not recompute one of every %d blocks, only the first ones",
                         job->technique.layers);
    unsigned unscaled = 1u << MODULE_NORMS | 1u << MODULE_EXPERT_ACTIVATION;
    int recipe = job->technique.recipe;
    if (job->type == COST_FP8 && (recipe == RECIPE_USUAL || recipe == RECIPE_DELAYED) &&
        job->recompute == RECOMPUTE_SELECTIVE && ((unsigned)job->technique.modules & unscaled))
        return error_set(err, ERROR_INFEASIBLE,
                         "Megatron-LM does not recompute layernorm and moe_act with delayed scaling: use "
                         "another recipe (--fix recipe=tensorwise) or other modules");
    if (job->type == COST_FP64 || job->type == COST_INT8)
        return error_set(err, ERROR_INFEASIBLE, "Megatron-LM does not train in %s",
                         cost_type_name(job->type));
    if (job->chunks > 1 && job_microbatches(job) < job->degrees.pipeline)
        return error_set(err, ERROR_INFEASIBLE,
                         "an interleaved pipeline of %d stages needs as many micro-batches, not %" PRId64,
                         job->degrees.pipeline, job_microbatches(job));
    return true;
}

/* ---- values as text ---- */

static void add_word(struct text *out, const char *value)
{
    bool plain =
        value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,+-")] == 0;
    const char *quote = plain ? "" : "'";
    text_format(out, " %s%s%s", quote, value, quote);
}

static void add_option(struct text *out, enum megatron_option option, const struct megatron_value *value)
{
    text_add(out, options[option].name);
    if (options[option].kind == MEGATRON_NUMBER)
        text_format(out, " %" PRId64, value->number);
    else if (options[option].kind == MEGATRON_MODULES)
        text_format(out, " %s", value->word);
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
        {model->kv_rank == 0 &&
             model->kv_heads % job->degrees.tensor != 0, /* transformer_config.py, up to 0.15 */
         "needs Megatron-Core 0.16 or later: groups of heads that tensor parallel does not divide"},
        {model->experts > 0 && job->degrees.tensor > 1 &&
             !job->software->sequence_parallel, /* arguments.py */
         "sequence parallel, which experts with tensor parallel need there"},
        {model->kv_rank == 0 && model->rope_yarn > 0.0 && job->sequence > model->sequence,
         "needs Megatron-LM of August 2026 or later: YaRN without latent attention"},
        {model->kv_rank > 0 && model->rope_yarn > 0.0 && job->sequence > model->sequence,
         "not written: the factors of YaRN's scores (--mscale, --mscale-all-dim)"},
        {job->document > 0, "not written: sequences are packed from documents (--reset-attention-mask)"},
        {model->mixers, "needs Megatron-LM of August 2026 or later: blocks of several kinds"},
        {megatron_blocks_of(model) == BLOCKS_PATTERN, "for pretrain_hybrid.py"},
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
