#include "api/option.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/file.h"
#include "measure/layers/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct measure_options {
    struct rh_list files, backward;
    const char *pjrt, *precision, *cores, *name, *output;
    double limit;
    int clock;
    bool first, json;
};

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
    if (!given->pjrt)
        return error_set(err, ERROR_USAGE, "expected --pjrt PLUGIN, which runs the layers");
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

static bool measure_by_pjrt(const struct measure_options *given, const struct sample_options *samples,
                            struct error *err)
{
    struct measured_layers measured;
    struct layer_options options = {.is_first = given->first};
    struct layer_file *files = calloc(given->files.count + 1, sizeof *files);
    struct pjrt *pjrt = files ? pjrt_open(given->pjrt, err) : NULL;
    bool done = pjrt != NULL || (!files && error_memory(err));
    for (size_t i = 0; done && i < given->files.count; i++) {
        files[i].path = given->files.items[i];
        files[i].backward = given->backward.count > 0 ? given->backward.items[i] : NULL;
    }
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

static bool run(void *context, struct error *err)
{
    const struct measure_options *given = context;
    struct sample_options samples = {0};
    if (given->files.count > PROFILE_MAX_LAYERS)
        return error_set(err, ERROR_USAGE, "expected at most %d files", PROFILE_MAX_LAYERS);
    return read_options(given, &samples, err) && measure_by_pjrt(given, &samples, err);
}

/* ---- the command ---- */

static const char *const clocks[] = {"wall", "cpu", NULL};

static const struct option_spec options[] = {
    OPTION(measure_options, pjrt, OPTION_FILE, "pjrt", .argument = "PLUGIN",
           .help = "run files of StableHLO by this PJRT plugin; without files, show the plugin"),
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
           .help = "name of the device type in the profile; by default that of the plugin's device"),
    OPTION_JSON(struct measure_options),
    OPTION(measure_options, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .help = "write a profile of the layers, rehearse-profile/1"),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse measure layers --pjrt pjrt_plugin.so", "what the plugin runs on"},
    {"rehearse measure layers --pjrt pjrt_plugin.so --cores 0 block.mlir -o block.json",
     "a layer on one core, and its profile"},
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
        "cost'. --output writes a profile, which all planners read.",
    .options = options,
    .options_size = sizeof(struct measure_options),
    .operands = {"FILE", "layers, StableHLO", NULL, 0, 0, offsetof(struct measure_options, files)},
    .examples = examples,
    .run = run,
};
