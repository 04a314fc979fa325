/* NeMo 1's Hydra YAML, and Megatron-Bridge's configurations as YAML. The keys of the model are Megatron-Core's. */
#include "devices/tables.h"
#include "launch/read/read.h"

#include "launch/shell/parts.h"

#include <string.h>

/* Below "model.", with Megatron's names behind them. */
static const struct launch_rules below_model = {.table = "nemo-model"};
static const struct launch_rules all_rules = {.table = "nemo"};

static const struct doc_node *model_of(const struct launch_source *source)
{
    const struct doc_node *model = source->doc ? doc_find(source->doc->root, "model") : NULL;
    return model && (doc_find(model, "tensor_model_parallel_size") ||
                     doc_find(model, "pipeline_model_parallel_size"))
               ? model
               : NULL;
}

/* ---- NeMo-Framework-Launcher: main.py training=gpt3/5b training.trainer.num_nodes=2 ---- */

static bool is_choice(const char *text)
{
    return text_starts_with(text, "training=") || text_starts_with(text, "peft=") ||
           text_starts_with(text, "fine_tuning=");
}

/* Returns the command that starts the launcher, and sets the word that chooses its configuration. */
static const struct shell_words *launcher_of(const struct shell *shell, const char **choice)
{
    for (int i = 0; shell && i < shell->command_count; i++) {
        const struct shell_words *words = &shell->commands[i];
        bool runs = false;
        *choice = NULL;
        for (int j = 0; j < words->count; j++) {
            runs |= text_ends_with(words->items[j].text, "main.py");
            if (is_choice(words->items[j].text))
                *choice = words->items[j].text;
        }
        if (runs && *choice)
            return words;
    }
    return NULL;
}

/* Returns the path of conf/GROUP/NAME.yaml in the launcher's checkout; NULL: it is not there. */
static const char *find_choice(struct launch_options *options, const char *path, const char *choice)
{
    const char *equals = strchr(choice, '=');
    const char *file = arena_format(&options->arena, "launcher_scripts/conf/%.*s/%s.yaml",
                                    (int)(equals - choice), choice, equals + 1);
    return file ? launch_find_above(options, path, file) : NULL;
}

/* Adds the chosen configuration, and the command's values behind it. */
static bool add_launcher(struct launch_options *options, const struct launch_source *source,
                         struct error *err)
{
    const char *choice;
    int first = options->argument_count;
    const struct shell_words *words = launcher_of(source->shell, &choice);
    const char *path = source->input->is_alone ? NULL : find_choice(options, source->path, choice);
    if (path) {
        struct doc doc;
        if (!launch_budget_load(&options->budget, path, &doc, err))
            return false;
        bool ok = launch_add_doc(options, &doc, NULL, err);
        doc_release(&doc);
        if (!ok)
            return false;
    } else
        launch_note(options, "configuration of '%s' not found: its settings are unknown", choice);
    size_t length = strcspn(choice, "=");
    int own = options->argument_count;
    for (int i = 0; i < words->count; i++) {
        const char *text = words->items[i].text + strspn(words->items[i].text, "+");
        const char *equals = strchr(text, '=');
        if (strncmp(text, choice, length) != 0 || text[length] != '.' || !equals)
            continue;
        const char *name =
            arena_copy(&options->arena, text + length + 1, (size_t)(equals - text) - length - 1);
        const char *value = name ? shell_plain(&source->shell->arena, equals + 1) : NULL;
        if (!value)
            return error_memory(err);
        launch_add(options, name, value, words->items[i].path, words->items[i].line);
    }
    launch_supersede(options, first, own);
    if (!options->device) { /* "examples/training/gpt/h100/gpt3_5b.sh" */
        options->device = launch_device_in(source->path);
        options->device_said = "the file's folder";
    }
    return true;
}

static bool knows(const struct launch_source *source)
{
    const char *choice;
    if (launcher_of(source->shell, &choice))
        return true;
    return model_of(source) &&
           (doc_find(source->doc->root, "trainer") || doc_find(source->doc->root, "train"));
}

/* Returns a name of the model, or one of Megatron-Bridge that means what Megatron-LM's does, without what stands before
 * it: "model.x" is "x"; else the name. */
static const char *plain_name(const char *name)
{
    static const char *const same[] = {
        "ddp.overlap_grad_reduce",
        "ddp.overlap_param_gather",
        "ddp.data_parallel_sharding_strategy",
        "ddp.megatron_fsdp_main_grads_dtype",
        "comm_overlap.overlap_grad_reduce",
        "comm_overlap.overlap_param_gather",
        "optimizer.use_precision_aware_optimizer",
        "optimizer.main_grads_dtype",
        "optimizer.main_params_dtype",
        "optimizer.exp_avg_dtype",
        "optimizer.exp_avg_sq_dtype",
        "optimizer.optimizer_cpu_offload",
        "optimizer.optimizer_offload_fraction",
        "optimizer.optimizer",
        "mixed_precision.fp8_param",
        "mixed_precision.fp8_param_gather",
    };
    const char *dot = strchr(name, '.');
    if (text_starts_with(name, "model.") && !strchr(name + 6, '.'))
        return name + 6;
    for (size_t i = 0; dot && i < sizeof same / sizeof *same; i++)
        if (strcmp(name, same[i]) == 0)
            return dot + 1;
    return name;
}

/* Adds what --set gives for "model.x": the rules of the model know only "x". */
static bool add_given(struct launch_options *options)
{
    for (const char *const *given = options->given; given && *given; given++) {
        const char *equals = strchr(*given, '=');
        const char *name = equals ? arena_copy(&options->arena, *given, (size_t)(equals - *given)) : NULL;
        const struct launch_rule *end;
        if (name && plain_name(name) != name &&
            launch_table_rule(below_model.table, plain_name(name), &end) &&
            !launch_add(options, name, equals + 1, "--set", 0))
            return false;
    }
    return true;
}

/* Arguments "model.x" become "x", by which Megatron's rules and settling find them, and types of PyTorch their
 * words. */
static void rename_model(struct launch_options *options, int first)
{
    static const char *const types[][2] = {{"torch.bfloat16", "bf16"},
                                           {"torch.float32", "fp32"},
                                           {"torch.float", "fp32"},
                                           {"torch.float16", "fp16"},
                                           {"torch.uint8", "fp8"}};
    for (int i = first; i < options->argument_count; i++) {
        struct launch_argument *argument = &options->arguments[i];
        argument->name = plain_name(argument->name);
        for (size_t j = 0; argument->value && j < sizeof types / sizeof *types; j++)
            if (strcmp(argument->value, types[j][0]) == 0)
                argument->value = types[j][1];
    }
}

/* Megatron-Bridge: the format of exchanged gradients, where the precision's counts more than that of data
 * parallelism, */
static void settle_bridge(struct launch_options *options)
{
    const struct launch_argument *wide = launch_argument(options, "mixed_precision.grad_reduce_in_fp32");
    wide = wide ? wide : launch_argument(options, "ddp.grad_reduce_in_fp32");
    if (!launch_is_on(options, "use_precision_aware_optimizer") &&
        launch_argument(options, "main_grads_dtype") &&
        !launch_argument(options, "megatron_fsdp_main_grads_dtype")) /* main_grads_dtype is the former's */
        options->technique[TECHNIQUE_GRADIENTS].given = false;
    if (wide && wide->value && strcmp(wide->value, "false") == 0)
        launch_default(&options->technique[TECHNIQUE_GRADIENTS], FORMAT_BF16);
}

/* Paths may stay open: their last part says what matters. */
static bool refuse_open(const struct launch_options *options, const struct launch_rules *rules, int first,
                        struct error *err)
{
    for (int i = first; i < options->argument_count; i++) {
        const struct launch_argument *argument = &options->arguments[i];
        const struct launch_rule *end, *rule = launch_table_rule(rules->table, argument->name, &end);
        if (argument->use == LAUNCH_READ && !(rule && rule->kind == RULE_FILE) && argument->value &&
            strstr(argument->value, "${"))
            return launch_refuse(argument, err, "'%s' is not resolved here: write its value",
                                 argument->value);
    }
    return true;
}

static const struct launch_rules around_bridge = {.table = "bridge-config"};

static void read_precision(struct launch_options *options)
{
    const char *precision = launch_text(options, "trainer.precision");
    const char *mixed = launch_text(options, "mixed_precision");
    precision = precision ? precision : mixed;
    if (!precision || options->type.given)
        return;
    const struct launch_argument *by =
        launch_argument(options, mixed ? "mixed_precision" : "trainer.precision");
    if (strstr(precision, "bf16"))
        launch_set(&options->bf16, by, 1);
    else if (strstr(precision, "16"))
        launch_set(&options->fp16, by, 1);
    if (strstr(precision, "fp8"))
        launch_set(&options->fp8, by, 1);
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    if (!tables_ready(err))
        return false;
    bool bridge = source->doc && doc_find(source->doc->root, "train") != NULL;
    if (!(source->doc ? launch_add_doc(options, source->doc, NULL, err) : add_launcher(options, source, err)))
        return false;
    static const char *const wholes[] = {"training.", "peft.", "fine_tuning."};
    for (int i = 0; i < 3; i++)
        if (!launch_resolve(options, source->input->given, wholes[i], first))
            return error_memory(err);
    return launch_read_nemo(options, first, bridge, source->shell, err);
}

bool launch_read_nemo(struct launch_options *options, int first, bool bridge, const struct shell *shell,
                      struct error *err)
{
    if (!add_given(options))
        return error_memory(err);
    rename_model(options, first);
    /* the model's own names first; what they do not know belongs to what is around the model */
    int count = options->argument_count;
    for (int i = first; i < count; i++)
        if (strchr(options->arguments[i].name, '.') ||
            strcmp(options->arguments[i].name, "mixed_precision") == 0 ||
            strcmp(options->arguments[i].name, "peft") == 0 ||
            strcmp(options->arguments[i].name, "defaults") == 0)
            options->arguments[i].use = LAUNCH_USES; /* not yet */
    if (!launch_apply_rules(options, &below_model, first, shell, err))
        return false;
    for (int i = first; i < count; i++)
        if (options->arguments[i].use == LAUNCH_USES)
            options->arguments[i].use = LAUNCH_UNKNOWN;
    const struct launch_rules *around = bridge ? &around_bridge : &all_rules;
    if (!launch_apply_rules(options, around, first, shell, err) || !refuse_open(options, around, first, err))
        return false;
    if (bridge)
        settle_bridge(options);
    const char *optimizer = launch_text(options, "model.optim.name");
    const char *peft = launch_text(options, "model.peft.peft_scheme");
    launch_settle_optimizer(options, "model.optim.name");
    if (optimizer && (strstr(optimizer, "distributed") || strstr(optimizer, "mcore")))
        launch_set(&options->sharding, launch_argument(options, "model.optim.name"), 1);
    const char *strategy = launch_text(options, "fsdp_sharding_strategy");
    if (launch_is_on(options, "fsdp"))
        launch_set(&options->sharding, launch_argument(options, "fsdp"),
                   strategy && strcasecmp(strategy, "grad") == 0 ? 2 : 3);
    launch_settle_targets(options, "peft.target_modules");
    launch_settle_targets(options, "model.peft.lora_tuning.target_modules");
    if (peft && strcasecmp(peft, "lora") != 0)
        launch_unmodelled(options, "model.peft.peft_scheme", "adapters of another kind; LoRA's are priced");
    read_precision(options);
    launch_settle_vocabulary(options, "model.tokenizer.type");
    launch_settle_vocabulary(options, "model.tokenizer.model");
    launch_settle_vocabulary(options, "run.name"); /* "llama2_13b" */
    options->software = bridge ? "megatron-core" : "megatron-core-2024";
    return launch_settle_megatron(options, err);
}

static void complete(struct launch_options *options)
{
    bool whole = options->distributed_optimizer.given && !options->distributed_optimizer.value;
    if (strcmp(options->software, "megatron-core") == 0)
        launch_default(&options->sharding, !whole);
    launch_default(&options->accumulation, 1);
}

const struct launch_reader nemo_reader = {"NeMo", knows, read, complete};
