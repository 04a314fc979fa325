/* DeepSpeed's JSON. Batch keys: deepspeed/runtime/config.py. */
#include "launch/read/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct launch_rule rules[] = {
    RULE_ELSEWHERE("train_batch_size"),
    RULE_ELSEWHERE("train_micro_batch_size_per_gpu"),
    RULE_ELSEWHERE("gradient_accumulation_steps"),
    RULE_ELSEWHERE("zero_optimization.stage"),
    RULE_ELSEWHERE("fp16.enabled"),
    RULE_ELSEWHERE("bf16.enabled"),
    RULE_ELSEWHERE("bfloat16.enabled"),
    RULE_ELSEWHERE("zero_optimization.offload_optimizer.device"),
    RULE_ELSEWHERE("zero_optimization.cpu_offload"),
    RULE_ELSEWHERE("zero_optimization.offload_optimizer.ratio"),
    RULE_ELSEWHERE("zero_optimization.offload_param.device"),
    RULE("tensor_parallel.autotp_size", COUNT, tensor),
    RULE("sequence_parallel_size", NUMBER, context),
    RULE("pipeline.stages", NUMBER, pipeline),
    RULE("rehearse.sequence", NUMBER, sequence), /* written by launch/deepspeed.c */
    RULE("rehearse.tensor", NUMBER, tensor),
    RULE("rehearse.context", NUMBER, context),
    RULE("rehearse.expert", NUMBER, expert),
    RULE_IF("rehearse.recompute", "selective", recompute, RECOMPUTE_SELECTIVE),
    RULE_IF("rehearse.precision", "fp8", fp8, 1),
    RULE_IF("rehearse.precision", "fp4", fp4, 1),
    RULE("rehearse.pipeline_module.num_stages", NUMBER, pipeline),
    RULE_ELSEWHERE("rehearse.pipeline_module.parts"),
    RULE_ELSEWHERE("pipeline.activation_checkpoint_interval"),
    RULE_ELSEWHERE("activation_checkpointing.number_checkpoints"),
    RULE_NOT_ON("zero_optimization.zero_quantized_weights", "gathers in 8 bits"),
    RULE_NOT_ON("zero_optimization.zero_quantized_gradients", "gradients in 4 bits on the wire"),
    RULE_NOT("zero_optimization.zero_hpz_partition_size", "a second copy of the shards in each node"),
    RULE_NOT("zero_optimization.mics_shard_size", "shards over some devices only"),
    RULE_NOT_ON("activation_checkpointing.partition_activations",
                "saved activations split over tensor parallel ranks"),
    RULE_ELSEWHERE("activation_checkpointing.cpu_checkpointing"),
    RULE_NOT_ON("sparse_attention", "sparse attention"),
    RULE_NOT_ON("compression_training.*", "compression"),
    RULE_NOTHING("communication_data_type"),
    RULE_NOTHING("*"),
};

static const struct launch_rules all_rules = {rules, sizeof rules / sizeof *rules, NULL, NULL};

/* The options of DeepSpeed itself: deepspeed/__init__.py, add_config_arguments. Others are the program's own. */
static const struct launch_rule program_rules[] = {
    RULE_NOTHING("deepspeed"),
    RULE_NOTHING("deepspeed_config"),
    RULE_NOTHING("local_rank"),
};

/* A script with the JSON in a here document, for a program of the user's own. One with Megatron-LM's arguments is
 * Megatron-DeepSpeed's. */
static const struct shell_document *document_of(const struct shell *shell)
{
    static const char *const keys[] = {"\"train_", "batch_size", NULL};
    if (!launch_has_option(shell, "deepspeed-config") || launch_has_megatron_sizes(shell))
        return NULL;
    return launch_find_document(shell, "{", keys);
}

static bool knows(const struct launch_source *source)
{
    if (source->shell)
        return document_of(source->shell) != NULL;
    static const char *const keys[] = {"train_batch_size", "train_micro_batch_size_per_gpu",
                                       "zero_optimization"};
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    for (size_t i = 0; root && i < sizeof keys / sizeof *keys; i++)
        if (doc_find(root, keys[i]) && !doc_find(root, "num_layers") && !doc_find(root, "num-layers"))
            return true;
    return false;
}

static bool is_auto(const char *text)
{
    return text && strcmp(text, "auto") == 0;
}

/* Two of the three give the third: train = micro x accumulation x data. "auto" is the Trainer's. */
static bool read_batch(struct launch_options *options, struct error *err)
{
    const struct {
        const char *key;
        struct launch_value *value;
    } keys[] = {{"train_batch_size", &options->batch},
                {"train_micro_batch_size_per_gpu", &options->microbatch},
                {"gradient_accumulation_steps", &options->accumulation}};
    for (size_t i = 0; i < 3; i++) {
        const struct launch_argument *argument = launch_argument(options, keys[i].key);
        int64_t number;
        if (!argument || is_auto(argument->value))
            continue;
        if (!argument->value || !launch_number(argument->value, 1, &number))
            return launch_refuse(argument, err,
                                 "expected a whole number of at least 1, or \"auto\", found '%s'",
                                 argument->value ? argument->value : "");
        if (!keys[i].value->given || keys[i].value->value == number)
            launch_set(keys[i].value, argument, number);
    }
    const struct launch_argument *batch = launch_argument(options, "train_batch_size");
    int64_t pass = options->microbatch.value * options->accumulation.value;
    bool all = options->batch.given && options->microbatch.given && options->accumulation.given;
    if (batch && all && pass > 0 && options->batch.value % pass != 0)
        return launch_refuse(batch, err,
                             "%" PRId64 " is not a multiple of micro-batch %" PRId64 " x %" PRId64
                             " accumulation steps, for any number of devices",
                             options->batch.value, options->microbatch.value, options->accumulation.value);
    return true;
}

static bool read_zero(struct launch_options *options, struct error *err)
{
    const struct launch_argument *stage = launch_argument(options, "zero_optimization.stage");
    int64_t number = 0;
    if (stage && (!stage->value || !launch_number(stage->value, 0, &number) || number > 3))
        return launch_refuse(stage, err, "ZeRO has stages 0 to 3, found '%s'",
                             stage->value ? stage->value : "");
    if (stage)
        launch_set(&options->sharding, stage, number);
    const char *place = launch_text(options, "zero_optimization.offload_optimizer.device");
    const char *ratio = launch_text(options, "zero_optimization.offload_optimizer.ratio");
    if (!place && launch_is_on(options, "zero_optimization.cpu_offload"))
        place = "cpu";
    if (place) {
        double share = ratio ? strtod(ratio, NULL) : 1;
        launch_set(&options->technique[TECHNIQUE_OFFLOAD], NULL,
                   share >= 0 && share <= 1 ? (int64_t)(100 * share + 0.5) : 100);
        launch_set(&options->technique[TECHNIQUE_OFFLOAD_TO], NULL,
                   strcmp(place, "nvme") == 0 ? PLACE_NVME : PLACE_HOST);
    }
    struct launch_argument *parameters = launch_argument(options, "zero_optimization.offload_param.device");
    if (parameters && launch_is_on(options, parameters->name)) {
        parameters->use = LAUNCH_UNMODELLED;
        parameters->note = "parameters in the host's memory";
    }
    return true;
}

static bool read_type(struct launch_options *options, struct error *err)
{
    const struct launch_argument *half = launch_argument(options, "fp16.enabled");
    const struct launch_argument *brain = launch_argument(options, "bf16.enabled");
    brain = brain ? brain : launch_argument(options, "bfloat16.enabled");
    bool is_half = half && launch_is_on(options, half->name) && !is_auto(half->value);
    bool is_brain = brain && launch_is_on(options, brain->name) && !is_auto(brain->value);
    if (is_half && is_brain)
        return error_set(err, ERROR_INPUT,
                         "%s:%d: %s and %s (line %d) are both true, which DeepSpeed refuses", brain->path,
                         brain->line, brain->name, half->name, half->line);
    if (is_half || is_brain)
        launch_set(&options->type, is_half ? half : brain, is_half ? COST_FP16 : COST_BF16);
    if (options->fp8.given || options->fp4.given)
        launch_set(&options->type, NULL, options->fp8.given ? COST_FP8 : COST_FP4);
    return true;
}

/* Checkpoints of blocks, which may wait in the host's memory. */
static void read_recompute(struct launch_options *options)
{
    struct launch_argument *away = launch_argument(options, "activation_checkpointing.cpu_checkpointing");
    const char *count = launch_text(options, "activation_checkpointing.number_checkpoints");
    int64_t blocks;
    if (count || launch_is_on(options, "pipeline.activation_checkpoint_interval"))
        launch_default(&options->recompute, RECOMPUTE_FULL);
    if (!away || !launch_is_on(options, away->name))
        return;
    if (count && launch_number(count, 1, &blocks) && blocks < 100000)
        launch_set(&options->technique[TECHNIQUE_OFFLOAD_ACTIVATIONS], away, blocks);
    else {
        away->use = LAUNCH_UNMODELLED;
        away->note = "saved activations in the host's memory";
    }
}

/* The parts of a PipelineModule, as `plan --emit deepspeed` writes them: the first block of each stage. */
static bool read_parts(struct launch_options *options, const struct doc *doc, struct error *err)
{
    const struct doc_node *parts =
        doc_find(doc_find(doc_find(doc->root, "rehearse"), "pipeline_module"), "parts");
    int64_t value;
    if (!parts || parts->type != DOC_LIST || parts->count < 2 || parts->count > LAUNCH_MAX_STAGES)
        return true;
    int *blocks = ARENA_ARRAY(&options->arena, parts->count, int);
    int stage = 0, before = 0;
    if (!blocks)
        return error_memory(err);
    for (const struct doc_node *node = parts->first_child; node; node = node->next, stage++) {
        if (!doc_integer(doc, node, before, 1000000, &value, err))
            return false;
        if (stage > 0)
            blocks[stage - 1] = (int)value - before;
        before = (int)value;
    }
    options->stage_blocks = blocks;
    options->stage_count = (int)parts->count - 1;
    return true;
}

static bool read_doc(struct launch_options *options, const struct doc *doc, struct error *err)
{
    int first = options->argument_count;
    if (!launch_add_doc(options, doc, NULL, err) ||
        !launch_apply_rules(options, &all_rules, first, NULL, err))
        return false;
    /* all that is wrong is said at once */
    struct error errors[3];
    const bool fine[] = {read_batch(options, &errors[0]), read_zero(options, &errors[1]),
                         read_type(options, &errors[2])};
    struct text text = {0};
    for (int i = 0; i < 3; i++)
        if (!fine[i])
            text_format(&text, "%s%s", text.length > 0 ? "; " : "", errors[i].text);
    bool ok = text.length == 0;
    if (text.failed)
        ok = error_memory(err);
    else if (!ok)
        error_set(err, ERROR_INPUT, "%s", text.data);
    text_release(&text);
    read_recompute(options);
    if (!options->software)
        options->software = "deepspeed";
    return ok && read_parts(options, doc, err);
}

static bool read_shell(struct launch_options *options, struct shell *shell, struct error *err)
{
    struct launch_rules command = {program_rules, sizeof program_rules / sizeof *program_rules,
                                   &launch_launcher_rules, NULL};
    const char *launcher = NULL;
    struct doc doc;
    if (!launch_parse_document(shell, document_of(shell), DOC_JSON, &doc, err))
        return false;
    bool ok = read_doc(options, &doc, err);
    int first = options->argument_count;
    doc_release(&doc);
    return ok && (launch_add_command(options, shell, "deepspeed-config", &launcher) || error_memory(err)) &&
           launch_apply_rules(options, &command, first, shell, err) &&
           launch_read_nodes(options, shell, launcher, err);
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    return source->shell ? read_shell(options, source->shell, err) : read_doc(options, source->doc, err);
}

static void complete(struct launch_options *options)
{
    launch_default(&options->sharding, 0);
    launch_default(&options->type, COST_FP32);
    if (options->microbatch.given && !options->batch.given)
        launch_default(&options->accumulation, 1);
    if (options->accumulation.given && !options->microbatch.given && !options->batch.given)
        return; /* two of the three must be there */
}

const struct launch_reader deepspeed_reader = {"DeepSpeed", knows, read, complete};
