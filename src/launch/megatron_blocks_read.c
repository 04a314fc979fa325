/* Blocks of several kinds in Megatron-LM's arguments: a variant of attention in some or all of them, or a pattern with a letter
 * for each block (src/launch/megatron_blocks.c writes both). */
#include "launch/read/read.h"

#include <inttypes.h>
#include <string.h>

#define MAX_PATTERN 1024 /* letters of mixers (src/devices/architecture_parameters.c) */

/* ---- a pattern ---- */

/* Sets the stages that | ends: of each chunk, stages next to each other. */
static bool set_stages(struct launch_options *options, const struct launch_argument *argument,
                       const int *segments, int count, struct error *err)
{
    int stages = (int)(options->pipeline.given ? options->pipeline.value : 1);
    int *blocks = ARENA_ARRAY(&options->arena, (size_t)count, int);
    if (count % stages != 0)
        return launch_refuse(argument, err, "%d parts between | are not a multiple of the pipeline's %d",
                             count, stages);
    options->no_memory |= !blocks;
    for (int i = 0; blocks && i < count; i++)
        blocks[i % stages] = (i < stages ? 0 : blocks[i % stages]) + segments[i];
    options->stage_blocks = blocks;
    options->stage_count = blocks ? stages : 0;
    launch_set(&options->chunks, argument, count / stages);
    return true;
}

static bool read_pattern(struct launch_options *options, struct launch_argument *argument, struct error *err)
{
    static const char letters[] = "MG*-E", kinds[] = "mgf--", others[] = "---de";
    char *mixers = ARENA_ARRAY(&options->arena, MAX_PATTERN + 1, char),
         *mlps = ARENA_ARRAY(&options->arena, MAX_PATTERN + 1, char);
    int segments[MAX_PATTERN + 1] = {0}, count = 1, length = 0;
    if (!mixers || !mlps) {
        options->no_memory = true;
        return true;
    }
    for (const char *at = argument->value; *at && *at != '/'; at++) {
        const char *letter = strchr(letters, *at);
        if (*at == '|' && count <= MAX_PATTERN) {
            count++;
            continue;
        }
        if (!letter || length == MAX_PATTERN)
            return launch_refuse(
                argument, err,
                "expected at most %d of M, G, *, - and E, with | between stages; found '%.*s' (D "
                "and + are not modelled)",
                MAX_PATTERN, 16, at);
        mixers[length] = kinds[letter - letters];
        mlps[length++] = others[letter - letters];
        segments[count - 1]++;
    }
    if (length == 0)
        return launch_refuse(argument, err, "expected a letter for each block, as in 'M-M-M*-'");
    mixers[length] = mlps[length] = '\0';
    options->mixers = mixers;
    options->mlps = mlps;
    launch_set(&options->layers, argument, length);
    if (strchr(argument->value, '/'))
        launch_note(options, "blocks behind / in %s, which predict further tokens, are not priced",
                    argument->name);
    return count == 1 || set_stages(options, argument, segments, count, err);
}

/* ---- a variant of attention ---- */

static bool read_variant(struct launch_options *options, struct launch_argument *argument, struct error *err)
{
    struct launch_argument *list = launch_argument(options, "linear-attention-freq");
    bool sparse = strcmp(argument->value, "dsa") == 0;
    int64_t layers = options->layers.given ? options->layers.value : 0, every = 0;
    if (!sparse && strcmp(argument->value, "gdn") != 0 && strcmp(argument->value, "gated_delta_net") != 0)
        return launch_refuse(argument, err, "attention of this kind is not modelled; expected gdn or dsa");
    if (layers < 1 || layers > MAX_PATTERN)
        return true; /* said elsewhere */
    char *mixers = ARENA_ARRAY(&options->arena, (size_t)layers + 1, char);
    struct text blocks = {0};
    if (!mixers) {
        options->no_memory = true;
        return true;
    }
    bool number = list && list->value && launch_number(list->value, 1, &every);
    bool is_list = !sparse && !number && list && list->value && launch_pattern(list->value, &blocks) &&
                   (int64_t)blocks.length == layers;
    for (int64_t i = 0; i < layers; i++)
        mixers[i] = sparse                                                               ? 's'
                    : (number ? (i + 1) % every == 0 : is_list && blocks.data[i] == '0') ? 'f'
                                                                                         : 'g';
    mixers[layers] = '\0';
    options->no_memory |= blocks.failed;
    text_release(&blocks);
    if (!sparse && !number && !is_list)
        return launch_refuse(list ? list : argument, err,
                             "expected a number in --linear-attention-freq, or a list of %" PRId64
                             " of 0 and 1 as '([1]*3+[0])*12'",
                             layers);
    options->mixers = mixers;
    return true;
}

bool launch_settle_blocks(struct launch_options *options, struct error *err)
{
    static const char *const patterns[] = {"hybrid-layer-pattern", "hybrid-override-pattern"};
    struct launch_argument *variant = launch_argument(options, "experimental-attention-variant"),
                           *spec = launch_argument(options, "spec"), *pattern = NULL;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !pattern; i++)
        pattern = launch_argument(options, patterns[i]);
    struct launch_argument *list = launch_argument(options, "linear-attention-freq");
    if (list && list->value && !strchr(list->value, SHELL_MARK)) {
        struct text blocks = {0};
        int64_t every;
        bool known = launch_number(list->value, 1, &every) || launch_pattern(list->value, &blocks);
        options->no_memory |= blocks.failed;
        text_release(&blocks);
        list->use = !known ? LAUNCH_UNKNOWN : variant ? LAUNCH_READ : LAUNCH_IDLE;
        list->note = known ? NULL : "expected a number, or a list as '([1]*3+[0])*12'";
    }
    if (pattern && launch_argument(options, patterns[1]) && pattern != launch_argument(options, patterns[1]))
        return launch_refuse(launch_argument(options, patterns[1]), err,
                             "--%s is its new name, and given too", patterns[0]);
    bool said = pattern && pattern->value && !strchr(pattern->value, SHELL_MARK);
    if (said && spec && spec->value && strstr(spec->value, "hybrid_stack_spec"))
        spec->use = LAUNCH_READ, spec->note = NULL;
    if (variant && variant->value && !strchr(variant->value, SHELL_MARK) &&
        !read_variant(options, variant, err))
        return false;
    return !said || read_pattern(options, pattern, err);
}

/* ---- the model's ---- */

static int64_t or_else(struct launch_value value, int64_t otherwise)
{
    return value.given ? value.value : otherwise;
}

/* The shortest that is repeated. */
static size_t period_of(const char *mixers, const char *mlps, size_t length)
{
    for (size_t period = 1; period < length; period++)
        if (memcmp(mixers, mixers + period, length - period) == 0 &&
            memcmp(mlps, mlps + period, length - period) == 0)
            return period;
    return length;
}

/* Defaults: megatron/core/transformer/transformer_config.py. */
void launch_set_blocks(struct launch_options *options, struct architecture *model)
{
    const struct launch_options *o = options;
    model->attention_gated = or_else(o->attention_gated, 0);
    model->expert_latent = model->experts > 0 ? or_else(o->expert_latent, 0) : 0;
    if (!o->mixers)
        return;
    size_t length = strlen(o->mixers);
    char *mixers = arena_copy(&options->arena, o->mixers, length),
         *mlps = arena_copy(&options->arena, o->mlps ? o->mlps : o->mixers, length);
    if (!mixers || !mlps) {
        options->no_memory = true;
        return;
    }
    for (size_t i = 0; i < length && !o->mlps; i++)
        mlps[i] = architecture_has_experts(model, (int)i) ? 'e' : 'd';
    size_t period = period_of(mixers, mlps, length);
    mixers[period] = mlps[period] = '\0';
    model->dense_layers = model->experts_every = model->window_every = 0;
    model->mixers = mixers;
    model->mlps = mlps;
    bool mamba = strchr(mixers, 'm');
    int64_t width = or_else(o->linear_value_width, mamba ? 64 : 128);
    if (strchr(mixers, 's')) {
        model->index_heads = or_else(o->index_heads, 0);
        model->index_width = or_else(o->index_width, 0);
        model->index_keys = or_else(o->index_keys, 0);
    } else {
        model->linear_key_heads = or_else(o->linear_key_heads, mamba ? 8 : 16);
        model->linear_value_heads = or_else(o->linear_value_heads, mamba ? 2 * model->hidden / width : 32);
        model->linear_key_width = or_else(o->linear_key_width, 128);
        model->linear_value_width = width;
        model->linear_convolution = or_else(o->linear_convolution, 4);
        model->linear_chunk = mamba ? 128 : 64;
    }
}
