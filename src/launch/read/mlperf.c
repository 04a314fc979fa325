/* MLPerf Training: the exports of submissions with NeMo or with AMD's code, and the files that they source. */
#include "launch/read/read.h"
#include "launch/shell/parts.h"

#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct launch_rules all_rules = {.table = "mlperf"};

/* A variable with options of Megatron-LM is no export of MLPerf. */
static bool has_options(const struct shell *shell)
{
    for (int i = 0; i < shell->variable_count; i++)
        for (int j = 0; j < shell->variables[i].values.count; j++)
            if (strstr(shell->variables[i].values.items[j].text, "-size ") ||
                strstr(shell->variables[i].values.items[j].text, "--num-"))
                return true;
    for (int i = 0; i < shell->command_count; i++)
        for (int j = 0; j < shell->commands[i].count; j++)
            if (strstr(shell->commands[i].items[j].text, ".py") ||
                strncmp(shell->commands[i].items[j].text, "--", 2) == 0)
                return true;
    return false;
}

static bool knows(const struct launch_source *source)
{
    const struct shell *shell = source->shell;
    if (!shell || has_options(shell))
        return false;
    bool batch = shell_find(shell, "MBS") || shell_find(shell, "GBS") || shell_find(shell, "MINIBS");
    return shell_find(shell, "TENSOR_MODEL_PARALLEL") || shell_find(shell, "MINIBS") ||
           (shell_find(shell, "TP") && shell_find(shell, "PP") && batch);
}

static bool add_variables(struct launch_options *options, struct shell *shell, struct error *err)
{
    for (int i = 0; i < shell->variable_count; i++) {
        const struct shell_variable *variable = &shell->variables[i];
        const char *value =
            variable->values.count > 0 ? shell_plain(&shell->arena, variable->values.items[0].text) : "";
        if (!variable->name[0] || variable->is_array)
            continue;
        if (!value || !launch_add(options, variable->name, value, variable->path ? variable->path : "--set",
                                  variable->line))
            return error_memory(err);
    }
    return true;
}

/* Adds NAME = DEFAULT of "${oc.env:NAME,DEFAULT}" in a line, if no export has it and it matters. */
static bool add_defaults_of(struct launch_options *options, const char *line, const char *end,
                            const char *path, int number)
{
    static const char begin[] = "${oc.env:";
    for (const char *at = line; (at = strstr(at, begin)) != NULL && at < end;) {
        char name[64], value[64];
        at += sizeof begin - 1;
        size_t length = strcspn(at, ",}\n");
        if (at[length] != ',' || length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length + 1;
        length = strcspn(at, "}\n");
        snprintf(value, sizeof value, "%.*s", (int)(length < 63 ? length : 63), at);
        if (at[length] != '}' || length >= sizeof value || strchr(value, '$') ||
            !launch_has_rule(&all_rules, name) || launch_argument(options, name))
            continue;
        if (!launch_add(options, name, value, path, number))
            return false;
    }
    return true;
}

/* What no export says, the training's own configuration beside the file does. */
static bool add_defaults(struct launch_options *options, const char *path, struct error *err)
{
    const char *own = launch_find_above(options, path, "conf/custom.yaml");
    char *data = NULL;
    size_t length;
    int number = 1;
    bool ok = true;
    if (!own || !launch_budget_read(&options->budget, own, &data, &length, err))
        return !own;
    for (const char *line = data, *end; ok && *line; line = end + (*end != '\0'), number++) {
        end = line + strcspn(line, "\n");
        ok = add_defaults_of(options, line, end, own, number) || error_memory(err);
    }
    free(data);
    return ok;
}

/* Fine-tuning of Llama 2 70B had its own, short names, and no size: there is one model of each benchmark. */
static bool choose_model(struct launch_options *options)
{
    const char *size = launch_text(options, "MODEL_SIZE"), *path = options->path;
    size = size ? size : launch_text(options, "SIZE");
    bool own_names = !launch_argument(options, "TENSOR_MODEL_PARALLEL") &&
                     launch_argument(options, "MINIBS") && !launch_argument(options, "MBS");
    bool lora = strstr(path, "lora") || launch_argument(options, "LORA_A2A") || (own_names && !size);
    if (lora) {
        options->model_name = "llama-2-70b";
        launch_default(&options->frozen, 1);
        launch_default(&options->sequence, 8192);
        /* packed questions of GovReport, some thousand tokens each; a sequence holds one */
        return launch_note(options,
                           "the benchmark's model is Llama 2 70B, fine-tuned with LoRA on sequences of 8192");
    }
    if (size) {
        options->model_name = arena_format(&options->arena, "llama-3.1-%s", size);
        launch_default(&options->sequence, 8192);
        return options->model_name;
    }
    options->model_name = "gpt3-175b";
    launch_default(&options->sequence, 2048);
    if (options->pipeline.given && 96 % (12 * options->pipeline.value) == 0 && options->pipeline.value > 1 &&
        !launch_argument(options, "INTERLEAVED_PIPELINE")) {
        launch_set(&options->chunks, NULL, 12); /* conf/custom.yaml of versions 3.0 to 4.0 */
        if (!launch_note(options, "no INTERLEAVED_PIPELINE: the benchmark's own configuration has 12 chunks"))
            return false;
    }
    return launch_note(options, "no MODEL_SIZE: the benchmark's model is GPT-3 175B");
}

/* Fine-tuning: the frozen weights are in the products' 8 bits, and so may be SwiGLU's input that is kept. Every published
 * submission computes in 8 or 4 bits; the common file that says so is not always there. */
static bool settle_lora(struct launch_options *options, const struct shell *shell)
{
    if (!options->frozen.given)
        return true;
    if (!launch_argument(options, "FP8") && !launch_argument(options, "FP4") && shell->absent.count > 0) {
        launch_set(&options->fp8, NULL, 1);
        if (!launch_note(options, "no FP8: the benchmark's common file sets it, and fp8 is priced"))
            return false;
    }
    bool narrow = (options->fp8.given && options->fp8.value) || (options->fp4.given && options->fp4.value);
    if (narrow)
        launch_set(&options->technique[TECHNIQUE_PARAMETERS], launch_argument(options, "FP8"), FORMAT_FP8);
    if (narrow && (launch_is_on(options, "FP8_ACT") || launch_is_on(options, "FP8_ACTIVATION")))
        launch_set(&options->technique[TECHNIQUE_ACTIVATIONS], launch_argument(options, "FP8_ACT"),
                   FORMAT_FP8);
    return true;
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    if (!add_variables(options, source->shell, err) ||
        (!source->input->is_alone && !add_defaults(options, source->path, err)) ||
        !launch_apply_rules(options, &all_rules, first, source->shell, err))
        return false;
    options->software = "megatron-core-2024";
    if (launch_is_on(options, "FP8_PARAMS") || launch_is_on(options, "FP8_PARAM_GATHER"))
        if (options->fp8.given)
            launch_set(&options->technique[TECHNIQUE_PARAMETERS], launch_argument(options, "FP8"),
                       FORMAT_FP8);
    if (!options->device) {
        const char *slash = strrchr(source->path, '/');
        options->device = launch_device_in(slash ? slash + 1 : source->path);
        options->device_said = "the file's name";
    }
    if (launch_argument(options, "SIZE") && launch_argument(options, "MBS") && !options->fp8.given &&
        !options->fp4.given) {
        launch_set(&options->fp8, launch_argument(options, "FP8_PARAMS"),
                   1); /* src/train.py of AMD's submissions */
        if (!launch_note(options, "AMD's training script computes in fp8 (hybrid)"))
            return error_memory(err);
    }
    if (launch_argument(options, "FP8") && launch_argument(options, "FP4") && options->fp4.given)
        options->fp8.given = false;
    return (options->model_name || choose_model(options) || error_memory(err)) &&
           (settle_lora(options, source->shell) || error_memory(err)) && launch_settle_megatron(options, err);
}

static void complete(struct launch_options *options)
{
    launch_default(&options->devices_per_node, 8);
    launch_default(&options->microbatch, 1);
    launch_default(&options->sharding, 1);
    launch_default(&options->sequence_parallel, 1);
    launch_default(&options->type, COST_BF16);
}

const struct launch_reader mlperf_reader = {"MLPerf's exports", knows, read, complete};
