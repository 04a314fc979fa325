/* GPT-NeoX: YAML written like JSON, with keys of Megatron and DeepSpeed. Names:
 * megatron/neox_arguments/neox_args.py. */
#include "launch/read/read.h"

#include <string.h>

static bool knows(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    static const char *const keys[] = {"pipe_parallel_size", "pipe-parallel-size", "model_parallel_size",
                                       "model-parallel-size"};
    for (size_t i = 0; root && i < 4; i++)
        if (doc_find(root, keys[i]))
            return doc_find(root, "num_layers") || doc_find(root, "num-layers") ||
                   doc_find(root, "train_micro_batch_size_per_gpu");
    return false;
}

/* Is a word in nested lists, such as [[["mamba"], 24]]? */
static bool holds(const struct doc_node *node, const char *word, int depth)
{
    if (!node || depth > 4)
        return false;
    if (node->text && strcmp(node->text, word) == 0)
        return true;
    for (const struct doc_node *inner = node->first_child; inner; inner = inner->next)
        if (holds(inner, word, depth + 1))
            return true;
    return false;
}

/* Returns the first word of a pattern that is no kind of unfused attention; NULL: none. */
static const char *special_in(const struct doc_node *node, int depth)
{
    static const char *const usual[] = {"global", "local", "all"};
    const char *special = node ? node->text : NULL;
    int64_t blocks;
    for (size_t i = 0; special && i < sizeof usual / sizeof *usual; i++)
        special = strcmp(special, usual[i]) == 0 || launch_number(special, 1, &blocks) ? NULL : special;
    for (const struct doc_node *inner = node ? node->first_child : NULL; inner && !special && depth < 4;
         inner = inner->next)
        special = special_in(inner, depth + 1);
    return special;
}

static void judge_attention(struct launch_argument *argument, const struct doc_node *pattern)
{
    const char *word = argument->shape == SHAPE_VALUE ? argument->value : special_in(pattern, 0);
    if (!word)
        return;
    bool flash = strstr(word, "flash") != NULL;
    bool sparse = text_starts_with(word, "sparse_") || strcmp(word, "bigbird") == 0 ||
                  strcmp(word, "bslongformer") == 0;
    argument->use = flash || sparse ? LAUNCH_UNMODELLED : LAUNCH_UNKNOWN;
    argument->note =
        flash    ? "flash attention; unfused attention is priced, as in this software's published runs"
        : sparse ? "sparse attention"
                 : "expected kinds and blocks, as '[[[global], 12]]'";
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    if (!launch_read_doc(options, source->doc, "neox", err))
        return false;
    options->software = options->type.given && options->type.value == COST_BF16 ? "megatron-deepspeed-bf16"
                                                                                : "megatron-deepspeed";
    static const char *const unread[] = {"mamba", "rwkv", "gmlp", "amlp"};
    struct launch_argument *attention = launch_argument(options, "attention_config");
    const struct doc_node *pattern = doc_find(source->doc->root, "attention_config");
    pattern = pattern ? pattern : doc_find(source->doc->root, "attention-config");
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if (holds(pattern, unread[i], 0))
            return doc_error(source->doc, pattern, err, "layers of %s are not modelled", unread[i]);
    if (attention && (attention->shape == SHAPE_NESTED || launch_is_on(options, attention->name)))
        judge_attention(attention, pattern);
    if (options->pipeline.given && options->pipeline.value == 0) /* no pipeline module */
        options->pipeline.value = 1;
    options->grouped = options->kv_heads;
    launch_settle_vocabulary(options, "vocab-file");
    return launch_settle_megatron(options, err);
}

static void complete(struct launch_options *options)
{
    launch_default(&options->sharding, 0);
    launch_default(&options->accumulation, 1);
    launch_default(&options->type, COST_FP16);
    if (!options->vocabulary.given && !launch_is_on(options, "padded_vocab_size")) {
        launch_default(&options->vocabulary, 50277); /* its own tokenizer, that of GPT-NeoX 20B */
        launch_default(&options->padding, 128);
    }
}

const struct launch_reader neox_reader = {"GPT-NeoX", knows, read, complete};
