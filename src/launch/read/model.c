/* The model that files describe. */
#include "launch/read/read.h"

#include "devices/architecture_config.h"
#include "devices/tables.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static int64_t or_else(struct launch_value value, int64_t otherwise)
{
    return value.given ? value.value : otherwise;
}

/* Megatron's defaults: biases, learned positions, LayerNorm, tied embeddings, dropout of 0.1, and a vocabulary that its
 * tokenizer gives, padded to a multiple of 128 x tensor. A number of words that is written is taken as it is. */
static void from_numbers(struct launch_options *options)
{
    const struct launch_options *o = options;
    int64_t hidden = o->hidden.value, heads = o->heads.value;
    int64_t padding = o->padding.given ? o->padding.value * or_else(o->tensor, 1) : 0;
    int64_t vocabulary = or_else(o->vocabulary, 50257);
    bool gated = or_else(o->gated, 0), biased = or_else(o->biased, 1);
    bool latent = or_else(o->latent, o->kv_rank.given), rotary = or_else(o->rotary, 0);
    /* megatron/training/arguments.py: two thirds of 4 x hidden, a multiple of 64, for SwiGLU */
    int64_t ffn = gated ? hidden * 4 * 2 / 3 / 64 * 64 : 4 * hidden;
    options->model = (struct architecture){
        .name = "the files' model",
        .layers = (int)o->layers.value,
        .hidden = hidden,
        .heads = heads,
        .kv_heads = latent ? 0 : or_else(o->kv_heads, 0),
        .head_width = latent ? 0 : or_else(o->head_width, 0),
        .ffn = or_else(o->ffn, ffn),
        .vocabulary =
            padding > 0 && padding < 1000000 ? (vocabulary + padding - 1) / padding * padding : vocabulary,
        .sequence = or_else(o->sequence, 0),
        .positions = rotary ? 0 : or_else(o->positions, or_else(o->sequence, 0)),
        .causal = !or_else(o->bidirectional, 0),
        .token_types = or_else(o->bidirectional, 0) ? 2 : 0, /* Megatron's BERT */
        .masked = or_else(o->bidirectional, 0),
        .gated = gated,
        .biased = biased,
        .qkv_biased = or_else(o->qkv_biased, biased),
        .qk_norm = or_else(o->qk_norm, 0) && !latent,
        .sinks = or_else(o->sinks, 0),
        .rms_norm = or_else(o->rms_norm, 0),
        .norm_biased = !or_else(o->rms_norm, 0),
        .tied = or_else(o->tied, 1),
        .dropout = or_else(o->dropout, 1),
        .experts = or_else(o->experts, 0),
        .window = or_else(o->window, 0),
        .window_every = (int)or_else(o->window_every, 0),
    };
    struct architecture *model = &options->model;
    model->mtp_layers = (int)or_else(o->mtp_layers, 0);
    if (latent) {
        model->query_rank = or_else(o->query_rank, 0);
        model->kv_rank = or_else(o->kv_rank, 512);
        model->rope_width = or_else(o->rope_width, 64);
        model->nope_width = or_else(o->nope_width, 128);
        model->value_width = or_else(o->value_width, 128);
    }
    if (model->experts == 0)
        return;
    model->active_experts = or_else(o->active_experts, 2);
    model->expert_ffn = or_else(o->expert_ffn, model->ffn);
    model->shared_experts =
        or_else(o->shared_experts, model->expert_ffn > 0 ? or_else(o->shared_ffn, 0) / model->expert_ffn : 0);
    model->dense_layers = (int)or_else(o->dense_layers, 0);
    model->router_biased = or_else(o->router_biased, 0);
    model->experts_every = (int)or_else(o->experts_every, 0);
    if (o->route_groups.given && o->route_active_groups.given) {
        model->route_groups = o->route_groups.value;
        model->route_active_groups = o->route_active_groups.value;
    }
}

/* A model by its numbers, if these are known under a name, too. */
static const char *name_of(const struct architecture *model)
{
    const struct table *table = tables_known(TABLE_MODELS);
    const struct architecture *known = table->models;
    for (int i = 0; i < table->count; i++)
        if (known[i].layers == model->layers && known[i].hidden == model->hidden &&
            known[i].heads == model->heads && known[i].kv_heads == model->kv_heads &&
            known[i].ffn == model->ffn && known[i].experts == model->experts &&
            known[i].kv_rank == model->kv_rank && known[i].experts_every == model->experts_every &&
            known[i].gated == model->gated && known[i].rms_norm == model->rms_norm &&
            known[i].biased == model->biased && known[i].causal == model->causal &&
            known[i].post_norm == model->post_norm && known[i].vocabulary <= model->vocabulary &&
            model->vocabulary < known[i].vocabulary + 4096)
            return known[i].name;
    return NULL;
}

bool launch_model(struct launch_options *options, const struct architecture **model, bool *known,
                  struct error *err)
{
    *known = true;
    *model = &options->model;
    if (!tables_ready(err))
        return false;
    if (options->has_model) {
        if (options->layers.given && options->layers.value < 100000)
            options->model.layers = (int)options->layers.value;
        return true;
    }
    if (options->layers.given && options->hidden.given && options->heads.given) {
        if (!options->vocabulary.given &&
            !launch_miss(options, "the vocabulary size", "is not in the files, and the tokenizer is unknown",
                         "--set vocab-size=N"))
            return error_memory(err);
        from_numbers(options);
        if (options->missing_count > 0)
            return true;
        if (options->sequence.given && !architecture_check(&options->model, options->path, err))
            return false;
        const char *name = name_of(&options->model);
        if (name)
            options->model.name = name;
        return true;
    }
    const struct architecture *found =
        options->model_name ? architecture_of_checkpoint(options->model_name) : NULL;
    if (found) {
        options->model = *found;
        if (options->layers.given && options->layers.value < 100000)
            options->model.layers = (int)options->layers.value;
        return true;
    }
    *known = false;
    return true;
}
