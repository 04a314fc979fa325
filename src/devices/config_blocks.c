/* What differs between the blocks of a configuration of Hugging Face: how each mixes tokens, and those of a tower. */
#include "devices/blocks.h"
#include "devices/config_part.h"

#include <math.h>
#include <string.h>

/* ---- mixers ---- */

/* Kinds whose blocks differ, the letter of their linear attention, and the period of full attention where no list says
 * it. */
static const struct {
    const char *type;
    char linear;
    int every;
} kinds[] = {
    {"qwen3_next", 'g', 4},  {"qwen3_5", 'g', 4},         {"qwen3_5_moe", 'g', 4}, {"kimi_linear", 'k', 0},
    {"minimax", 'l', 0},     {"minimax_text_01", 'l', 0}, {"nemotron_h", 'm', 0},  {"gemma4", 'w', 6},
    {"gemma4_text", 'w', 6}, {"deepseek_v32", 's', 0},    {"glm_moe_dsa", 's', 0},
};

static int place_of(const char *type)
{
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++)
        if (strcmp(kinds[i].type, type) == 0)
            return i;
    return -1;
}

/* A list's word. */
static char letter_of(const struct doc_node *node, char linear)
{
    static const struct {
        const char *word;
        char letter; /* 0: the kind's */
    } words[] = {
        {"full_attention", 'f'},
        {"attention", 'f'},
        {"sliding_attention", 'w'},
        {"linear_attention", 0},
        {"mamba", 0},
        {"mlp", 'd'},
        {"moe", 'e'},
        {"indexed_attention", 's'},
    };
    for (size_t i = 0; node->text && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, node->text) == 0)
            return words[i].letter ? words[i].letter : linear;
    if (node->type == DOC_NUMBER) /* MiniMax-01: 0 or 1 */
        return node->number == 0 ? linear : 'f';
    return 0;
}

static void read_list(struct config_reader *r, char *mixers, int layers, const struct doc_node *list,
                      char linear)
{
    int i = 0;
    for (const struct doc_node *node = list->first_child; node; node = node->next, i++) {
        char letter = letter_of(node, linear);
        struct error err;
        if (!letter) {
            doc_error(r->doc, node, &err, "%s: '%.40s' is not modelled", list->key,
                      node->text ? node->text : "");
            config_complain(r, err.text);
            return;
        }
        if (i < layers)
            mixers[i] = letter;
    }
    if (i != layers)
        config_complain_at(r, list->key, "has another number of blocks than num_hidden_layers");
}

/* Nemotron-H's letters. */
static void read_letters(struct config_reader *r, char *mixers, int layers, const struct doc_node *node)
{
    static const char letters[] = "M*-E", own[] = "mfde";
    const char *text = node->text ? node->text : "";
    if (strlen(text) != (size_t)layers || strspn(text, letters) != (size_t)layers) {
        config_complain_at(r, node->key, "expected M, *, - or E for each of num_hidden_layers blocks");
        return;
    }
    for (int i = 0; i < layers; i++)
        mixers[i] = own[strchr(letters, text[i]) - letters];
}

/* Kimi Linear: numbers of blocks, from 1. */
static void read_numbers(struct config_reader *r, char *mixers, int layers, const struct doc_node *list)
{
    struct error err;
    memset(mixers, 'k', (size_t)layers);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        int64_t number;
        if (doc_integer(r->doc, node, 1, layers, &number, &err))
            mixers[number - 1] = 'f';
        else
            config_complain(r, err.text);
    }
}

/* Blocks of a mixer alone, or of an MLP alone (Nemotron-H), become a mixer and an MLP of which one is none. */
static void set_pattern(struct config_reader *r, struct architecture *model, char *mixers, bool alone)
{
    int layers = model->layers, period = 1;
    char *mlps = ARENA_ARRAY(r->arena, (size_t)layers + 1, char);
    if (!mlps) {
        r->wrong.failed = true;
        return;
    }
    for (int i = 0; i < layers; i++) {
        bool mlp = mixers[i] == 'd' || mixers[i] == 'e';
        mlps[i] = mlp ? mixers[i] : alone ? '-' : architecture_mlp(model, i);
        mixers[i] = mlp ? '-' : mixers[i];
    }
    for (int i = period; i < layers; i++)
        if (mixers[i] != mixers[i - period] || mlps[i] != mlps[i - period])
            period = i + 1;
    mixers[period] = mlps[period] = '\0';
    model->mixers = mixers;
    model->mlps = mlps;
    model->dense_layers = model->experts_every = model->window_every = 0;
}

static void read_linear(struct config_reader *r, struct architecture *model, char letter)
{
    static const char *const keys[][5][3] = {
        {{"linear_num_key_heads"},
         {"linear_num_value_heads"},
         {"linear_key_head_dim"},
         {"linear_value_head_dim"},
         {"linear_conv_kernel_dim"}},
        {{"num_heads", "linear_num_heads"},
         {"num_heads", "linear_num_heads"},
         {"head_dim", "linear_head_dim"},
         {"head_dim", "linear_head_dim"},
         {"short_conv_kernel_size", "linear_conv_kernel_dim"}},
        {{"n_groups", "mamba_n_groups"},
         {"mamba_num_heads"},
         {"ssm_state_size"},
         {"mamba_head_dim"},
         {"conv_kernel", "mamba_d_conv"}},
    };
    const struct doc_node *whole = r->map, *own = doc_find(whole, "linear_attn_config");
    int64_t *const sizes[] = {&model->linear_key_heads, &model->linear_value_heads, &model->linear_key_width,
                              &model->linear_value_width, &model->linear_convolution};
    int which = letter == 'g' ? 0 : letter == 'k' ? 1 : 2;
    int64_t chunk = config_optional(r, letter == 'l' ? "block_size" : "chunk_size", 1 << 16);
    model->linear_chunk = chunk > 0 ? chunk : letter == 'l' ? 256 : letter == 'm' ? 128 : 64;
    if (letter == 'l') {
        model->linear_key_heads = model->linear_value_heads = model->heads;
        model->linear_key_width = model->linear_value_width =
            model->head_width || !model->heads ? model->head_width : model->hidden / model->heads;
        return;
    }
    r->map = which == 1 && own && own->type == DOC_MAP ? own : whole;
    for (int i = 0; i < 5; i++) {
        const char *const names[] = {keys[which][i][0], keys[which][i][1], NULL};
        *sizes[i] = config_number(r, names, i < 2 ? 1 << 14 : 4096, true);
    }
    r->map = whole;
}

static void read_index(struct config_reader *r, struct architecture *model)
{
    static const char *const heads[] = {"index_n_heads", NULL}, *const widths[] = {"index_head_dim", NULL},
                             *const keys[] = {"index_topk", NULL};
    const struct doc_node *kinds_of = doc_find(r->map, "indexer_types");
    model->index_heads = config_number(r, heads, 1 << 14, true);
    model->index_width = config_number(r, widths, 1 << 16, true);
    model->index_keys = config_number(r, keys, CONFIG_MAX_SIZE, true);
    if (config_real(r, "index_topk_freq") > 1.0 ||
        config_find(r, (const char *[]){"index_topk_pattern", NULL}))
        config_complain_at(r, "index_topk_freq", "blocks that share an indexer are not modelled");
    for (const struct doc_node *node = kinds_of ? kinds_of->first_child : NULL; node; node = node->next)
        if (!node->text || strcmp(node->text, "full") != 0) {
            config_complain_at(r, "indexer_types", "blocks that share an indexer are not modelled");
            return;
        }
}

void config_read_mixers(struct config_reader *r, struct architecture *model, const char *type)
{
    static const char *const lists[] = {"layer_types", "layers_block_type", "attn_type_list", NULL},
                             *const patterns[] = {"hybrid_override_pattern", NULL};
    int place = place_of(type), layers = model->layers;
    if (place < 0 || layers <= 0)
        return;
    const struct doc_node *list = config_find(r, lists), *pattern = config_find(r, patterns);
    const struct doc_node *numbers = doc_find(doc_find(r->map, "linear_attn_config"), "full_attn_layers");
    int64_t interval = config_optional(r, "full_attention_interval", CONFIG_MAX_LAYERS);
    int every = interval > 0 ? (int)interval : kinds[place].every;
    char linear = kinds[place].linear, *mixers = ARENA_ARRAY(r->arena, (size_t)layers + 1, char);
    if (!mixers) {
        r->wrong.failed = true;
        return;
    }
    for (int i = 0; i < layers; i++)
        mixers[i] = every > 0 && i % every == every - 1 ? 'f' : linear;
    if (pattern)
        read_letters(r, mixers, layers, pattern);
    else if (list && list->type == DOC_LIST && list->count > 0)
        read_list(r, mixers, layers, list, linear);
    else if (numbers)
        read_numbers(r, mixers, layers, numbers);
    else if (every == 0 && linear != 's')
        config_number(r, lists, 1, true);
    if (strchr("gklm", linear))
        read_linear(r, model, linear);
    if (linear == 's')
        read_index(r, model);
    if (linear == 'm' && !memchr(mixers, 'e', (size_t)layers)) {
        model->experts = model->active_experts = model->shared_experts = model->expert_ffn = 0;
        model->shared_ffn = model->expert_latent = 0;
        model->sigmoid_router = model->router_biased = false;
        model->router_scale = 0.0;
    }
    set_pattern(r, model, mixers, linear == 'm');
    if (linear == 'w' && model->window == 0)
        config_complain_at(r, "sliding_window", "is missing: blocks with a window need it");
}

/* ---- towers ---- */

static int64_t square(int64_t side)
{
    return side * side;
}

/* Patches of a side of an image that make one of a token's. */
static int64_t merge_of(struct config_reader *r, const struct doc_node *root, int64_t patches)
{
    static const char *const sides[] = {"spatial_merge_size", "pooling_kernel_size", NULL},
                             *const tokens[] = {"mm_tokens_per_image", NULL};
    const struct doc_node *vision = r->map;
    double ratio = config_real(r, "pixel_shuffle_ratio"); /* Llama 4 */
    if (ratio > 0.0 && ratio < 1.0)
        return (int64_t)(1.0 / (ratio * ratio) + 0.5);
    if (!config_find(r, sides))
        r->map = root;
    int64_t side = config_find(r, sides) ? config_number(r, sides, 64, true) : 0,
            count = side ? 0 : config_number(r, tokens, CONFIG_MAX_SIZE, true);
    r->map = vision;
    return side ? square(side) : count > 0 && patches >= count ? patches / count : 0;
}

/* Windows of so many pixels, and every so many-th block without. */
static void read_windows(struct config_reader *r, struct architecture *model)
{
    const struct doc_node *full = doc_find(r->map, "fullatt_block_indexes");
    int64_t pixels = config_optional(r, "window_size", 1 << 16), every = 0, place = 0;
    if (pixels == 0 || !full || full->count == 0 || model->vision_patch == 0)
        return;
    every = model->vision_layers / (int64_t)full->count;
    for (const struct doc_node *node = full->first_child; node; node = node->next)
        if (node->type != DOC_NUMBER || (int64_t)node->number != ++place * every - 1) {
            config_complain_at(r, "fullatt_block_indexes",
                               "full attention at irregular intervals is not modelled");
            return;
        }
    model->vision_window = square(pixels / model->vision_patch);
    model->vision_window_every = (int)every;
}

void config_read_vision(struct config_reader *r, struct architecture *model, const struct doc_node *vision)
{
    static const char
        *const layers[] = {"depth", "num_hidden_layers", NULL},
               *const heads[] = {"num_heads", "num_attention_heads", NULL},
               *const widths[] = {"hidden_size", NULL}, *const ffns[] = {"intermediate_size", NULL},
               *const patches[] = {"patch_size", NULL}, *const images[] = {"image_size", NULL},
               *const positions[] = {"num_position_embeddings", "position_embedding_size", NULL};
    const struct doc_node *root = r->map, *type = doc_find(root, "model_type");
    const struct block_kind *tower = block_tower_of(type->text);
    if (!tower || vision->type != DOC_MAP) {
        config_complain_at(
            r, vision->key,
            "the tower of this model_type is not modelled (data/blocks.yaml has those that are); "
            "its text_config alone is a model, too");
        return;
    }
    r->map = vision;
    model->vision = tower->word;
    model->vision_layers = (int)config_number(r, layers, CONFIG_MAX_LAYERS, true);
    model->vision_hidden = config_number(r, widths, CONFIG_MAX_SIZE, true);
    model->vision_heads = config_number(r, heads, 1 << 14, true);
    model->vision_ffn = config_number(r, ffns, CONFIG_MAX_SIZE, true);
    model->vision_patch = config_number(r, patches, 4096, true);
    int64_t image = config_number(r, images, 1 << 20, tower->image == 0);
    image = tower->image > 0 ? tower->image : image;
    model->vision_patches = model->vision_patch > 0 ? square(image / model->vision_patch) : 0;
    if (model->vision_patches == 0)
        config_complain_at(r, *patches, "is larger than an image");
    model->vision_merge = merge_of(r, root, model->vision_patches);
    model->vision_positions = config_number(r, positions, CONFIG_MAX_SIZE, false);
    if (strcmp(tower->word, "siglip") == 0)
        model->vision_positions = model->vision_patches;
    if (strcmp(tower->word, "llama4") == 0) {
        static const char *const inner[] = {"projector_input_dim", NULL}, *const outer[] = {
                                                                              "projector_output_dim", NULL};
        model->vision_positions = ++model->vision_patches; /* and one of the class */
        model->vision_inner = config_number(r, inner, CONFIG_MAX_SIZE, true);
        model->vision_outer = config_number(r, outer, CONFIG_MAX_SIZE, true);
    }
    const struct doc_node *deep = doc_find(vision, "deepstack_visual_indexes");
    model->vision_deep = deep && deep->type == DOC_LIST ? (int64_t)deep->count : 0;
    read_windows(r, model);
    if (model->vision_heads > 0 && model->vision_hidden % model->vision_heads != 0)
        config_complain(r, "vision_config: the heads do not divide hidden_size");
    r->map = root;
}
