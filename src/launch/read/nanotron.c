/* nanotron's YAML. Names: src/nanotron/config. */
#include "launch/read/read.h"

#include <string.h>

static const struct launch_rule rules[] = {
    RULE("parallelism.dp", NUMBER, data),
    RULE("parallelism.tp", NUMBER, tensor),
    RULE("parallelism.pp", NUMBER, pipeline),
    RULE("parallelism.context_parallel_size", NUMBER, context),
    RULE("parallelism.expert_parallel_size", NUMBER, expert),
    RULE_ELSEWHERE("parallelism.tp_mode"),
    RULE_NOT_ON("parallelism.tp_linear_async_communication",
                "tensor parallel communication overlapped with matrix products"),
    RULE_NOTHING("parallelism.pp_engine"),
    RULE_VALUE("parallelism.recompute_layer", SWITCH, recompute, RECOMPUTE_FULL),
    RULE_NOTHING("parallelism.*"),
    RULE("optimizer.zero_stage", COUNT, sharding),
    RULE_ELSEWHERE("optimizer.accumulate_grad_in_fp32"),
    RULE_NOTHING("optimizer.*"),
    RULE("tokens.micro_batch_size", NUMBER, microbatch),
    RULE("tokens.batch_accumulation_per_replica", NUMBER, accumulation),
    RULE("tokens.sequence_length", NUMBER, sequence),
    RULE("tokens.train_steps", NUMBER, steps),
    RULE_NOTHING("tokens.*"),
    RULE_IF("model.dtype", "bfloat16", type, COST_BF16),
    RULE_IF("model.dtype", "float16", type, COST_FP16),
    RULE_IF("model.dtype", "float32", type, COST_FP32),
    RULE("model.make_vocab_size_divisible_by", NUMBER, padding),
    RULE("model.model_config.hidden_size", NUMBER, hidden),
    RULE("model.model_config.intermediate_size", NUMBER, ffn),
    RULE("model.model_config.num_attention_heads", NUMBER, heads),
    RULE("model.model_config.num_key_value_heads", NUMBER, kv_heads),
    RULE("model.model_config.num_hidden_layers", NUMBER, layers),
    RULE("model.model_config.vocab_size", NUMBER, vocabulary),
    RULE("model.model_config.tie_word_embeddings", BOOL, tied),
    RULE("model.model_config.moe_num_experts", NUMBER, experts),
    RULE("model.model_config.num_experts_per_tok", NUMBER, active_experts),
    RULE("model.model_config.moe_config.num_experts", NUMBER, experts),
    RULE("model.model_config.moe_config.top_k", NUMBER, active_experts),
    RULE("model.model_config.moe_config.moe_intermediate_size", NUMBER, expert_ffn),
    RULE("model.model_config.qk_norm", SWITCH, qk_norm),
    RULE_NOT("model.model_config.moe_capacity_factor", "tokens that are dropped"),
    RULE_NOTHING("model.*"),
    RULE_NOTHING("checkpoints.*"),
    RULE_NOTHING("data.*"),
    RULE_NOTHING("data_stages"),
    RULE_NOTHING("general.*"),
    RULE_NOTHING("lighteval*"),
    RULE_NOTHING("logging.*"),
    RULE_NOTHING("profiler*"),
    RULE_NOTHING("tokenizer.*"),
    RULE_NOTHING("s3_upload*"),
};

static const struct launch_rules all_rules = {rules, sizeof rules / sizeof *rules, NULL, NULL};

static bool knows(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    return root && doc_find(root, "tokens") && doc_find(root, "parallelism") &&
           doc_find(doc_find(root, "model"), "model_config");
}

/* Llama's blocks in every model: gated, without biases, RMSNorm, rotary. */
static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    if (!launch_add_doc(options, source->doc, NULL, err) ||
        !launch_apply_rules(options, &all_rules, first, NULL, err))
        return false;
    launch_default(&options->gated, 1);
    launch_default(&options->biased, 0);
    launch_default(&options->rms_norm, 1);
    launch_default(&options->rotary, 1);
    launch_default(&options->tied, 0);
    launch_default(&options->dropout, 0);
    launch_default(&options->padding, 1);
    options->software = "megatron-core-2024";
    struct launch_argument *mode = launch_argument(options, "parallelism.tp_mode");
    launch_default(&options->sequence_parallel,
                   mode && mode->value && strcmp(mode->value, "REDUCE_SCATTER") == 0);
    return launch_note(options, "nanotron's kernels are priced as those of Megatron-Core of 2024") ||
           error_memory(err);
}

/* Data, tensor, pipeline and expert ranks multiply to the devices; an expert rank is a data rank of the rest. */
static void complete(struct launch_options *options)
{
    launch_default(&options->accumulation, 1);
    launch_default(&options->sharding, 0);
    launch_default(&options->type, COST_BF16);
    launch_default(&options->data, 1);
    if (options->expert.given && options->data.value < 1000000 && options->expert.value < 1000)
        options->data.value *= options->expert.value; /* its data ranks have the same experts */
    const struct launch_value *const all[] = {&options->data, &options->tensor, &options->pipeline,
                                              &options->context};
    int64_t devices = 1;
    for (size_t i = 0; i < 4; i++)
        if (all[i]->given)
            devices = devices > 1000000 || all[i]->value > 1000000 ? 1000001 : devices * all[i]->value;
    launch_default(&options->devices, devices);
}

const struct launch_reader nanotron_reader = {"nanotron", knows, read, complete};
