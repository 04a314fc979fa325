#include "api/choose.h"
#include "api/command.h"
#include "api/cost/dims.h"
#include "api/cost/explain.h"
#include "api/cost/interval.h"
#include "api/profile.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/vector.h"
#include "cost/count/custom_calls.h"
#include "cost/layer.h"
#include "cost/model_profile.h"
#include "devices/calibration.h"
#include "devices/tables.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SEQUENCE     16777216
#define MAX_ARGUMENTS    1000000
#define SOFTWARE         "fsdp"
#define EXPLAINED_DEVICE "h100-sxm" /* where none is named */

/* ---- models ---- */

static bool unknown_link(const struct rh_cost_request *given, struct error *err)
{
    return tables_unknown(TABLE_LINKS, "--across: ", given->across, err);
}

/* In the order of enum model_precision, enum recompute, enum attention_kind, enum count_rules. */
static const char *const recomputes[] = {"none", "selective", "full", NULL};
static const char *const attentions[] = {"unfused", "flash2", "flash3", NULL};

static rh_handle *price_model(const struct rh_cost_request *given, struct cost_chosen *chosen,
                              struct error *err)
{
    struct profile profile;
    struct model_options options = {
        .microbatch = given->microbatch_size,
        .sequence = given->sequence,
        .precision = (enum model_precision)option_index(model_precisions, given->precision),
        .tensor = (int)given->tensor,
        .recompute = (enum recompute)option_index(recomputes, given->recompute),
        .software = cost_choose_software(chosen, given->software, err),
        .reach = {(int)given->devices_per_node, (int)given->nodes, NULL},
        .tables = &chosen->added,
    };
    if (!given->devices)
        return error_null(err, ERROR_USAGE, "--device is missing; 'rehearse cost --list' lists the devices");
    if (!options.software)
        return NULL;
    if (!tables_ready(err) ||
        (!(options.reach.across = tables_link(&chosen->added, given->across)) && !unknown_link(given, err)) ||
        !cost_choose_model(chosen, given->model, err) || !cost_choose_devices(chosen, given->devices, err) ||
        !model_profile(&profile, chosen->model, chosen->devices, chosen->device_count, &options, err))
        return NULL;
    if (cost_interval_note(&profile, chosen->model, chosen->devices, &options, err))
        return api_profile_of(&profile, err);
    profile_release(&profile);
    return NULL;
}

/* ---- files ---- */

/* Files of HLO, and how they are read and priced. */
struct work {
    const struct rh_cost_request *given;
    const struct api_call *call;
    struct cost_chosen *chosen;
    bool prices; /* else they are counted */
    struct hlo_dims dims;
    struct custom_calls added;
    struct layer_profile_options options;
    struct layer_file *files;
    int *parameters;
    size_t parameter_capacity;
};

/* Reads "2-17,20", in any order. */
static bool read_parameters(const char *list, struct work *work, struct error *err)
{
    struct layer_options *options = &work->options.layer;
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
                             "--parameters: expected argument numbers such as 2-17,20; found '%s'", list);
        for (long i = first; i <= last; i++)
            if (!VECTOR_ADD(work->parameters, options->parameter_count, work->parameter_capacity, (int)i))
                return error_memory(err);
        options->parameters = work->parameters;
        at = *end ? end + 1 : NULL;
    }
    return true;
}

static bool begin_pricing(struct work *work, struct error *err)
{
    const struct rh_cost_request *given = work->given;
    const struct tables *tables = &work->chosen->added;
    int recompute = option_index(recomputes, given->recompute);
    if (work->prices && !tables_ready(err))
        return false;
    work->options = (struct layer_profile_options){
        .layer = {.attention = (enum attention_kind)option_index(attentions, given->attention),
                  .recompute = recompute == RECOMPUTE_FULL,
                  .keep_all = given->keep_all,
                  .no_tf32 = given->no_tf32,
                  .no_neighbours = given->no_neighbours,
                  .is_first = given->first_layer,
                  .reach = {(int)given->devices_per_node, (int)given->nodes,
                            work->prices ? tables_link(tables, given->across) : NULL},
                  .tables = tables,
                  .custom_calls = given->custom_calls ? &work->added : NULL},
        .dims = &work->dims,
        .rules = (enum count_rules)option_index(cost_rules, given->rules),
        .microbatch_size = (int)given->microbatch_size,
    };
    if (!work->prices)
        return true;
    if (given->files.count > PROFILE_MAX_LAYERS)
        return error_set(err, ERROR_USAGE, "expected at most %d files", PROFILE_MAX_LAYERS);
    if (!cost_choose_devices(work->chosen, given->devices ? given->devices : EXPLAINED_DEVICE, err))
        return false;
    work->files = calloc(given->files.count, sizeof *work->files);
    if (!work->files)
        return error_memory(err);
    if (given->backward_file.count && given->backward_file.count != given->files.count)
        return error_set(err, ERROR_USAGE, "--backward-file: expected one for each of %zu files, found %zu",
                         given->files.count, given->backward_file.count);
    if (given->backward_file.count && (recompute != RECOMPUTE_NONE || given->keep_all))
        return error_set(err, ERROR_USAGE,
                         "--%s is for derived backward passes and cannot be combined with --backward-file",
                         given->keep_all ? "keep-all" : "recompute");
    if (recompute == RECOMPUTE_SELECTIVE)
        return error_set(err, ERROR_USAGE,
                         "--recompute selective is for --model; for files, use --attention flash2");
    if (!work->options.layer.reach.across)
        return unknown_link(given, err);
    for (size_t i = 0; i < given->files.count; i++) {
        work->files[i].path = given->files.items[i];
        work->files[i].backward = given->backward_file.count ? given->backward_file.items[i] : NULL;
    }
    return read_parameters(given->parameters, work, err);
}

/* ---- reports of files ---- */

static bool count_file(const struct work *work, size_t file, struct api_report *made, struct error *err)
{
    struct hlo_module module;
    struct module_count count;
    struct count_options options = {.rules = work->options.rules,
                                    .custom_calls = work->options.layer.custom_calls};
    if (!hlo_load_sized(&module, work->given->files.items[file], &work->dims, err))
        return false;
    if (options.rules != COUNT_REHEARSE)
        hlo_unpack(&module);
    bool counted = (options.rules != COUNT_XLA || hlo_as_xla(&module, err)) &&
                   module_count(&count, &module, &options, err);
    if (counted) {
        cost_counts_write(&module, &count, &made->json);
        cost_counts_print(&module, &count, &made->text);
        module_count_release(&count);
    }
    hlo_release(&module);
    return counted;
}

static bool explain_file(const struct work *work, size_t file, struct api_report *made, struct error *err)
{
    const struct layer_file *of = &work->files[file];
    struct hlo_module forward = {0}, backward = {0};
    struct layer_cost layer = {0};
    struct cost_explain explain = {
        .path = of->path,
        .layer = &layer,
        .options = &work->options.layer,
        .devices = work->chosen->devices,
        .device_count = work->chosen->device_count,
        .wide = work->given->wide,
        .profile = work->given->profile,
    };
    bool done = hlo_load_sized(&forward, of->path, &work->dims, err) &&
                (!of->backward || hlo_load_sized(&backward, of->backward, &work->dims, err)) &&
                layer_cost(&layer, &forward, of->backward ? &backward : NULL, explain.options, err);
    if (done) {
        cost_explain_write(&explain, &made->json);
        cost_explain_print(&explain, &made->text);
    }
    layer_release(&layer);
    hlo_release(&backward);
    hlo_release(&forward);
    return done;
}

/* Explains files, or counts them. As JSON one file is one map, several are a list of them. */
static rh_handle *report_files(const struct work *work, struct error *err)
{
    if (work->prices && work->options.rules != COUNT_REHEARSE)
        return error_null(err, ERROR_USAGE,
                          "--explain shows rehearse's own times and cannot be combined with --rules %s",
                          work->given->rules);
    struct api_report *made = api_report_new(err);
    if (!made)
        return NULL;
    bool list = work->given->files.count > 1, done = true;
    if (list)
        json_open(&made->json, NULL, '[');
    if (!work->prices)
        cost_counts_print_header(&made->text);
    for (size_t i = 0; i < work->given->files.count && done; i++) {
        if (work->prices && i > 0)
            text_add(&made->text, "\n");
        done =
            !api_stopped(work->call, err) && (work->prices ? explain_file : count_file)(work, i, made, err);
    }
    if (list)
        json_close(&made->json);
    return api_made(&made->base, done && cost_dims_check(&work->dims, err), err);
}

/* ---- profiles of files ---- */

static rh_handle *profile_files(const struct work *work, struct error *err)
{
    struct profile profile;
    int count = (int)work->given->files.count;
    struct parallel *pool = count > 1 ? parallel_new(work->call->how.threads, err) : NULL;
    if (count > 1 && !pool)
        return NULL;
    struct layer_doubts doubts;
    const struct cost_device *const *devices = work->chosen->devices;
    bool done = layer_profile(&profile, &doubts, work->files, count, devices, work->chosen->device_count,
                              &work->options, pool, err);
    parallel_free(pool);
    if (!done)
        return NULL;
    if (cost_dims_check(&work->dims, err) &&
        (work->options.rules != COUNT_REHEARSE || cost_interval_note_files(&profile, devices, &doubts, err)))
        return api_profile_of(&profile, err);
    profile_release(&profile);
    return NULL;
}

static rh_handle *of_files(const struct rh_cost_request *given, struct cost_chosen *chosen,
                           const struct api_call *call, struct error *err)
{
    struct work work = {
        .given = given, .call = call, .chosen = chosen, .prices = given->devices || given->explain};
    rh_handle *made = NULL;
    if (cost_dims_read(&work.dims, &given->dims, err) &&
        (!given->custom_calls || custom_calls_load(&work.added, given->custom_calls, err)) &&
        begin_pricing(&work, err))
        made = work.prices && !given->explain ? profile_files(&work, err) : report_files(&work, err);
    cost_dims_release(&work.dims);
    custom_calls_release(&work.added);
    free(work.files);
    free(work.parameters);
    return made;
}

/* ---- the command ---- */

static rh_handle *list(const struct rh_cost_request *given, struct error *err)
{
    if (given->files.count > 0 || given->model || given->devices)
        return error_null(err, ERROR_USAGE, "--list shows all tables and cannot be combined with %s",
                          given->files.count > 0 ? "files"
                          : given->model         ? "--model"
                                                 : "--device");
    struct api_report *made = tables_ready(err) ? api_report_new(err) : NULL;
    if (!made)
        return NULL;
    cost_list_write(&made->json);
    cost_list_print(&made->text);
    return api_made(&made->base, true, err);
}

/* Refuses options that would have no effect. */
static bool check_options(const struct rh_cost_request *given, struct error *err)
{
    const struct {
        const char *name;
        bool set;
    } of_files[] = {{"explain", given->explain},
                    {"backward-file", given->backward_file.count > 0},
                    {"parameters", given->parameters != NULL},
                    {"attention", strcmp(given->attention, attentions[ATTENTION_UNFUSED]) != 0},
                    {"keep-all", given->keep_all},
                    {"no-tf32", given->no_tf32},
                    {"no-neighbours", given->no_neighbours},
                    {"first-layer", given->first_layer},
                    {"rules", strcmp(given->rules, cost_rules[COUNT_REHEARSE]) != 0},
                    {"dim", given->dims.count > 0},
                    {"custom-calls", given->custom_calls != NULL}};
    const size_t priced = 8; /* the first of these need a device */
    bool prices = given->devices || given->explain;
    for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
        if (of_files[i].set && given->model)
            return error_set(err, ERROR_USAGE, "--%s is for files and cannot be combined with --model",
                             of_files[i].name);
        else if (of_files[i].set && !prices && i < priced)
            return error_set(err, ERROR_USAGE, "--%s needs --device (without it, files are only counted)",
                             of_files[i].name);
    return true;
}

static bool check(const struct rh_cost_request *given, struct error *err)
{
    if (given->model && given->files.count > 0)
        return error_set(err, ERROR_USAGE, "expected files or --model, found both");
    if (!given->model && given->files.count == 0)
        return error_set(err, ERROR_USAGE,
                         "expected --model or files of HLO; 'rehearse cost --list' lists the models");
    return check_options(given, err);
}

static rh_handle *make_cost(const void *request, const struct api_call *call, struct error *err)
{
    const struct rh_cost_request *given = request;
    struct cost_chosen chosen = {0};
    rh_handle *made = NULL;
    struct progress progress;
    progress_start_open(&progress, "pricing");
    if (tables_add(&chosen.added, TABLE_LINKS, given->links, err) &&
        tables_add(&chosen.added, TABLE_CALIBRATIONS, given->calibration, err)) {
        if (given->list)
            made = list(given, err);
        else if (check(given, err))
            made = given->model ? price_model(given, &chosen, err) : of_files(given, &chosen, call, err);
    }
    progress_end(&progress);
    cost_chosen_release(&chosen);
    return made;
}

const struct option_spec api_cost_options[] = {
    OPTION_OF(rh_cost_request, files, OPTION_FILE, "file", .repeats = true, .is_operand = true),
    OPTION_OF(rh_cost_request, model, OPTION_TEXT, "model", .letter = 'm'),
    OPTION_OF(rh_cost_request, devices, OPTION_TEXT, "device", .letter = 'd'),
    OPTION_OF(rh_cost_request, microbatch_size, OPTION_INTEGER, "microbatch-size",
              .dimension = DIMENSION_SAMPLES, .initial = "1", .min = 1, .max = PROFILE_MAX_MICROBATCH),
    OPTION_OF(rh_cost_request, sequence, OPTION_INTEGER, "sequence", .needs = "model",
              .dimension = DIMENSION_LENGTH, .initial = "0", .max = MAX_SEQUENCE),
    OPTION_OF(rh_cost_request, precision, OPTION_WORD, "precision", .needs = "model", .initial = "mixed",
              .words = model_precisions),
    OPTION_OF(rh_cost_request, tensor, OPTION_INTEGER, "tensor", .needs = "model", .initial = "1", .min = 1,
              .max = 1024),
    OPTION_OF(rh_cost_request, recompute, OPTION_WORD, "recompute", .initial = "none", .words = recomputes),
    OPTION_OF(rh_cost_request, backward_file, OPTION_FILE, "backward-file", .was = "backward",
              .repeats = true),
    OPTION_OF(rh_cost_request, parameters, OPTION_TEXT, "parameters"),
    OPTION_OF(rh_cost_request, dims, OPTION_TEXT, "dim", .repeats = true),
    OPTION_OF(rh_cost_request, custom_calls, OPTION_FILE, "custom-calls"),
    OPTION_OF(rh_cost_request, attention, OPTION_WORD, "attention", .initial = "unfused",
              .words = attentions),
    OPTION_OF(rh_cost_request, keep_all, OPTION_FLAG, "keep-all"),
    OPTION_OF(rh_cost_request, no_tf32, OPTION_FLAG, "no-tf32"),
    OPTION_OF(rh_cost_request, no_neighbours, OPTION_FLAG, "no-neighbours"),
    OPTION_OF(rh_cost_request, first_layer, OPTION_FLAG, "first-layer", .was = "first"),
    OPTION_OF(rh_cost_request, software, OPTION_TEXT, "software", .needs = "model", .initial = SOFTWARE),
    OPTION_OF(rh_cost_request, devices_per_node, OPTION_INTEGER, "devices-per-node", .initial = "8",
              .max = 1024),
    OPTION_OF(rh_cost_request, nodes, OPTION_INTEGER, "nodes", .initial = "16", .max = 65536),
    OPTION_OF(rh_cost_request, across, OPTION_TEXT, "across", .initial = "ib-200g"),
    OPTION_OF(rh_cost_request, links, OPTION_FILE, "links"),
    OPTION_OF(rh_cost_request, calibration, OPTION_FILE, "calibration"),
    OPTION_OF(rh_cost_request, rules, OPTION_WORD, "rules", .initial = "rehearse", .words = cost_rules),
    OPTION(rh_cost_request, explain, OPTION_FLAG, "explain",
           .help = "show the time of files by kernel, the bound of each, and the memory; on " EXPLAINED_DEVICE
                   " unless --device names others"),
    OPTION_OF(rh_cost_request, profile, OPTION_FLAG, "profile", .needs = "explain"),
    OPTION_OF(rh_cost_request, wide, OPTION_FLAG, "wide", .letter = 'w'),
    OPTION_OF(rh_cost_request, list, OPTION_FLAG, "list"),
    OPTION_END,
};

API_COMMAND(cost, "cost", rh_cost_request, .make = make_cost);
