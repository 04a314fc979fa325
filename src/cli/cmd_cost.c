#include "cli/command.h"
#include "cli/cost_counts.h"
#include "cli/cost_list.h"
#include "cli/output.h"
#include "core/file.h"
#include "core/json.h"
#include "cost/link.h"
#include "cost/model_profile.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SEQUENCE 16777216

struct cost_options {
    struct option_list files;
    const char *model, *devices, *software, *across, *output;
    int64_t microbatch_size, sequence, tensor, devices_per_node, nodes;
    int precision, recompute, rules, to;
    bool list, json;
};

/* ---- devices and models by name or file ---- */

struct chosen {
    struct architecture_table models; /* of a file */
    const struct architecture *model;
    struct cost_device_table tables[PROFILE_MAX_DEVICES];
    int table_count;
    const struct cost_device *devices[PROFILE_MAX_DEVICES];
    int device_count;
};

static void release(struct chosen *chosen)
{
    architecture_table_release(&chosen->models);
    for (int i = 0; i < chosen->table_count; i++)
        cost_device_release(&chosen->tables[i]);
}

static bool is_file(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

static bool choose_model(struct chosen *chosen, const char *name, struct error *err)
{
    if (is_file(name)) {
        if (!architecture_load(&chosen->models, name, err))
            return false;
        chosen->model = &chosen->models.models[0];
        return true;
    }
    chosen->model = architecture_find(name);
    if (chosen->model)
        return true;
    const struct architecture_table *table = architectures();
    const char **names = table ? calloc((size_t)table->count, sizeof *names) : NULL;
    if (!names)
        return error_memory(err);
    for (int i = 0; i < table->count; i++)
        names[i] = table->models[i].name;
    const char *nearest = text_nearest(name, names, (size_t)table->count);
    free(names);
    if (nearest)
        return error_set(err, ERROR_USAGE, "--model: unknown '%s', did you mean '%s'?", name, nearest);
    return error_set(err, ERROR_USAGE, "--model: unknown '%s', see 'rehearse cost --list'", name);
}

/* A name, or a file with one or more. */
static bool choose_device(struct chosen *chosen, const char *name, struct error *err)
{
    struct cost_device_table *table = &chosen->tables[chosen->table_count];
    if (!cost_device_load(table, name, err)) {
        err->kind = is_file(name) ? err->kind : ERROR_USAGE;
        return false;
    }
    chosen->table_count++;
    for (int i = 0; i < table->count; i++) {
        if (chosen->device_count == PROFILE_MAX_DEVICES)
            return error_set(err, ERROR_USAGE, "--device: expected at most %d devices", PROFILE_MAX_DEVICES);
        for (int other = 0; other < chosen->device_count; other++)
            if (strcmp(chosen->devices[other]->name, table->devices[i].name) == 0)
                return error_set(err, ERROR_USAGE, "--device: '%s' is named twice", table->devices[i].name);
        chosen->devices[chosen->device_count++] = &table->devices[i];
    }
    return true;
}

/* "rtx-4090,v100-16gb,mine.yaml" */
static bool choose_devices(struct chosen *chosen, const char *list, struct error *err)
{
    for (const char *name = list; name;) {
        const char *comma = strchr(name, ',');
        char one[1024];
        size_t length = comma ? (size_t)(comma - name) : strlen(name);
        if (length == 0 || length >= sizeof one)
            return error_set(err, ERROR_USAGE,
                             "--device: expected names with commas between them, found '%s'", list);
        if (chosen->table_count == PROFILE_MAX_DEVICES)
            return error_set(err, ERROR_USAGE, "--device: expected at most %d devices", PROFILE_MAX_DEVICES);
        memcpy(one, name, length);
        one[length] = '\0';
        if (!choose_device(chosen, one, err))
            return false;
        name = comma ? comma + 1 : NULL;
    }
    return true;
}

/* ---- profiles ---- */

static bool write_profile(const struct cost_options *given, const struct profile *profile, struct error *err)
{
    struct text text = {0};
    size_t length = given->output ? strlen(given->output) : 0;
    bool folder = given->to == 1 || (length > 0 && given->output[length - 1] == '/') ||
                  (given->output && file_is_directory(given->output));
    if (folder && !given->output)
        return error_set(err, ERROR_USAGE, "--to oobleck writes a folder: name it with --output");
    if (folder)
        return profile_save_oobleck(profile, given->output, err);
    if (given->json || given->output)
        profile_write_json(profile, &text);
    else
        profile_print(profile, &text);
    bool printed = output_text(given->output, &text, err);
    text_release(&text);
    return printed;
}

static bool price_model(const struct cost_options *given, struct chosen *chosen, struct error *err)
{
    struct profile profile;
    struct model_options options = {
        .microbatch = given->microbatch_size,
        .sequence = given->sequence,
        .precision = (enum model_precision)given->precision,
        .tensor = (int)given->tensor,
        .recompute = (enum recompute)given->recompute,
        .software = software_find(given->software),
        .devices_per_node = (int)given->devices_per_node,
        .nodes = (int)given->nodes,
        .across = given->across,
    };
    if (!given->devices)
        return error_set(err, ERROR_USAGE, "--device is needed; 'rehearse cost --list' shows what there is");
    if (!options.software)
        return error_set(err, ERROR_USAGE, "--software: unknown '%s', see 'rehearse cost --list'",
                         given->software);
    if (!cost_link_find(given->across))
        return error_set(err, ERROR_USAGE, "--across: unknown link '%s', see 'rehearse cost --list'",
                         given->across);
    if (!choose_model(chosen, given->model, err) || !choose_devices(chosen, given->devices, err) ||
        !model_profile(&profile, chosen->model, chosen->devices, chosen->device_count, &options, err))
        return false;
    bool written = write_profile(given, &profile, err);
    profile_release(&profile);
    return written;
}

/* ---- counts ---- */

static bool count_file(const struct cost_options *given, const char *path, struct json *json,
                       struct text *out, struct error *err)
{
    struct hlo_module module;
    struct module_count count;
    struct count_options options = {.rules = (enum count_rules)given->rules};
    if (!hlo_load(&module, path, err))
        return false;
    bool counted = module_count(&count, &module, &options, err);
    if (counted) {
        if (given->json)
            cost_counts_write(&module, &count, json);
        else
            cost_counts_print(&module, &count, out);
        module_count_release(&count);
    }
    hlo_release(&module);
    return counted;
}

/* One file is one map, several are a list of them. */
static bool count_files(const struct cost_options *given, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    bool several = given->files.count > 1, done = true;
    if (given->json && several)
        json_open(&json, NULL, '[');
    if (!given->json)
        cost_counts_print_header(&text);
    for (size_t i = 0; i < given->files.count && done; i++) {
        if (given->json)
            json_open(&json, NULL, '{');
        done = count_file(given, given->files.items[i], &json, &text, err);
        if (given->json)
            json_close(&json);
    }
    if (given->json && several)
        json_close(&json);
    done = done && output_text(given->output, &text, err);
    text_release(&text);
    return done;
}

/* ---- the command ---- */

static bool list(const struct cost_options *given, struct error *err)
{
    struct text text = {0};
    if (given->json)
        cost_list_write(&text);
    else
        cost_list_print(&text);
    bool printed = output_text(given->output, &text, err);
    text_release(&text);
    return printed;
}

static bool run(void *context, struct error *err)
{
    const struct cost_options *given = context;
    struct chosen chosen = {0};
    bool done;
    if (given->list)
        return list(given, err);
    if (given->model && given->files.count > 0)
        return error_set(err, ERROR_USAGE, "expected files or --model, found both");
    if (given->model)
        done = price_model(given, &chosen, err);
    else if (given->files.count > 0)
        done = count_files(given, err);
    else
        return error_set(
            err, ERROR_USAGE,
            "expected --model or files of HLO; 'rehearse cost --list' shows what models there are");
    release(&chosen);
    return done;
}

/* In the order of enum model_precision, enum recompute. */
static const char *const precisions[] = {"mixed", "fp32", "fp8", NULL};
static const char *const recomputes[] = {"none", "selective", "full", NULL};
static const char *const formats[] = {"json", "oobleck", NULL};

static const struct option_spec options[] = {
    {.name = "model",
     .letter = 'm',
     .kind = OPTION_TEXT,
     .at = offsetof(struct cost_options, model),
     .argument = "NAME",
     .help = "the model: gpt2-xl, llama-3-8b, ..., or a file that describes one (rehearse-architecture/1)"},
    {.name = "device",
     .letter = 'd',
     .kind = OPTION_TEXT,
     .at = offsetof(struct cost_options, devices),
     .argument = "NAME,...",
     .help = "the device types, with commas between them: rtx-4090,v100-16gb,mine.yaml"},
    {.name = "microbatch-size",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct cost_options, microbatch_size),
     .argument = "N",
     .initial = "1",
     .least = 1,
     .most = PROFILE_MAX_MICROBATCH,
     .help = "samples in a micro-batch"},
    {.name = "sequence",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct cost_options, sequence),
     .argument = "N",
     .initial = "0",
     .most = MAX_SEQUENCE,
     .help = "tokens in a sample; 0 is what the model was trained on"},
    {.name = "precision",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct cost_options, precision),
     .argument = "NAME",
     .initial = "mixed",
     .words = precisions,
     .help = "mixed multiplies in bf16 (fp16 where there is none) and keeps 16 bits, fp32 multiplies in tf32 "
             "where "
             "there is one and keeps 32 bits, fp8 multiplies in 8 bits"},
    {.name = "tensor",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct cost_options, tensor),
     .argument = "N",
     .initial = "1",
     .least = 1,
     .most = 1024,
     .help = "tensor parallel degree: devices of a node that share each layer"},
    {.name = "recompute",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct cost_options, recompute),
     .argument = "WHAT",
     .initial = "none",
     .words = recomputes,
     .help = "what the backward pass computes again instead of keeping it"},
    {.name = "software",
     .kind = OPTION_TEXT,
     .at = offsetof(struct cost_options, software),
     .argument = "NAME",
     .initial = "fsdp",
     .help = "the training software: how attention is computed and what is fused"},
    {.name = "devices-per-node",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct cost_options, devices_per_node),
     .argument = "N",
     .initial = "8",
     .most = 1024,
     .help = "all-reduce times inside a node for up to N devices; 0 leaves them out"},
    {.name = "nodes",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct cost_options, nodes),
     .argument = "N",
     .initial = "16",
     .most = 65536,
     .help = "all-reduce times across up to N nodes; 0 leaves them out"},
    {.name = "across",
     .kind = OPTION_TEXT,
     .at = offsetof(struct cost_options, across),
     .argument = "LINK",
     .initial = "ib-200g",
     .help = "the link between nodes"},
    {.name = "rules",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct cost_options, rules),
     .argument = "NAME",
     .initial = "rehearse",
     .words = cost_rules,
     .help = "how the operations and bytes of HLO files are counted; xla and xla-gpu as XLA does"},
    {.name = "list",
     .kind = OPTION_FLAG,
     .at = offsetof(struct cost_options, list),
     .help = "show the models, devices, links and software there are"},
    {.name = "to",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct cost_options, to),
     .argument = "FORMAT",
     .initial = "json",
     .words = formats,
     .help = "json is rehearse-profile/1; oobleck is a folder, or one folder per device type, also when "
             "--output is a "
             "folder"},
    OPTION_JSON(struct cost_options),
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .at = offsetof(struct cost_options, output),
     .argument = "OUT",
     .help = "write the profile to this file or folder"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse cost --model gpt2-xl --device rtx-4090,v100-16gb -o profile.json", "a profile to plan with"},
    {"rehearse cost --model llama-3-8b --device h100 --tensor 8",
     "look at the layers, each on eight devices"},
    {"rehearse cost layer.mlir --json", "operations and bytes of a module"},
    {"rehearse cost --list", "models, devices, links and software"},
    {NULL, NULL},
};

const struct command command_cost = {
    .name = "cost",
    .summary = "make a profile from HLO or from published numbers of a model and of devices",
    .description = "Computes what each layer of a model takes on each device type: every kernel of the "
                   "layer's forward and "
                   "backward pass, timed by tiles and waves of matrix products, memory traffic and launches, "
                   "with parameters "
                   "fitted to measurements (docs/cost.md says which, and how far off they are).\n\n"
                   "The model is one of a table, a file with its numbers, or files of HLO, StableHLO or MHLO "
                   "text. Of files "
                   "alone, without devices, operations and bytes are counted.",
    .options = options,
    .options_size = sizeof(struct cost_options),
    .operands = {.name = "FILE",
                 .help = "HLO, StableHLO or MHLO text: one layer per file, in order",
                 .at = offsetof(struct cost_options, files)},
    .examples = examples,
    .run = run,
};
