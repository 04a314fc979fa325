#include "cli/command.h"
#include "cli/output.h"
#include "core/json.h"
#include "cost/roofline.h"

#include <string.h>

#define MAX_SEQUENCE 1000000
#define NAMES_MOST   64 /* looked through for what was meant */

struct cost_command_options {
    const char *model;
    const char *devices;
    const char *output;
    int64_t microbatch_size;
    int64_t sequence;
    int precision;
    bool list;
    bool json;
};

/* ---- the tables ---- */

static void print_models(struct text *out)
{
    int count;
    const struct cost_model *models = cost_models(&count);
    text_format(out, "%-14s %10s %7s %7s %6s %9s %8s\n", "model", "parameters", "blocks", "hidden", "heads",
                "sequence", "experts");
    for (int i = 0; i < count; i++) {
        const struct cost_model *model = &models[i];
        text_format(out, "%-14s %8.2f B %7d %7d %6d %9d %8d\n", model->name,
                    cost_model_parameters(model) / 1e9, model->blocks, model->hidden, model->heads,
                    model->sequence, model->experts);
    }
}

static void print_devices(struct text *out)
{
    const struct cost_device *devices = cost_devices()->devices;
    int count = cost_devices()->count;
    text_format(out, "\n%-14s %10s %12s", "device", "memory", "bandwidth");
    for (int p = COST_FP32; p <= COST_BF16; p++)
        text_format(out, " %8s", cost_type_name((enum cost_type)p));
    text_add(out, "  TFLOP/s\n");
    for (int i = 0; i < count; i++) {
        const struct cost_device *device = &devices[i];
        char memory[32];
        char bandwidth[32];
        text_format(out, "%-14s %10s %12s", device->name,
                    unit_format(memory, sizeof memory, (double)device->memory, UNIT_BYTES, 3),
                    unit_format(bandwidth, sizeof bandwidth, device->bandwidth, UNIT_RATE, 4));
        for (int p = COST_FP32; p <= COST_BF16; p++)
            if (device->peak[p] > 0)
                text_format(out, " %8.1f", device->peak[p] / 1e12);
            else
                text_format(out, " %8s", "-");
        text_add(out, "\n");
    }
}

static void write_models(struct json *json)
{
    int count;
    const struct cost_model *models = cost_models(&count);
    json_open(json, "models", '[');
    for (int i = 0; i < count; i++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "name", models[i].name);
        json_number(json, "parameters", cost_model_parameters(&models[i]));
        json_integer(json, "blocks", models[i].blocks);
        json_integer(json, "hidden", models[i].hidden);
        json_integer(json, "heads", models[i].heads);
        json_integer(json, "sequence", models[i].sequence);
        json_integer(json, "experts", models[i].experts);
        json_close(json);
    }
    json_close(json);
}

static void write_devices(struct json *json)
{
    const struct cost_device *devices = cost_devices()->devices;
    int count = cost_devices()->count;
    json_open(json, "devices", '[');
    for (int i = 0; i < count; i++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "name", devices[i].name);
        json_integer(json, "memory", devices[i].memory);
        json_number(json, "bandwidth", devices[i].bandwidth);
        for (int p = COST_FP32; p <= COST_BF16; p++)
            if (devices[i].peak[p] > 0)
                json_number(json, cost_type_name((enum cost_type)p), devices[i].peak[p]);
        json_close(json);
    }
    json_close(json);
}

static void write_tables(struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    write_models(&json);
    write_devices(&json);
    json_close(&json);
}

static bool list(const struct cost_command_options *given, struct error *err)
{
    struct text text = {0};
    if (given->json) {
        write_tables(&text);
    } else {
        print_models(&text);
        print_devices(&text);
    }
    bool printed = output_text(given->output, &text, err);
    text_release(&text);
    return printed;
}

/* ---- the profile ---- */

static bool unknown(const char *option, const char *found, const char *const *names, size_t count,
                    struct error *err)
{
    const char *nearest = text_nearest(found, names, count);
    if (nearest)
        return error_set(err, ERROR_USAGE, "%s: unknown '%s', did you mean '%s'?", option, found, nearest);
    return error_set(err, ERROR_USAGE, "%s: unknown '%s', see 'rehearse cost --list'", option, found);
}

static const struct cost_model *find_model(const char *name, struct error *err)
{
    const char *names[NAMES_MOST];
    size_t known = 0;
    int count;
    const struct cost_model *models = cost_models(&count);
    const struct cost_model *model = cost_model_find(name);
    if (model)
        return model;
    for (int i = 0; i < count && i < NAMES_MOST; i++)
        names[known++] = models[i].name;
    unknown("--model", name, names, known, err);
    return NULL;
}

static const struct cost_device *find_device(const char *name, struct error *err)
{
    const char *names[NAMES_MOST];
    size_t known = 0;
    const struct cost_device *devices = cost_devices()->devices;
    int count = cost_devices()->count;
    const struct cost_device *device = cost_device_find(name);
    if (device)
        return device;
    for (int i = 0; i < count && i < NAMES_MOST; i++)
        names[known++] = devices[i].name;
    unknown("--device", name, names, known, err);
    return NULL;
}

/* "rtx-4090,v100-16gb" */
static bool find_devices(const char *list_of_names, const struct cost_device **devices, int *count,
                         struct error *err)
{
    *count = 0;
    for (const char *name = list_of_names; name;) {
        const char *comma = strchr(name, ',');
        char one[64];
        size_t length = comma ? (size_t)(comma - name) : strlen(name);
        if (length == 0 || length >= sizeof one)
            return error_set(err, ERROR_USAGE,
                             "--device: expected names with commas between them, found '%s'", list_of_names);
        if (*count == PROFILE_MAX_DEVICES)
            return error_set(err, ERROR_USAGE, "--device: expected at most %d devices", PROFILE_MAX_DEVICES);
        memcpy(one, name, length);
        one[length] = '\0';
        devices[*count] = find_device(one, err);
        if (!devices[*count])
            return false;
        (*count)++;
        name = comma ? comma + 1 : NULL;
    }
    return true;
}

static bool make_profile(const struct cost_command_options *given, struct profile *profile, struct error *err)
{
    const struct cost_device *devices[PROFILE_MAX_DEVICES];
    int device_count;
    const struct cost_options options = {
        .microbatch_size = (int)given->microbatch_size,
        .sequence = (int)given->sequence,
        .precision = (enum cost_type)(COST_FP32 + given->precision),
    };
    if (!given->model || !given->devices)
        return error_set(err, ERROR_USAGE, "%s is needed; 'rehearse cost --list' shows what there is",
                         given->model ? "--device" : "--model");
    const struct cost_model *model = find_model(given->model, err);
    return model && find_devices(given->devices, devices, &device_count, err) &&
           cost_profile(profile, model, devices, device_count, &options, err);
}

static bool run(void *context, struct error *err)
{
    const struct cost_command_options *given = context;
    struct profile profile;
    struct text text = {0};
    if (!cost_devices())
        return error_memory(err);
    if (given->list)
        return list(given, err);
    if (!make_profile(given, &profile, err))
        return false;
    if (given->json || given->output)
        profile_write_json(&profile, &text);
    else
        profile_print(&profile, &text);
    bool printed = output_text(given->output, &text, err);
    text_release(&text);
    profile_release(&profile);
    return printed;
}

/* In the order of enum cost_type, from COST_FP32. */
static const char *const precisions[] = {"fp32", "tf32", "fp16", "bf16", NULL};

static const struct option_spec options[] = {
    {.name = "model",
     .letter = 'm',
     .kind = OPTION_TEXT,
     .at = offsetof(struct cost_command_options, model),
     .argument = "NAME",
     .help = "the model: gpt2-xl, llama-2-7b, ..."},
    {.name = "device",
     .letter = 'd',
     .kind = OPTION_TEXT,
     .at = offsetof(struct cost_command_options, devices),
     .argument = "NAME,...",
     .help = "the device types, with commas between them: rtx-4090,v100-16gb"},
    {.name = "microbatch-size",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct cost_command_options, microbatch_size),
     .argument = "N",
     .initial = "1",
     .least = 1,
     .most = PROFILE_MAX_MICROBATCH,
     .help = "samples in a micro-batch"},
    {.name = "sequence",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct cost_command_options, sequence),
     .argument = "N",
     .initial = "0",
     .most = MAX_SEQUENCE,
     .help = "tokens in a sample; 0 is what the model was trained on"},
    {.name = "precision",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct cost_command_options, precision),
     .argument = "NAME",
     .initial = "fp32",
     .words = precisions,
     .help = "how matrices are multiplied and numbers kept; tf32 keeps them as fp32"},
    {.name = "list",
     .kind = OPTION_FLAG,
     .at = offsetof(struct cost_command_options, list),
     .help = "show the models and devices there are"},
    OPTION_JSON(struct cost_command_options),
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .at = offsetof(struct cost_command_options, output),
     .argument = "FILE",
     .help = "write the profile (rehearse-profile/1) to FILE"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse cost --model gpt2-xl --device rtx-4090,v100-16gb -o profile.json", "a profile to plan with"},
    {"rehearse cost --model llama-2-7b --device a100-80gb --precision bf16", "look at the layers"},
    {"rehearse cost --list", "models and devices"},
    {NULL, NULL},
};

const struct command command_cost = {
    .name = "cost",
    .summary = "make a profile from published numbers of a model and of devices",
    .description = "Computes what each layer of a well-known model should take on devices known by their "
                   "datasheets, by a "
                   "roofline: arithmetic at half of the peak or memory traffic, whichever is longer. A start "
                   "where nothing is "
                   "measured yet, good to a small factor; a measured profile is better.\n\n"
                   "All-reduce times are not part of it: they depend on the cluster's links, and 'rehearse "
                   "plan --allreduce "
                   "model' computes them from there.",
    .options = options,
    .options_size = sizeof(struct cost_command_options),
    .examples = examples,
    .run = run,
};
