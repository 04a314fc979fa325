/* Megatron-Bridge's performance scripts: options of setup_experiment.py. The recipes themselves are Python. */
#include "launch/read/read.h"
#include "launch/shell/parts.h"

#include <string.h>

static const struct launch_rules all_rules = {.table = "bridge"};

/* Does a text run one of the scripts? run_script.py is a name that others have, too. */
static bool runs(const char *text, bool has_type)
{
    return strstr(text, "setup_experiment.py") || (has_type && strstr(text, "run_script.py"));
}

static const struct shell_words *command_of(const struct shell *shell)
{
    for (int i = 0; shell && i < shell->command_count; i++) {
        const struct shell_words *command = &shell->commands[i];
        bool has_type = false;
        for (int j = 0; j < command->count; j++)
            has_type |= strstr(command->items[j].text, "--compute_dtype") != NULL;
        for (int j = 0; j < command->count; j++)
            if (runs(command->items[j].text, has_type))
                return command;
    }
    return NULL;
}

/* The same in a here document, which the launcher's processes run. */
static const struct shell_document *document_of(const struct shell *shell)
{
    for (int i = 0; shell && i < shell->document_count; i++)
        if (runs(shell->documents[i].text, strstr(shell->documents[i].text, "--compute_dtype")))
            return &shell->documents[i];
    return NULL;
}

static bool knows(const struct launch_source *source)
{
    return command_of(source->shell) || document_of(source->shell);
}

/* Splits the command of a script in a document, up to the end of its line. */
static bool split_document(struct shell *shell, const struct shell_document *document,
                           struct shell_words *words)
{
    const char *text = shell_plain(&shell->arena, document->text);
    const char *script = text ? strstr(text, "setup_experiment.py") : NULL;
    script = script || !text ? script : strstr(text, "run_script.py");
    const char *end = script;
    struct shell_word word = {.path = document->path, .line = document->line};
    if (!script)
        return false;
    for (const char *at = text; at < script; at++)
        word.line += *at == '\n';
    while (*end && (*end != '\n' || end[-1] == '\\'))
        end++;
    word.text = arena_copy(&shell->arena, script, (size_t)(end - script));
    return word.text && shell_split(&shell->arena, &word, words);
}

static bool is_name(const char *text)
{
    return text[0] == '-' && (text[1] == '-' || (text[1] >= 'a' && text[1] <= 'z'));
}

static bool add_options(struct launch_options *options, struct shell *shell, const struct shell_words *words)
{
    int first = 0; /* what stands before the script is its launcher's */
    while (first < words->count && !runs(words->items[first].text, true))
        first++;
    for (int i = first < words->count ? first : 0; i < words->count; i++) {
        const char *name = shell_plain(&shell->arena, words->items[i].text), *value = NULL;
        if (!name)
            return false;
        if (!is_name(name))
            continue;
        const char *equals = strchr(name, '=');
        if (equals) {
            value = equals + 1;
            name = arena_copy(&shell->arena, name, (size_t)(equals - name));
        } else if (i + 1 < words->count && !is_name(words->items[i + 1].text))
            value = shell_plain(&shell->arena, words->items[i + 1].text);
        if (!name || !launch_add(options, name, value, words->items[i].path, words->items[i].line))
            return false;
    }
    return true;
}

/* Values that a recipe sets must be given: its Python is not run. */
static void miss_recipe(struct launch_options *options)
{
    const struct {
        const struct launch_value *value;
        const char *variable, *name;
    } all[] = {{&options->tensor, "TP", "the tensor parallel degree"},
               {&options->pipeline, "PP", "the pipeline parallel degree"},
               {&options->context, "CP", "the context parallel degree"},
               {&options->microbatch, "MBS", "the micro-batch size"},
               {&options->batch, "GBS", "the global batch size"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *give = arena_format(&options->arena, "--set %s=N", all[i].variable);
        const char *why = arena_format(&options->arena, "is set by the recipe '%s', which is not run",
                                       options->model_name ? options->model_name : "?");
        if (!all[i].value->given)
            launch_miss(options, all[i].name, why, give);
    }
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    struct shell_words words = {0};
    const struct shell_words *command = command_of(source->shell);
    if (!command && !split_document(source->shell, document_of(source->shell), &words))
        return error_memory(err);
    for (int i = 0; command && i < command->count; i++)
        if (!shell_split(&source->shell->arena, &command->items[i], &words))
            return error_memory(err);
    if (!add_options(options, source->shell, &words))
        return error_memory(err);
    if (!launch_apply_rules(options, &all_rules, first, source->shell, err))
        return false;
    const char *family = launch_text(options, "model_name"), *size = launch_text(options, "model_size");
    if (!options->model_name && family && size)
        options->model_name = arena_format(&options->arena, "%s_%s", family, size);
    options->model_name = launch_recipe_model(options, options->model_name);
    launch_default(&options->type, COST_BF16);
    if (options->type.value != COST_FP8)
        options->technique[TECHNIQUE_RECIPE].given = false;
    const struct launch_argument *layout = launch_argument(options, "pipeline_model_parallel_layout");
    if (layout && launch_is_on(options, layout->name) && !launch_read_layout(options, layout, err))
        return false;
    if (options->expert.given && options->expert.value > 1 && options->expert_tensor.given)
        options->technique[TECHNIQUE_EXPERT_TENSOR] = options->expert_tensor;
    if (!options->expert.given || options->expert.value < 2)
        options->technique[TECHNIQUE_EXPERT_OVERLAP].given = options->technique[TECHNIQUE_DISPATCH].given =
            false;
    launch_settle_optimizer(options, "optimizer_type");
    options->software = "megatron-core";
    options->device_said = "--gpu";
    miss_recipe(options);
    return true;
}

static void complete(struct launch_options *options)
{
    launch_default(&options->sharding, 1);
    launch_default(&options->sequence, 8192);
    launch_default(&options->sequence_parallel, 1);
}

const struct launch_reader bridge_reader = {"Megatron-Bridge", knows, read, complete};
