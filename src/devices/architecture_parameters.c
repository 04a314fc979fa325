#include "devices/architecture.h"

#include "devices/blocks.h"

#include <string.h>

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
    double keys = model->full_keys_only ? 1 : 2, queries = model->attention_gated ? 2 : 1;
    return matrix(h, queries * query, model->qkv_biased) + keys * matrix(h, kv, model->qkv_biased) +
           matrix(query, h, model->biased || model->out_biased) + norms + (model->sinks ? model->heads : 0);
}

static double attention(const struct architecture *model)
{
    return model->kv_rank ? latent_attention(model) : plain_attention(model);
}

static double mixer(const struct architecture *model, char letter)
{
    const struct block_kind *kind = block_mixer(letter);
    bool attends = letter == 'f' || letter == 'w' || letter == 's';
    return (attends ? attention(model) : 0) + (kind ? block_parameters(kind, model) : 0);
}

static double mlp_of(const struct architecture *model, double hidden, double width)
{
    bool biased = model->biased || model->mlp_biased;
    return (model->gated ? 2 : 1) * matrix(hidden, width, biased) + matrix(width, hidden, biased);
}

static double mlp(const struct architecture *model, double width)
{
    return mlp_of(model, (double)model->hidden, width);
}

double architecture_expert_parameters(const struct architecture *model)
{
    double width = (double)(model->expert_latent ? model->expert_latent : model->hidden);
    return model->experts ? mlp_of(model, width, (double)model->expert_ffn) : 0;
}

static double mixture(const struct architecture *model)
{
    double hidden = (double)model->hidden, experts = (double)model->experts;
    double shared = model->shared_ffn ? mlp(model, (double)model->shared_ffn)
                                      : (double)model->shared_experts * mlp(model, (double)model->expert_ffn);
    return matrix(hidden, experts, model->router_biased) + (model->router_scaled ? hidden + experts : 0) +
           experts * architecture_expert_parameters(model) + shared + (model->shared_gate ? hidden : 0) +
           2 * matrix(hidden, (double)model->expert_latent, false);
}

/* ---- kinds of blocks ---- */

int architecture_first_block(const struct architecture *model)
{
    return model->encoder_layers + model->vision_layers;
}

static char letter_at(const char *letters, int block)
{
    size_t length = strlen(letters);
    return letters[length > 0 ? (size_t)block % length : 0];
}

char architecture_mixer(const struct architecture *model, int block)
{
    if (model->mixers)
        return letter_at(model->mixers, block);
    bool full = model->window == 0 ||
                (model->window_every > 0 && block % model->window_every == model->window_every - 1);
    return full ? 'f' : 'w';
}

char architecture_mlp(const struct architecture *model, int block)
{
    int every = model->experts_every > 1 ? model->experts_every : 1;
    if (model->mlps)
        return letter_at(model->mlps, block);
    return model->experts > 0 && block >= model->dense_layers && block % every == every - 1 ? 'e' : 'd';
}

int architecture_alike(const struct architecture *model, char mixer, char mlp, int blocks)
{
    int period = (int)strlen(model->mixers), whole = blocks / period, rest = blocks % period;
    int count = 0, before = 0;
    for (int i = 0; i < period; i++) {
        bool same = (!mixer || model->mixers[i] == mixer) && model->mlps[i] == mlp;
        count += same;
        before += same && i < rest;
    }
    return whole * count + before;
}

int architecture_last(const struct architecture *model, bool experts)
{
    int last = model->layers - 1;
    for (int i = last; i >= 0 && model->mixers; i--)
        if (experts ? architecture_mlp(model, i) == 'e'
                    : strchr("fws", architecture_mixer(model, i)) != NULL) {
            last = i;
            break;
        }
    return architecture_first_block(model) + last;
}

/* Biases and norms are as its kind has them. */
static struct architecture tower_of(const struct architecture *model)
{
    const struct block_kind *kind = block_tower(model->vision);
    unsigned habits = kind ? kind->habits : 0;
    return (struct architecture){
        .name = model->name,
        .layers = model->vision_layers,
        .hidden = model->vision_hidden,
        .heads = model->vision_heads,
        .kv_heads = model->vision_heads,
        .head_width = model->vision_hidden / model->vision_heads,
        .ffn = model->vision_ffn,
        .sequence = model->vision_patches,
        .window = model->vision_window,
        .window_every = model->vision_window_every,
        .gated = habits & GATED,
        .biased = habits & BIASED,
        .qkv_biased = habits & QKV_BIASED,
        .rms_norm = !(habits & LAYER_NORM),
        .norm_biased = habits & LAYER_NORM,
        .qk_norm = habits & QK_NORM,
        .block_norms = habits & FOUR_NORMS ? 4 : 0,
    };
}

struct architecture architecture_at(const struct architecture *model, int block)
{
    if (block < model->vision_layers)
        return tower_of(model);
    struct architecture at = *model;
    bool full = architecture_mixer(model, block - architecture_first_block(model)) == 'f';
    if (full && model->full_head_width)
        at.head_width = model->full_head_width;
    if (full && model->full_kv_heads)
        at.kv_heads = model->full_kv_heads;
    at.full_keys_only &= full;
    return at;
}

bool architecture_has_experts(const struct architecture *model, int block)
{
    return block >= 0 && architecture_mlp(model, block) == 'e';
}

int architecture_expert_blocks(const struct architecture *model)
{
    int every = model->experts_every > 1 ? model->experts_every : 1;
    if (model->mixers)
        return architecture_alike(model, 0, 'e', model->layers);
    return model->experts > 0 ? model->layers / every - model->dense_layers / every : 0;
}

/* ---- sums ---- */

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
    struct architecture at = architecture_at(model, block + architecture_first_block(model));
    char mixes = architecture_mixer(model, block), then = architecture_mlp(model, block);
    double cross = model->encoder_layers ? plain_attention(model) + norm(model, (double)model->hidden) : 0;
    double behind = then == 'e' ? mixture(model) : then == 'd' ? mlp(model, (double)model->ffn) : 0;
    double whole = mixes == '-' || then == '-' ? 0.5 : 1; /* of the norms */
    return mixer(&at, mixes) + cross + behind + whole * block_norms(model);
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

double architecture_vision_parameters(const struct architecture *model)
{
    if (!model->vision_layers)
        return 0;
    struct architecture tower = tower_of(model);
    return (double)tower.layers * architecture_encoder_block_parameters(&tower) +
           block_parameters(block_tower(model->vision), model);
}

/* Without mixers, blocks are of two kinds at most: those with experts, and the rest. */
static double blocks(const struct architecture *model)
{
    int period = model->mixers ? (int)strlen(model->mixers) : 0;
    if (period > 0) {
        double all = 0;
        for (int i = 0; i < period; i++) {
            int alike = (model->layers - i + period - 1) / period;
            all += alike * architecture_block_parameters(model, i);
        }
        return all;
    }
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
    return architecture_embedding_parameters(model) + architecture_encoder_parameters(model) +
           architecture_vision_parameters(model) + blocks(model) + architecture_head_parameters(model);
}

double architecture_active_parameters(const struct architecture *model)
{
    double skipped = (double)(model->experts - model->active_experts) * architecture_expert_parameters(model);
    return architecture_parameters(model) - architecture_expert_blocks(model) * skipped;
}

/* ---- checks ---- */

static bool fails(const char *place, struct error *err, const char *why)
{
    return error_set(err, ERROR_INPUT, "%s: %s", place, why);
}

#define MAX_LETTERS 1024
#define MAX_PAIRS   6 /* JOB_MAX_KINDS less those of a tower */

/* What a letter of `mixers` needs. */
static const char *mixer_lacks(const struct architecture *model, char mixer)
{
    const struct block_kind *kind = block_mixer(mixer);
    if (mixer == 'w')
        return model->window ? NULL : "a block with a window (w) needs window";
    if (mixer == 's')
        return model->query_rank && model->kv_rank && model->index_heads && model->index_width &&
                       model->index_keys
                   ? NULL
                   : "sparse attention (s) needs query_rank, kv_rank, index_heads, index_width, index_keys";
    if (!kind)
        return mixer == 'f' || mixer == '-'
                   ? NULL
                   : "mixers: expected letters of docs/architecture.md: f, w, s, g, k, l, m, -";
    return model->linear_key_heads && model->linear_value_heads && model->linear_key_width &&
                   model->linear_value_width && model->linear_chunk
               ? NULL
               : "linear attention (g, k, l, m) needs linear_key_heads, linear_value_heads, "
                 "linear_key_width, "
                 "linear_value_width and linear_chunk";
}

static bool check_mixers(const struct architecture *model, const char *place, struct error *err)
{
    size_t length = model->mixers ? strlen(model->mixers) : 0, pairs = 0;
    if (length != (model->mlps ? strlen(model->mlps) : 0))
        return fails(place, err, "mixers and mlps have a letter each for the same blocks");
    if ((model->mixers && length == 0) || length > MAX_LETTERS)
        return fails(place, err, "mixers and mlps: expected from 1 to 1024 letters");
    if (length > 0 && (model->encoder_layers || model->dense_layers || model->experts_every ||
                       model->window_every || model->parallel))
        return fails(place, err,
                     "mixers say what encoder_layers, dense_layers, experts_every, window_every and parallel "
                     "would");
    for (size_t i = 0; i < length; i++) {
        const char *lacks = mixer_lacks(model, model->mixers[i]);
        if (lacks)
            return fails(place, err, lacks);
        if (!strchr("de-", model->mlps[i]) || (model->mlps[i] == 'e' && !model->experts) ||
            (model->mlps[i] == '-' && model->mixers[i] == '-'))
            return fails(place, err,
                         "mlps: expected d, e (of a model with experts) or - (not of a block of -)");
        pairs += architecture_alike(model, model->mixers[i], model->mlps[i], (int)i) == 0;
    }
    return pairs <= MAX_PAIRS || fails(place, err, "mixers: at most 6 kinds of blocks are supported");
}

static bool check_vision(const struct architecture *model, const char *place, struct error *err)
{
    if (!model->vision)
        return !model->vision_layers || fails(place, err, "vision_layers needs vision, its kind");
    if (!block_tower(model->vision))
        return error_set(err, ERROR_INPUT, "%s: vision: unknown kind '%.40s': see data/blocks.yaml", place,
                         model->vision);
    if (!model->vision_layers || !model->vision_hidden || !model->vision_heads || !model->vision_ffn ||
        !model->vision_patch || !model->vision_patches || !model->vision_merge)
        return fails(place, err,
                     "vision needs vision_layers, vision_hidden, vision_heads, vision_ffn, vision_patch, "
                     "vision_patches and vision_merge");
    if (model->vision_hidden % model->vision_heads != 0)
        return fails(place, err, "vision_heads do not divide vision_hidden");
    return !model->encoder_layers || fails(place, err, "a model with an encoder has no tower");
}

bool architecture_check_blocks(const struct architecture *model, const char *place, struct error *err)
{
    return check_mixers(model, place, err) && check_vision(model, place, err);
}
