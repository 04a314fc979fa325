/* torchtitan's TOML (0.1 and 0.2). Names: torchtitan/config/job_config.py. */
#include "launch/read/read.h"

#include "launch/part.h"

#include <string.h>

const struct launch_rules torchtitan_rules = {.table = "torchtitan"};

/* A script with the TOML in a here document, for --job.config_file. */
static const struct shell_document *document_of(const struct shell *shell)
{
    static const char *const keys[] = {"[training]", "[parallelism]", NULL};
    return launch_has_option(shell, "job.config-file") ? launch_find_document(shell, "[", keys) : NULL;
}

static bool knows(const struct launch_source *source)
{
    if (source->shell)
        return document_of(source->shell) != NULL;
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    return root && (doc_find(root, "parallelism") || doc_find(root, "activation_checkpoint")) &&
           (doc_find(root, "training") || doc_find(root, "job"));
}

bool torchtitan_set_parts(struct launch_options *options, const int *parts, int count)
{
    int64_t pipeline = options->pipeline.given ? options->pipeline.value : 1;
    const struct launch_value *schedule = &options->technique[TECHNIQUE_SCHEDULE];
    bool folded = schedule->given && schedule->value == SCHEDULE_ZB_V; /* each part is a stage of its chain */
    int64_t stages = folded ? count : pipeline;
    int *blocks = ARENA_ARRAY(&options->arena, (size_t)stages, int);
    if (!blocks)
        return false;
    for (int part = 0; part < count; part++)
        blocks[part % stages] += parts[part];
    options->stage_blocks = blocks;
    options->stage_count = (int)stages;
    launch_set(&options->chunks, NULL, count / pipeline);
    return true;
}

/* Chunks as lists of module names: "layers.7" is a block. */
static bool read_parts(struct launch_options *options, const struct doc *doc, struct error *err)
{
    const struct doc_node *list =
        doc ? doc_find(doc_find(doc->root, "parallelism"), "module_fqns_per_model_part") : NULL;
    const struct launch_argument *given = launch_argument(options, "parallelism.module_fqns_per_model_part");
    int64_t pipeline = options->pipeline.given ? options->pipeline.value : 1;
    if (given && given->shape == SHAPE_VALUE && launch_is_on(options, given->name))
        return launch_refuse(given, err, "expected lists of names of modules in the file, found '%s'",
                             given->value);
    if (!list || list->type == DOC_NULL || (list->type == DOC_LIST && list->count == 0))
        return true;
    if (list->type != DOC_LIST || list->first_child->type != DOC_LIST)
        return doc_error(doc, list, err, "expected lists of names of modules");
    if (list->count % pipeline != 0 || list->count > LAUNCH_MAX_STAGES)
        return doc_error(doc, list, err, "%u parts are not a multiple of the pipeline's %d stages",
                         list->count, (int)pipeline);
    int *blocks = ARENA_ARRAY(&options->arena, list->count, int), part = 0;
    if (!blocks)
        return error_memory(err);
    for (const struct doc_node *node = list->first_child; node; node = node->next, part++)
        for (const struct doc_node *name = node->first_child; name; name = name->next)
            blocks[part] += name->text && strncmp(name->text, "layers.", 7) == 0;
    return torchtitan_set_parts(options, blocks, part) || error_memory(err);
}

/* -1 is the rest of the devices. By default stages of a pipeline keep their parameters gathered, which ZeRO 3 of
 * torchtitan's includes. Context
 * parallel ranks shard, too, whatever the data parallel degree (torchtitan/distributed/parallel_dims.py,
 * fsdp_enabled). */
static void settle_sharding(struct launch_options *options)
{
    const char *reshard = launch_text(options, "parallelism.fsdp_reshard_after_forward");
    const struct launch_argument *shard = launch_argument(options, "parallelism.data_parallel_shard_degree");
    bool sharded = !shard || !shard->value || strcmp(shard->value, "1") != 0 ||
                   (options->context.given && options->context.value > 1);
    bool keeps = reshard && strcmp(reshard, "never") == 0;
    bool staged = options->pipeline.given && options->pipeline.value > 1;
    if (staged && sharded && reshard && strcmp(reshard, "always") == 0)
        launch_set(&options->technique[TECHNIQUE_RESHARD], shard, SWITCH_ON);
    launch_set_count(options, "parallelism.data_parallel_shard_degree", 2, &options->shard);
    launch_set(&options->sharding, shard, !sharded ? 0 : keeps ? 2 : 3);
    if (options->expert.given && options->expert.value > 1 && options->expert_tensor.given &&
        options->expert_tensor.value > 1)
        options->technique[TECHNIQUE_EXPERT_TENSOR] = options->expert_tensor;
    if (sharded && options->replicate.given && options->replicate.value > 1)
        options->technique[TECHNIQUE_REPLICATE] = options->replicate;
}

static void settle_recompute(struct launch_options *options)
{
    const char *option = launch_text(options, "activation_checkpoint.selective_ac_option");
    const char *mode = launch_text(options, "activation_checkpoint.mode");
    int64_t every = 0;
    if (mode && strcmp(mode, "memory_budget") == 0)
        launch_unmodelled(options, "activation_checkpoint.mode", "recomputation as a memory budget has it");
    if (launch_argument(options, "activation_checkpoint.mode") && !mode)
        launch_set(&options->recompute, NULL, RECOMPUTE_NONE);
    launch_default(&options->recompute, RECOMPUTE_SELECTIVE);
    if (options->recompute.value != RECOMPUTE_SELECTIVE || (option && !launch_number(option, 1, &every)))
        return;
    if (!option)
        every = 2;
    launch_set(&options->recompute, NULL, RECOMPUTE_FULL);
    if (every > 1) {
        launch_set(&options->technique[TECHNIQUE_METHOD], NULL, METHOD_EVERY);
        launch_set(&options->technique[TECHNIQUE_LAYERS], NULL, every);
    }
}

/* Schedules of several stages per rank have two of them unless their layers are given. */
static void settle_schedule(struct launch_options *options)
{
    struct launch_argument *schedule = launch_argument(options, "parallelism.pipeline_parallel_schedule");
    if (!schedule || !schedule->value)
        return;
    char first = schedule->value[0];
    bool looped = first == 'I' || first == 'i' || first == 'L' || first == 'l' ||
                  strstr(schedule->value, "ZBV") || strstr(schedule->value, "DualPipe");
    if (looped && !options->chunks.given && !options->chunk_blocks.given)
        launch_set(&options->chunks, schedule, 2);
    const struct software *software = software_find(options->software);
    if (strcasecmp(schedule->value, "ZBVZeroBubble") == 0 && software->schedules >> SCHEDULE_ZB_V & 1)
        launch_set(&options->technique[TECHNIQUE_SCHEDULE], schedule, SCHEDULE_ZB_V);
    else if (strcasecmp(schedule->value, "1F1B") != 0 &&
             strcasecmp(schedule->value, "Interleaved1F1B") != 0) {
        schedule->use = LAUNCH_UNMODELLED;
        schedule->note = "priced as 1F1B, or interleaved 1F1B";
    }
}

bool torchtitan_settle(struct launch_options *options, const struct doc *doc, struct error *err)
{
    const char *converters = launch_text(options, "model.converters");
    const char *name = launch_text(options, "model.name"), *flavor = launch_text(options, "model.flavor");
    bool compiled = launch_is_on(options, "compile.enable") || launch_is_on(options, "training.compile");
    options->software = compiled ? "torchtitan" : "torchtitan-eager";
    if ((converters && strstr(converters, "float8")) || launch_is_on(options, "float8.enable_float8_linear"))
        launch_set(&options->type, launch_argument(options, "model.converters"), COST_FP8);
    if (!options->type.given || (options->type.value == COST_FP32 && options->fp8.given))
        launch_default(&options->type, COST_BF16);
    if (name && flavor) {
        const char *model = launch_flavor_model(name, flavor);
        if (!model &&
            strcmp(name, "deepseek_v3") == 0) /* smaller ones have the sizes of their predecessors */
            model = strcasecmp(flavor, "16B") == 0    ? "deepseek-v2-lite"
                    : strcasecmp(flavor, "236B") == 0 ? "deepseek-v2"
                                                      : NULL;
        options->model_name = model ? model : arena_format(&options->arena, "%s %s", name, flavor);
        if (!options->model_name)
            return error_memory(err);
    }
    settle_recompute(options);
    settle_schedule(options);
    launch_settle_optimizer(options, "optimizer.name");
    if (!read_parts(options, doc, err))
        return false;
    settle_sharding(options);
    return true;
}

/* Without a pipeline a local batch is one pass, and a larger global batch accumulates; a pipeline splits it. */
void torchtitan_complete(struct launch_options *options)
{
    launch_default(&options->rank_batch, 8);
    launch_default(&options->sequence, 2048);
    launch_default(&options->type, COST_BF16);
    if (options->pipeline.given && options->pipeline.value > 1)
        launch_default(&options->microbatch, 1);
    else
        launch_default(&options->microbatch, options->rank_batch.value);
}

/* Options of the command override the file. */
static bool read_shell(struct launch_options *options, struct shell *shell, struct error *err)
{
    struct launch_rules all = launch_launcher_rules;
    const char *launcher = NULL;
    struct doc doc;
    int first = options->argument_count;
    all.next = &torchtitan_rules;
    if (!launch_parse_document(shell, document_of(shell), DOC_TOML, &doc, err))
        return false;
    bool ok = launch_add_doc(options, &doc, NULL, err) &&
              (launch_add_command(options, shell, "job.config-file", &launcher) || error_memory(err)) &&
              launch_apply_rules(options, &all, first, shell, err) && torchtitan_settle(options, &doc, err) &&
              launch_read_nodes(options, shell, launcher, err);
    doc_release(&doc);
    return ok;
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    if (source->shell)
        return read_shell(options, source->shell, err);
    return launch_read_doc(options, source->doc, torchtitan_rules.table, err) &&
           torchtitan_settle(options, source->doc, err);
}

const struct launch_reader torchtitan_reader = {"torchtitan", knows, read, torchtitan_complete};
