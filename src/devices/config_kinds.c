/* The kinds of models that configurations of Hugging Face describe (data/config-kinds.yaml), and what only one of them
 * has. */
#include "devices/config_part.h"

#include "core/once.h"

#include <string.h>

extern const char data_config_kinds[];
extern const size_t data_config_kinds_size;

static struct {
    struct once once;
    struct doc doc; /* holds the texts */
    struct config_kind *kinds;
    size_t count;
} known = {.once = ONCE_INIT};

static bool check_besides(const struct doc_node *map, struct error *err)
{
    for (const struct doc_node *node = map ? map->first_child : NULL; node; node = node->next) {
        const struct field *field = architecture_field(node->key);
        if (!field || field->type > FIELD_FLAG ||
            (node->type == DOC_STRING && !architecture_field(node->text)))
            return doc_error(&known.doc, node, err, "expected keys of docs/architecture.md");
    }
    return true;
}

static bool read_kinds(struct error *err)
{
    if (!doc_parse(&known.doc, DOC_JSON, "config-kinds.yaml", data_config_kinds, data_config_kinds_size, err))
        return false;
    const struct doc_node *read = doc_find(known.doc.root, "read"),
                          *refused = doc_find(known.doc.root, "refused"),
                          *besides = doc_find(known.doc.root, "besides");
    size_t room = read->count, count = 0;
    for (const struct doc_node *why = refused->first_child; why; why = why->next)
        room += why->count;
    struct config_kind *kinds = ARENA_ARRAY(&known.doc.arena, room, struct config_kind);
    bool ok = kinds || error_memory(err);
    for (const struct doc_node *node = read->first_child; ok && node; node = node->next) {
        kinds[count].type = node->key;
        kinds[count].besides = doc_find(besides, node->key);
        ok = block_habits(&kinds[count].habits, &known.doc, node, err) &&
             check_besides(kinds[count].besides, err);
        count++;
    }
    for (const struct doc_node *why = refused->first_child; ok && why; why = why->next)
        for (const struct doc_node *type = why->first_child; type; type = type->next)
            kinds[count++] = (struct config_kind){.type = type->text, .refused = why->key};
    known.kinds = kinds;
    known.count = count;
    if (!ok)
        doc_release(&known.doc);
    return ok;
}

/* Returns the kind whose type is these letters; NULL: there is none, or no memory. */
static const struct config_kind *find(const char *type, size_t length)
{
    bool there = once_needed(&known.once, read_kinds);
    for (size_t i = 0; there && i < known.count; i++)
        if (strlen(known.kinds[i].type) == length && memcmp(known.kinds[i].type, type, length) == 0)
            return &known.kinds[i];
    return NULL;
}

/* A text part's type ends with "_text". */
const struct config_kind *config_kind_of(const char *type)
{
    const struct config_kind *kind = find(type, strlen(type));
    return kind || !text_ends_with(type, "_text") ? kind : find(type, strlen(type) - strlen("_text"));
}

void config_kinds_list(struct text *out)
{
    for (size_t i = 0; i < known.count; i++)
        if (!known.kinds[i].refused)
            text_format(out, "%s%s", i > 0 ? ", " : "", known.kinds[i].type);
}

/* ---- what one kind has ---- */

static double value_of(const struct doc_node *node)
{
    return node->type == DOC_BOOL ? (double)node->boolean : node->number;
}

/* The first key of a list that is there; else what stands at its end. */
static double first_of(struct config_reader *r, const struct doc_node *list)
{
    for (const struct doc_node *item = list->first_child; item; item = item->next) {
        const struct doc_node *node = item->type == DOC_STRING ? doc_find(r->map, item->text) : item;
        if (item->type != DOC_STRING || (node && node->type == DOC_BOOL))
            return value_of(node);
        if (node && node->type == DOC_NUMBER)
            return (double)config_optional(r, item->text, CONFIG_MAX_SIZE);
    }
    return 0.0;
}

static void read_besides(struct config_reader *r, struct architecture *model, const struct doc_node *map)
{
    for (const struct doc_node *node = map ? map->first_child : NULL; node; node = node->next) {
        const struct field *field = architecture_field(node->key);
        void *at = (char *)model + field->offset;
        double value = node->type == DOC_STRING ? field_get(model, architecture_field(node->text))
                       : node->type == DOC_LIST ? first_of(r, node)
                                                : value_of(node);
        if (field->type == FIELD_FLAG)
            *(bool *)at = value != 0.0;
        else if (node->type == DOC_NUMBER && field_get(model, field) != 0.0)
            continue;
        else if (field->type == FIELD_INT)
            *(int *)at = (int)value;
        else
            *(int64_t *)at = (int64_t)value;
    }
    model->router_biased &= model->experts > 0;
    model->rope_percent %= 100; /* all of it */
}

static void read_falcon(struct config_reader *r, struct architecture *model)
{
    bool newer = config_flag(r, "new_decoder_architecture", false);
    model->biased = model->qkv_biased = config_flag(r, "bias", false);
    model->alibi = config_flag(r, "alibi", false);
    model->parallel = newer || config_flag(r, "parallel_attn", true);
    bool two = newer && config_optional(r, "num_ln_in_parallel_attn", 2) != 1;
    model->block_norms = model->parallel && !two ? 1 : 0;
    if (!newer)
        model->kv_heads = config_flag(r, "multi_query", true) ? 1 : 0;
}

static void read_mpt(struct config_reader *r, struct architecture *model)
{
    const struct doc_node *attention = doc_find(r->map, "attn_config"), *alibi = doc_find(attention, "alibi"),
                          *clip = doc_find(attention, "clip_qkv"), *heads = doc_find(attention, "kv_n_heads");
    model->biased = model->qkv_biased = model->norm_biased = !config_flag(r, "no_bias", false);
    model->kv_heads = heads && heads->type == DOC_NUMBER && heads->number >= 1 && heads->number <= 1 << 14
                          ? (int64_t)heads->number
                          : 0;
    model->alibi = alibi && alibi->boolean;
    model->clipped = clip && clip->type == DOC_NUMBER;
    model->positions = config_flag(r, "learned_pos_emb", true) && !model->alibi ? model->sequence : 0;
}

/* Its sizes lie in maps of their own. */
static void read_dbrx(struct config_reader *r, struct architecture *model)
{
    static const char *const groups[] = {"kv_n_heads", NULL}, *const widths[] = {"ffn_hidden_size", NULL},
                             *const experts[] = {"moe_num_experts", NULL},
                             *const active[] = {"moe_top_k", NULL};
    const struct doc_node *whole = r->map, *attention = doc_find(whole, "attn_config"),
                          *mlp = doc_find(whole, "ffn_config");
    r->map = attention && attention->type == DOC_MAP ? attention : whole;
    double base = config_real(r, "rope_theta");
    model->kv_heads = config_number(r, groups, 1 << 14, true);
    model->clipped = config_real(r, "clip_qkv") > 0.0;
    model->rope_base = base >= 1.0 && base <= 1e9 && base != 10000.0 ? (int64_t)base : 0;
    r->map = mlp && mlp->type == DOC_MAP ? mlp : whole;
    model->ffn = model->expert_ffn = config_number(r, widths, CONFIG_MAX_SIZE, true);
    model->experts = config_number(r, experts, 1 << 16, true);
    model->active_experts = config_number(r, active, 1 << 16, true);
    r->map = whole;
}

static void read_llama4(struct config_reader *r, struct architecture *model)
{
    int64_t dense = config_optional(r, "intermediate_size_mlp", CONFIG_MAX_SIZE);
    model->ffn = dense > 0 ? dense : model->ffn;
    model->shared_experts = model->experts > 0;
    model->router_biased = false;
    model->qk_norm = false; /* its norm has no parameters */
    model->qk_l2_norm = config_flag(r, "use_qk_norm", true);
    model->nope_every = 4;
    model->scaled = config_flag(r, "attn_temperature_tuning", true) && model->sequence > 8192;
}

static void read_t5(struct config_reader *r, struct architecture *model)
{
    static const char *const decoders[] = {"num_decoder_layers", "num_layers", NULL};
    const struct doc_node *activation = doc_find(r->map, "feed_forward_proj");
    bool gated = activation && activation->text && strncmp(activation->text, "gated", 5) == 0;
    model->encoder_layers = model->layers;
    model->layers = (int)config_number(r, decoders, CONFIG_MAX_LAYERS, true);
    model->relative_buckets = config_optional(r, "relative_attention_num_buckets", 1 << 16);
    model->relative_buckets = model->relative_buckets > 0 ? model->relative_buckets : 32;
    model->gated = gated;
    model->gelu = gated;
    model->relu = !gated;
    model->sequence = model->sequence > 0 ? model->sequence : 512;
}

static void read_opt(struct config_reader *r, struct architecture *model)
{
    int64_t narrow = config_optional(r, "word_embed_proj_dim", CONFIG_MAX_SIZE);
    model->positions += model->positions > 0 ? 2 : 0; /* two for padding */
    model->post_norm = !config_flag(r, "do_layer_norm_before", true);
    model->embedding_width = narrow != model->hidden ? narrow : 0;
}

/* The rotated numbers of a head are a number, not a share; matrices of attention have no biases. */
static void read_gptj(struct config_reader *r, struct architecture *model)
{
    int64_t rotated = config_optional(r, "rotary_dim", CONFIG_MAX_SIZE);
    model->biased = false;
    model->mlp_biased = model->head_biased = true;
    if (model->heads > 0 && model->hidden >= model->heads && rotated > 0)
        model->rope_percent = (int)(100 * rotated / (model->hidden / model->heads));
}

/* Of its models, the wide one has biases by distance and no key for positions. */
static void read_baichuan(struct config_reader *r, struct architecture *model)
{
    model->alibi = !doc_find(r->map, "max_position_embeddings");
}

static void read_minimax(struct config_reader *r, struct architecture *model)
{
    int64_t rotated = config_optional(r, "rotary_dim", CONFIG_MAX_SIZE);
    if (config_says(r, "qk_norm_type", "per_head")) {
        model->qk_norm = true;
        model->qk_norm_wide = false;
    }
    if (rotated > 0 && model->head_width > rotated)
        model->rope_percent = (int)(100 * rotated / model->head_width);
}

static void read_nemotron_h(struct config_reader *r, struct architecture *model)
{
    model->squared_relu = !doc_find(r->map, "mlp_hidden_act") || config_says(r, "mlp_hidden_act", "relu2");
    if (config_flag(r, "use_bias", false) || config_flag(r, "mamba_proj_bias", false) ||
        !config_flag(r, "use_conv_bias", true))
        config_complain_at(r, "use_bias", "biases but that of the convolution are not modelled");
}

/* The dense MLP is beside the experts. */
static void read_gemma4(struct config_reader *r, struct architecture *model)
{
    int64_t width = config_optional(r, "global_head_dim", CONFIG_MAX_SIZE);
    bool same = config_flag(r, "attention_k_eq_v", false);
    model->full_head_width = width > 0 ? width : 512;
    model->full_kv_heads = same ? config_optional(r, "num_global_key_value_heads", 1 << 14) : 0;
    model->full_keys_only = same;
    if (config_real(r, "hidden_size_per_layer_input") > 0.0)
        config_complain_at(r, "hidden_size_per_layer_input", "embeddings of each block are not modelled");
    if (config_real(r, "num_kv_shared_layers") > 0.0)
        config_complain_at(r, "num_kv_shared_layers", "keys and values of another block are not modelled");
    if (config_says(r, "use_bidirectional_attention", "all"))
        config_complain_at(r, "use_bidirectional_attention", "is not modelled for all tokens");
    if (!config_flag(r, "enable_moe_block", false))
        return;
    static const char *const experts[] = {"num_experts", NULL}, *const active[] = {"top_k_experts", NULL},
                             *const widths[] = {"moe_intermediate_size", NULL};
    model->experts = config_number(r, experts, 1 << 16, true);
    model->active_experts = config_number(r, active, 1 << 16, true);
    model->expert_ffn = config_number(r, widths, CONFIG_MAX_SIZE, true);
    model->shared_experts = 1;
    model->shared_ffn = model->ffn;
    model->block_norms = 7;
    model->router_scaled = true;
}

void config_read_kind(struct config_reader *r, struct architecture *model, const struct config_kind *kind)
{
    static const struct {
        const char *type;
        void (*read)(struct config_reader *r, struct architecture *model);
    } readers[] = {
        {"falcon", read_falcon},
        {"mpt", read_mpt},
        {"dbrx", read_dbrx},
        {"llama4", read_llama4},
        {"llama4_text", read_llama4},
        {"t5", read_t5},
        {"opt", read_opt},
        {"gptj", read_gptj},
        {"codegen", read_gptj},
        {"baichuan", read_baichuan},
        {"minimax_m2", read_minimax},
        {"nemotron_h", read_nemotron_h},
        {"gemma4", read_gemma4},
        {"gemma4_text", read_gemma4},
    };
    read_besides(r, model, kind->besides);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (strcmp(readers[i].type, kind->type) == 0)
            readers[i].read(r, model);
}
