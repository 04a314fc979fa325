#include "devices/architecture.h"

/* Every term is a whole number and every sum at most 2^53 (architecture_check): doubles hold them exactly. */

#define COLOURS 3.0 /* of a pixel */

static double matrix(double in, double out, bool biased)
{
    return in * out + (biased ? out : 0);
}

static double norm(const struct architecture *model, double width)
{
    return model->norm_free ? 0 : model->norm_biased ? 2 * width : width;
}

/* DeepSeek-V2, arXiv:2405.04434, section 2.1: queries and, together, keys and values go through a narrow
 * latent vector with a norm; the rotary part of the key is one for all heads. */
static double latent_attention(const struct architecture *model)
{
    double h = model->hidden;
    double heads = model->heads;
    double query = heads * (model->nope_width + model->rope_width);
    double queries = model->query_rank
                         ? matrix(h, model->query_rank, false) + norm(model, model->query_rank) +
                               matrix(model->query_rank, query, false)
                         : matrix(h, query, false);
    double keys_values = matrix(h, model->kv_rank + model->rope_width, false) + norm(model, model->kv_rank) +
                         matrix(model->kv_rank, heads * (model->nope_width + model->value_width), false);
    return queries + keys_values + matrix(heads * model->value_width, h, model->biased || model->out_biased);
}

static double plain_attention(const struct architecture *model)
{
    double h = model->hidden;
    double query = (double)model->heads * model->head_width;
    double kv = (double)model->kv_heads * model->head_width;
    double norms = model->qk_norm        ? 2 * norm(model, model->head_width)
                   : model->qk_norm_wide ? norm(model, query) + norm(model, kv)
                                         : 0;
    return matrix(h, query, model->qkv_biased) + 2 * matrix(h, kv, model->qkv_biased) +
           matrix(query, h, model->biased || model->out_biased) + norms + (model->sinks ? model->heads : 0);
}

static double attention(const struct architecture *model)
{
    return model->kv_rank ? latent_attention(model) : plain_attention(model);
}

static double mlp(const struct architecture *model, double width)
{
    bool biased = model->biased || model->mlp_biased;
    return (model->gated ? 2 : 1) * matrix(model->hidden, width, biased) +
           matrix(width, model->hidden, biased);
}

double architecture_expert_parameters(const struct architecture *model)
{
    return model->experts ? mlp(model, model->expert_ffn) : 0;
}

static double mixture(const struct architecture *model)
{
    double experts = (double)model->experts + model->shared_experts;
    return matrix(model->hidden, model->experts, model->router_biased) +
           experts * mlp(model, model->expert_ffn) + (model->shared_gate ? model->hidden : 0);
}

bool architecture_has_experts(const struct architecture *model, int block)
{
    int every = model->experts_every > 1 ? model->experts_every : 1;
    return model->experts > 0 && block >= model->dense_layers && block % every == every - 1;
}

int architecture_expert_blocks(const struct architecture *model)
{
    int every = model->experts_every > 1 ? model->experts_every : 1;
    return model->experts > 0 ? model->layers / every - model->dense_layers / every : 0;
}

static double block_norms(const struct architecture *model)
{
    return (model->block_norms > 0 ? model->block_norms : 2) * norm(model, model->hidden);
}

static double architecture_encoder_block_parameters(const struct architecture *model)
{
    return plain_attention(model) + mlp(model, model->ffn) + block_norms(model);
}

double architecture_block_parameters(const struct architecture *model, int block)
{
    bool dense = !architecture_has_experts(model, block);
    double cross = model->encoder_layers ? plain_attention(model) + norm(model, model->hidden) : 0;
    return attention(model) + cross + (dense ? mlp(model, model->ffn) : mixture(model)) + block_norms(model);
}

static double last_norm(const struct architecture *model)
{
    return model->post_norm ? 0 : norm(model, model->hidden);
}

double architecture_encoder_parameters(const struct architecture *model)
{
    if (model->encoder_layers == 0)
        return 0;
    return model->encoder_layers * architecture_encoder_block_parameters(model) + last_norm(model);
}

/* T5, arXiv:1910.10683, section 2.1: one table of relative biases for all blocks of the encoder, one for those
 * of the decoder. */
static double relative_biases(const struct architecture *model)
{
    double tables = model->encoder_layers ? 2 : 1;
    return tables * (double)model->relative_buckets * (double)model->heads;
}

static bool projects_embedding(const struct architecture *model)
{
    return model->embedding_width != model->hidden;
}

double architecture_embedding_parameters(const struct architecture *model)
{
    double h = model->hidden;
    double width = model->embedding_width;
    double tokens = model->vocabulary * width + (projects_embedding(model) ? matrix(width, h, false) : 0);
    /* ViT, arXiv:2010.11929, section 3.1, equation 1: a matrix for patches and one learned class token. */
    double patches = model->patch ? matrix(COLOURS * model->patch * model->patch, h, true) + h : 0;
    double learned = ((double)model->positions + model->token_types) * h;
    return tokens + patches + learned + relative_biases(model) + (model->embedding_norm ? norm(model, h) : 0);
}

double architecture_head_parameters(const struct architecture *model)
{
    double h = model->hidden;
    double width = model->embedding_width;
    double vocabulary = model->tied ? 0 : width * model->vocabulary;
    double narrow = projects_embedding(model) ? matrix(h, width, false) : 0;
    /* BERT, arXiv:1810.04805, the released code: a matrix and a norm, then the embedding's matrix with a
     * bias. */
    double masked = model->masked ? matrix(h, h, true) + norm(model, h) + model->vocabulary : 0;
    double classes = model->classes ? matrix(h, model->classes, true) : 0;
    double biases = model->head_biased ? model->vocabulary : 0;
    return last_norm(model) + narrow + masked + vocabulary + biases + classes;
}

/* Blocks are of two kinds at most: those with experts, and the rest. */
static double blocks(const struct architecture *model)
{
    int mixed = architecture_expert_blocks(model),
        every = model->experts_every > 1 ? model->experts_every : 1;
    int last = model->layers / every * every - 1; /* one with experts, if any is */
    double sum = mixed > 0 ? mixed * architecture_block_parameters(model, last) : 0;
    if (mixed < model->layers) {
        struct architecture plain = *model;
        plain.experts = 0;
        sum += (double)(model->layers - mixed) * architecture_block_parameters(&plain, 0);
    }
    return sum;
}

double architecture_parameters(const struct architecture *model)
{
    return architecture_embedding_parameters(model) + architecture_encoder_parameters(model) + blocks(model) +
           architecture_head_parameters(model);
}

double architecture_active_parameters(const struct architecture *model)
{
    double skipped = (double)(model->experts - model->active_experts) * architecture_expert_parameters(model);
    return architecture_parameters(model) - architecture_expert_blocks(model) * skipped;
}
