/* MaxText: YAML upon base.yml, and commands with NAME=VALUE. Names: src/maxtext/configs/base.yml and types.py. */
#include "launch/read/read.h"

#include "devices/architecture_config.h"

#include <string.h>

#define MAX_BASES    8         /* files, each upon the other */
#define MAX_DEVICES  (1 << 20) /* in a product of degrees */
#define MAX_SETTINGS 4000      /* of which those that are there again are sought */

static const struct launch_rules all_rules = {.table = "maxtext"};

/* ---- what is read ---- */

/* Returns the words of the command from its program on ("maxtext.trainers.pre_train.train", "MaxText/train.py"), which
 * may be in a text in quotes, as xpk's --command. Without any: there is no such command, or no memory. */
static struct shell_words find_command(struct shell *shell)
{
    struct shell_words none = {0};
    for (int i = 0; i < shell->command_count; i++)
        for (int j = 0; j < shell->commands[i].count; j++) {
            struct shell_words inner = {0},
                               rest = {&shell->commands[i].items[j], shell->commands[i].count - j, 0};
            int left = 1; /* of a text in quotes all words, else this one */
            if (strchr(rest.items->text, ' ') && strcasestr(rest.items->text, "maxtext") &&
                shell_split(&shell->arena, rest.items, &inner)) {
                rest = inner;
                left = inner.count;
            }
            for (; left > 0; rest.items++, rest.count--, left--) {
                const char *name = strcasestr(rest.items->text, "maxtext");
                if (name && strstr(name, "train") && !strchr(rest.items->text, '=') &&
                    !text_ends_with(name, ".yml") && !text_ends_with(name, ".sh"))
                    return rest;
            }
        }
    return none;
}

static bool knows(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    if (source->shell)
        return find_command(source->shell).count > 0;
    return root && (doc_find(root, "base_config") || doc_find(root, "base_emb_dim") ||
                    (doc_find(root, "per_device_batch_size") && doc_find(root, "model_name")));
}

/* Adds the settings of a file of the package behind those of its base, wherever its folder of configurations is;
 * base.yml holds the defaults. *found: it is there. */
static bool add_file(struct launch_options *options, const char *from, const char *named, int depth,
                     bool *found, struct error *err)
{
    static const char *const folders[] = {"", "configs/", "src/maxtext/configs/", "src/MaxText/configs/",
                                          "MaxText/configs/"};
    const char *part = strstr(named, "configs/"), *mark = strrchr(named, SHELL_END), *path = NULL;
    part = part ? part + strlen("configs/") : mark ? mark + 1 : named;
    *found = strcmp(basename(named), "base.yml") == 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !path && !*found; i++) {
        const char *file = arena_format(&options->arena, "%s%s", folders[i], part);
        path = file ? launch_find_above(options, from, file) : NULL;
    }
    struct doc doc;
    if (!path || depth == MAX_BASES)
        return true;
    if (!launch_budget_load(&options->budget, path, &doc, err))
        return false;
    const struct doc_node *base = doc_find(doc.root, "base_config");
    *found = true;
    bool ok = (!base || !base->text || add_file(options, path, base->text, depth + 1, found, err)) &&
              launch_add_doc(options, &doc, NULL, err);
    doc_release(&doc);
    return ok;
}

/* The model's own file counts before other files, and after it --set and the command (configs/pyconfig.py). */
static bool add_model(struct launch_options *options, const struct launch_source *source,
                      struct shell_words command, bool *found, struct error *err)
{
    const char *name = launch_text(options, "model_name"), *const *given = source->input->given;
    for (int i = 0; i < command.count; i++)
        if (text_starts_with(command.items[i].text, "model_name="))
            if (!(name = arena_string(&options->arena, strchr(command.items[i].text, '=') + 1)))
                return error_memory(err);
    for (; given && *given; given++)
        if (text_starts_with(*given, "model_name="))
            name = strchr(*given, '=') + 1;
    options->model_name = name && strcmp(name, "default") != 0 && !strchr(name, SHELL_MARK) ? name : NULL;
    *found = false;
    if (!options->model_name || source->input->is_alone)
        return true;
    const char *cut = strstr(name, "-Instruct");
    const char *file =
        arena_format(&options->arena, "models/%.*s.yml", cut ? (int)(cut - name) : (int)strlen(name), name);
    return file ? add_file(options, source->path, file, 0, found, err) : error_memory(err);
}

/* Notes the sizes of the file that the model's own replace. */
static void drop_sizes(struct launch_options *options, int first, int own, bool found)
{
    for (int i = first; i < own && i < MAX_SETTINGS && options->model_name; i++) {
        struct launch_argument *said = &options->arguments[i], *other = launch_argument(options, said->name);
        const struct launch_rule *end, *rule = launch_table_rule(all_rules.table, said->name, &end);
        if (!rule || !rule->at || rule->kind > RULE_WORD ||
            rule->at > offsetof(struct launch_options, bidirectional) ||
            (found && (other == said ||
                       strcmp(other->value ? other->value : "", said->value ? said->value : "") == 0)))
            continue;
        said->use = LAUNCH_IDLE;
        launch_note(options, "%s in line %d of %s does not count: MaxText takes that of %s", said->name,
                    said->line, said->path, options->model_name);
    }
}

/* ---- the model ---- */

static void miss_file(struct launch_options *options, const char *name)
{
    launch_miss(options, name, "is a file of settings that is not below the folders of this one",
                "it as a FILE before this one");
}

/* Each doubling of the scale is one of heads and widths, of the hidden size or of the layers, in turn. */
static bool scale_model(struct launch_options *options, struct error *err)
{
    const struct launch_argument *by = launch_argument(options, "global_parameter_scale");
    struct launch_value *const all[] = {&options->layers,   &options->hidden, &options->heads,
                                        &options->kv_heads, &options->ffn,    &options->expert_ffn};
    int64_t scale = 1;
    int doubled = 0;
    if (launch_whole(options, "global_parameter_scale", &scale) && (scale & (scale - 1)) != 0)
        return launch_refuse(by, err, "expected a power of 2");
    for (; scale > 1; scale /= 2)
        doubled++;
    for (int i = 0; i < 6; i++)
        all[i]->value <<= (doubled + (i < 2 ? i : 2)) / 3;
    return true;
}

/* Blocks of our form are read by their numbers, others by the model's name. */
static bool settle_model(struct launch_options *options, bool found, struct error *err)
{
    static const char known[] =
        " default llama2 mistral mixtral qwen2 qwen3 qwen3_moe qwen3_custom_moe deepseek gpt3 gpt_oss ";
    const struct launch_argument *block = launch_argument(options, "decoder_block");
    const char *type = launch_text(options, "attention_type"),
               *gate = launch_text(options, "mlp_activations");
    const char *kind = block && block->value ? block->value : "llama2";
    const char *word = arena_format(&options->arena, " %s ", kind);
    bool own = word && strstr(known, word), slides = type && strcmp(type, "local_sliding") == 0;
    bool latent = type && strcmp(type, "mla") == 0, gpt3 = strcmp(kind, "gpt3") == 0;
    if (options->model_name && !(own && (found || (options->layers.given && options->hidden.given)))) {
        const char *scale = launch_text(options, "global_parameter_scale");
        bool sized = scale && strcmp(scale, "1") != 0;
#define X(name) sized |= options->name.given, options->name.given = false;
        LAUNCH_MODEL_VALUES(X)
#undef X
        if ((sized && !found) || (own && !architecture_of_checkpoint(options->model_name))) {
            miss_file(options, arena_format(&options->arena, "models/%s.yml", options->model_name));
            return true;
        }
        own |= architecture_of_checkpoint(options->model_name) != NULL;
        if (own)
            return true;
    }
    if (!own)
        return launch_refuse(block, err, "blocks of kind %s are not modelled", kind);
    if (type && !latent && !slides && strcmp(type, "global") != 0)
        return launch_refuse(launch_argument(options, "attention_type"), err, "%s is not modelled", type);
    options->model_name = NULL;
    options->window.given &= slides || strcmp(kind, "gpt_oss") == 0;
    if (strcmp(kind, "gpt_oss") == 0)
        launch_set(&options->window_every, block, 2);
    if (options->experts.given && options->experts.value == 1)
        options->experts.given = options->shared_experts.given = options->dense_layers.given = false;
    launch_set(&options->latent, NULL, latent);
    launch_set(&options->gated, NULL, !gate || strstr(gate, "linear"));
    launch_set(&options->rms_norm, block, !gpt3);
    launch_default(&options->biased, gpt3);
    launch_set(&options->rotary, NULL, !options->positions.given);
    launch_set(&options->dropout, NULL,
               launch_is_on(options, "dropout_rate") &&
                   (!launch_argument(options, "enable_dropout") || launch_is_on(options, "enable_dropout")));
    /* base.yml's own */
    launch_default(&options->layers, 16);
    launch_default(&options->hidden, 2048);
    launch_default(&options->heads, 16);
    launch_default(&options->kv_heads, 16);
    launch_default(&options->head_width, 128);
    launch_default(&options->ffn, 7168);
    launch_default(&options->vocabulary, 32000);
    launch_default(&options->tied, 0);
    launch_default(&options->padding, 1);
    return scale_model(options, err);
}

/* ---- the job ---- */

enum group { TENSOR, PIPELINE, CONTEXT, EXPERT, SHARDS, DATA, GROUPS };

static const char *const axes[GROUPS][5] = {
    {"tensor", "tensor_transpose", "tensor_sequence", "autoregressive"},
    {"pipeline"},
    {"context", "context_usp_ulysses", "context_autoregressive", "sequence"},
    {"expert"},
    {"fsdp", "fsdp_transpose"},
    {"data", "diloco"},
};

/* Multiplies the axes inside a slice and across slices; -1 is the rest: by default of fsdp inside, of data across. */
static bool settle_degrees(struct launch_options *options, struct error *err)
{
    struct launch_value *const to[] = {&options->tensor, &options->pipeline, &options->context,
                                       &options->expert, &options->shard,    &options->replicate};
    int64_t devices = 1, across = 1;
    enum group rest[2] = {GROUPS, GROUPS};
    struct launch_value slices = {0};
    for (size_t i = 0; i < (size_t)GROUPS * 10; i++) {
        size_t group = i / 10, dcn = i % 2, rests = dcn ? DATA : SHARDS;
        const char *axis = axes[group][i / 2 % 5];
        int64_t value = i == rests * 10 + dcn ? -1 : 1;
        const char *name =
            arena_format(&options->arena, "%s_%s_parallelism", dcn ? "dcn" : "ici", axis ? axis : "");
        const struct launch_argument *by = name ? launch_argument(options, name) : NULL;
        bool given = by && by->value && !strchr(by->value, SHELL_MARK); /* else it is missing already */
        if (i % 10 == 0)
            launch_set(to[group], by, 1);
        if (given && strcmp(by->value, "-1") == 0)
            value = -1;
        else if (given && (!launch_number(by->value, 1, &value) || value > MAX_DEVICES / devices))
            return launch_refuse(by, err, "expected a whole number from 1 on, or -1, found '%s'", by->value);
        if (value < 0) {
            rest[dcn] = (enum group)group;
            continue;
        }
        to[group]->value *= value;
        devices *= value;
        across *= dcn ? value : 1;
    }
    launch_set_count(options, "num_slices", 1, &slices);
    if (rest[1] != GROUPS && slices.value / across > 1 && slices.value < MAX_DEVICES / devices) {
        to[rest[1]]->value *= slices.value / across;
        devices *= slices.value / across;
    }
    bool shards = options->shard.value * options->context.value * options->expert.value > 1 ||
                  rest[0] == SHARDS || (devices == 1 && rest[0] == GROUPS);
    if (rest[0] < SHARDS || (rest[0] == DATA && shards))
        launch_miss(options, "the degree that is -1", "is the rest of the devices", "--set NAME=N");
    launch_set(&options->sharding, NULL, shards ? 3 : launch_is_on(options, "shard_optimizer_over_data"));
    options->technique[TECHNIQUE_REPLICATE] = options->replicate;
    options->technique[TECHNIQUE_REPLICATE].given = shards && options->replicate.value > 1;
    if (rest[0] == GROUPS)
        launch_set(&options->devices, NULL, devices);
    if (!slices.given && rest[1] != GROUPS)
        launch_note(options, "the number of slices (num_slices) is not in the files: one is priced");
    return true;
}

/* A data parallel rank has the sequences of all its devices; a pipeline makes as many micro-batches of them as it has
 * stages. */
static bool settle_batch(struct launch_options *options, struct error *err)
{
    const struct launch_argument *each = launch_argument(options, "per_device_batch_size");
    const struct launch_argument *passes = launch_argument(options, "num_pipeline_microbatches");
    int64_t parts = options->pipeline.value,
            steps = options->accumulation.given ? options->accumulation.value : 1;
    double size = 12, rank = (double)(options->tensor.value * parts * options->context.value);
    if (each && each->value && strchr(each->value, SHELL_MARK))
        return true; /* it is missing already */
    if (each && each->value && !text_real(each->value, &size))
        size = 12; /* null */
    launch_whole(options, "num_pipeline_microbatches", &parts);
    parts = options->pipeline.value > 1 ? parts : 1;
    rank *= size;
    int64_t whole = rank < 1e9 ? (int64_t)rank / parts * parts : 0;
    if (rank < 1 || rank * (double)steps > 1e9 || (double)whole != rank)
        return launch_refuse(each ? each : passes, err,
                             "a data parallel rank has %g sequences, which are not %d equal micro-batches",
                             rank, (int)parts);
    launch_set(&options->microbatch, passes, (int64_t)rank / parts);
    launch_set(&options->rank_batch, each, (int64_t)rank * steps);
    return true;
}

static bool settle_job(struct launch_options *options, struct error *err)
{
    const char *products = launch_text(options, "quantization"), *hardware = launch_text(options, "hardware");
    const char *policy = launch_text(options, "remat_policy");
    if (hardware && strcmp(hardware, "cpu") == 0)
        return launch_refuse(launch_argument(options, "hardware"), err,
                             "training on processors is not modelled");
    if (products && (strstr(products, "fp8") || strstr(products, "fp4")))
        launch_set(&options->type, launch_argument(options, "quantization"),
                   strstr(products, "fp4") ? COST_FP4 : COST_FP8);
    else
        launch_unmodelled(options, "quantization", "products in whole numbers: those of dtype are priced");
    if (policy && (strstr(policy, "offload") || strstr(policy, "save")))
        launch_unmodelled(options, "remat_policy",
                          strstr(policy, "offload") ? "saved activations in the host's memory"
                                                    : "results of some products are kept");
    if (!policy) /* "none" */
        launch_set(&options->recompute, NULL,
                   launch_argument(options, "remat_policy") ? RECOMPUTE_NONE : RECOMPUTE_FULL);
    launch_settle_optimizer(options, "opt_type");
    options->software = "maxtext";
    if (!settle_degrees(options, err) || !settle_batch(options, err))
        return false;
    if (options->pipeline.value < 2)
        options->chunks.given = options->chunk_blocks.given = false;
    else if (!options->chunks.given)
        launch_default(&options->chunk_blocks, 1);
    for (int i = 0; i < 2 && options->pipeline.value > 1; i++)
        launch_unmodelled(options, i ? "dcn_pipeline_parallelism" : "ici_pipeline_parallelism",
                          "all forward passes before all backward ones");
    return true;
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    struct shell_words words = source->shell ? find_command(source->shell) : (struct shell_words){0};
    const struct doc_node *base = source->doc ? doc_find(source->doc->root, "base_config") : NULL;
    bool file = words.count > 1 && strstr(words.items[1].text, ".yml") && !strchr(words.items[1].text, '=');
    const char *upon = base ? base->text : file ? words.items[1].text : NULL;
    bool found = true;
    if ((upon && !add_file(options, source->path, upon, 0, &found, err)) ||
        (source->doc && !launch_add_doc(options, source->doc, NULL, err)))
        return false;
    if (!found && first == 0)
        miss_file(options, upon);
    int own = options->argument_count;
    if (!add_model(options, source, words, &found, err))
        return false;
    drop_sizes(options, first, own, found);
    for (int i = file ? 2 : 1; i < words.count && strcmp(words.items[i].text, "&&") != 0; i++) {
        const char *text = words.items[i].text, *equals = strchr(text, '=');
        const char *name = arena_copy(&options->arena, text, strcspn(text, "="));
        if (!name)
            return error_memory(err);
        launch_add(options, name, equals ? equals + 1 : NULL, words.items[i].path, words.items[i].line);
    }
    if (options->argument_count < MAX_SETTINGS)
        launch_supersede(options, 0, options->argument_count);
    if (!launch_apply_rules(options, &all_rules, first, source->shell, err))
        return false;
    const char *program = words.count > 0 ? words.items[0].text : upon ? upon : "";
    if (launch_is_on(options, "use_grpo") || strstr(program, "train_rl") || strstr(program, "rl.yml"))
        return launch_refuse_rollouts(options, source->path, "MaxText's RL", err);
    if (strstr(program, "distill") || launch_argument(options, "teacher_overrides.model_name") ||
        strstr(program, "inference"))
        return error_set(err, ERROR_INPUT, "%s: MaxText's distillation and inference are not modelled",
                         source->path);
    return settle_model(options, found, err) && settle_job(options, err);
}

static void complete(struct launch_options *options)
{
    launch_default(&options->sequence, 2048);
    launch_default(&options->type, COST_BF16);
}

const struct launch_reader maxtext_reader = {"MaxText", knows, read, complete};
