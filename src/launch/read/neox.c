/* GPT-NeoX: YAML written like JSON, with keys of Megatron and DeepSpeed. Names: megatron/neox_arguments/neox_args.py. */
#include "launch/read/read.h"

#include <string.h>

static const struct launch_rule rules[] = {
    RULE("pipe_parallel_size", COUNT, pipeline),
    RULE("model_parallel_size", NUMBER, tensor),
    RULE("context_parallel_size", NUMBER, context),
    RULE("moe_expert_parallel_size", NUMBER, expert),
    RULE("train_micro_batch_size_per_gpu", NUMBER, microbatch),
    RULE("gradient_accumulation_steps", NUMBER, accumulation),
    RULE("train_batch_size", NUMBER, batch),
    RULE("num_kv_heads", NUMBER, kv_heads),
    RULE("intermediate_size", NUMBER, ffn),
    RULE_IF("pos_emb", "learned", rotary, 0),
    RULE_IF("pos_emb", "*", rotary, 1),
    RULE_VALUE("no_weight_tying", BOOL, tied, 0),
    RULE_IF("norm", "rmsnorm", rms_norm, 1),
    RULE_IF("norm", "*", rms_norm, 0),
    RULE_IF("activation", "swiglu", gated, 1),
    RULE_IF("activation", "geglu", gated, 1),
    RULE_IF("activation", "*", gated, 0),
    RULE_IF("mlp_type", "llama", gated, 1),
    RULE_IF("mlp_type", "*", gated, 0),
    RULE("use_bias_in_attn_linear", BOOL, biased),
    RULE("use_bias_in_mlp", BOOL, biased),
    RULE("use_qk_layernorm", BOOL, qk_norm),
    RULE("moe_num_experts", NUMBER, experts),
    RULE("moe_top_k", NUMBER, active_experts),
    RULE_NOT_ON("gpt_j_residual", "parallel attention and MLP"),
    RULE_VALUE("checkpoint_activations", SWITCH, recompute, RECOMPUTE_FULL),
    RULE_ELSEWHERE("checkpoint_num_layers"),
    RULE("zero_optimization.stage", COUNT, sharding),
    RULE_NOT_ON("zero_optimization.cpu_offload", "an optimizer in the host's memory"),
    RULE_ELSEWHERE("attention_config"),
    RULE("train_iters", NUMBER, steps),
    RULE_IF("precision", "fp16", type, COST_FP16),
    RULE_IF("precision", "bfloat16", type, COST_BF16),
    RULE_IF("precision", "fp32", type, COST_FP32),
    RULE_VALUE("fp16.enabled", SWITCH, type, COST_FP16),
    RULE_VALUE("bf16.enabled", SWITCH, type, COST_BF16),
    RULE_NOTHING("fp16.*"),
    RULE_NOTHING("bf16.*"),
    RULE_NOTHING("zero_optimization.*"),
    RULE_NOT_ON("partition_activations", "saved activations split over tensor parallel ranks"),
    RULE_NOTHING("synchronize_each_layer"),
    RULE("global_num_gpus", NUMBER, devices),
    RULE_NOTHING("optimizer.*"),
    RULE_NOTHING("scaled_*"),
    RULE_NOTHING("layernorm_fusion"),
    RULE_NOTHING("rmsnorm_fusion"),
    RULE_NOTHING("output_layer_*"),
    RULE_NOTHING("wall_clock_breakdown"),
    RULE_NOTHING("checkpoint_factor"),
    RULE_NOTHING("checkpoint-factor"),
    RULE_NOTHING("steps_per_print"),
    RULE_NOTHING("keep_last_n_checkpoints"),
    RULE_NOTHING("hostfile"),
    RULE_NOTHING("launcher"),
    RULE_NOT_ON("use_bnb_optimizer", "an optimizer in 8 bits"),
    RULE_NOT("train_impl", "losses that need further passes (teacher or reference model, pairs)"),
    RULE_PATH("vocab_file"),
    RULE_NOTHING("mamba_*"),
    RULE_NOTHING("pack_impl"),
    RULE_NOTHING("warmup_iters"),
    RULE_NOTHING("decay_lr_to"),
    RULE_NOTHING("allow_chopped"),
    RULE_NOTHING("use_flashattn_swiglu"),
    RULE_NOTHING("deepspeed_slurm"),
    RULE_NOTHING("comment"),
    RULE_NOTHING("test_label_data_*"),
    RULE_NOTHING("valid_label_data_*"),
    RULE_NOTHING("train_label_data_*"),
    RULE_NOTHING("test_data_paths"),
    RULE_NOTHING("valid_data_paths"),
    RULE_NOTHING("train_data_paths"),
    RULE_NOTHING("data_types.*"),
    RULE_NOTHING("mlp_multiple_of"),
    RULE_NOTHING("use_bias_in_norms"),
    RULE_NOTHING("rms_norm_epsilon"),
    RULE_NOTHING("deepspeed_extra_args.*"),
    RULE_NOTHING("extra_save_iters"),
    RULE_NOTHING("fp32_allreduce"),
};

static const struct launch_rules all_rules = {rules, sizeof rules / sizeof *rules, &megatron_rules};

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

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    if (!launch_add_doc(options, source->doc, NULL, err) ||
        !launch_apply_rules(options, &all_rules, first, NULL, err))
        return false;
    options->software = options->type.given && options->type.value == COST_BF16 ? "megatron-deepspeed-bf16"
                                                                                : "megatron-deepspeed";
    const char *attention = launch_text(options, "attention_config");
    static const char *const unread[] = {"mamba", "rwkv", "gmlp", "amlp"};
    const struct doc_node *pattern = doc_find(source->doc->root, "attention_config");
    pattern = pattern ? pattern : doc_find(source->doc->root, "attention-config");
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if (holds(pattern, unread[i], 0))
            return doc_error(source->doc, pattern, err, "layers of %s are not modelled", unread[i]);
    if (attention && strstr(attention, "flash")) {
        struct launch_argument *argument = launch_argument(options, "attention_config");
        argument->use = LAUNCH_UNMODELLED;
        argument->note = "flash attention; unfused attention is priced, as in this software's published runs";
    }
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
