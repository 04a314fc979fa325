/* llm-foundry's YAML (Composer with FSDP). */
#include "launch/read/read.h"

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

/* MPT's blocks, and PEFT's adapters. */
static void settle_model(struct launch_options *options)
{
    static const char *const dropouts[] = {"model.resid_pdrop", "model.emb_pdrop",
                                           "model.attn_config.attn_pdrop"};
    const char *kind = launch_text(options, "model.attn_config.attn_type");
    for (size_t i = 0; i < 3; i++)
        if (launch_is_on(options, dropouts[i]))
            launch_set(&options->dropout, launch_argument(options, dropouts[i]), 1);
    launch_default(&options->biased, 1);
    if (kind && strcasecmp(kind, "multiquery_attention") == 0)
        launch_default(&options->kv_heads, 1);
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    if (!launch_add_doc(options, source->doc, NULL, err) ||
        !(launch_resolve(options, source->input->given, NULL, first) || error_memory(err)) ||
        !launch_apply_rules(options, &all_rules, first, NULL, err))
        return false;
    options->software = "fsdp";
    const char *ratio = launch_text(options, "model.expansion_ratio");
    double wide = 4;
    if (options->hidden.given && (!ratio || text_real(ratio, &wide)) && wide < 1000 && !options->ffn.given)
        launch_set(&options->ffn, NULL, (int64_t)(wide * (double)options->hidden.value));
    launch_default(&options->sharding, 3);
    if (options->replicate.given && options->sharding.value > 1)
        options->technique[TECHNIQUE_REPLICATE] = options->replicate;
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
