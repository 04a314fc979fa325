/* The keys that configurations of Hugging Face share. */
#include "devices/config_part.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *const config_hidden[] = {"hidden_size", "n_embd", "d_model", "n_embed", NULL};
const char *const config_kv_heads[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv", NULL};
const char *const config_experts[] = {"num_local_experts", "num_experts", "n_routed_experts",
                                      "moe_num_experts", NULL};
static const char *const layer_keys[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers", NULL};
static const char *const head_keys[] = {"num_attention_heads", "n_head", "n_heads", "num_heads", NULL};
static const char *const ffn_keys[] = {"intermediate_size", "ffn_dim", "n_inner",
                                       "ffn_hidden_size",   "d_ff",    NULL};
static const char *const position_keys[] = {
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", NULL};
static const char *const active_keys[] = {"num_experts_per_tok", "experts_per_token", "moe_k", NULL};
static const char *const expert_ffn_keys[] = {"moe_intermediate_size", NULL};
static const char *const shared_keys[] = {"n_shared_experts", "moe_num_shared_experts", "num_shared_experts",
                                          NULL};
static const char *const first_dense_keys[] = {"first_k_dense_replace", "moe_layer_start_index", NULL};
static const char *const scaling_keys[] = {"rope_scaling", "rope_parameters", NULL};

bool config_complain(struct config_reader *r, const char *text)
{
    text_format(&r->wrong, "%s%s", r->wrong.length > 0 ? "; " : "", text);
    return false;
}

bool config_complain_at(struct config_reader *r, const char *key, const char *why)
{
    const struct doc_node *node = doc_find(r->map, key);
    struct error err;
    if (node)
        doc_error(r->doc, node, &err, "%s", why);
    else
        doc_error(r->doc, r->map, &err, "%s: %s", key, why);
    return config_complain(r, err.text);
}

const struct doc_node *config_find(const struct config_reader *r, const char *const *keys)
{
    for (; *keys; keys++) {
        const struct doc_node *node = doc_find(r->map, *keys);
        if (node && node->type != DOC_NULL)
            return node;
    }
    return NULL;
}

int64_t config_number(struct config_reader *r, const char *const *keys, int64_t max, bool needed)
{
    const struct doc_node *node = config_find(r, keys);
    struct error err;
    int64_t value = 0;
    if (node && !doc_integer(r->doc, node, 1, max, &value, &err))
        config_complain(r, err.text);
    if (!node && needed) {
        snprintf(err.text, sizeof err.text, "%s: %s is missing: set it, there is no safe default",
                 r->doc->path, *keys);
        config_complain(r, err.text);
    }
    return value;
}

static int64_t optional_of(struct config_reader *r, const char *const *keys, int64_t max)
{
    const struct doc_node *node = config_find(r, keys);
    /* 0 switches off */
    return node && node->type == DOC_NUMBER && node->number == 0 ? 0 : config_number(r, keys, max, false);
}

int64_t config_optional(struct config_reader *r, const char *key, int64_t max)
{
    const char *const keys[] = {key, NULL};
    return optional_of(r, keys, max);
}

bool config_flag(const struct config_reader *r, const char *key, bool otherwise)
{
    const struct doc_node *node = doc_find(r->map, key);
    return node && node->type == DOC_BOOL ? node->boolean : otherwise;
}

double config_real(const struct config_reader *r, const char *key)
{
    const struct doc_node *node = doc_find(r->map, key);
    return node && node->type == DOC_NUMBER ? node->number : 0;
}

bool config_says(const struct config_reader *r, const char *key, const char *text)
{
    const struct doc_node *node = doc_find(r->map, key);
    return node && node->text && strcmp(node->text, text) == 0;
}

/* ---- sizes ---- */

/* Tokens before any stretching of positions. */
static int64_t sequence_of(struct config_reader *r, int64_t positions)
{
    const struct doc_node *scaling = config_find(r, scaling_keys);
    const struct doc_node *inside = doc_find(scaling, "original_max_position_embeddings");
    if (inside && inside->type == DOC_NUMBER && inside->number >= 1 && inside->number <= CONFIG_MAX_SIZE)
        return (int64_t)inside->number;
    int64_t before = config_optional(r, "original_max_position_embeddings", CONFIG_MAX_SIZE);
    int64_t chunk = config_optional(r, "attention_chunk_size", CONFIG_MAX_SIZE); /* Llama 4 */
    int64_t sequence = before > 0 ? before : positions > 0 ? positions : 2048;
    return chunk > 0 && chunk < sequence ? chunk : sequence;
}

static void read_sizes(struct config_reader *r, struct architecture *model, unsigned habits)
{
    static const char *const vocabulary[] = {"vocab_size", NULL};
    static const char *const widths[] = {"head_dim", "d_kv", "attention_head_dim", NULL};
    model->hidden = config_number(r, config_hidden, CONFIG_MAX_SIZE, true);
    model->layers = (int)config_number(r, layer_keys, CONFIG_MAX_LAYERS, true);
    model->heads = config_number(r, head_keys, 1 << 14, true);
    model->kv_heads = config_number(r, config_kv_heads, 1 << 14, false);
    model->head_width = optional_of(r, widths, CONFIG_MAX_SIZE);
    model->vocabulary = config_number(r, vocabulary, CONFIG_MAX_SIZE, true);
    int64_t ratio = config_optional(r, "expansion_ratio", 1000);
    /* a model whose every block has experts may have no other MLP */
    bool needed = !(habits & FULL_FFN) && !(habits & MIXTURE && config_find(r, expert_ffn_keys));
    model->ffn = config_number(r, ffn_keys, CONFIG_MAX_SIZE, needed);
    if (model->ffn == 0 && model->hidden > 0 && habits & FULL_FFN)
        model->ffn = (ratio > 0 ? ratio : 4) * model->hidden;
    int64_t positions = config_number(r, position_keys, CONFIG_MAX_SIZE, (habits & LEARNED) != 0);
    model->sequence = sequence_of(r, positions);
    if (habits & LEARNED)
        model->positions = positions;
}

/* Every so many-th block has experts; the blocks between them are dense. */
static void read_places(struct config_reader *r, struct architecture *model)
{
    static const char *const steps[] = {"interleave_moe_layer_step", "decoder_sparse_step", NULL};
    static const char *const frequencies[] = {"moe_layer_freq", "moe_layer_interval", NULL};
    const struct doc_node *plain = doc_find(r->map, "mlp_only_layers");
    const struct doc_node *frequency = config_find(r, frequencies);
    int64_t step = optional_of(r, steps, CONFIG_MAX_LAYERS);
    model->experts_every = step > 1 ? (int)step : 0;
    if (frequency && (frequency->type != DOC_NUMBER || frequency->number != 1))
        config_complain_at(r, frequency->key,
                           "only 1, experts in every block behind the first ones, is modelled");
    if (plain && plain->type == DOC_LIST && plain->count > 0)
        config_complain_at(r, "mlp_only_layers", "a list of dense blocks is not modelled");
}

static void read_shared(struct config_reader *r, struct architecture *model)
{
    static const char *const widths[] = {"shared_expert_intermediate_size", "shared_intermediate_size", NULL};
    int64_t shared = optional_of(r, widths, CONFIG_MAX_SIZE);
    model->shared_experts = optional_of(r, shared_keys, 1 << 16);
    if (shared == 0 || model->expert_ffn == 0)
        return;
    if (shared % model->expert_ffn != 0)
        config_complain_at(r, config_find(r, widths)->key,
                           "not a multiple of an expert's width: not modelled");
    model->shared_experts = shared / model->expert_ffn;
}

static void read_router(struct config_reader *r, struct architecture *model, unsigned habits)
{
    const struct doc_node *scores = doc_find(r->map, "scoring_func");
    double factor = config_real(r, "routed_scaling_factor");
    bool sigmoid = scores && scores->text ? strcmp(scores->text, "sigmoid") == 0 : habits & SIGMOID;
    model->sigmoid_router = sigmoid;
    model->pre_softmax_router = !sigmoid && !config_flag(r, "norm_topk_prob", !(habits & SOFTMAX_ALL));
    model->router_biased = config_says(r, "topk_method", "noaux_tc") || habits & SIGMOID;
    if (factor > 0.0 && factor < 1000.0 && factor != 1.0)
        model->router_scale = factor;
    if (config_optional(r, "n_group", 1 << 16) > 1) {
        model->route_groups = config_optional(r, "n_group", 1 << 16);
        model->route_active_groups = config_optional(r, "topk_group", 1 << 16);
    }
}

static void read_mixture(struct config_reader *r, struct architecture *model, unsigned habits)
{
    model->experts = config_number(r, config_experts, 1 << 16, true);
    model->active_experts = config_number(r, active_keys, 1 << 16, true);
    model->expert_ffn = config_number(r, expert_ffn_keys, CONFIG_MAX_SIZE, false);
    if (model->expert_ffn == 0)
        model->expert_ffn = model->ffn;
    model->dense_layers = (int)optional_of(r, first_dense_keys, CONFIG_MAX_LAYERS);
    model->mtp_layers = (int)config_optional(r, "num_nextn_predict_layers", CONFIG_MAX_LAYERS);
    read_shared(r, model);
    read_router(r, model, habits);
    read_places(r, model);
}

static void read_latent(struct config_reader *r, struct architecture *model)
{
    static const char *const kv[] = {"kv_lora_rank", NULL}, *const rope[] = {"qk_rope_head_dim", NULL},
                             *const nope[] = {"qk_nope_head_dim", NULL},
                             *const value[] = {"v_head_dim", NULL};
    model->query_rank = config_optional(r, "q_lora_rank", CONFIG_MAX_SIZE);
    model->kv_rank = config_number(r, kv, CONFIG_MAX_SIZE, true);
    model->rope_width = config_number(r, rope, CONFIG_MAX_SIZE, true);
    model->nope_width = config_number(r, nope, CONFIG_MAX_SIZE, true);
    model->value_width = config_number(r, value, CONFIG_MAX_SIZE, true);
    model->kv_heads = model->head_width = 0;
}

/* ---- windows ---- */

/* Returns the period of blocks with full attention in a list of their types: 0: none has it, 1: all have. What is no
 * period, and what is no attention, is complained of. */
static int64_t period_of(struct config_reader *r, const struct doc_node *layers)
{
    int64_t every = 0, place = 0;
    bool windows = false;
    for (const struct doc_node *node = layers->first_child; node; node = node->next) {
        bool full = node->text && strcmp(node->text, "full_attention") == 0;
        bool window = node->text && (strcmp(node->text, "sliding_attention") == 0 ||
                                     strcmp(node->text, "chunked_attention") == 0);
        struct error err;
        place++;
        if (!full && !window) {
            doc_error(r->doc, node, &err, "layer_types: '%.40s' is not modelled",
                      node->text ? node->text : "");
            config_complain(r, err.text);
            return 0;
        }
        every = full && every == 0 ? place : every;
        windows |= window;
        if (every > 0 && full != (place % every == 0)) {
            doc_error(r->doc, node, &err,
                      "layer_types: full attention at irregular intervals is not modelled");
            config_complain(r, err.text);
            return 0;
        }
    }
    return windows ? every : 1;
}

/* Windows: of all blocks (Mistral), or of all but every so many-th. */
static void read_window(struct config_reader *r, struct architecture *model, const struct config_kind *kind)
{
    static const struct {
        const char *type;
        int every;
    } habits[] = {{"gemma2", 2},  {"gemma3", 6},  {"gemma3_text", 6},
                  {"gpt_oss", 2}, {"cohere2", 4}, {"olmo3", 4}};
    const struct doc_node *layers = doc_find(r->map, "layer_types");
    int64_t window = config_optional(r, "sliding_window", INT64_C(1) << 40),
            every = config_optional(r, "sliding_window_pattern", CONFIG_MAX_LAYERS),
            first = config_optional(r, "max_window_layers", CONFIG_MAX_LAYERS);
    bool listed = layers && layers->type == DOC_LIST && layers->count > 0 && !(kind->habits & MIXED);
    for (size_t i = 0; every == 0 && i < sizeof habits / sizeof *habits; i++)
        if (strcmp(kind->type, habits[i].type) == 0)
            every = habits[i].every;
    if (listed)
        every = period_of(r, layers);
    if (window == 0 || window > CONFIG_MAX_SIZE || window >= model->sequence * 16 || every == 1 ||
        !config_flag(r, "use_sliding_window", true))
        return;
    if (!listed && config_flag(r, "use_sliding_window", false) && first > 0 && window < model->sequence)
        config_complain_at(r, "max_window_layers", "windows in the last blocks only are not modelled");
    model->window = window;
    model->window_every = (int)every;
}

/* ---- positions and activation ---- */

static void read_rotary(struct config_reader *r, struct architecture *model)
{
    static const char *const shares[] = {"partial_rotary_factor", "rotary_pct", "rope_pct", NULL};
    const struct doc_node *scaling = config_find(r, scaling_keys);
    const struct doc_node *full = doc_find(scaling, "full_attention"); /* each kind of block has its own */
    const struct doc_node *local = doc_find(doc_find(scaling, "sliding_attention"), "rope_theta");
    scaling = full ? full : scaling;
    const struct doc_node *kind = doc_find(scaling, "rope_type"), *factor = doc_find(scaling, "factor"),
                          *theta = doc_find(scaling, "rope_theta"), *share = config_find(r, shares);
    kind = kind ? kind : doc_find(scaling, "type");
    share = share ? share : doc_find(scaling, "partial_rotary_factor");
    double base = theta && theta->type == DOC_NUMBER ? theta->number : config_real(r, "rope_theta");
    base = base > 0.0 ? base : config_real(r, "rotary_emb_base");
    double near = local && local->type == DOC_NUMBER ? local->number : config_real(r, "rope_local_base_freq");
    if (base >= 1.0 && base <= 1e9 && base != 10000.0)
        model->rope_base = (int64_t)base;
    if (near >= 1.0 && near <= 1e9 && near != base)
        model->rope_local_base = (int64_t)near;
    if (share && share->type == DOC_NUMBER && share->number > 0.0 && share->number < 1.0)
        model->rope_percent = (int)(share->number * 100.0 + 0.5);
    else if (share && share->type == DOC_NUMBER && share->number >= 1.0)
        model->rope_percent = 100;
    if (!kind || !kind->text || !factor || factor->type != DOC_NUMBER || factor->number < 1.0 ||
        factor->number > 1000.0)
        return;
    if (strcmp(kind->text, "llama3") == 0)
        model->rope_scale = factor->number;
    else if (strcmp(kind->text, "yarn") == 0)
        model->rope_yarn = factor->number;
}

static void read_activation(struct config_reader *r, struct architecture *model, unsigned habits)
{
    static const char *const keys[] = {"hidden_activation", "hidden_act", "activation_function",
                                       "hidden_activation", "activation", "feed_forward_proj",
                                       "ffn_act_fn",        NULL};
    const struct doc_node *node = config_find(r, keys);
    const char *text = node && node->text ? node->text : NULL;
    bool gelu = text ? strncmp(text, "gelu", 4) == 0 || strcmp(text, "gated-gelu") == 0 : habits & GELU;
    model->relu = text && strcmp(text, "relu") == 0;
    model->squared_relu = text && strcmp(text, "relu2") == 0;
    model->quick_gelu = text && strcmp(text, "quick_gelu") == 0 && model->gated;
    model->gelu = gelu && model->gated;
}

/* ---- all of it ---- */

static void read_habits(struct config_reader *r, struct architecture *model, unsigned habits)
{
    bool biased = config_flag(r, "use_bias", config_flag(r, "mlp_bias", habits & BIASED));
    bool attention =
        config_flag(r, "qkv_bias",
                    config_flag(r, "use_qkv_bias",
                                habits & BIASED ? habits & QKV_BIASED && biased : habits & QKV_BIASED));
    bool norms =
        config_flag(r, "use_qk_norm", config_flag(r, "qk_layernorm", habits & (QK_NORM | WIDE_NORM))) &&
        !(habits & LATENT);
    model->causal = !(habits & MASKED);
    model->gated = habits & GATED;
    model->biased = biased;
    model->qkv_biased = config_flag(r, "attention_bias", attention);
    model->qk_norm = norms && !(habits & WIDE_NORM);
    model->qk_norm_wide = norms && habits & WIDE_NORM;
    model->sinks = habits & SINKS;
    model->rms_norm = !(habits & (LAYER_NORM | PLAIN_NORM));
    model->norm_biased = habits & LAYER_NORM;
    model->embedding_norm = habits & EMBEDDING_NORM;
    model->masked = habits & MASKED;
    model->post_norm = habits & MASKED;
    model->tied = config_flag(r, "tie_word_embeddings", habits & TIED);
    model->parallel = config_flag(r, "use_parallel_residual", habits & PARALLEL);
    model->block_norms = habits & ONE_NORM && model->parallel ? 1 : habits & FOUR_NORMS ? 4 : 0;
    model->output_norm = habits & (FOUR_NORMS | OUTPUT_NORM);
    model->scaled = habits & SCALED;
    model->soft_capped =
        config_real(r, "attn_logit_softcapping") > 0.0 || config_real(r, "final_logit_softcapping") > 0.0;
    model->clipped = config_real(r, "clip_qkv") > 0.0;
    model->head_biased = config_flag(r, "lm_head_bias", false);
    model->dropout =
        habits & DROPOUT && (config_real(r, "dropout") > 0 || config_real(r, "resid_pdrop") > 0 ||
                             config_real(r, "hidden_dropout_prob") > 0);
}

void config_read(struct config_reader *r, struct architecture *model, const struct config_kind *kind)
{
    read_sizes(r, model, kind->habits);
    read_habits(r, model, kind->habits);
    if (kind->habits & MIXTURE && config_find(r, config_experts))
        read_mixture(r, model, kind->habits);
    else if (kind->habits & MIXTURE && !(kind->habits & FULL_FFN) && !config_find(r, ffn_keys))
        config_number(r, config_experts, 1 << 16, true);
    if (kind->habits & LATENT)
        read_latent(r, model);
    read_rotary(r, model);
    read_activation(r, model, kind->habits);
    config_read_kind(r, model, kind);
    if (model->positions > 0 || model->alibi) { /* the class ignores such keys then */
        model->rope_base = model->rope_percent = 0;
        model->rope_local_base = model->nope_every = 0;
        model->rope_scale = model->rope_yarn = 0.0;
    }
    read_window(r, model, kind);
    bool asked = !(kind->habits & MIXTURE && config_find(r, expert_ffn_keys));
    if (model->ffn == 0 && !asked && architecture_expert_blocks(model) < model->layers)
        config_number(r, ffn_keys, CONFIG_MAX_SIZE, true);
    if (model->window == 0)
        model->rope_local_base = 0;
}
