/* Megatron-Bridge's performance scripts: options of setup_experiment.py. The recipes themselves are Python. */
#include "launch/read/read.h"
#include "launch/shell/parts.h"

#include <string.h>

static const struct launch_rule rules[] = {
    RULE("num_gpus", NUMBER, devices),
    RULE("ng", NUMBER, devices),
    RULE("gpus_per_node", NUMBER, devices_per_node),
    RULE("gn", NUMBER, devices_per_node),
    RULE("tp", NUMBER, tensor),
    RULE("tensor_model_parallel_size", NUMBER, tensor),
    RULE("pp", NUMBER, pipeline),
    RULE("pipeline_model_parallel_size", NUMBER, pipeline),
    RULE("cp", NUMBER, context),
    RULE("context_parallel_size", NUMBER, context),
    RULE("vp", NUMBER, chunks),
    RULE("virtual_pipeline_model_parallel_size", NUMBER, chunks),
    RULE("ep", NUMBER, expert),
    RULE("mb", NUMBER, microbatch),
    RULE("micro_batch_size", NUMBER, microbatch),
    RULE("gb", NUMBER, batch),
    RULE("global_batch_size", NUMBER, batch),
    RULE("gpu", TEXT, device),
    RULE("model_recipe_name", TEXT, model_name),
    RULE("max_steps", NUMBER, steps),
    RULE_ELSEWHERE("compute_dtype"),
    RULE_NOTHING("*"),
};
static const struct launch_rules all_rules = {rules, sizeof rules / sizeof *rules, NULL};

static const struct shell_words *command_of(const struct shell *shell)
{
    for (int i = 0; shell && i < shell->command_count; i++)
        for (int j = 0; j < shell->commands[i].count; j++)
            if (strstr(shell->commands[i].items[j].text, "setup_experiment.py"))
                return &shell->commands[i];
    return NULL;
}

static bool knows(const struct launch_source *source)
{
    return command_of(source->shell);
}

static bool is_name(const char *text)
{
    return text[0] == '-' && (text[1] == '-' || (text[1] >= 'a' && text[1] <= 'z'));
}

static bool add_options(struct launch_options *options, struct shell *shell, const struct shell_words *words)
{
    for (int i = 0; i < words->count; i++) {
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

/* What a recipe decides must be given: it is Python. */
static bool miss_recipe(struct launch_options *options)
{
    const struct {
        const struct launch_value *value;
        const char *variable, *name;
    } all[] = {{&options->tensor, "TP", "tensor parallel"},
               {&options->pipeline, "PP", "pipeline parallel"},
               {&options->context, "CP", "context parallel"},
               {&options->microbatch, "MBS", "micro-batch"},
               {&options->batch, "GBS", "global batch"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *give = arena_format(&options->arena, "--set %s=N", all[i].variable);
        const char *why =
            arena_format(&options->arena, "decided by the recipe '%s', which is Python and not run",
                         options->model_name ? options->model_name : "?");
        if (!all[i].value->given && (!give || !why || !launch_miss(options, all[i].name, why, give)))
            return false;
    }
    return true;
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    struct shell_words words = {0};
    const struct shell_words *command = command_of(source->shell);
    for (int i = 0; i < command->count; i++)
        if (!shell_split(&source->shell->arena, &command->items[i], &words))
            return error_memory(err);
    if (!add_options(options, source->shell, &words))
        return error_memory(err);
    if (!launch_apply_rules(options, &all_rules, first, source->shell, err))
        return false;
    const char *type = launch_text(options, "compute_dtype");
    bool fp8 = type && strncmp(type, "fp8", 3) == 0;
    launch_set(&options->type, launch_argument(options, "compute_dtype"),
               fp8                                      ? COST_FP8
               : type && strncmp(type, "nvfp4", 5) == 0 ? COST_FP4
                                                        : COST_BF16);
    if (fp8)
        launch_set(&options->technique[TECHNIQUE_RECIPE], NULL,
                   strstr(type, "mx")   ? RECIPE_MXFP8
                   : strstr(type, "cs") ? RECIPE_TENSORWISE
                                        : RECIPE_USUAL);
    options->software = "megatron-core";
    options->device_said = "--gpu";
    return miss_recipe(options) || error_memory(err);
}

static void complete(struct launch_options *options)
{
    launch_default(&options->sharding, 1);
    launch_default(&options->sequence, 8192);
    launch_default(&options->sequence_parallel, 1);
}

const struct launch_reader bridge_reader = {"Megatron-Bridge", knows, read, complete};
