#include "cli/command.h"
#include "cli/cost/choose.h"
#include "cli/cost/dims.h"
#include "cli/cost/explain.h"
#include "cli/cost/interval.h"
#include "cli/output.h"
#include "core/file.h"
#include "core/json.h"
#include "core/vector.h"
#include "cost/count/custom_calls.h"
#include "cost/layer.h"
#include "cost/model_profile.h"
#include "devices/calibration.h"
#include "devices/link.h"
#include "devices/tables.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SEQUENCE     16777216
#define MAX_ARGUMENTS    1000000
#define SOFTWARE         "fsdp"
#define EXPLAINED_DEVICE "h100-sxm" /* where none is named */

enum format { FORMAT_BY_OUTPUT, FORMAT_JSON, FORMAT_OOBLECK };

struct cost_options {
    struct option_list files, backward, dims;
    const char *model, *devices, *software, *across, *links, *calibration, *parameters, *custom_calls,
        *output;
    int64_t microbatch_size, sequence, tensor, devices_per_node, nodes;
    int precision, recompute, attention, rules, to;
    bool explain, wide, keep_all, no_tf32, first, list, json;
};

/* ---- profiles ---- */

static bool write_profile(const struct cost_options *given, const struct profile *profile, struct error *err)
{
    struct text text = {0};
    size_t length = given->output ? strlen(given->output) : 0;
    enum file_kind kind = FILE_NONE;
    if (given->output && !file_look(given->output, &kind, err))
        return false;
    bool folder = (length > 0 && given->output[length - 1] == '/') || kind == FILE_FOLDER;
    if (given->to == FORMAT_OOBLECK && !given->output)
        return error_set(err, ERROR_USAGE, "--to oobleck writes a folder: name it with --output");
    if (given->to == FORMAT_JSON && folder)
        return error_set(err, ERROR_USAGE, "--to json writes a file: --output '%s' is a folder",
                         given->output);
    if (folder || given->to == FORMAT_OOBLECK)
        return profile_save_oobleck(profile, given->output, err);
    if (given->json || given->output)
        profile_write_json(profile, &text);
    else
        profile_print(profile, &text);
    return output_and_release(given->output, &text, err);
}

static bool unknown_link(const struct cost_options *given, struct error *err)
{
    return tables_unknown(TABLE_LINKS, "--across: ", given->across, err);
}

static bool price_model(const struct cost_options *given, struct cost_chosen *chosen, struct error *err)
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
        .tables = &chosen->added,
    };
    if (!given->devices)
        return error_set(err, ERROR_USAGE, "--device is needed; 'rehearse cost --list' shows what there is");
    if (!options.software)
        return software_unknown(given->software, err);
    if (!tables_ready(err))
        return false;
    if (!tables_link(&chosen->added, given->across))
        return unknown_link(given, err);
    if (!cost_choose_model(chosen, given->model, err) || !cost_choose_devices(chosen, given->devices, err) ||
        !model_profile(&profile, chosen->model, chosen->devices, chosen->device_count, &options, err))
        return false;
    bool written = cost_interval_note(&profile, chosen->model, chosen->devices, &options, err) &&
                   write_profile(given, &profile, err);
    profile_release(&profile);
    return written;
}

/* ---- files ---- */

/* What files are read with. */
struct file_options {
    struct hlo_dims dims;
    struct custom_calls added;
    const struct custom_calls *custom_calls; /* `added`; NULL: none */
};

/* How files of HLO are priced. */
struct price_request {
    struct layer_profile_options options;
    struct layer_file *files;
    int *parameters;
    size_t parameter_capacity;
};

/* Reads "2-17,20", in any order. */
static bool read_parameters(const char *list, struct price_request *pricing, struct error *err)
{
    struct layer_options *options = &pricing->options.layer;
    for (const char *at = list; at;) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        bool read = end > at && *at >= '0' && *at <= '9';
        if (read && *end == '-') {
            at = end + 1;
            last = strtol(at, &end, 10);
            read = end > at && *at >= '0' && *at <= '9';
        }
        if (!read || (*end && *end != ',') || first > last || last >= MAX_ARGUMENTS)
            return error_set(err, ERROR_USAGE,
                             "--parameters: expected numbers of arguments such as 2-17,20; found '%s'", list);
        for (long i = first; i <= last; i++)
            if (!VECTOR_ADD(pricing->parameters, options->parameter_count, pricing->parameter_capacity,
                            (int)i))
                return error_memory(err);
        options->parameters = pricing->parameters;
        at = *end ? end + 1 : NULL;
    }
    return true;
}

static bool begin_pricing(struct price_request *pricing, const struct cost_options *given,
                          const struct tables *tables, const struct file_options *of_files, struct error *err)
{
    if (!tables_ready(err))
        return false;
    pricing->options = (struct layer_profile_options){
        .layer = {.attention = (enum attention_kind)given->attention,
                  .recompute = given->recompute == RECOMPUTE_FULL,
                  .keep_all = given->keep_all,
                  .no_tf32 = given->no_tf32,
                  .is_first = given->first,
                  .devices_per_node = (int)given->devices_per_node,
                  .across = tables_link(tables, given->across),
                  .tables = tables,
                  .custom_calls = of_files->custom_calls},
        .dims = &of_files->dims,
        .rules = (enum count_rules)given->rules,
        .microbatch_size = (int)given->microbatch_size,
        .devices_per_node = (int)given->devices_per_node,
        .nodes = (int)given->nodes,
    };
    pricing->files = calloc(given->files.count, sizeof *pricing->files);
    if (!pricing->files)
        return error_memory(err);
    if (given->backward.count && given->backward.count != given->files.count)
        return error_set(err, ERROR_USAGE, "--backward: expected one for each of %zu files, found %zu",
                         given->files.count, given->backward.count);
    if (given->backward.count && (given->recompute != RECOMPUTE_NONE || given->keep_all))
        return error_set(err, ERROR_USAGE,
                         "--%s is for backward passes that are derived: it does not go with --backward",
                         given->keep_all ? "keep-all" : "recompute");
    if (given->recompute == RECOMPUTE_SELECTIVE)
        return error_set(err, ERROR_USAGE,
                         "--recompute selective is for --model: files that keep no scores have "
                         "--attention flash2");
    if (!pricing->options.layer.across)
        return unknown_link(given, err);
    for (size_t i = 0; i < given->files.count; i++) {
        pricing->files[i].path = given->files.items[i];
        pricing->files[i].backward = given->backward.count ? given->backward.items[i] : NULL;
    }
    return read_parameters(given->parameters, pricing, err);
}

/* ---- reports of files ---- */

struct report {
    const struct cost_options *given;
    const struct price_request *pricing; /* NULL: files are only counted */
    const struct cost_chosen *chosen;
    const struct file_options *of_files;
    struct text text;
    struct json json;
};

static bool count_file(struct report *report, size_t file, struct error *err)
{
    struct hlo_module module;
    struct module_count count;
    struct count_options options = {.rules = (enum count_rules)report->given->rules,
                                    .custom_calls = report->of_files->custom_calls};
    if (!hlo_load_sized(&module, report->given->files.items[file], &report->of_files->dims, err))
        return false;
    bool counted = module_count(&count, &module, &options, err);
    if (counted) {
        if (report->given->json)
            cost_counts_write(&module, &count, &report->json);
        else
            cost_counts_print(&module, &count, &report->text);
        module_count_release(&count);
    }
    hlo_release(&module);
    return counted;
}

static bool explain_file(struct report *report, size_t file, struct error *err)
{
    const struct layer_file *of = &report->pricing->files[file];
    struct hlo_module forward = {0}, backward = {0};
    struct layer_cost layer = {0};
    struct cost_explain explain = {
        .path = of->path,
        .layer = &layer,
        .options = &report->pricing->options.layer,
        .devices = report->chosen->devices,
        .device_count = report->chosen->device_count,
        .wide = report->given->wide,
    };
    bool done = hlo_load_sized(&forward, of->path, &report->of_files->dims, err) &&
                (!of->backward || hlo_load_sized(&backward, of->backward, &report->of_files->dims, err)) &&
                layer_cost(&layer, &forward, of->backward ? &backward : NULL, explain.options, err);
    if (done && report->given->json)
        cost_explain_write(&explain, &report->json);
    else if (done)
        cost_explain_print(&explain, &report->text);
    layer_release(&layer);
    hlo_release(&backward);
    hlo_release(&forward);
    return done;
}

/* Explains files, or counts them. As JSON one file is one map, several are a list of them. */
static bool report_files(const struct cost_options *given, const struct price_request *pricing,
                         const struct cost_chosen *chosen, const struct file_options *of_files,
                         struct error *err)
{
    struct report report = {.given = given, .pricing = pricing, .chosen = chosen, .of_files = of_files};
    bool list = given->json && given->files.count > 1, done = true;
    report.json.out = &report.text;
    if (pricing && given->rules != COUNT_REHEARSE)
        return error_set(err, ERROR_USAGE, "--explain shows our own times: it does not go with --rules %s",
                         cost_rules[given->rules]);
    if (list)
        json_open(&report.json, NULL, '[');
    if (!given->json && !pricing)
        cost_counts_print_header(&report.text);
    for (size_t i = 0; i < given->files.count && done; i++) {
        if (!given->json && pricing && i > 0)
            text_add(&report.text, "\n");
        done = pricing ? explain_file(&report, i, err) : count_file(&report, i, err);
    }
    if (list)
        json_close(&report.json);
    done = done && cost_dims_check(&of_files->dims, err) && output_text(given->output, &report.text, err);
    text_release(&report.text);
    return done;
}

/* ---- profiles of files ---- */

static bool profile_files(const struct cost_options *given, const struct price_request *pricing,
                          const struct cost_chosen *chosen, struct error *err)
{
    struct profile profile;
    struct parallel *pool = given->files.count > 1 ? parallel_new(0, err) : NULL;
    if (given->files.count > 1 && !pool)
        return false;
    struct layer_doubts doubts;
    bool done = layer_profile(&profile, &doubts, pricing->files, (int)given->files.count, chosen->devices,
                              chosen->device_count, &pricing->options, pool, err);
    parallel_free(pool);
    if (!done)
        return false;
    done = cost_dims_check(pricing->options.dims, err) &&
           (given->rules != COUNT_REHEARSE ||
            cost_interval_note_files(&profile, chosen->devices, &doubts, err)) &&
           write_profile(given, &profile, err);
    profile_release(&profile);
    return done;
}

static bool price_files(const struct cost_options *given, struct cost_chosen *chosen,
                        const struct file_options *of_files, struct error *err)
{
    struct price_request pricing = {0};
    if (given->files.count > PROFILE_MAX_LAYERS)
        return error_set(err, ERROR_USAGE, "expected at most %d files", PROFILE_MAX_LAYERS);
    bool done = cost_choose_devices(chosen, given->devices ? given->devices : EXPLAINED_DEVICE, err) &&
                begin_pricing(&pricing, given, &chosen->added, of_files, err) &&
                (given->explain ? report_files(given, &pricing, chosen, of_files, err)
                                : profile_files(given, &pricing, chosen, err));
    free(pricing.files);
    free(pricing.parameters);
    return done;
}

/* ---- the command ---- */

static bool list(const struct cost_options *given, struct error *err)
{
    struct text text = {0};
    if (given->files.count > 0 || given->model || given->devices)
        return error_set(err, ERROR_USAGE, "--list shows all tables: it does not go with %s",
                         given->files.count > 0 ? "files"
                         : given->model         ? "--model"
                                                : "--device");
    if (!tables_ready(err))
        return false;
    if (given->json)
        cost_list_write(&text);
    else
        cost_list_print(&text);
    return output_and_release(given->output, &text, err);
}

/* Refuses options that would have no effect. */
static bool check_options(const struct cost_options *given, struct error *err)
{
    const struct {
        const char *name;
        bool set;
    } of_models[] = {{"sequence", given->sequence != 0},
                     {"precision", given->precision != MODEL_MIXED},
                     {"tensor", given->tensor != 1},
                     {"software", strcmp(given->software, SOFTWARE) != 0}},
      of_files[] = {{"explain", given->explain},
                    {"backward", given->backward.count > 0},
                    {"parameters", given->parameters != NULL},
                    {"attention", given->attention != ATTENTION_UNFUSED},
                    {"keep-all", given->keep_all},
                    {"no-tf32", given->no_tf32},
                    {"first", given->first},
                    {"rules", given->rules != COUNT_REHEARSE},
                    {"dim", given->dims.count > 0},
                    {"custom-calls", given->custom_calls != NULL}};
    const size_t priced = 7; /* the first of these need a device */
    bool prices = given->devices || given->explain;
    for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++)
        if (!given->model && of_models[i].set)
            return error_set(err, ERROR_USAGE, "--%s is for --model: files say it themselves",
                             of_models[i].name);
    for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
        if (of_files[i].set && given->model)
            return error_set(err, ERROR_USAGE, "--%s is for files: it does not go with --model",
                             of_files[i].name);
        else if (of_files[i].set && !prices && i < priced)
            return error_set(err, ERROR_USAGE, "--%s needs --device: without, files are only counted",
                             of_files[i].name);
    return true;
}

static bool run_with(const struct cost_options *given, struct cost_chosen *chosen, struct error *err)
{
    if (given->model && given->files.count > 0)
        return error_set(err, ERROR_USAGE, "expected files or --model, found both");
    if (!given->model && given->files.count == 0)
        return error_set(
            err, ERROR_USAGE,
            "expected --model or files of HLO; 'rehearse cost --list' shows what models there are");
    if (!check_options(given, err))
        return false;
    if (given->model)
        return price_model(given, chosen, err);
    struct file_options of_files = {0};
    bool done = cost_dims_read(&of_files.dims, &given->dims, err) &&
                (!given->custom_calls || custom_calls_load(&of_files.added, given->custom_calls, err));
    of_files.custom_calls = given->custom_calls ? &of_files.added : NULL;
    done = done && (given->devices || given->explain ? price_files(given, chosen, &of_files, err)
                                                     : report_files(given, NULL, NULL, &of_files, err));
    cost_dims_release(&of_files.dims);
    custom_calls_release(&of_files.added);
    return done;
}

static bool run(void *context, struct error *err)
{
    const struct cost_options *given = context;
    struct cost_chosen chosen = {0};
    bool done = tables_add(&chosen.added, TABLE_LINKS, given->links, err) &&
                tables_add(&chosen.added, TABLE_CALIBRATIONS, given->calibration, err) &&
                (given->list ? list(given, err) : run_with(given, &chosen, err));
    cost_chosen_release(&chosen);
    return done;
}

/* In the order of enum model_precision, enum recompute. */
static const char *const recomputes[] = {"none", "selective", "full", NULL};
static const char *const attentions[] = {"unfused", "flash2", "flash3", NULL}; /* enum attention_kind */
static const char *const formats[] = {"by-output", "json", "oobleck", NULL};   /* enum format */

static const struct option_spec options[] = {
    OPTION(cost_options, model, OPTION_TEXT, "model", .letter = 'm', .argument = "NAME",
           .help = "the model: gpt2-xl, llama-3-8b, ..., or a file that describes one "
                   "(rehearse-architecture/1, or a config.json of Hugging Face)"),
    OPTION(cost_options, devices, OPTION_TEXT, "device", .letter = 'd', .argument = "NAME,...",
           .help = "the device types, separated by commas: rtx-4090,v100-16gb,mine.yaml"),
    OPTION(cost_options, microbatch_size, OPTION_INTEGER, "microbatch-size", .argument = "N", .initial = "1",
           .min = 1, .max = PROFILE_MAX_MICROBATCH,
           .help = "samples in a micro-batch; for files, the number that they were exported for (it changes "
                   "no time)"),
    OPTION(cost_options, sequence, OPTION_INTEGER, "sequence", .argument = "N", .initial = "0",
           .max = MAX_SEQUENCE,
           .help = "tokens in a sample; 0 is the length that the model was trained with"),
    OPTION(
        cost_options, precision, OPTION_CHOICE, "precision", .argument = "NAME", .initial = "mixed",
        .words = model_precisions,
        .help =
            "mixed multiplies in bf16 (fp16 where there is none) and keeps 16 bits, fp32 multiplies in tf32 "
            "where "
            "there is one and keeps 32 bits, fp8 multiplies in 8 bits"),
    OPTION(cost_options, tensor, OPTION_INTEGER, "tensor", .argument = "N", .initial = "1", .min = 1,
           .max = 1024, .help = "tensor parallel degree: devices of a node that share each layer"),
    OPTION(cost_options, recompute, OPTION_CHOICE, "recompute", .argument = "WHAT", .initial = "none",
           .words = recomputes,
           .help = "activations that the backward pass recomputes instead of keeping them"),
    OPTION(cost_options, backward, OPTION_FILE, "backward", .repeats = true, .argument = "FILE",
           .help =
               "the backward pass of a file, once for each file in the same order; by default it is derived"),
    OPTION(cost_options, parameters, OPTION_TEXT, "parameters", .argument = "N,...",
           .help = "the arguments of files that are parameters, by number from 0: 2-17,20; by default "
                   "factors of products, tables that are looked up in, and arguments of one dimension"),
    OPTION(cost_options, dims, OPTION_TEXT, "dim", .repeats = true, .argument = "NAME=N",
           .help = "the size of a dimension that files leave open (`?`): a symbol of jax.export (b=8), or an "
                   "argument and its dimension, both from 0 (2.0=8)"),
    OPTION(cost_options, custom_calls, OPTION_FILE, "custom-calls", .argument = "FILE",
           .help = "the costs of your own custom calls in files (rehearse-custom-calls/1); an entry comes "
                   "before those of the "
                   "built-in table"),
    OPTION(cost_options, attention, OPTION_CHOICE, "attention", .argument = "KIND", .initial = "unfused",
           .words = attentions,
           .help = "how attention found in files runs: as it is written, or as one kernel"),
    OPTION(cost_options, keep_all, OPTION_FLAG, "keep-all",
           .help = "keep all tensors that the backward pass of files reads; by default elementwise work is "
                   "recomputed where that takes less memory"),
    OPTION(cost_options, no_tf32, OPTION_FLAG, "no-tf32",
           .help = "multiply fp32 numbers of files in fp32, even if the device has tf32"),
    OPTION(cost_options, first, OPTION_FLAG, "first",
           .help = "the first file is the model's first layer: the gradient of its input is not computed"),
    OPTION(cost_options, software, OPTION_TEXT, "software", .argument = "NAME", .initial = SOFTWARE,
           .help = "the training software: how attention is computed and what is fused"),
    OPTION(cost_options, devices_per_node, OPTION_INTEGER, "devices-per-node", .argument = "N",
           .initial = "8", .max = 1024,
           .help = "all-reduce times inside a node for up to N devices; 0 leaves them out"),
    OPTION(cost_options, nodes, OPTION_INTEGER, "nodes", .argument = "N", .initial = "16", .max = 65536,
           .help = "all-reduce times across up to N nodes; 0 leaves them out"),
    OPTION(cost_options, across, OPTION_TEXT, "across", .argument = "LINK", .initial = "ib-200g",
           .help = "the link between nodes"),
    OPTION(cost_options, links, OPTION_FILE, "links", .argument = "FILE",
           .help = "your own links; a link of the same name replaces the known one"),
    OPTION(cost_options, calibration, OPTION_FILE, "calibration", .argument = "FILE",
           .help = "the result of 'rehearse calibrate --runs', which replaces the built-in calibration"),
    OPTION(cost_options, rules, OPTION_CHOICE, "rules", .argument = "NAME", .initial = "rehearse",
           .words = cost_rules,
           .help = "the rules by which files are counted and, with --device, timed: xla-gpu are XLA's (needs "
                   "--backward), xla-fork those of its fork of April 2024, xla only counts"),
    OPTION(cost_options, explain, OPTION_FLAG, "explain",
           .help = "show the time of files by kernel, the bound of each, and the memory; on " EXPLAINED_DEVICE
                   " unless --device names others"),
    OPTION(cost_options, wide, OPTION_FLAG, "wide", .letter = 'w',
           .help = "with --explain, also print work, bytes and instructions, wider than 100 columns"),
    OPTION(cost_options, list, OPTION_FLAG, "list",
           .help = "list the known models, devices, links and software"),
    OPTION(cost_options, to, OPTION_CHOICE, "to", .argument = "FORMAT", .initial = "by-output",
           .words = formats,
           .help = "json is rehearse-profile/1, a file; oobleck is a folder, or one folder per device type; "
                   "by-output is oobleck when --output is a folder, else json"),
    OPTION_JSON(struct cost_options),
    OPTION(cost_options, output, OPTION_FILE, "output", .letter = 'o', .argument = "OUT",
           .help = "write the profile to this file or folder"),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse cost --model gpt2-xl --device rtx-4090,v100-16gb -o profile.json", "a profile to plan with"},
    {"rehearse cost --model llama-3-8b --device h100 --tensor 8",
     "look at the layers, each on eight devices"},
    {"rehearse cost layers/*.mlir --device v100,a100-80gb,h100 -o profiles/",
     "a profile per device type from exported layers"},
    {"rehearse cost layer.mlir --explain --attention flash2", "where its time goes"},
    {"rehearse cost layer.mlir --json", "operations and bytes of a module"},
    {"rehearse cost --list", "models, devices, links and software"},
    {NULL, NULL},
};

const struct command command_cost = {
    .name = "cost",
    .summary = "make a profile from HLO or from published numbers of a model and of devices",
    .description =
        "Computes the time of each layer of a model on each device type: that of every kernel of its forward "
        "and backward pass, from tiles and waves of matrix products, memory traffic and launches, with "
        "parameters fitted to measurements (docs/cost.md has the sources and the errors).\n\n"
        "The model is a known name, a file with its numbers, or files of HLO, StableHLO or MHLO text. "
        "Without devices, the operations and bytes of files are counted.",
    .options = options,
    .options_size = sizeof(struct cost_options),
    .operands = {.name = "FILE",
                 .help = "HLO, StableHLO or MHLO text: one layer per file, in order",
                 .at = offsetof(struct cost_options, files)},
    .examples = examples,
    .run = run,
};
