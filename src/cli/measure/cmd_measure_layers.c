#include "api/choose.h"
#include "api/cost/dims.h"
#include "api/option.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/file.h"
#include "measure/layers/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct measure_options {
    struct rh_list files, backward, dims;
    const char *pjrt, *model, *software, *precision, *cores, *name, *output;
    int64_t microbatch, sequence;
    double limit;
    int clock, type;
    bool products, first, json;
};

enum { TYPE_FP32, TYPE_BF16 };

/* ---- options ---- */

/* Reads "2%" or "0.02". */
static bool read_precision(const char *text, double *precision, struct error *err)
{
    char *end;
    double value = text_number(text, &end);
    bool percent = end > text && *end == '%' && !end[1];
    if (end == text || (*end && !percent) || !(value > 0.0) || value > (percent ? 50.0 : 0.5))
        return error_set(err, ERROR_USAGE,
                         "--precision: expected a share such as 2%%, up to 50%%; found '%s'", text);
    *precision = percent ? value / 100.0 : value;
    return true;
}

static bool read_options(const struct measure_options *given, struct sample_options *samples,
                         struct error *err)
{
    cpu_set_t cores;
    samples->limit = given->limit;
    samples->by_processor = given->clock == 1;
    if (!read_precision(given->precision, &samples->precision, err))
        return false;
    if (given->backward.count > 0 && given->backward.count != given->files.count)
        return error_set(err, ERROR_USAGE, "--backward: expected one for each of %zu files, found %zu",
                         given->files.count, given->backward.count);
    if (given->model && given->files.count > 0)
        return error_set(err, ERROR_USAGE, "files and --model exclude each other");
    if (given->output && !given->model && given->files.count == 0)
        return error_set(err, ERROR_USAGE,
                         "--output writes a profile, which has layers: expected files or --model");
    if (!given->pjrt && !given->model && !given->products && given->files.count == 0)
        return error_set(err, ERROR_USAGE, "expected files, --model or --products");
    if (given->pjrt && (given->model || given->products || given->dims.count > 0))
        return error_set(err, ERROR_USAGE, "--pjrt runs files of fixed sizes: it does not go with --%s",
                         given->model      ? "model"
                         : given->products ? "products"
                                           : "dim");
    /* before a library starts its threads */
    return !given->cores || (host_read_cores(&cores, given->cores, err) && host_pin(&cores, err));
}

/* The command line, for the record. */
static bool read_command(struct text *command)
{
    char bytes[4096];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    for (size_t at = 0; at < length; at += strnlen(bytes + at, length - at) + 1) {
        const char *word = bytes + at;
        const char *slash = at == 0 ? strrchr(word, '/') : NULL;
        if (at > 0)
            text_add(command, " ");
        text_add_bytes(command, slash ? slash + 1 : word, strnlen(slash ? slash + 1 : word, sizeof bytes));
    }
    return !command->failed;
}

/* ---- what comes out ---- */

static bool deliver(const struct measure_options *given, const struct measured_layers *measured,
                    struct error *err)
{
    struct text text = {0}, command = {0};
    struct profile profile;
    bool done = read_command(&command) || error_memory(err);
    if (done && given->output) {
        done = measured_profile(&profile, measured, given->name ? given->name : measured->device,
                                command.data, err);
        if (done) {
            profile_write_json(&profile, &text);
            profile_release(&profile);
            done = output_text(given->output, &text, err);
        }
        text_release(&text);
    }
    if (done && !(given->output && strcmp(given->output, "-") == 0)) {
        if (given->json)
            measured_write_json(measured, command.data, &text);
        else
            measured_print(measured, &text);
        done = output_text(NULL, &text, err);
    }
    text_release(&text);
    text_release(&command);
    return done;
}

static bool show_plugin(const struct measure_options *given, const struct pjrt *pjrt, struct error *err)
{
    const struct pjrt_facts *facts = pjrt_facts_of(pjrt);
    struct text text = {0};
    if (given->json || given->output)
        return error_set(err, ERROR_USAGE, "expected files to measure: without, only the plugin is shown");
    text_format(&text, "%s: PJRT %d.%d, %s%s%s, %d device%s: %s\n", facts->path, facts->major, facts->minor,
                facts->platform, *facts->version ? ", " : "", facts->version, facts->device_count,
                facts->device_count == 1 ? "" : "s", facts->device);
    return output_and_release(NULL, &text, err);
}

/* NULL: out of memory. */
static struct layer_file *list_files(const struct measure_options *given, struct error *err)
{
    struct layer_file *files = calloc(given->files.count + 1, sizeof *files);
    if (!files)
        error_memory(err);
    for (size_t i = 0; files && i < given->files.count; i++) {
        files[i].path = given->files.items[i];
        files[i].backward = given->backward.count > 0 ? given->backward.items[i] : NULL;
    }
    return files;
}

static bool measure_by_pjrt(const struct measure_options *given, const struct sample_options *samples,
                            struct error *err)
{
    struct measured_layers measured;
    struct layer_options options = {.is_first = given->first};
    struct layer_file *files = list_files(given, err);
    struct pjrt *pjrt = files ? pjrt_open(given->pjrt, err) : NULL;
    bool done = pjrt != NULL;
    if (done && given->files.count == 0)
        done = show_plugin(given, pjrt, err);
    else if (done && (done = measure_files_pjrt(&measured, pjrt, files, (int)given->files.count, &options,
                                                samples, err))) {
        done = deliver(given, &measured, err);
        measured_release(&measured);
    }
    pjrt_close(pjrt);
    free(files);
    return done;
}

static bool measure_named(const struct measure_options *given, struct measured_layers *measured,
                          const struct measure_products *products, const struct sample_options *samples,
                          struct error *err)
{
    struct cost_chosen chosen = {0};
    struct measure_model wanted = {
        .microbatch = given->microbatch,
        .sequence = given->sequence,
        .is_bf16 = given->type == TYPE_BF16,
    };
    bool done = tables_ready(err) && cost_choose_model(&chosen, given->model, err);
    if (done) {
        wanted.software = software_find(given->software);
        done = wanted.software ? measure_model(measured, chosen.model, &wanted, products, samples, err)
                               : software_unknown(given->software, err);
    }
    cost_chosen_release(&chosen);
    return done;
}

static bool measure_files(const struct measure_options *given, struct measured_layers *measured,
                          const struct measure_products *products, const struct sample_options *samples,
                          struct error *err)
{
    struct hlo_dims dims = {0};
    struct layer_options options = {.is_first = given->first};
    struct layer_file *files = list_files(given, err);
    bool done = files && tables_ready(err) && cost_dims_read(&dims, &given->dims, err) &&
                measure_files_kernels(measured, files, (int)given->files.count, &options, &dims, products,
                                      samples, err);
    if (done && !cost_dims_check(&dims, err)) {
        measured_release(measured);
        done = false;
    }
    cost_dims_release(&dims);
    free(files);
    return done;
}

/* Kernel by kernel, by oneDNN. */
static bool measure_by_kernels(const struct measure_options *given, const struct sample_options *samples,
                               struct error *err)
{
    struct measured_layers measured;
    const struct measure_products wanted = {.is_bf16 = given->type == TYPE_BF16};
    const struct measure_products *products = given->products ? &wanted : NULL;
    bool done = given->model ? measure_named(given, &measured, products, samples, err)
                             : measure_files(given, &measured, products, samples, err);
    if (!done)
        return false;
    done = deliver(given, &measured, err);
    measured_release(&measured);
    return done;
}

static bool run(void *context, struct error *err)
{
    const struct measure_options *given = context;
    struct sample_options samples = {0};
    if (given->files.count > PROFILE_MAX_LAYERS)
        return error_set(err, ERROR_USAGE, "expected at most %d files", PROFILE_MAX_LAYERS);
    return read_options(given, &samples, err) &&
           (given->pjrt ? measure_by_pjrt(given, &samples, err) : measure_by_kernels(given, &samples, err));
}

/* ---- the command ---- */

static const char *const types[] = {"fp32", "bf16", NULL};
static const char *const clocks[] = {"wall", "cpu", NULL};

static const struct option_spec options[] = {
    OPTION(measure_options, pjrt, OPTION_FILE, "pjrt", .argument = "PLUGIN",
           .help = "run files of StableHLO by this PJRT plugin; without files, show the plugin"),
    OPTION(measure_options, model, OPTION_TEXT, "model", .letter = 'm', .argument = "MODEL",
           .help = "the layers of this model, a name of 'rehearse cost --list' or a file, by oneDNN"),
    OPTION(measure_options, products, OPTION_FLAG, "products",
           .help = "also 45 matrix products of usual sizes, by oneDNN: for 'rehearse calibrate --gemm'"),
    OPTION(measure_options, type, OPTION_CHOICE, "type", .argument = "TYPE", .words = types,
           .initial = "fp32", .help = "number format of --model and --products"),
    OPTION(measure_options, microbatch, OPTION_INTEGER, "microbatch-size", .argument = "N", .initial = "1",
           .min = 1, .max = PROFILE_MAX_MICROBATCH, .help = "sequences of --model"),
    OPTION(measure_options, sequence, OPTION_INTEGER, "sequence", .argument = "N", .max = 16777216,
           .initial = "0", .help = "tokens of a sequence of --model; 0 is the model's"),
    OPTION(measure_options, software, OPTION_TEXT, "software", .argument = "NAME", .initial = "fsdp",
           .help = "training software, whose kernels --model has"),
    OPTION(measure_options, dims, OPTION_TEXT, "dim", .argument = "NAME=N", .repeats = true,
           .help = "the size of an open dimension of files, as for 'rehearse cost'; not for --pjrt"),
    OPTION(measure_options, backward, OPTION_FILE, "backward", .argument = "FILE", .repeats = true,
           .help =
               "the backward pass of the file at the same place; else it is derived and its time estimated"),
    OPTION(measure_options, first, OPTION_FLAG, "first",
           .help = "derive backward passes without gradients of inputs"),
    OPTION(measure_options, precision, OPTION_TEXT, "precision", .argument = "SHARE", .initial = "2%",
           .help = "repeat until the 95 % interval of the median is that narrow to either side"),
    OPTION(measure_options, limit, OPTION_QUANTITY, "limit", .unit = UNIT_TIME, .argument = "TIME",
           .initial = "20s", .min = 1e-3, .max = 86400,
           .help = "for each pass, warm-up included; a pass that is less precise then is marked"),
    OPTION(measure_options, cores, OPTION_TEXT, "cores", .argument = "LIST",
           .help = "use only these cores: 0,2-3"),
    OPTION(measure_options, clock, OPTION_CHOICE, "clock", .argument = "CLOCK", .words = clocks,
           .initial = "wall",
           .help =
               "wall, or CPU seconds of the process, which other load disturbs less; with one core they are "
               "the time on an idle machine"),
    OPTION(measure_options, name, OPTION_TEXT, "name", .argument = "NAME",
           .help = "name of the device type in the profile; by default that of the plugin's device, or cpu"),
    OPTION_JSON(struct measure_options),
    OPTION(measure_options, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .help = "write a profile of the layers, rehearse-profile/1"),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse measure layers --pjrt pjrt_plugin.so", "what the plugin runs on"},
    {"rehearse measure layers --pjrt pjrt_plugin.so --cores 0 block.mlir -o block.json",
     "a layer on one core, and its profile"},
    {"rehearse measure layers -m gpt2 --type bf16 -o gpt2.json", "a model on this processor"},
    {NULL, NULL},
};

const struct command command_measure_layers = {
    .name = "measure layers",
    .summary = "time layers on this machine",
    .description =
        "Runs layers with random inputs until their times are steady, then until the 95 % interval of the "
        "median is narrow or the time limit comes, which is said. The interval is made to hold the median of "
        "a "
        "second measurement. Times of two kinds, times that grow, other load on the cores and throttling are "
        "noticed and said.\n\n"
        "Files of StableHLO are compiled and run by a PJRT plugin, a library with which JAX and others drive "
        "a "
        "kind of device. Its own counts of operations, bytes and memory are shown beside those of 'rehearse "
        "cost'. Without a plugin, models and files of StableHLO and HLO are measured kernel by kernel: the "
        "kernels of "
        "'rehearse cost' in oneDNN, a layer is their sum. --output writes a profile, which all planners "
        "read.",
    .options = options,
    .options_size = sizeof(struct measure_options),
    .operands = {.name = "FILE",
                 .help = "layers, StableHLO or HLO",
                 .at = offsetof(struct measure_options, files)},
    .examples = examples,
    .run = run,
};
