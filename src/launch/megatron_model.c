/* Facts of a model that take no time but must be stated, as arguments of Megatron-LM. */
#include "launch/megatron.h"

static void give(struct megatron_arguments *arguments, enum megatron_option option, int64_t number,
                 const char *word)
{
    arguments->values[option] = (struct megatron_value){.given = true, .number = number, .word = word};
}

static bool give_decimal(struct megatron_arguments *arguments, enum megatron_option option, double value)
{
    const char *word = arena_format(&arguments->arena, "%.10g", value);
    give(arguments, option, 0, word);
    return word;
}

/* Blocks without rotary embedding: a number where it divides the blocks, else a list of all. */
static const char *no_rope(struct megatron_arguments *a, const struct architecture *model)
{
    int every = model->nope_every, whole = model->layers / every;
    if (model->layers % every == 0)
        return arena_format(&a->arena, "%d", every);
    return arena_format(&a->arena, "(([0]*%d+[1])*%d+[0]*%d)", every - 1, whole, model->layers % every);
}

static bool positions(struct megatron_arguments *a, const struct architecture *model)
{
    if (model->positions > 0) {
        give(a, MEGATRON_POSITION_TYPE, 0, "learned_absolute");
        return true;
    }
    give(a, MEGATRON_POSITION_TYPE, 0, model->nope_every == 1 ? "none" : "rope");
    if (model->nope_every == 1)
        return true;
    if (model->rope_base > 0)
        give(a, MEGATRON_ROPE_BASE, model->rope_base, NULL);
    if (model->rope_percent > 0 && model->rope_percent < 100 &&
        !give_decimal(a, MEGATRON_ROPE_PERCENT, model->rope_percent / 100.0))
        return false;
    if (model->nope_every > 0) {
        const char *word = no_rope(a, model);
        give(a, MEGATRON_NO_ROPE, 0, word);
        if (!word)
            return false;
    }
    if (model->rope_scale > 0.0) {
        give(a, MEGATRON_ROPE_SCALED, 1, NULL);
        return give_decimal(a, MEGATRON_ROPE_SCALE, model->rope_scale);
    }
    return true;
}

static void activation(struct megatron_arguments *a, const struct architecture *model)
{
    if (model->quick_gelu) {
        give(a, MEGATRON_QUICK_GEGLU, 1, NULL);
        give(a, MEGATRON_GLU_OFFSET, 0, "1.0");
        give(a, MEGATRON_CLAMP, 0, "7.0");
    } else if (model->gated) {
        give(a, MEGATRON_GATED, 1, NULL);
    } else if (model->squared_relu) {
        give(a, MEGATRON_SQUARED_RELU, 1, NULL);
    }
}

/* A softmax over one chosen expert would always be 1: such models have it over all experts. */
static bool router(struct megatron_arguments *a, const struct architecture *model)
{
    if (model->experts == 0)
        return true;
    if (model->sigmoid_router)
        give(a, MEGATRON_ROUTER_SCORE, 0, "sigmoid");
    else if (model->pre_softmax_router || model->active_experts == 1)
        give(a, MEGATRON_ROUTER_PRE_SOFTMAX, 1, NULL);
    if (model->sigmoid_router && model->router_biased)
        give(a, MEGATRON_ROUTER_BIAS, 1, NULL);
    if (model->route_groups > 1) {
        give(a, MEGATRON_ROUTER_GROUPS, model->route_groups, NULL);
        give(a, MEGATRON_ROUTER_GROUP_TOPK, model->route_active_groups, NULL);
    }
    give(a, MEGATRON_PERMUTE_FUSION, 1, NULL);
    return model->router_scale == 0.0 || give_decimal(a, MEGATRON_ROUTER_SCALE, model->router_scale);
}

/* Blocks with experts, of those that are not all. */
bool megatron_expert_layers(struct megatron_arguments *a, const struct architecture *model)
{
    int every = model->experts_every, dense = model->dense_layers, rest = model->layers - dense;
    const char *word;
    if (architecture_expert_blocks(model) == model->layers || megatron_blocks_of(model) == BLOCKS_PATTERN)
        return true;
    if (every <= 1 && !model->mixers)
        word = arena_format(&a->arena, "([0]*%d+[1]*%d)", dense, rest);
    else if (dense == 0 && !model->mixers)
        word = arena_format(&a->arena, "(([0]*%d+[1])*%d+[0]*%d)", every - 1, model->layers / every,
                            model->layers % every);
    else {
        struct text list = {0};
        for (int i = 0; i < model->layers; i++)
            text_format(&list, "%s%d", i > 0 ? "," : "[", architecture_has_experts(model, i));
        text_add(&list, "]");
        word = list.failed ? NULL : arena_string(&a->arena, list.data);
        text_release(&list);
    }
    give(a, MEGATRON_EXPERT_LAYERS, 0, word);
    return word;
}

bool megatron_facts(struct megatron_arguments *arguments, const struct architecture *model)
{
    activation(arguments, model);
    if (model->qk_l2_norm)
        give(arguments, MEGATRON_QK_L2_NORM, 1, NULL);
    return positions(arguments, model) && router(arguments, model);
}

bool megatron_check_facts(const struct architecture *model, struct error *err)
{
    bool rotary = model->positions == 0 && !model->alibi;
    const char *blocks = megatron_blocks_lack(model);
    const struct {
        bool has;
        const char *fact;
    } facts[] = {
        {model->vision, "tower of a model that sees"},
        {blocks, blocks},
        {model->masked || !model->causal || model->post_norm,
         "norms after attention and MLP and none at the end (pretrain_bert.py has them before, too)"},
        {model->alibi, "ALiBi"},
        {model->gelu && model->gated, "GELU with a gate (GeGLU)"},
        {model->relu, "plain ReLU"},
        {model->parallel, "parallel attention and MLP"},
        {model->output_norm || model->block_norms > 2, "norms after attention and MLP"},
        {model->norm_free, "norms without parameters"},
        {!model->rms_norm && !model->norm_biased && !model->norm_free, "LayerNorm without biases"},
        {model->embedding_norm, "norm after the embedding"},
        {model->embedding_width > 0 && model->embedding_width != model->hidden,
         "embedding narrower than the hidden size"},
        {model->qk_norm_wide, "norms of all heads' queries together"},
        {model->biased && !model->qkv_biased, "biases everywhere but on query, key and value"},
        {(model->mlp_biased || model->out_biased) && !model->biased, "biases on some other matrices only"},
        {model->head_biased, "biases of the head"},
        {model->experts > 0 && model->router_biased && !model->sigmoid_router && !model->biased,
         "biases of a router without sigmoid scores in a model without others"},
        {model->own_router, "this way of choosing experts"},
        {model->soft_capped, "soft-capping of scores or logits"},
        {model->scaled, "constant factors of embedding, residuals or logits"},
        {model->clipped, "clipping of queries, keys and values"},
        {rotary && model->rope_local_base > 0, "rotary base of its own in blocks with a window"},
        {model->quick_gelu && !model->gated, "quick GELU without a gate"},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].has)
            return error_set(err, ERROR_INFEASIBLE, "Megatron-LM's arguments have no %s, which '%s' has",
                             facts[i].fact, model->name);
    return true;
}
