/* DeepSpeed's JSON. Batch keys: deepspeed/runtime/config.py. */
#include "launch/read/read.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

static const struct launch_rules all_rules = {.table = "deepspeed"};

/* The options of DeepSpeed itself: deepspeed/__init__.py, add_config_arguments. Others are the program's own. */
static const struct launch_rules program_rules = {.table = "deepspeed-program"};

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
    for (size_t i = 0; i < 3; i++)
        launch_set_count(options, keys[i].key, 1, keys[i].value);
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

static void read_zero(struct launch_options *options)
{
    const char *share = launch_text(options, "zero_optimization.offload_optimizer.ratio");
    double ratio = 1.0;
    if (launch_argument(options, "zero_optimization.offload_optimizer.ratio"))
        ratio = share && text_real(share, &ratio) ? ratio : 0;
    if (launch_is_on(options, "zero_optimization.cpu_offload"))
        launch_default(&options->technique[TECHNIQUE_OFFLOAD_TO], PLACE_HOST);
    if (options->technique[TECHNIQUE_OFFLOAD_TO].given)
        launch_set(&options->technique[TECHNIQUE_OFFLOAD], NULL, (int64_t)(100 * ratio + 0.5));
}

/* Exchanges: beside the backward pass or behind it, and in which type. */
static void read_exchanges(struct launch_options *options)
{
    const struct launch_argument *overlap = launch_argument(options, "zero_optimization.overlap_comm");
    const struct launch_argument *wire = launch_argument(options, "communication_data_type");
    int64_t type = options->type.given ? options->type.value : COST_FP32;
    const char *usual = type == COST_BF16 ? "bf16" : type == COST_FP16 ? "fp16" : "fp32";
    if (overlap && !launch_is_on(options, overlap->name) && options->sharding.value > 0)
        launch_set(&options->technique[TECHNIQUE_DATA_OVERLAP], overlap, SWITCH_OFF);
    if (wire && launch_is_on(options, wire->name) && strcasecmp(wire->value, usual) != 0)
        launch_set(&options->technique[TECHNIQUE_WIRE], wire, strcasecmp(wire->value, "fp32") == 0 ? 32 : 16);
    if (launch_is_on(options, "zero_optimization.zero_quantized_gradients"))
        launch_set(&options->technique[TECHNIQUE_WIRE],
                   launch_argument(options, "zero_optimization.zero_quantized_gradients"), 4);
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
    else
        launch_unmodelled(options, away->name, "saved activations in the host's memory");
}

/* The parts of a PipelineModule, as `plan --emit deepspeed` writes them: the first block of each stage. */
static bool read_parts(struct launch_options *options, const struct doc *doc, struct error *err)
{
    const struct doc_node *parts =
        doc_find(doc_find(doc_find(doc->root, "rehearse"), "pipeline_module"), "parts");
    const struct launch_argument *given = launch_argument(options, "rehearse.pipeline_module.parts");
    int64_t value;
    if (given && given->shape == SHAPE_VALUE && launch_is_on(options, given->name))
        return launch_refuse(given, err, "expected a list in the file, found '%s'", given->value);
    if (!parts)
        return true;
    if (parts->type != DOC_LIST || parts->count < 2 || parts->count > LAUNCH_MAX_STAGES)
        return doc_error(doc, parts, err, "expected 2 to %d first blocks of stages", LAUNCH_MAX_STAGES);
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
    if (!launch_add_doc(options, doc, NULL, err))
        return false;
    /* all that is wrong is said at once */
    struct error errors[3];
    const bool fine[] = {launch_apply_rules(options, &all_rules, first, NULL, &errors[0]),
                         read_batch(options, &errors[1]), read_type(options, &errors[2])};
    struct text text = {0};
    for (int i = 0; i < 3; i++)
        if (!fine[i])
            text_format(&text, "%s%s", text.length > 0 ? "; " : "", errors[i].text);
    bool ok = text.length == 0;
    if (text.failed || (!fine[0] && error_is_memory(&errors[0])))
        ok = error_memory(err);
    else if (!ok)
        error_set(err, ERROR_INPUT, "%s", text.data);
    text_release(&text);
    read_zero(options);
    read_recompute(options);
    read_exchanges(options);
    launch_settle_optimizer(options, "optimizer.type");
    if (!options->software)
        options->software = "deepspeed";
    return ok && read_parts(options, doc, err);
}

static bool read_shell(struct launch_options *options, struct shell *shell, struct error *err)
{
    const char *launcher = NULL;
    struct doc doc;
    if (!launch_parse_document(shell, document_of(shell), DOC_JSON, &doc, err))
        return false;
    bool ok = read_doc(options, &doc, err);
    int first = options->argument_count;
    doc_release(&doc);
    return ok && (launch_add_command(options, shell, "deepspeed-config", &launcher) || error_memory(err)) &&
           launch_apply_rules(options, &program_rules, first, shell, err) &&
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
}

const struct launch_reader deepspeed_reader = {"DeepSpeed", knows, read, complete};
