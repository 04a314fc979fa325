/* llm-foundry's YAML (Composer with FSDP). */
#include "launch/read/read.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct launch_rules all_rules = {.table = "llm-foundry"};

static bool knows(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    return root && doc_find(root, "model") &&
           (doc_find(root, "device_train_microbatch_size") ||
            (doc_find(root, "global_train_batch_size") && doc_find(root, "fsdp_config")));
}

static bool says(const struct launch_options *options, const char *name, const char *part)
{
    const char *text = launch_text(options, name);
    return text && strstr(text, part);
}

/* MPT's blocks, and PEFT's adapters. */
static void settle_model(struct launch_options *options)
{
    static const char *const dropouts[] = {"model.resid_pdrop", "model.emb_pdrop",
                                           "model.attn_config.attn_pdrop"};
    const char *window = launch_text(options, "model.attn_config.sliding_window_size");
    const char *ffn = "model.ffn_config.ffn_type";
    int64_t number;
    for (size_t i = 0; i < 3; i++)
        if (launch_is_on(options, dropouts[i]))
            launch_set(&options->dropout, launch_argument(options, dropouts[i]), 1);
    launch_default(&options->biased, !launch_is_on(options, "model.no_bias"));
    if (says(options, "model.attn_config.attn_type", "multiquery"))
        launch_default(&options->kv_heads, 1);
    if (says(options, "model.norm_type", "rms"))
        launch_default(&options->rms_norm, 1);
    if (says(options, ffn, "glu"))
        launch_default(&options->gated, 1);
    if (window && launch_number(window, 1, &number))
        launch_set(&options->window, NULL, number);
    if (says(options, "model.attn_config.attn_impl", "torch"))
        launch_set(&options->technique[TECHNIQUE_ATTENTION],
                   launch_argument(options, "model.attn_config.attn_impl"), SWITCH_OFF);
    if (launch_is_on(options, "model.peft_config.peft_type"))
        launch_set(&options->frozen, launch_argument(options, "model.peft_config.peft_type"), 1);
    if (launch_is_on(options, "model.load_in_8bit"))
        launch_set(&options->technique[TECHNIQUE_PARAMETERS], launch_argument(options, "model.load_in_8bit"),
                   FORMAT_FP8);
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    if (!launch_add_doc(options, source->doc, NULL, err) ||
        !(launch_resolve(options, source->input->given, NULL, first) || error_memory(err)) ||
        !launch_apply_rules(options, &all_rules, first, NULL, err))
        return false;
    options->software = "fsdp";
    const struct launch_argument *micro = launch_argument(options, "device_train_microbatch_size");
    const char *strategy = launch_text(options, "fsdp_config.sharding_strategy");
    const char *ratio = launch_text(options, "model.expansion_ratio");
    const char *reduction = launch_text(options, "fsdp_config.mixed_precision");
    int64_t number, wide = 4;
    if (micro && micro->value && strcmp(micro->value, "auto") != 0) {
        if (!launch_number(micro->value, 1, &number))
            return launch_refuse(micro, err, "expected a whole number of at least 1 or auto, found '%s'",
                                 micro->value);
        launch_set(&options->microbatch, micro, number);
    }
    if (ratio && !launch_number(ratio, 1, &wide))
        wide = 4;
    if (options->hidden.given && wide < 1000 && !options->ffn.given)
        launch_set(&options->ffn, NULL, wide * options->hidden.value);
    launch_set(&options->sharding, NULL,
               strategy && strcasecmp(strategy, "SHARD_GRAD_OP") == 0 ? 2
               : strategy && strcasecmp(strategy, "NO_SHARD") == 0    ? 0
                                                                      : 3);
    if (options->replicate.given && options->sharding.value > 1)
        options->technique[TECHNIQUE_REPLICATE] = options->replicate;
    if (reduction && strcasecmp(reduction, "DEFAULT") == 0)
        launch_set(&options->technique[TECHNIQUE_GRADIENTS], NULL, FORMAT_FP32);
    settle_model(options);
    launch_settle_optimizer(options, "optimizer.name");
    /* MPT: no dropout; biases unless no_bias; tied embeddings, LayerNorm, learned positions unless ALiBi */
    launch_default(&options->dropout, 0);
    launch_default(&options->padding, 1);
    return true;
}

static void complete(struct launch_options *options)
{
    launch_default(&options->type, COST_BF16);
}

const struct launch_reader foundry_reader = {"llm-foundry", knows, read, complete};
