/* Recipes in Python: functions that make the configuration of a training. What they assign becomes arguments by its
 * path ("model.tensor_model_parallel_size"); what is computed from something unknown is listed, and missing if it
 * matters. */
#include "launch/read/read.h"

#include "core/text.h"
#include "devices/architecture_config.h"
#include "devices/tables.h"
#include "launch/part.h"
#include "launch/python/python.h"

#include <ctype.h>
#include <string.h>

enum { MAX_NESTED = 12, MAX_NAME = 200, MAX_VALUES = 100000 };

/* ---- the function ---- */

/* Does a function make a configuration, by what stands behind its parameters or by its name? */
static bool makes_configuration(const struct python_module *module, const struct python_name *name)
{
    if (name->params == 0 || name->name[0] == '_')
        return false;
    for (int i = name->params; i < name->body; i++)
        if (module->tokens[i].kind == PYTHON_SIGN && strcmp(module->tokens[i].text, "->") == 0)
            for (i++; i < name->body; i++)
                if (strstr(module->tokens[i].text, "Partial") ||
                    strcmp(module->tokens[i].text, "ConfigContainer") == 0 ||
                    strcmp(module->tokens[i].text, "Trainer") == 0)
                    return strstr(name->name, "finetune") == NULL ||
                           strstr(module->tokens[i].text, "Partial") != NULL;
    return text_ends_with(name->name, "_config") || text_ends_with(name->name, "_recipe");
}

static const char *choose_function(struct launch_options *options, const struct python *python,
                                   const struct launch_input *input, struct error *err)
{
    const char *given = NULL, *only = NULL;
    struct text all = {0};
    int count = 0;
    for (const char *const *set = input->given; set && *set; set++)
        if (strncmp(*set, "function=", 9) == 0)
            given = *set + 9;
    if (given) {
        launch_ask(options, "function");
        return given;
    }
    for (const struct python_name *name = python->first->names; name; name = name->next)
        if (makes_configuration(python->first, name)) {
            only = name->name;
            if (count++ < 12)
                text_format(&all, "%s%s", count > 1 ? ", " : "", name->name);
        }
    if (count == 0)
        error_set(err, ERROR_INPUT,
                  "%s: no function that returns a configuration: give its result as YAML, or the arguments "
                  "of the training script",
                  input->path);
    else if (count > 1 && !all.failed)
        error_set(err, ERROR_INPUT, "%s: which of its %d functions? --set function=NAME: %.900s%s",
                  input->path, count, all.data, count > 12 ? ", …" : "");
    else if (all.failed)
        error_memory(err);
    text_release(&all);
    return count == 1 ? arena_string(&options->arena, only) : NULL;
}

/* ---- arguments ---- */

/* The text of a plain value, NULL: it has none. */
static const char *plain(struct launch_options *options, const struct python_value *value)
{
    switch (value->kind) {
    case PYTHON_NONE:
        return "null";
    case PYTHON_BOOL:
        return value->number != 0 ? "true" : "false";
    case PYTHON_NUMBER:
        return arena_format(&options->arena, "%.15g", value->number);
    case PYTHON_TEXT:
        return value->text;
    default:
        return NULL;
    }
}

static void add_list(struct launch_options *options, const struct python_value *list, const char *name,
                     const char *path, int line)
{
    struct text all = {0};
    for (const struct python_field *field = list->fields; field; field = field->next) {
        const char *text = plain(options, field->value);
        text = text ? text : field->value->kind == PYTHON_OBJECT ? field->value->text : NULL;
        text_format(&all, "%s%s", all.length > 0 ? " " : "", text ? text : "?");
    }
    options->no_memory |= all.failed;
    struct launch_argument *argument = launch_add(options, name, all.data ? all.data : "", path, line);
    text_release(&all);
    if (argument)
        argument->shape = SHAPE_LIST;
}

/* Values may hold each other: so many are looked at. */
struct walk {
    bool open;
    int left;
};

/* Adds what a call makes: a class, or a value by its place, such as "model.of.0". */
static void add_made(struct launch_options *options, const char *name, const char *text, const char *path,
                     int line, bool made)
{
    struct launch_argument *argument = launch_add(options, name, text, path, line);
    const char *last = strrchr(name, '.');
    last = last ? last + 1 : name;
    if (argument)
        argument->is_made = made || last[strspn(last, "0123456789")] == '\0';
}

/* Adds a value and its fields. What is unknown is added to `open` instead, a list that has its text. */
static void add_value(struct launch_options *options, const struct python_value *value, const char *name,
                      const char *path, int line, int depth, struct walk *walk)
{
    bool open = walk->open;
    if (depth > MAX_NESTED || walk->left-- <= 0 || strlen(name) > MAX_NAME ||
        options->argument_count > LAUNCH_MAX_ARGUMENTS)
        return;
    bool container = value->kind == PYTHON_OBJECT || value->kind == PYTHON_LIST;
    if (*name && value->kind == PYTHON_LIST && !open) {
        add_list(options, value, name, path, line);
        return;
    }
    if (*name && !container) {
        bool type = value->text &&
                    text_starts_with(value->text, "torch.") && /* a name, such as "torch.bfloat16" */
                    !strpbrk(value->text + 6, " ([.");
        bool unknown = value->kind == PYTHON_UNKNOWN;
        const char *text = unknown ? (value->text ? value->text : "?") : plain(options, value);
        options->no_memory |= !text;
        if (open == (unknown && !type) && text)
            add_made(options, name, text, path, line, false);
        return;
    }
    if (*name && value->kind == PYTHON_OBJECT && value->text && !open)
        add_made(options, name, value->text, path, line, true);
    for (const struct python_field *field = value->kind == PYTHON_OBJECT ? value->fields : NULL; field;
         field = field->next) {
        const char *inner = *name ? arena_format(&options->arena, "%s.%s", name, field->name) : field->name;
        options->no_memory |= !inner;
        if (inner)
            add_value(options, field->value, inner, field->path ? field->path : path, field->line, depth + 1,
                      walk);
    }
}

static bool is_given(const struct launch_input *input, const char *name)
{
    size_t length = strlen(name);
    for (const char *const *set = input->given; set && *set; set++)
        if (strncmp(*set, name, length) == 0 && (*set)[length] == '=')
            return true;
    return false;
}

/* What is unknown: missing if a rule would set something by it, else listed. */
static void add_open(struct launch_options *options, const struct python_value *root,
                     const struct launch_input *input, const struct launch_rules *const *rules)
{
    int first = options->argument_count;
    add_value(options, root, "", input->path, 1, 0, &(struct walk){true, MAX_VALUES});
    for (int i = first; i < options->argument_count; i++) {
        struct launch_argument *argument = &options->arguments[i];
        const char *name = argument->name, *last = text_starts_with(name, "model.") ? name + 6 : name;
        bool matters = strcmp(name, "peft") == 0;
        for (int j = 0; rules[j]; j++)
            matters |= launch_has_rule(rules[j], name) || (last != name && launch_has_rule(rules[j], last));
        matters = matters && !is_given(input, name) && !is_given(input, last);
        argument->use = matters ? LAUNCH_UNMODELLED : LAUNCH_IDLE;
        argument->note = matters ? "computed, not read" : NULL;
        const char *why = arena_format(&options->arena, "depends on %.80s (%s:%d)", argument->value,
                                       argument->path, argument->line);
        if (matters)
            launch_miss(options, name, why, arena_format(&options->arena, "--set %s=VALUE", name));
    }
}

/* ---- Megatron-Bridge and NeMo 2 ---- */

/* "llama31_405b_pretrain_1024gpu_h100_fp8cs_config": devices and their type. */
static void read_function_name(struct launch_options *options, const char *function)
{
    const char *gpus = strstr(function, "gpu");
    const char *start = gpus;
    int64_t count;
    while (start && start > function && isdigit((unsigned char)start[-1]))
        start--;
    const char *digits =
        start && start < gpus ? arena_copy(&options->arena, start, (size_t)(gpus - start)) : NULL;
    if (digits && launch_number(digits, 1, &count))
        launch_default(&options->devices, count);
    if (!options->device) {
        options->device = launch_device_in(function);
        options->device_said = "the function's name";
    }
}

/* "llama31_405b", "MixtralConfig8x22B", "Llama31ModelProvider405B": as the models are called elsewhere. */
static const char *usual_name(struct launch_options *options, const char *text)
{
    static const char *const words[][2] = {
        {"modelprovider", "-"},
        {"provider", "-"},
        {"config", "-"},
        {"llama31", "llama-3.1"},
        {"llama32", "llama-3.2"},
        {"llama33", "llama-3.3"},
        {"llama3", "llama-3"},
        {"llama2", "llama-2"},
        {"qwen25", "qwen2.5"},
        {"gpt-175b", "gpt3-175b"},
        {"_", "-"},
    };
    struct text name = {0};
    for (const char *at = text; *at;) {
        char lower[16];
        size_t length = 0, i = 0;
        for (; length < sizeof lower - 1 && at[length]; length++)
            lower[length] = (char)tolower((unsigned char)at[length]);
        lower[length] = '\0';
        while (i < sizeof words / sizeof *words && !text_starts_with(lower, words[i][0]))
            i++;
        bool known = i < sizeof words / sizeof *words;
        text_add_bytes(&name, known ? words[i][1] : lower, known ? strlen(words[i][1]) : 1);
        at += known ? strlen(words[i][0]) : 1;
    }
    const char *copy = name.failed ? NULL : arena_string(&options->arena, name.data ? name.data : "");
    text_release(&name);
    return copy;
}

const char *launch_recipe_model(struct launch_options *options, const char *text)
{
    const char *usual = text && !architecture_of_checkpoint(text) ? usual_name(options, text) : NULL;
    return usual && architecture_of_checkpoint(usual) ? usual : text;
}

/* A known model in the beginning of a text: "llama31_405b_pretrain_config". */
static const char *model_in(struct launch_options *options, const char *text)
{
    text = launch_recipe_model(options, text);
    static const char *const ends[] = {"_pretrain", "_sft",           "_peft",
                                       "_finetune", "_low_precision", "_config"};
    if (!text || architecture_of_checkpoint(text))
        return text;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(text, ends[i]);
        const char *name = end ? arena_copy(&options->arena, text, (size_t)(end - text)) : NULL;
        name = launch_recipe_model(options, name);
        if (name && architecture_of_checkpoint(name))
            return name;
    }
    return NULL;
}

static void choose_model(struct launch_options *options, const char *function, const char *base)
{
    static const char *const names[] = {"model.of.0",     "of.0",         "model.0", "0",
                                        "model.config.0", "model.config", "model",   "provider"};
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = model_in(options, launch_text(options, names[i]));
    found = found ? found : model_in(options, base);
    found = found ? found : model_in(options, function);
    if (!options->model_name)
        options->model_name = found;
}

/* _perf_precision("fp8_cs"), bf16_with_fp8_current_scaling_mixed(): the words of both. */
static void settle_precision(struct launch_options *options)
{
    static const struct {
        const char *word;
        int recipe;
    } recipes[] = {
        {"fp8_cs", RECIPE_TENSORWISE},   {"current", RECIPE_TENSORWISE}, {"fp8_ds", RECIPE_DELAYED},
        {"delayed", RECIPE_DELAYED},     {"mx", RECIPE_MXFP8},           {"fp8_sc", RECIPE_BLOCKWISE},
        {"subchannel", RECIPE_BLOCKWISE}};
    struct launch_argument *precision = launch_argument(options, "mixed_precision");
    const char *inner = launch_text(options, "mixed_precision.0");
    if (precision && precision->value && inner) {
        if (strcmp(precision->value, "_perf_precision") ==
            0) /* of its performance recipes, which reduce so */
            launch_default(&options->technique[TECHNIQUE_GRADIENTS], FORMAT_BF16);
        precision->value = inner;
    }
    const char *text = precision ? precision->value : NULL;
    struct launch_value *recipe = &options->technique[TECHNIQUE_RECIPE];
    for (size_t i = 0; text && !recipe->given && i < sizeof recipes / sizeof *recipes; i++)
        if (strstr(text, recipes[i].word))
            launch_set(recipe, precision, recipes[i].recipe);
    if (text && (strstr(text, "fp4") || launch_argument(options, "mixed_precision.fp4"))) {
        launch_set(&options->fp4, precision, 1);
        recipe->given = false;
    } else if (text && (strstr(text, "fp8") || recipe->given))
        launch_set(&options->fp8, precision, 1);
    launch_default(&options->bf16, 1);
}

/* NeMo 2: a strategy of Lightning has Megatron's names. */
static void rename_nemo(struct launch_options *options, int first)
{
    static const char *const inner[] = {"trainer.strategy.", "trainer.plugins."};
    for (int i = first; i < options->argument_count; i++)
        for (size_t j = 0; j < sizeof inner / sizeof *inner; j++)
            if (text_starts_with(options->arguments[i].name, inner[j]))
                options->arguments[i].name =
                    j == 0 ? arena_format(&options->arena, "model.%s",
                                          options->arguments[i].name + strlen(inner[j]))
                           : arena_format(&options->arena, "mixed_precision.%s",
                                          options->arguments[i].name + strlen(inner[j]));
            else if (strcmp(options->arguments[i].name, "trainer.plugins") == 0)
                options->arguments[i].name = "mixed_precision";
            else if (text_starts_with(options->arguments[i].name, "data."))
                options->arguments[i].name =
                    strcmp(options->arguments[i].name, "data.seq_length") == 0
                        ? "dataset.seq_length"
                        : arena_format(&options->arena, "train.%s", options->arguments[i].name + 5);
}

/* Buffers of a tensor parallel overlap are given only where it is on, as the base of such a recipe has it. */
static void settle_overlap(struct launch_options *options, const struct python_value *root)
{
    const struct python_field *overlap = python_field(root, "comm_overlap");
    const struct python_field *buffers = overlap ? python_field(overlap->value, "tp_comm_overlap_cfg") : NULL;
    const struct launch_argument at = {.line = buffers ? buffers->line : 0};
    if (buffers && buffers->value->kind != PYTHON_NONE && !python_field(overlap->value, "tp_comm_overlap"))
        launch_set(&options->technique[TECHNIQUE_TENSOR_OVERLAP], &at, SWITCH_ON);
}

static bool read_bridge(struct launch_options *options, const struct python_value *root, const char *function,
                        struct error *err)
{
    int first = options->argument_count;
    add_value(options, root, "", options->path, root->line, 0, &(struct walk){false, MAX_VALUES});
    bool nemo = options->reader == recipe_nemo_reader.name;
    if (nemo)
        rename_nemo(options, first);
    const char *nodes = launch_text(options, "trainer.num_nodes"),
               *each = launch_text(options, "trainer.devices");
    int64_t number;
    if (nodes && launch_number(nodes, 1, &number))
        launch_set(&options->nodes, launch_argument(options, "trainer.num_nodes"), number);
    if (each && launch_number(each, 1, &number))
        launch_set(&options->devices_per_node, launch_argument(options, "trainer.devices"), number);
    read_function_name(options, function);
    settle_overlap(options, root);
    struct launch_argument *optimizer = launch_argument(options, "optimizer");
    if (optimizer) /* a class, not a kind */
        optimizer->name = "optimizer.class";
    if (options->no_memory)
        return error_memory(err);
    const char *base = root->text ? arena_string(&options->arena, root->text) : NULL;
    if (root->text && !base)
        return error_memory(err);
    choose_model(options, function, base);
    settle_precision(options);
    return launch_read_nemo(options, first, true, NULL, err);
}

static void complete_bridge(struct launch_options *options)
{
    launch_default(&options->sharding,
                   !options->distributed_optimizer.given || options->distributed_optimizer.value);
    launch_default(&options->accumulation, 1);
    launch_default(&options->type, COST_BF16);
}

/* ---- torchtitan ---- */

static const struct launch_rules titan_rules = {.table = "torchtitan-python"};

/* The words of the class are those of the mode that TOML had. */
static void rename_recomputation(struct launch_options *options)
{
    struct launch_argument *by = launch_argument(options, "activation_checkpoint");
    const char *text = by && by->value ? by->value : "SelectiveAC"; /* the default */
    int line = by ? by->line : 0;
    bool full = strstr(text, "FullAC"), none = strcmp(text, "null") == 0;
    launch_add(options, "activation_checkpoint.mode",
               none   ? "none"
               : full ? "full"
                      : "selective",
               options->path, line);
    launch_add(options, "activation_checkpoint.selective_ac_option", "op", options->path, line);
}

/* model_registry("8B") of torchtitan/models/llama3: a flavor of the folder's model, or of the function's. */
static void name_flavor(struct launch_options *options, const char *function, const char *base)
{
    const char *flavor = launch_text(options, "model_spec.0");
    static const char *const packages[] = {"llama3", "llama4", "deepseek_v3", "qwen3", "gpt_oss"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        bool here = strstr(options->path, packages[i]) || text_starts_with(function, packages[i]) ||
                    (base && text_starts_with(base, packages[i]));
        const char *model = here && flavor ? launch_flavor_model(packages[i], flavor) : NULL;
        if (here && flavor && !options->model_name)
            options->model_name = model ? model : arena_format(&options->arena, "%s %s", packages[i], flavor);
    }
    if (!options->model_name)
        options->model_name = launch_registry_model(base ? base : function);
}

/* Chunks of a pipeline as lists of module names. */
static bool read_parts(struct launch_options *options, const struct python_value *root, struct error *err)
{
    const struct python_field *outer = python_field(root, "parallelism");
    const struct python_field *parts =
        outer ? python_field(outer->value, "module_fqns_per_model_part") : NULL;
    int64_t pipeline = options->pipeline.given ? options->pipeline.value : 1;
    int count = 0, part = 0;
    for (const struct python_field *at = parts ? parts->value->fields : NULL; at; at = at->next)
        count++;
    if (count == 0 || parts->value->kind != PYTHON_LIST)
        return true;
    if (count % pipeline != 0 || count > LAUNCH_MAX_STAGES)
        return error_set(err, ERROR_INPUT, "%s:%d: %d parts are not a multiple of the pipeline's %d stages",
                         parts->path, parts->line, count, (int)pipeline);
    int *blocks = ARENA_ARRAY(&options->arena, (size_t)count, int);
    if (!blocks)
        return error_memory(err);
    for (const struct python_field *at = parts->value->fields; at; at = at->next, part++)
        for (const struct python_field *name = at->value->fields; name; name = name->next)
            blocks[part] +=
                name->value->kind == PYTHON_TEXT && text_starts_with(name->value->text, "layers.");
    return torchtitan_set_parts(options, blocks, count) || error_memory(err);
}

static bool read_titan(struct launch_options *options, const struct python_value *root, const char *function,
                       struct error *err)
{
    int first = options->argument_count;
    add_value(options, root, "", options->path, root->line, 0, &(struct walk){false, MAX_VALUES});
    rename_recomputation(options);
    if (!launch_apply_rules(options, &titan_rules, first, NULL, err))
        return false;
    const struct launch_argument *tokens = launch_argument(options,
                                                           "training.num_tokens_per_microbatch_per_dp_rank"),
                                 *step = launch_argument(options, "training.num_tokens_per_train_step");
    const char *converters = launch_text(options, "model_spec.converters");
    int64_t number, length = options->sequence.given ? options->sequence.value : 2048;
    launch_default(&options->sequence, 2048);
    if (tokens && tokens->value && launch_number(tokens->value, 1, &number))
        launch_set(&options->microbatch, tokens, number / length > 0 ? number / length : 1);
    if (step && step->value && launch_number(step->value, 1, &number))
        launch_set(&options->batch, step, number / length);
    if (converters && strstr(converters, "Float8"))
        launch_set(&options->type, launch_argument(options, "model_spec.converters"), COST_FP8);
    name_flavor(options, function, root->text && strstr(root->text, "Config") ? NULL : root->text);
    return torchtitan_settle(options, NULL, err) && read_parts(options, root, err);
}

static void complete_titan(struct launch_options *options)
{
    launch_default(&options->microbatch, 8);
    if (!options->batch.given)
        launch_default(&options->accumulation, 1);
    torchtitan_complete(options);
    options->rank_batch.given = false;
}

/* ---- files ---- */

static bool knows(const struct launch_source *source)
{
    (void)source;
    return false;
}

const struct launch_reader recipe_bridge_reader = {"Megatron-Bridge's recipes", knows, NULL, complete_bridge};
const struct launch_reader recipe_nemo_reader = {"NeMo 2's recipes", knows, NULL, complete_bridge};
const struct launch_reader recipe_titan_reader = {"torchtitan's registry", knows, NULL, complete_titan};

/* By what the file imports. */
static const struct launch_reader *reader_of(const struct python_module *module)
{
    for (const struct python_name *name = module->names; name; name = name->next) {
        if (!name->from)
            continue;
        if (text_starts_with(name->from, "megatron.bridge"))
            return &recipe_bridge_reader;
        if (text_starts_with(name->from, "nemo.") || text_starts_with(name->from, "nemo_run"))
            return &recipe_nemo_reader;
        if (text_starts_with(name->from, "torchtitan"))
            return &recipe_titan_reader;
    }
    return NULL;
}

static void note_unfollowed(struct launch_options *options, const struct python *python)
{
    for (const struct python_field *field = python->unfollowed; field; field = field->next)
        launch_note(options, "%s (line %d) not found: its settings are unknown", field->name, field->line);
}

static bool read_function(struct launch_options *options, struct python *python,
                          const struct launch_input *input, struct error *err)
{
    static const struct launch_rules *const rules[] = {&megatron_rules, NULL}, *const titan[] = {&titan_rules,
                                                                                                 NULL};
    const struct launch_reader *reader = reader_of(python->first);
    if (!tables_ready(err))
        return false;
    if (!reader)
        return error_set(err, ERROR_INPUT,
                         "%s: not a supported recipe (Megatron-Bridge, NeMo 2, torchtitan's registry): give "
                         "its result as YAML, or the arguments of the training script",
                         input->path);
    int first = options->argument_count;
    const char *function = choose_function(options, python, input, err);
    const struct python_value *root = function ? python_call(python, function, err) : NULL;
    if (!root)
        return false;
    if (root->kind != PYTHON_OBJECT)
        return error_set(err, ERROR_INPUT, "%s: %s returns no configuration", input->path, function);
    options->reader = options->reader ? options->reader : reader->name;
    bool is_titan = reader == &recipe_titan_reader;
    if (!(is_titan ? read_titan : read_bridge)(options, root, function, err))
        return false;
    bool base = reader != &recipe_nemo_reader && root->text && root->text[0] != '?' &&
                !strstr(root->text, "Config") && !strstr(root->text, "Partial");
    if (base)
        launch_note(options, "%s not found: its settings are unknown", root->text);
    add_open(options, root, input, is_titan ? titan : rules);
    note_unfollowed(options, python);
    launch_ask_settings(options, first);
    return true;
}

bool recipe_read(struct launch_options *options, const struct launch_input *input, const char *data,
                 size_t length, struct error *err)
{
    struct python python;
    if (!python_read(&python, input->path, data, length, &options->budget, err))
        return false;
    bool ok = read_function(options, &python, input, err);
    python_release(&python);
    return ok;
}
