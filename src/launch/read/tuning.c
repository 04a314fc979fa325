/* axolotl's and LLaMA-Factory's YAML: a model by name, trained by the Trainer of Hugging Face. */
#include "launch/read/read.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- both ---- */

/* A configuration of DeepSpeed; one that is not there is known by its name as far as its stage goes. */
static bool read_deepspeed(struct launch_options *options, struct launch_source *source, const char *key,
                           struct error *err)
{
    static const char *const stages[] = {"zero0", "zero1", "zero2", "zero3", "z0", "z1", "z2", "z3"};
    const char *named = launch_text(options, key), *base = named ? strrchr(named, '/') : NULL;
    if (!named)
        return true;
    /* named from the root of its repository, or beside the file */
    const char *path = source->input->is_alone ? NULL : launch_find_above(options, source->path, named);
    if (!path && base && !source->input->is_alone)
        path = launch_find_above(options, source->path, base + 1);
    if (path) {
        struct doc doc;
        struct launch_source inner = {.path = path, .input = source->input, .doc = &doc};
        if (!doc_load(&doc, path, err))
            return false;
        bool ok = deepspeed_reader.read(options, &inner, err);
        doc_release(&doc);
        return ok;
    }
    base = base ? base + 1 : named;
    for (int i = 0; i < 8; i++)
        if (strstr(base, stages[i])) {
            launch_set(&options->sharding, launch_argument(options, key), i % 4);
            return launch_note(options, "%s, named by '%s', not found: ZeRO %d by its name", named, key,
                               i % 4) ||
                   error_memory(err);
        }
    return launch_note(options, "%s, named by '%s', not found: its settings are unknown", named, key) ||
           error_memory(err);
}

/* Frozen weights that are held in 4 or 8 bits. */
static void read_narrow(struct launch_options *options, const char *name, int64_t bits)
{
    struct launch_argument *argument = launch_argument(options, name);
    if (!argument || !launch_is_on(options, name) || !options->frozen.given || (bits != 4 && bits != 8))
        return;
    launch_set(&options->technique[TECHNIQUE_PARAMETERS], argument, bits == 4 ? FORMAT_FP4 : FORMAT_FP8);
    argument->use = LAUNCH_UNMODELLED;
    argument->note = "the weights are stored so; the time to dequantize them is not priced";
}

static void read_type(struct launch_options *options)
{
    const char *brain = launch_text(options, "bf16");
    if (brain && !options->type.given)
        launch_set(&options->type, launch_argument(options, "bf16"), COST_BF16);
    else if (launch_is_on(options, "fp16"))
        launch_default(&options->type, COST_FP16);
    if (launch_is_on(options, "fp8"))
        launch_set(&options->type, launch_argument(options, "fp8"), COST_FP8);
}

static struct launch_argument *unmodelled(struct launch_options *options, const char *name, const char *why)
{
    struct launch_argument *argument = launch_argument(options, name);
    if (argument && launch_is_on(options, name)) {
        argument->use = LAUNCH_UNMODELLED;
        argument->note = why;
    }
    return argument;
}

/* ---- axolotl ---- */

static const struct launch_rule axolotl_rules[] = {
    RULE("base_model", TEXT, model_name),
    RULE("sequence_len", NUMBER, sequence),
    RULE("micro_batch_size", NUMBER, microbatch),
    RULE("gradient_accumulation_steps", NUMBER, accumulation),
    RULE("tensor_parallel_size", NUMBER, tensor),
    RULE("context_parallel_size", NUMBER, context),
    RULE("sequence_parallel_degree", NUMBER, context),
    RULE("dp_replicate_size", NUMBER, replicate),
    RULE("dp_shard_size", NUMBER, shard),
    RULE("expert_parallel_size", NUMBER, expert),
    RULE("max_steps", COUNT, steps),
    RULE_ELSEWHERE("adapter"),
    RULE("lora_r", NUMBER, rank),
    RULE_NOT_ON("load_in_4bit", "base weights in 4 bits"),
    RULE_NOT_ON("load_in_8bit", "base weights in 8 bits"),
    RULE_ELSEWHERE("sample_packing"),
    RULE_ELSEWHERE("gradient_checkpointing"),
    RULE_ELSEWHERE("bf16"),
    RULE_ELSEWHERE("fp16"),
    RULE_ELSEWHERE("fp8"),
    RULE_ELSEWHERE("deepspeed"),
    RULE_ELSEWHERE("fsdp"),
    RULE_ELSEWHERE("fsdp_version"),
    RULE_ELSEWHERE("fsdp_config.fsdp_offload_params"),
    RULE_ELSEWHERE("fsdp_config.offload_params"),
    RULE_ELSEWHERE("fsdp_config.fsdp_sharding_strategy"),
    RULE_ELSEWHERE("fsdp_config.reshard_after_forward"),
    RULE_ELSEWHERE("optimizer"),
    RULE_NOT_ON("rl", "further passes (teacher or reference model, pairs)"),
    RULE_NOT_ON("lora_target_modules", "which matrices have adapters"),
    RULE_NOT_ON("unfrozen_parameters", "parameters that are trained"),
    RULE_NOT_ON("liger_*", "further fused kernels"),
    RULE_NOT_ON("torch_compile", "compiled kernels"),
    RULE_NOTHING("*"),
};
static const struct launch_rules axolotl_all = {axolotl_rules, sizeof axolotl_rules / sizeof *axolotl_rules,
                                                NULL, NULL};

static bool axolotl_knows(const struct launch_source *source)
{
    return source->doc && doc_find(source->doc->root, "base_model");
}

static bool axolotl_read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    const struct doc_node *root = source->doc->root;
    if (!launch_add_doc(options, source->doc, NULL, err) ||
        !launch_apply_rules(options, &axolotl_all, first, NULL, err))
        return false;
    options->software = launch_is_on(options, "deepspeed") ? "deepspeed" : "hf-trainer";
    bool shards = launch_is_on(options, "fsdp") || doc_find(root, "fsdp_config") || options->shard.given;
    const char *strategy = launch_text(options, "fsdp_config.fsdp_sharding_strategy");
    if (shards)
        launch_set(&options->sharding, launch_argument(options, "fsdp"),
                   strategy && strcasecmp(strategy, "SHARD_GRAD_OP") == 0 ? 2 : 3);
    unmodelled(options, "fsdp_config.fsdp_offload_params", "parameters and optimizer in the host's memory");
    unmodelled(options, "fsdp_config.offload_params", "parameters and optimizer in the host's memory");
    if (launch_is_on(options, "adapter"))
        launch_set(&options->frozen, launch_argument(options, "adapter"), 1);
    read_narrow(options, "load_in_8bit", 8);
    read_narrow(options, "load_in_4bit", 4);
    if (launch_is_on(options, "gradient_checkpointing"))
        launch_set(&options->recompute, launch_argument(options, "gradient_checkpointing"), RECOMPUTE_FULL);
    read_type(options);
    launch_settle_optimizer(options, "optimizer");
    if (!launch_is_on(options, "sample_packing") &&
        !launch_note(options, "samples are not packed: they are shorter than sequence_len, which is priced"))
        return error_memory(err);
    return read_deepspeed(options, source, "deepspeed", err);
}

static void axolotl_complete(struct launch_options *options)
{
    launch_default(&options->microbatch, 1);
    launch_default(&options->accumulation, 1);
    launch_default(&options->type, COST_BF16); /* bf16: auto */
}

const struct launch_reader axolotl_reader = {"axolotl", axolotl_knows, axolotl_read, axolotl_complete};

/* ---- LLaMA-Factory ---- */

static const struct launch_rule factory_rules[] = {
    RULE("model_name_or_path", TEXT, model_name),
    RULE("cutoff_len", NUMBER, sequence),
    RULE("per_device_train_batch_size", NUMBER, microbatch),
    RULE("gradient_accumulation_steps", NUMBER, accumulation),
    RULE("max_steps", COUNT, steps),
    RULE_ELSEWHERE("finetuning_type"),
    RULE("lora_rank", NUMBER, rank),
    RULE_ELSEWHERE("deepspeed"),
    RULE_ELSEWHERE("fsdp"),
    RULE_ELSEWHERE("bf16"),
    RULE_ELSEWHERE("fp16"),
    RULE_ELSEWHERE("disable_gradient_checkpointing"),
    RULE_ELSEWHERE("packing"),
    RULE_NOT_ON("quantization_bit", "base weights in few bits"),
    RULE_ELSEWHERE("enable_liger_kernel"),
    RULE_ELSEWHERE("use_unsloth"),
    RULE_ELSEWHERE("optim"),
    RULE_ELSEWHERE("stage"),
    RULE_NOT_ON("use_kt", "experts on the host's processors"),
    RULE_NOT_ON("freeze_*", "frozen layers"),
    /* the Megatron back end, with Megatron's names */
    RULE("tensor_model_parallel_size", NUMBER, tensor),
    RULE("pipeline_model_parallel_size", NUMBER, pipeline),
    RULE("expert_model_parallel_size", NUMBER, expert),
    RULE("context_parallel_size", NUMBER, context),
    RULE("virtual_pipeline_model_parallel_size", NUMBER, chunks),
    RULE("sequence_parallel", BOOL, sequence_parallel),
    RULE("use_distributed_optimizer", BOOL, distributed_optimizer),
    RULE_IF("recompute_granularity", "full", recompute, RECOMPUTE_FULL),
    RULE_IF("recompute_granularity", "selective", recompute, RECOMPUTE_SELECTIVE),
    RULE_NOTHING("moe_token_dispatcher_type"),
    RULE_NOTHING("*"),
};
static const struct launch_rules factory_all = {factory_rules, sizeof factory_rules / sizeof *factory_rules,
                                                NULL, NULL};

static bool factory_knows(const struct launch_source *source)
{
    return source->doc && doc_find(source->doc->root, "model_name_or_path") &&
           doc_find(source->doc->root, "stage");
}

static bool factory_read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    const struct doc_node *root = source->doc->root;
    bool megatron = doc_find(root, "tensor_model_parallel_size") ||
                    doc_find(root, "pipeline_model_parallel_size") ||
                    doc_find(root, "expert_model_parallel_size");
    if (!launch_add_doc(options, source->doc, NULL, err) ||
        !launch_apply_rules(options, &factory_all, first, NULL, err))
        return false;
    bool fused = launch_is_on(options, "enable_liger_kernel") || launch_is_on(options, "use_unsloth");
    options->software = megatron                             ? "megatron-core"
                        : launch_is_on(options, "deepspeed") ? "deepspeed"
                        : fused                              ? "hf-trainer-fused"
                                                             : "hf-trainer";
    const char *type = launch_text(options, "finetuning_type");
    if (!type || strcmp(type, "lora") == 0 || strcmp(type, "oft") == 0)
        launch_set(&options->frozen, launch_argument(options, "finetuning_type"), 1);
    const char *bits = launch_text(options, "quantization_bit");
    read_narrow(options, "quantization_bit", bits ? strtol(bits, NULL, 10) : 0);
    if (!megatron)
        launch_set(&options->recompute, launch_argument(options, "disable_gradient_checkpointing"),
                   launch_is_on(options, "disable_gradient_checkpointing") ? RECOMPUTE_NONE : RECOMPUTE_FULL);
    if (launch_is_on(options, "fsdp"))
        launch_set(&options->sharding, launch_argument(options, "fsdp"), 3);
    read_type(options);
    launch_settle_optimizer(options, "optim");
    struct launch_argument *stage = launch_argument(options, "stage");
    if (stage && stage->value && strcmp(stage->value, "sft") != 0 && strcmp(stage->value, "pt") != 0) {
        stage->use = LAUNCH_UNMODELLED;
        stage->note = "further passes (teacher or reference model, pairs)";
    }
    if (!launch_is_on(options, "packing") &&
        !launch_note(options, "samples are not packed: they are shorter than cutoff_len, which is priced"))
        return error_memory(err);
    return read_deepspeed(options, source, "deepspeed", err) && launch_settle_megatron(options, err);
}

static void factory_complete(struct launch_options *options)
{
    launch_default(&options->microbatch, 8);
    launch_default(&options->accumulation, 1);
    launch_default(&options->sequence, 2048);
    launch_default(&options->type, COST_FP32);
}

const struct launch_reader factory_reader = {"LLaMA-Factory", factory_knows, factory_read, factory_complete};
