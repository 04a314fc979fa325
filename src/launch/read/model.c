/* The model that files describe, and the words of known tokenizers: a launch description names its tokenizer more often
 * than the number of its words.
 *
 * Sources of these: vocab_size of the published configurations of the models; defaults of Megatron-LM's tokenizers
 * (megatron/training/tokenizer/tokenizer.py) and of GPT-NeoX's (megatron/tokenizer/tokenizer.py). */
#include "launch/read/read.h"

#include "devices/architecture_config.h"
#include "devices/tables.h"
#include "names.h"

#include <string.h>
#include <strings.h>

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
    if (model->experts == 0) {
        launch_set_blocks(options, model);
        return;
    }
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
    launch_set_blocks(options, model);
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
            !known[i].mixers == !model->mixers && !known[i].vision &&
            known[i].index_keys == model->index_keys && known[i].kv_rank == model->kv_rank &&
            known[i].experts_every == model->experts_every && known[i].gated == model->gated &&
            known[i].rms_norm == model->rms_norm && known[i].biased == model->biased &&
            known[i].causal == model->causal && known[i].post_norm == model->post_norm &&
            known[i].vocabulary <= model->vocabulary && model->vocabulary < known[i].vocabulary + 4096)
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
        if (!options->vocabulary.given)
            launch_miss(options, "the vocabulary size", "is not in the files, and the tokenizer is unknown",
                        "--set vocab-size=N");
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

/* ---- the vocabulary ---- */

struct vocabulary {
    const char *name;
    int64_t words;
};

/* Parts of a tokenizer's or checkpoint's name; the first that is found counts. */
static const struct vocabulary families[] = {ROWS_tokenizer};

/* Classes of tokenizers, whatever their file is called. */
static const struct vocabulary types[] = {
    {"GPT2BPETokenizer", 50257},  {"HFGPT2Tokenizer", 50257},       {"BertWordPieceLowerCase", 30522},
    {"BertWordPieceCase", 28996}, {"Llama2Tokenizer", 32000},       {"LLamaTokenizer", 32000},
    {"SPMTokenizer", 32000},      {"MistralTokenizer", 32000},      {"LLama3Tokenizer", 128256},
    {"TikTokenizer", 131072},     {"QwenTokenizer", 151936},        {"Qwen2Tokenizer", 151936},
    {"Qwen2VLTokenizer", 151936}, {"Qwen3Tokenizer", 151936},       {"DeepSeekV2Tokenizer", 102400},
    {"FalconTokenizer", 65024},   {"BaichuanTokenizer", 64000},     {"StarcoderTokenizerFromHF", 49152},
    {"OPTTokenizer", 50272},      {"BloomTokenizerFromHF", 250880}, {"HFTokenizer", 50277},
    {"CharLevelTokenizer", 512},
};

static int64_t of_name(const char *name)
{
    const struct architecture *known = architecture_of_checkpoint(name);
    if (known)
        return known->vocabulary;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcasestr(name, families[i].name))
            return families[i].words;
    for (const char *at = name; *at; at++) { /* "nemotron_2_256k.model" */
        int64_t thousands;
        bool number = strchr("_-./", *at) && text_whole(at + 1, "k", &thousands);
        if (number && thousands >= 8 && thousands <= 1024 && at[1 + strspn(at + 1, "0123456789")] == 'k')
            return thousands == 128 ? 131072 : thousands * 1000;
    }
    return 0;
}

void launch_settle_vocabulary(struct launch_options *options, const char *tokenizer)
{
    static const char *const files[] = {"tokenizer-name-or-path", "vocab-file", "tokenizer.model"};
    const struct launch_argument *by = launch_argument(options, tokenizer);
    const char *name = launch_text(options, tokenizer), *type = launch_text(options, "tokenizer-type");
    int64_t words = name ? of_name(name) : 0;
    if (options->vocabulary.given)
        return;
    for (size_t i = 0; !words && i < sizeof files / sizeof *files; i++)
        if ((name = launch_text(options, files[i])) != NULL) {
            words = of_name(name);
            by = launch_argument(options, files[i]);
        }
    for (size_t i = 0; !words && type && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i].name, type) == 0) {
            words = types[i].words;
            by = launch_argument(options, "tokenizer-type");
        }
    if (!words && !type && (launch_argument(options, "vocab-file") || launch_argument(options, "merge-file")))
        words = 50257;
    if (!words)
        return;
    launch_set(&options->vocabulary, by, words);
    launch_default(&options->padding, 128);
}
