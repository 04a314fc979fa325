/* axolotl's and LLaMA-Factory's YAML: a model by name, trained by the Trainer of Hugging Face. */
#include "launch/read/read.h"

#include "names.h"

#include <stdio.h>
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
        if (!launch_budget_load(&options->budget, path, &doc, err))
            return false;
        bool ok = deepspeed_reader.read(options, &inner, err);
        doc_release(&doc);
        return ok;
    }
    base = base ? base + 1 : named;
    for (int i = 0; i < 8; i++)
        if (strstr(base, stages[i])) {
            launch_set(&options->sharding, launch_argument(options, key), i % 4);
            launch_note(options, "%s, named by '%s', not found: ZeRO %d by its name", named, key, i % 4);
            return true;
        }
    launch_note(options, "%s, named by '%s', not found: its settings are unknown", named, key);
    return true;
}

/* Frozen weights that are held in 4 or 8 bits; factors in 8 bits unless `doubled` is off. */
static void read_narrow(struct launch_options *options, const char *name, int64_t bits, const char *doubled)
{
    struct launch_argument *argument = launch_argument(options, name);
    const struct launch_argument *scales = launch_argument(options, doubled);
    if (!argument || !launch_is_on(options, name))
        return;
    if (!options->frozen.given || (bits != 4 && bits != 8)) {
        argument->use = LAUNCH_UNMODELLED;
        argument->note = "base weights in few bits";
        return;
    }
    launch_set(&options->technique[TECHNIQUE_PARAMETERS], argument, bits == 4 ? FORMAT_FP4 : FORMAT_FP8);
    if (scales && !launch_is_on(options, doubled))
        launch_set(&options->technique[TECHNIQUE_SCALES], scales, SWITCH_ON);
}

/* Parameters, gradients and moments in fp32, whatever the products are in. */
static void hold_wide(struct launch_options *options, const struct launch_argument *by)
{
    static const enum technique_kind held[] = {TECHNIQUE_PARAMETERS, TECHNIQUE_GRADIENTS, TECHNIQUE_MOMENTS};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        if (!options->technique[held[i]].given)
            launch_set(&options->technique[held[i]], by, FORMAT_FP32);
}

/* Products in fp32 are in tf32 unless that is switched off. */
static void read_wide(struct launch_options *options, const struct launch_argument *by)
{
    const struct launch_argument *tf32 = launch_argument(options, "tf32");
    launch_set(&options->type, by, COST_FP32);
    if (tf32 && !launch_is_on(options, "tf32"))
        launch_set(&options->plain_fp32, tf32, 1);
}

/* Returns the argument of one of two names that FSDP's settings have, "fsdp_config.NAME" and
 * "fsdp_config.fsdp_NAME". */
static struct launch_argument *fsdp_argument(const struct launch_options *options, const char *name)
{
    char whole[80];
    snprintf(whole, sizeof whole, "fsdp_config.fsdp_%s", name);
    struct launch_argument *found = launch_argument(options, whole);
    snprintf(whole, sizeof whole, "fsdp_config.%s", name);
    found = found ? found : launch_argument(options, whole);
    snprintf(whole, sizeof whole, "accelerate.fsdp_%s", name);
    return found ? found : launch_argument(options, whole);
}

/* FSDP, by its settings of the Trainer and of accelerate: a strategy of version 1, or `reshard_after_forward` of
 * version 2, which then may hold the strategy, too. Parameters that stay gathered are ZeRO 2. */
static void read_fsdp(struct launch_options *options)
{
    static const struct {
        const char *word, *number;
        int64_t stage;
        bool has_copies;
    } strategies[] = {{"full_shard", "1", 3, false},
                      {"shard_grad_op", "2", 2, false},
                      {"no_shard", "3", 0, false},
                      {"hybrid_shard_zero2", "5", 2, true},
                      {"hybrid_shard", "4", 3, true}};
    struct launch_argument *strategy = fsdp_argument(options, "sharding_strategy");
    struct launch_argument *keeps = fsdp_argument(options, "reshard_after_forward");
    const struct launch_argument *again = fsdp_argument(options, "activation_checkpointing");
    struct launch_argument *away = fsdp_argument(options, "offload_params");
    const char *word = strategy && strategy->value ? strategy->value
                       : keeps && keeps->value     ? keeps->value
                                                   : launch_text(options, "fsdp");
    struct launch_argument *by = strategy ? strategy : keeps ? keeps : launch_argument(options, "fsdp");
    size_t i = 0, count = sizeof strategies / sizeof *strategies;
    word = word ? word : "";
    while (i < count && !strcasestr(word, strategies[i].word) && strcmp(word, strategies[i].number) != 0)
        i++;
    if (i < count && strategies[i].has_copies) {
        by->use = LAUNCH_UNMODELLED;
        by->note = "copies of the shards, one in each node";
    }
    bool whole = keeps && !launch_is_on(options, keeps->name);
    launch_set(&options->sharding, by, whole ? 2 : i < count ? strategies[i].stage : 3);
    if (again && launch_is_on(options, again->name))
        launch_set(&options->recompute, again, RECOMPUTE_FULL);
    const char *words = launch_text(options, "fsdp");
    if (away || (words && strcasestr(words, "offload")))
        launch_unmodelled(options, away ? away->name : "fsdp",
                          "parameters and optimizer in the host's memory");
}

/* Copies of the shards (HSDP). */
static void settle_copies(struct launch_options *options)
{
    if (options->replicate.given && options->replicate.value > 1 && options->sharding.given &&
        options->sharding.value > 1)
        options->technique[TECHNIQUE_REPLICATE] = options->replicate;
}

/* Recomputation, and activations that wait in the host's memory: `true`, "offload", "offload_disk", … */
static void read_checkpointing(struct launch_options *options, const char *name)
{
    struct launch_argument *argument = launch_argument(options, name);
    const char *value = launch_text(options, name);
    if (!value)
        return;
    launch_set(&options->recompute, argument, RECOMPUTE_FULL);
    if (strcasestr(value, "offload"))
        launch_unmodelled(options, name, "saved activations in the host's memory");
    else if (strcasestr(value, "selective"))
        launch_unmodelled(options, name, "which activations are saved");
}

/* Names of matrices that adapters are beside, as models of Hugging Face and of Megatron-LM have them. */
static const struct {
    const char *name;
    int targets;
} matrices[] = {ROWS_matrix};

/* Which matrices have adapters, by a list of their names, of which the last part counts ("model.layers.*.q_proj"). */
void launch_settle_targets(struct launch_options *options, const char *name)
{
    static const char between[] = " ,[]()|'\"";
    const struct launch_argument *argument = launch_argument(options, name);
    const char *at = launch_text(options, name);
    int targets = 0;
    bool known = true;
    if (!at || !options->frozen.given || strcasestr(at, "all"))
        return;
    while (*(at += strspn(at, between))) {
        size_t length = strcspn(at, between), i = 0, last = length;
        while (last > 0 && at[last - 1] != '.')
            last--;
        while (i < sizeof matrices / sizeof *matrices &&
               (strlen(matrices[i].name) != length - last ||
                strncmp(matrices[i].name, at + last, length - last) != 0))
            i++;
        if (i < sizeof matrices / sizeof *matrices)
            targets |= matrices[i].targets;
        else
            known = false;
        at += length;
    }
    if (targets && targets != TARGETS_ALL)
        launch_set(&options->technique[TECHNIQUE_TARGETS], argument, targets);
    if (!known)
        launch_unmodelled(options, name,
                          targets ? "adapters of further matrices"
                                  : "adapters of other matrices: priced as of all");
}

/* Attention whose scores are in memory, by a word that asks for it. */
static void read_attention(struct launch_options *options, const char *name, const char *word)
{
    struct launch_argument *argument = launch_argument(options, name);
    const char *text = launch_text(options, name);
    if (!text || strcasecmp(text, word) != 0)
        return;
    argument->use = LAUNCH_READ;
    argument->note = NULL;
    launch_set(&options->technique[TECHNIQUE_ATTENTION], argument, SWITCH_OFF);
}

/* Modules that are trained beside adapters: embedding and head, of which both are priced as trained. */
static void read_trained(struct launch_options *options, const char *name)
{
    struct launch_argument *argument = launch_argument(options, name);
    const char *names = launch_text(options, name);
    if (!names || !options->frozen.given)
        return;
    bool embedding = strcasestr(names, "embed") || strcasestr(names, "wte"),
         head = strcasestr(names, "lm_head");
    if (embedding || head)
        launch_set(&options->technique[TECHNIQUE_ENDS], argument, SWITCH_ON);
    if (!embedding || !head)
        launch_unmodelled(options, name,
                          embedding || head ? "only one of embedding and head is trained: priced as both"
                                            : "modules that are trained beside the adapters");
}

/* Kernels of Liger: with most of them, the software's own are those. */
static bool has_fused(const struct launch_options *options)
{
    static const char *const parts[][3] = {{"liger_rms_norm", "liger_layer_norm", NULL},
                                           {"liger_rope", NULL, NULL},
                                           {"liger_glu_activation", "liger_swiglu", NULL},
                                           {"liger_fused_linear_cross_entropy", "liger_cross_entropy", NULL}};
    int count = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool has = false;
        for (int j = 0; parts[i][j]; j++)
            has |= launch_is_on(options, parts[i][j]);
        count += has;
    }
    return count >= 3;
}

/* ---- axolotl ---- */

static bool axolotl_knows(const struct launch_source *source)
{
    return source->doc && doc_find(source->doc->root, "base_model");
}

/* Weights are loaded, and trained, in the type of the products. */
static void read_axolotl_type(struct launch_options *options)
{
    const struct launch_argument *brain = launch_argument(options, "bf16");
    bool is_brain = launch_is_on(options, "bf16") || launch_is_on(options, "bfloat16");
    bool is_half = launch_is_on(options, "fp16") || launch_is_on(options, "float16");
    if (launch_is_on(options, "fp8"))
        launch_set(&options->type, launch_argument(options, "fp8"), COST_FP8);
    else if (is_brain)
        launch_set(&options->type, brain, COST_BF16);
    else if (is_half)
        launch_set(&options->type, launch_argument(options, "fp16"), COST_FP16);
    else if (brain || launch_is_on(options, "float32")) {
        read_wide(options, brain);
        hold_wide(options, brain);
    }
}

static bool read_axolotl_batch(struct launch_options *options, struct error *err)
{
    const struct launch_argument *batch = launch_argument(options, "batch_size");
    int64_t number, micro = options->microbatch.given ? options->microbatch.value : 1;
    if (!launch_whole(options, "batch_size", &number) || options->accumulation.given)
        return true;
    if (number % micro != 0)
        return launch_refuse(batch, err, "expected a multiple of micro_batch_size, found '%s'", batch->value);
    launch_set(&options->accumulation, batch, number / micro);
    return true;
}

static bool axolotl_read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    static const char *const liger[] = {"liger_rope",           "liger_rms_norm",
                                        "liger_layer_norm",     "liger_swiglu",
                                        "liger_cross_entropy",  "liger_glu_activation",
                                        "liger_rms_norm_gated", "liger_fused_linear_cross_entropy"};
    const struct doc_node *root = source->doc->root;
    if (!launch_read_doc(options, source->doc, "axolotl", err))
        return false;
    const char *rl = launch_text(options, "rl");
    if (rl && (strcmp(rl, "grpo") == 0 || strcmp(rl, "gdpo") == 0 || strcmp(rl, "ebft") == 0))
        return launch_refuse_rollouts(options, source->path, rl, err);
    bool fused = has_fused(options);
    options->software = launch_is_on(options, "deepspeed") ? "deepspeed"
                        : fused                            ? "hf-trainer-fused"
                                                           : "hf-trainer";
    for (size_t i = 0; (!fused || launch_is_on(options, "deepspeed")) && i < sizeof liger / sizeof *liger;
         i++)
        launch_unmodelled(options, liger[i], "further fused kernels");
    if (launch_is_on(options, "gradient_checkpointing"))
        read_checkpointing(options, "gradient_checkpointing");
    const struct doc_node *shards = doc_find(root, "fsdp_config");
    if (launch_is_on(options, "fsdp") || (shards && shards->type == DOC_MAP) || options->shard.given)
        read_fsdp(options);
    settle_copies(options);
    read_trained(options, "lora_modules_to_save");
    if (!launch_is_on(options, "lora_target_linear"))
        launch_settle_targets(options, "lora_target_modules");
    read_narrow(options, "load_in_8bit", 8, "");
    read_narrow(options, "load_in_4bit", 4, "bnb_config_kwargs.bnb_4bit_use_double_quant");
    read_axolotl_type(options);
    read_attention(options, "eager_attention", "true");
    read_attention(options, "attn_implementation", "eager");
    launch_settle_optimizer(options, "optimizer");
    if (!launch_is_on(options, "sample_packing"))
        launch_note(options, "samples are not packed: they are shorter than sequence_len, which is priced");
    return read_axolotl_batch(options, err) && read_deepspeed(options, source, "deepspeed", err);
}

static void axolotl_complete(struct launch_options *options)
{
    launch_default(&options->microbatch, 1);
    launch_default(&options->accumulation, 1);
    launch_default(&options->sequence, 512);
    launch_default(&options->type, COST_BF16); /* bf16: auto */
}

const struct launch_reader axolotl_reader = {"axolotl", axolotl_knows, axolotl_read, axolotl_complete};

/* ---- LLaMA-Factory ---- */

static bool factory_knows(const struct launch_source *source)
{
    return source->doc && doc_find(source->doc->root, "model_name_or_path") &&
           doc_find(source->doc->root, "stage");
}

/* What is trained is held in fp32 unless it is said to be in bf16 alone (model/adapter.py, init_adapter). */
static void read_factory_type(struct launch_options *options, bool trainer)
{
    const struct launch_argument *pure = launch_argument(options, "pure_bf16");
    bool is_pure = launch_is_on(options, "pure_bf16");
    if (launch_is_on(options, "fp8"))
        launch_set(&options->type, launch_argument(options, "fp8"), COST_FP8);
    else if (is_pure || launch_is_on(options, "bf16"))
        launch_set(&options->type, is_pure ? pure : launch_argument(options, "bf16"), COST_BF16);
    else if (launch_is_on(options, "fp16"))
        launch_set(&options->type, launch_argument(options, "fp16"), COST_FP16);
    else
        read_wide(options, NULL);
    if (trainer && !options->frozen.given && !is_pure && !launch_is_on(options, "use_badam"))
        hold_wide(options, launch_argument(options, "bf16"));
}

/* GaLore and APOLLO: the states of matrices are those of a projection of low rank. */
static void read_projected(struct launch_options *options)
{
    static const char *const names[][3] = {{"use_galore", "galore_rank", "galore_layerwise"},
                                           {"use_apollo", "apollo_rank", "apollo_layerwise"}};
    launch_settle_optimizer(options, "optim");
    for (int i = 0; i < 2; i++) {
        int64_t number = 16;
        if (!launch_is_on(options, names[i][0]))
            continue;
        launch_whole(options, names[i][1], &number);
        launch_set_optimizer(options, launch_argument(options, names[i][0]), i == 0 ? "galore" : "apollo",
                             number);
        if (launch_is_on(options, names[i][2]))
            launch_set(&options->technique[TECHNIQUE_STEP], launch_argument(options, names[i][2]), SWITCH_ON);
    }
    if (launch_is_on(options, "use_muon"))
        launch_set_optimizer(options, launch_argument(options, "use_muon"), "muon", 0);
}

static bool factory_read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    const struct doc_node *root = source->doc->root;
    bool megatron = doc_find(root, "tensor_model_parallel_size") ||
                    doc_find(root, "pipeline_model_parallel_size") ||
                    doc_find(root, "expert_model_parallel_size");
    if (!launch_read_doc(options, source->doc, "llama-factory", err))
        return false;
    struct launch_argument *stage = launch_argument(options, "stage");
    if (stage && stage->value && strcasecmp(stage->value, "ppo") == 0)
        return launch_refuse_rollouts(options, source->path, "ppo", err);
    megatron |= launch_is_on(options, "use_mca") || launch_is_on(options, "use_megatron_bridge");
    bool deepspeed = launch_is_on(options, "deepspeed");
    bool fused = launch_is_on(options, "enable_liger_kernel") || launch_is_on(options, "use_liger_kernel") ||
                 launch_is_on(options, "use_unsloth");
    options->software = megatron    ? "megatron-core"
                        : deepspeed ? "deepspeed"
                        : fused     ? "hf-trainer-fused"
                                    : "hf-trainer";
    if (megatron && !launch_is_on(options, "sequence_parallel"))
        launch_set(&options->technique[TECHNIQUE_SEQUENCE], launch_argument(options, "sequence_parallel"),
                   SWITCH_OFF);
    const char *type = launch_text(options, "finetuning_type");
    int64_t bits = 0;
    if (!type)
        launch_default(&options->frozen, 1);
    else if (strcasecmp(type, "freeze") == 0)
        launch_unmodelled(options, "finetuning_type", "frozen layers");
    launch_whole(options, "quantization_bit", &bits);
    read_narrow(options, "quantization_bit", bits, "double_quantization");
    read_trained(options, "additional_target");
    launch_settle_targets(options, "lora_target");
    if (!megatron)
        launch_set(&options->recompute, launch_argument(options, "disable_gradient_checkpointing"),
                   launch_is_on(options, "disable_gradient_checkpointing") ? RECOMPUTE_NONE : RECOMPUTE_FULL);
    if (launch_is_on(options, "fsdp"))
        read_fsdp(options);
    read_factory_type(options, !megatron && !deepspeed);
    read_projected(options);
    read_attention(options, "flash_attn", "disabled");
    if (stage && stage->value && strcasecmp(stage->value, "sft") != 0 && strcasecmp(stage->value, "pt") != 0)
        launch_unmodelled(options, "stage", "further passes (teacher or reference model, pairs)");
    if (!launch_is_on(options, "packing"))
        launch_note(options, "samples are not packed: they are shorter than cutoff_len, which is priced");
    return read_deepspeed(options, source, "deepspeed", err) && launch_settle_megatron(options, err);
}

static void factory_complete(struct launch_options *options)
{
    launch_default(&options->microbatch, 8);
    launch_default(&options->accumulation, 1);
    launch_default(&options->sequence, 2048);
    launch_default(&options->type, COST_FP32);
    launch_default(&options->rank, 8);
}

const struct launch_reader factory_reader = {"LLaMA-Factory", factory_knows, factory_read, factory_complete};

/* ---- scripts of the Trainer ---- */

static const struct launch_rules trainer_rules = {.table = "trl"};
static const struct launch_rules trainer_command = {.table = "launcher", .next = &trainer_rules};

static bool trainer_knows(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    return source->shell
               ? launch_has_option(source->shell, "per-device-train-batch-size")
               : doc_find(root, "model_name_or_path") && doc_find(root, "per_device_train_batch_size");
}

/* What accelerate's options and file change of the training. */
static bool settle_accelerate(struct launch_options *options, struct launch_source *source, struct error *err)
{
    const char *type = launch_text(options, "accelerate.distributed_type");
    const char *precision = launch_text(options, "accelerate.mixed_precision");
    struct launch_argument *away = launch_argument(options, "accelerate.offload_optimizer_device");
    type = type ? type : "";
    bool deepspeed = launch_is_on(options, "accelerate.use_deepspeed") || strcasecmp(type, "DEEPSPEED") == 0;
    if (precision && !options->type.given)
        launch_set(&options->type, launch_argument(options, "accelerate.mixed_precision"),
                   strcasecmp(precision, "fp8") == 0    ? COST_FP8
                   : strcasecmp(precision, "fp16") == 0 ? COST_FP16
                                                        : COST_BF16);
    if (options->shard.given && options->shard.value > 1)
        launch_default(&options->sharding, 3);
    if (launch_is_on(options, "accelerate.use_megatron_lm") || strcasecmp(type, "MEGATRON_LM") == 0) {
        options->software = "megatron-core";
        launch_set_count(options, "accelerate.megatron_lm_tp_degree", 0, &options->tensor);
        launch_set_count(options, "accelerate.megatron_lm_pp_degree", 0, &options->pipeline);
    }
    if (launch_is_on(options, "accelerate.use_fsdp") || strcasecmp(type, "FSDP") == 0)
        read_fsdp(options);
    settle_copies(options);
    if (!deepspeed)
        return true;
    options->software = "deepspeed";
    launch_set_count(options, "accelerate.zero_stage", 0, &options->sharding);
    launch_set_count(options, "accelerate.gradient_accumulation_steps", 0, &options->accumulation);
    if (away && launch_is_on(options, away->name)) {
        launch_set(&options->technique[TECHNIQUE_OFFLOAD], away, 100);
        launch_set(&options->technique[TECHNIQUE_OFFLOAD_TO], away,
                   away->value && strcasecmp(away->value, "nvme") == 0 ? PLACE_NVME : PLACE_HOST);
    }
    return read_deepspeed(options, source, "accelerate.deepspeed_config_file", err);
}

static void read_trainer_type(struct launch_options *options)
{
    const struct launch_argument *held = launch_argument(options, "dtype");
    held = held ? held : launch_argument(options, "torch_dtype");
    bool wide = held && held->value &&
                (strcasecmp(held->value, "float32") == 0 || strcasecmp(held->value, "float") == 0);
    if (launch_is_on(options, "bf16"))
        launch_set(&options->type, launch_argument(options, "bf16"), COST_BF16);
    else if (launch_is_on(options, "fp16"))
        launch_set(&options->type, launch_argument(options, "fp16"), COST_FP16);
    else if (wide)
        read_wide(options, held);
    if (wide)
        hold_wide(options, held);
}

static bool settle_trainer(struct launch_options *options, struct launch_source *source, struct error *err)
{
    bool deepspeed = launch_is_on(options, "deepspeed");
    options->software = deepspeed                                   ? "deepspeed"
                        : launch_is_on(options, "use_liger_kernel") ? "hf-trainer-fused"
                                                                    : "hf-trainer";
    read_checkpointing(options, "gradient_checkpointing");
    read_checkpointing(options, "activation_checkpointing");
    if (launch_is_on(options, "fsdp"))
        read_fsdp(options);
    read_trained(options, "lora_modules_to_save");
    launch_settle_targets(options, "lora_target_modules");
    read_narrow(options, "load_in_8bit", 8, "");
    read_narrow(options, "load_in_4bit", 4, "use_bnb_nested_quant");
    if (launch_is_on(options, "load_in_4bit") && !launch_is_on(options, "use_bnb_nested_quant"))
        launch_set(&options->technique[TECHNIQUE_SCALES], launch_argument(options, "load_in_4bit"),
                   SWITCH_ON);
    read_trainer_type(options);
    read_attention(options, "attn_implementation", "eager");
    launch_settle_optimizer(options, "optim");
    if (!launch_is_on(options, "packing"))
        launch_note(options,
                    "samples are not packed: they may be shorter than the sequence, which is priced");
    return read_deepspeed(options, source, "deepspeed", err) && settle_accelerate(options, source, err);
}

static bool trainer_read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    const char *launcher = NULL;
    if (!source->shell)
        return launch_read_doc(options, source->doc, "trl", err) && settle_trainer(options, source, err);
    return (launch_add_command(options, source->shell, "per-device-train-batch-size", &launcher) ||
            error_memory(err)) &&
           launch_apply_rules(options, &trainer_command, first, source->shell, err) &&
           launch_read_nodes(options, source->shell, launcher, err) && settle_trainer(options, source, err);
}

static void trainer_complete(struct launch_options *options)
{
    launch_default(&options->accumulation, 1);
    launch_default(&options->sequence, 1024);
    launch_default(&options->type, COST_BF16); /* that of the checkpoint */
}

const struct launch_reader trainer_reader = {"Trainer", trainer_knows, trainer_read, trainer_complete};
