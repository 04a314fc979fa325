/* Blocks of several kinds as Megatron-LM says them.
 *
 * pretrain_gpt.py has gated delta nets among blocks of attention (gdn) and an indexer in all of them (dsa), as variants of
 * attention: megatron/core/transformer/transformer_config.py. pretrain_hybrid.py has a pattern with a letter for each
 * block that is one thing alone, with | between stages: megatron/core/models/hybrid/hybrid_layer_allocation.py. */
#include "launch/megatron.h"

#include <string.h>

static void number(struct megatron_arguments *a, enum megatron_option option, int64_t value)
{
    a->values[option] = (struct megatron_value){.given = true, .number = value};
}

static bool word(struct megatron_arguments *a, enum megatron_option option, const char *value)
{
    a->values[option] = (struct megatron_value){.given = true, .word = value};
    return value;
}

/* Returns whether all mixers are among `letters`. */
static bool are_among(const struct architecture *model, const char *letters)
{
    return model->mixers[strspn(model->mixers, letters)] == '\0';
}

enum megatron_blocks megatron_blocks_of(const struct architecture *model)
{
    if (!model->mixers)
        return BLOCKS_ALIKE;
    return are_among(model, "gf") ? BLOCKS_DELTA : are_among(model, "s") ? BLOCKS_INDEXED : BLOCKS_PATTERN;
}

const char *megatron_program(const struct architecture *model)
{
    return megatron_blocks_of(model) == BLOCKS_PATTERN ? "pretrain_hybrid.py" : "pretrain_gpt.py";
}

/* Blocks of a pattern are one thing alone. */
static bool are_alone(const struct architecture *model)
{
    for (size_t i = 0; model->mixers[i]; i++)
        if ((model->mixers[i] == '-') == (model->mlps[i] == '-'))
            return false;
    return true;
}

const char *megatron_blocks_lack(const struct architecture *model)
{
    if (!model->mixers)
        return NULL;
    if (strchr(model->mixers, 'k'))
        return "Kimi delta attention";
    if (strchr(model->mixers, 'l'))
        return "lightning attention";
    if (model->full_head_width > 0 || model->full_kv_heads > 0)
        return "heads of another width in blocks with full attention";
    enum megatron_blocks blocks = megatron_blocks_of(model);
    if (blocks == BLOCKS_DELTA && strchr(model->mlps, '-'))
        return "gated delta nets without an MLP";
    if (blocks == BLOCKS_PATTERN && (!are_among(model, "mf-") || !are_alone(model)))
        return "pattern of blocks that are of other kinds than Mamba-2, attention or an MLP alone";
    return model->mtp_layers > 0 ? "blocks of several kinds that predict further tokens" : NULL;
}

/* "[1,1,1,0,…]", or every so many-th. */
static const char *full_blocks(struct megatron_arguments *a, const struct architecture *model)
{
    size_t period = strlen(model->mixers);
    if (strspn(model->mixers, "g") == period - 1 && model->layers % (int)period == 0)
        return arena_format(&a->arena, "%zu", period);
    struct text list = {0};
    for (int i = 0; i < model->layers; i++)
        text_format(&list, "%s%d", i > 0 ? "," : "[", architecture_mixer(model, i) == 'g');
    text_add(&list, "]");
    const char *word = list.failed ? NULL : arena_string(&a->arena, list.data);
    text_release(&list);
    return word;
}

static bool pattern(struct megatron_arguments *a, const struct job *job)
{
    const struct architecture *model = job->model;
    int chunks = job->degrees.pipeline * job->chunks, block = 0;
    struct text letters = {0};
    for (int chunk = 0; chunk < chunks; chunk++) {
        int end = block + (job->chunks > 1 ? job_chunk_blocks(job, chunk) : job_stage_blocks(job, chunk));
        text_add(&letters, chunk > 0 ? "|" : "");
        for (; block < end; block++) {
            char mixer = architecture_mixer(model, block), mlp = architecture_mlp(model, block);
            text_add(&letters, mixer == 'm' ? "M" : mixer == 'f' ? "*" : mlp == 'e' ? "E" : "-");
        }
    }
    const char *value = letters.failed ? NULL : arena_string(&a->arena, letters.data);
    text_release(&letters);
    a->values[MEGATRON_LAYERS].given = false;
    number(a, MEGATRON_MAMBA_STATE, model->linear_key_width);
    number(a, MEGATRON_MAMBA_HEAD, model->linear_value_width);
    number(a, MEGATRON_MAMBA_GROUPS, model->linear_key_heads);
    number(a, MEGATRON_MAMBA_HEADS, model->linear_value_heads);
    word(a, MEGATRON_SPEC, "megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec");
    return word(a, MEGATRON_PATTERN, value);
}

bool megatron_blocks(struct megatron_arguments *a, const struct job *job)
{
    const struct architecture *model = job->model;
    a->values[MEGATRON_OUTPUT_GATE].given = model->attention_gated;
    switch (megatron_blocks_of(model)) {
    case BLOCKS_ALIKE:
        return true;
    case BLOCKS_DELTA:
        word(a, MEGATRON_VARIANT, "gated_delta_net");
        number(a, MEGATRON_LINEAR_CONVOLUTION, model->linear_convolution);
        number(a, MEGATRON_LINEAR_KEY_WIDTH, model->linear_key_width);
        number(a, MEGATRON_LINEAR_VALUE_WIDTH, model->linear_value_width);
        number(a, MEGATRON_LINEAR_KEY_HEADS, model->linear_key_heads);
        number(a, MEGATRON_LINEAR_VALUE_HEADS, model->linear_value_heads);
        return word(a, MEGATRON_LINEAR_EVERY, full_blocks(a, model));
    case BLOCKS_INDEXED:
        number(a, MEGATRON_INDEX_HEADS, model->index_heads);
        number(a, MEGATRON_INDEX_WIDTH, model->index_width);
        number(a, MEGATRON_INDEX_KEYS, model->index_keys);
        word(a, MEGATRON_INDEX_LOSS, "0.0");
        number(a, MEGATRON_ROPE_UNFUSED, 1); /* transformer_config.py: no fusion for its attention */
        return word(a, MEGATRON_VARIANT, "dsa");
    case BLOCKS_PATTERN:
        break;
    }
    return pattern(a, job);
}
