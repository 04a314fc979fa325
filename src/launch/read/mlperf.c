/* MLPerf Training: the exports of submissions with NeMo or with AMD's code, and the files that they source. */
#include "launch/read/read.h"

#include "devices/architecture_config.h"
#include "launch/shell/parts.h"

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
        const struct launch_rule *end;
        bool part = variable->is_used && !launch_table_rule(all_rules.table, variable->name, &end);
        if (!variable->name[0] || variable->is_array ||
            part) /* part of another's value, which has its own name */
            continue;
        if (!value)
            return error_memory(err);
        launch_add(options, variable->name, value, variable->path ? variable->path : "--set", variable->line);
    }
    return true;
}

/* Adds NAME = DEFAULT of "${oc.env:NAME,DEFAULT}" in a line, if no export has it and it matters. */
static void add_defaults_of(struct launch_options *options, const char *line, const char *end,
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
        launch_add(options, name, value, path, number);
    }
}

/* What no export says, the training's own configuration beside the file does. */
static bool add_defaults(struct launch_options *options, const char *path, struct error *err)
{
    const char *own = launch_find_above(options, path, "conf/custom.yaml");
    char *data = NULL;
    size_t length;
    int number = 1;
    if (!own || !launch_budget_read(&options->budget, own, &data, &length, err))
        return !own;
    for (const char *line = data, *end; *line; line = end + (*end != '\0'), number++) {
        end = line + strcspn(line, "\n");
        add_defaults_of(options, line, end, own, number);
    }
    free(data);
    return true;
}

struct benchmark {
    const char *size, *word; /* of MODEL_SIZE, and in names of files */
    const char *model;
    int64_t sequence;
    bool has_experts;
};

/* The models of MLPerf Training v2.1 to v6.0, by the words of submissions; longer ones first. */
static const struct benchmark benchmarks[] = {
    {"671b", "deepseek", "deepseek-v3", 4096, true}, {"20b", "gpt_oss", "gpt-oss-20b", 8192, true},
    {"20b", "gpt-oss", "gpt-oss-20b", 8192, true},   {"405b", "405b", "llama-3.1-405b", 8192, false},
    {"70b", "31_70b", "llama-3.1-70b", 8192, false}, {"8b", "31_8b", "llama-3.1-8b", 8192, false},
    {"8b", "_8b", "llama-3.1-8b", 8192, false},      {"175b", "gpt3", "gpt3-175b", 2048, false},
};

#define BENCHMARKS (sizeof benchmarks / sizeof *benchmarks)

static const struct benchmark *benchmark_in(const char *text)
{
    for (size_t i = 0; text && i < BENCHMARKS; i++)
        if (strcasestr(text, benchmarks[i].word))
            return &benchmarks[i];
    return NULL;
}

/* Returns the benchmark by MODEL_SIZE, by the names of the submission, of the file and its folders, and of files that
 * it sources; NULL: none says it. */
static const struct benchmark *find_benchmark(const struct launch_options *options, const char *size,
                                              const struct shell *shell)
{
    for (size_t i = 0; size && i < BENCHMARKS; i++)
        if (strcasecmp(size, benchmarks[i].size) == 0)
            return &benchmarks[i];
    const struct benchmark *found = benchmark_in(launch_text(options, "MLLOG_SUBMISSION_BENCHMARK"));
    found = found ? found : benchmark_in(options->path);
    for (int i = 0; !found && i < shell->absent.count; i++)
        found = benchmark_in(basename(shell->absent.items[i].text));
    return found;
}

/* Settings of experts, or at least so many parallel ranks of them; every configuration may say one. */
static bool has_experts(const struct launch_options *options, int64_t ranks)
{
    for (int i = 0; i < options->argument_count; i++)
        if (strncmp(options->arguments[i].name, "MOE_", 4) == 0)
            return true;
    return options->expert.given && options->expert.value >= ranks;
}

static void choose_llama_lora(struct launch_options *options)
{
    options->model_name = "llama-2-70b";
    launch_default(&options->frozen, 1);
    launch_default(&options->technique[TECHNIQUE_TARGETS],
                   TARGETS_ATTENTION); /* by the rules of the benchmark */
    launch_default(&options->sequence, 8192);
    /* packed questions of GovReport, some thousand tokens each; a sequence holds one */
    launch_note(options, "the benchmark's model is Llama 2 70B, fine-tuned with LoRA on sequences of 8192");
}

/* Fine-tuning of Llama 2 70B had its own, short names, and no size: there is one model of each benchmark. */
static void choose_model(struct launch_options *options, const struct shell *shell)
{
    const char *size = launch_text(options, "MODEL_SIZE"), *path = options->path;
    size = size ? size : launch_text(options, "SIZE");
    bool own_names = !launch_argument(options, "TENSOR_MODEL_PARALLEL") &&
                     launch_argument(options, "MINIBS") && !launch_argument(options, "MBS");
    if (strstr(path, "lora") || launch_argument(options, "LORA_A2A") || (own_names && !size)) {
        choose_llama_lora(options);
        return;
    }
    const struct benchmark *benchmark = find_benchmark(options, size, shell);
    bool said = benchmark;
    if (!benchmark &&
        (size || has_experts(options, 1) ||
         (!launch_argument(options, "TENSOR_MODEL_PARALLEL") && !launch_argument(options, "MINIBS")))) {
        bool experts = !size && has_experts(options, 1);
        launch_miss(options, "the model",
                    size      ? "is not known by MODEL_SIZE"
                    : experts ? "has experts, and no file says its size"
                              : "is said by no file: these names of variables are many scripts'",
                    size      ? "-m NAME"
                    : experts ? "--set MODEL_SIZE=20b (gpt-oss) or 671b (DeepSeek-V3)"
                              : "-m NAME, or for one of MLPerf's --set MODEL_SIZE=175b, 405b, 70b or 8b");
        return;
    }
    benchmark = benchmark ? benchmark : &benchmarks[BENCHMARKS - 1];
    options->model_name = benchmark->model;
    if (benchmark->has_experts)
        options->software = "megatron-core";
    launch_default(&options->sequence, benchmark->sequence);
    const struct architecture *model = architecture_of_checkpoint(benchmark->model);
    if (model) /* its configuration has all other sizes */
        launch_default(&options->vocabulary, model->vocabulary);
    bool later = strcmp(benchmark->size, "175b") != 0;
    if (later &&
        launch_argument(options,
                        "TENSOR_MODEL_PARALLEL")) /* grad_reduce_in_fp32 in NVIDIA's pretrain.py since 5.0 */
        launch_default(&options->technique[TECHNIQUE_GRADIENTS], FORMAT_BF16);
    if (later && !size)
        launch_note(options, "no MODEL_SIZE: the names of files say %s", benchmark->model);
    if (later)
        return;
    if (options->pipeline.given && 96 % (12 * options->pipeline.value) == 0 && options->pipeline.value > 1 &&
        !launch_argument(options, "INTERLEAVED_PIPELINE")) {
        launch_set(&options->chunks, NULL, 12); /* conf/custom.yaml of versions 3.0 to 4.0 */
        launch_note(options, "no INTERLEAVED_PIPELINE: the benchmark's own configuration has 12 chunks");
    }
    if (!said)
        launch_note(options, "no MODEL_SIZE: the benchmark's model is GPT-3 175B");
}

/* Is a word in the name of the file, or of one that it sources and that is not there? */
static bool is_named(const struct launch_options *options, const struct shell *shell, const char *word)
{
    bool is_it = strcasestr(basename(options->path), word);
    for (int i = 0; !is_it && i < shell->absent.count; i++)
        is_it = strcasestr(basename(shell->absent.items[i].text), word);
    return is_it;
}

/* Every published submission since version 3.0 computes in 8 or 4 bits; the common file that says so is not always
 * there. */
static void settle_precision(struct launch_options *options, const struct shell *shell)
{
    bool said = launch_argument(options, "FP8") || launch_argument(options, "FP4");
    if (!said && is_named(options, shell, "common")) {
        bool four = is_named(options, shell, "fp4");
        launch_set(four ? &options->fp4 : &options->fp8, NULL, 1);
        launch_note(options, "no FP8: the benchmark's common file sets it, and %s is priced",
                    four ? "fp4" : "fp8");
    }
    if (options->fp8.given && options->fp8.value && is_named(options, shell, "mxfp8"))
        launch_default(&options->technique[TECHNIQUE_RECIPE], RECIPE_MXFP8);
}

/* Fine-tuning: the frozen weights are in the products' 8 bits, and so may be SwiGLU's input that is kept. */
static void settle_lora(struct launch_options *options, const struct shell *shell)
{
    settle_precision(options, shell);
    if (!options->frozen.given)
        return;
    bool narrow = (options->fp8.given && options->fp8.value) || (options->fp4.given && options->fp4.value);
    if (narrow)
        launch_set(&options->technique[TECHNIQUE_PARAMETERS], launch_argument(options, "FP8"), FORMAT_FP8);
    if (narrow && (launch_is_on(options, "FP8_ACT") || launch_is_on(options, "FP8_ACTIVATION")))
        launch_set(&options->technique[TECHNIQUE_ACTIVATIONS], launch_argument(options, "FP8_ACT"),
                   FORMAT_FP8);
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    if (!add_variables(options, source->shell, err) ||
        (!source->input->is_alone && !add_defaults(options, source->path, err)) ||
        !launch_apply_rules(options, &all_rules, first, source->shell, err))
        return false;
    options->software = "megatron-core-2024";
    static const char *const narrow[] = {"FP8_PARAMS", "FP8_PARAM_GATHER", "FP8_PARAM", "FP4_PARAM",
                                         "FP4_PARAM_GATHER"};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (launch_is_on(options, narrow[i]) && (i < 3 ? options->fp8.given : options->fp4.given))
            launch_set(&options->technique[TECHNIQUE_PARAMETERS], launch_argument(options, narrow[i]),
                       i < 3 ? FORMAT_FP8 : FORMAT_FP4);
    if (!options->device) {
        options->device = launch_device_in(basename(source->path));
        options->device_said = "the file's name";
    }
    if (launch_argument(options, "SIZE") && launch_argument(options, "MBS") && !options->fp8.given &&
        !options->fp4.given) {
        launch_set(&options->fp8, launch_argument(options, "FP8_PARAMS"),
                   1); /* src/train.py of AMD's submissions */
        launch_note(options, "AMD's training script computes in fp8 (hybrid)");
    }
    if (launch_argument(options, "FP8") && launch_argument(options, "FP4") && options->fp4.given)
        options->fp8.given = false;
    /* models with experts came with version 6.0, as did these graphs */
    if (has_experts(options, 2) || launch_is_on(options, "CUDA_GRAPH_IMPLEMENTATION"))
        options->software = "megatron-core";
    if (options->expert.given) /* conf/gpt_oss.yaml */
        launch_default(&options->expert_tensor, 1);
    const struct launch_argument *layout = launch_argument(options, "PIPELINE_LAYOUT");
    if (layout && launch_is_on(options, layout->name) && !launch_read_layout(options, layout, err))
        return false;
    if (!options->model_name)
        choose_model(options, source->shell);
    settle_lora(options, source->shell);
    return launch_settle_megatron(options, err);
}

static void complete(struct launch_options *options)
{
    launch_default(&options->devices_per_node, 8);
    launch_default(&options->microbatch, 1);
    launch_default(&options->sharding,
                   !options->distributed_optimizer.given || options->distributed_optimizer.value);
    launch_default(&options->sequence_parallel, 1);
    launch_default(&options->type, COST_BF16);
}

const struct launch_reader mlperf_reader = {"MLPerf's exports", knows, read, complete};
