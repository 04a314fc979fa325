#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "core/file.h"

#include <string.h>

enum format { FORMAT_BY_OUTPUT, FORMAT_JSON, FORMAT_OOBLECK };

struct cost_options {
    struct rh_cost_request request;
    const char *output;
    int to;
    bool json;
};

/* A profile may be written to a folder. */
static bool save(const struct cost_options *given, const rh_profile *profile, struct error *err)
{
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
        return answer_save(profile, "oobleck", given->output, err);
    return answer_write(profile, given->json || given->output ? "json" : "text", given->output, err);
}

static bool run(void *context, struct error *err)
{
    struct cost_options *given = context;
    struct rh_error error;
    given->request.size = sizeof given->request;
    rh_handle *answer = rh_cost(&given->request, NULL, &error);
    if (!answer)
        return answer_error(&error, err);
    bool done = strcmp(rh_kind(answer), "profile") == 0
                    ? save(given, answer, err)
                    : answer_write(answer, given->json ? "json" : "text", given->output, err);
    rh_free(answer);
    return done;
}

static const char *const formats[] = {"by-output", "json", "oobleck", NULL}; /* enum format */

static const struct option_spec options[] = {
    OPTION_REQUEST(cost_options, request, api_cost_options),
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
    .summary = "make a profile from HLO, or from published numbers of a model and devices",
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
                 .at = offsetof(struct cost_options, request.files)},
    .examples = examples,
    .run = run,
};
