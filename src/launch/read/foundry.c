/* llm-foundry's YAML (Composer with FSDP). */
#include "launch/read/read.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct launch_rule rules[] = {
    RULE("max_seq_len", NUMBER, sequence),
    RULE("model.max_seq_len", NUMBER, sequence),
    RULE("model.d_model", NUMBER, hidden),
    RULE("model.n_heads", NUMBER, heads),
    RULE("model.n_layers", NUMBER, layers),
    RULE("model.vocab_size", NUMBER, vocabulary),
    RULE_ELSEWHERE("model.expansion_ratio"),
    RULE("model.attn_config.kv_n_heads", NUMBER, kv_heads),
    RULE_ELSEWHERE("model.attn_config.attn_impl"),
    RULE("model.attn_config.alibi", SWITCH, rotary),
    RULE("model.attn_config.rope", SWITCH, rotary),
    RULE("model.tie_word_embeddings", BOOL, tied),
    RULE("model.pretrained_model_name_or_path", TEXT, model_name),
    RULE_NOTHING("model.*"),
    RULE_VALUE("model.no_bias", BOOL, biased, 0),
    RULE("global_train_batch_size", NUMBER, batch),
    RULE_ELSEWHERE("device_train_microbatch_size"),
    RULE_ELSEWHERE("device_train_grad_accum"),
    RULE_IF("precision", "amp_bf16", type, COST_BF16),
    RULE_IF("precision", "amp_fp16", type, COST_FP16),
    RULE_IF("precision", "amp_fp8", type, COST_FP8),
    RULE_IF("precision", "fp32", type, COST_FP32),
    RULE_ELSEWHERE("fsdp_config.sharding_strategy"),
    RULE_ELSEWHERE("fsdp_config.mixed_precision"),
    RULE_VALUE("fsdp_config.activation_checkpointing", SWITCH, recompute, RECOMPUTE_FULL),
    RULE_NOT_ON("fsdp_config.activation_cpu_offload", "activations in the host's memory"),
    RULE_NOT_ON("fsdp_config.cpu_offload", "parameters in the host's memory"),
    RULE_NOTHING("fsdp_config.*"),
    RULE_NOT_ON("peft_config.*", "parameter-efficient fine-tuning"),
    RULE_NOT_ON("compile_config", "compiled kernels"),
    RULE_NOTHING("*"),
};
static const struct launch_rules all_rules = {rules, sizeof rules / sizeof *rules, NULL, NULL};

static bool knows(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    return root && doc_find(root, "model") &&
           (doc_find(root, "device_train_microbatch_size") ||
            (doc_find(root, "global_train_batch_size") && doc_find(root, "fsdp_config")));
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
    if (options->hidden.given && wide < 1000)
        launch_set(&options->ffn, NULL, wide * options->hidden.value);
    launch_set(&options->sharding, NULL,
               strategy && strcasecmp(strategy, "SHARD_GRAD_OP") == 0 ? 2
               : strategy && strcasecmp(strategy, "NO_SHARD") == 0    ? 0
                                                                      : 3);
    if (reduction && strcasecmp(reduction, "DEFAULT") == 0)
        launch_set(&options->technique[TECHNIQUE_GRADIENTS], NULL, FORMAT_FP32);
    /* MPT: no dropout; biases unless no_bias; tied embeddings, LayerNorm, learned positions unless ALiBi */
    launch_default(&options->dropout, 0);
    launch_default(&options->padding, 1);
    launch_default(&options->biased, 0);
    return true;
}

static void complete(struct launch_options *options)
{
    launch_default(&options->type, COST_BF16);
}

const struct launch_reader foundry_reader = {"llm-foundry", knows, read, complete};
