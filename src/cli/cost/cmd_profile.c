#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/json.h"

static rh_profile *load(struct rh_profile_request *request, const struct rh_list *operands, struct error *err)
{
    struct rh_error error;
    request->size = sizeof *request;
    request->path = operands->items[0];
    rh_profile *profile = rh_profile_load(request, NULL, &error);
    if (!profile)
        answer_error(&error, err);
    return profile;
}

/* ---- show ---- */

struct show_options {
    struct rh_profile_request request;
    struct rh_list profiles;
    const char *output;
    bool json;
};

static bool show(void *context, struct error *err)
{
    struct show_options *given = context;
    rh_profile *profile = load(&given->request, &given->profiles, err);
    bool printed = profile && answer_write(profile, given->json ? "json" : "text", given->output, err);
    rh_free(profile);
    return printed;
}

static const struct option_spec show_table[] = {
    OPTION_REQUEST(show_options, request, api_profile_show_options),
    OPTION_JSON(struct show_options),
    OPTION_OUTPUT(struct show_options),
    OPTION_END,
};

static const struct command_example show_examples[] = {
    {"rehearse profile show profile.json", "the time of each layer on each device type"},
    {"rehearse profile show --microbatch-size 4 profiles/gpt2-xl",
     "an Oobleck folder with several mb{N}.json"},
    {NULL, NULL},
};

const struct command command_profile_show = {
    .name = "profile show",
    .summary = "show the time of each layer on each device type",
    .description =
        "Reads a profile in any format and prints the sums and the layers of each device type; equal "
        "neighbours share a row. --json prints the profile as rehearse-profile/1.\n\n"
        "A profile is a rehearse-profile/1 file, an Oobleck folder (mb{N}.json, "
        "allreduce_in_node.json, allreduce_across_nodes.json), or a folder of such folders named by "
        "device type.",
    .options = show_table,
    .options_size = sizeof(struct show_options),
    .operands = {.name = "PROFILE",
                 .help = "a file or folder",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct show_options, profiles)},
    .examples = show_examples,
    .run = show,
};

/* ---- convert ---- */

static const char *const formats[] = {"json", "oobleck", NULL}; /* forms of a profile */

struct convert_options {
    struct rh_profile_request request;
    struct rh_list profiles;
    const char *output;
    int to;
    bool json;
};

static bool report(const rh_profile *profile, const struct convert_options *given, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    json_open_document(&json, "rehearse-profile-conversion/1");
    json_string(&json, "profile", given->request.path);
    json_string(&json, "output", given->output);
    json_string(&json, "to", formats[given->to]);
    json_integer(&json, "layers", (int64_t)rh_number(profile, "layers"));
    json_integer(&json, "devices", (int64_t)rh_number(profile, "devices"));
    json_close(&json);
    return output_and_release(NULL, &text, err);
}

static bool convert(void *context, struct error *err)
{
    struct convert_options *given = context;
    rh_profile *profile = load(&given->request, &given->profiles, err);
    bool done = profile && answer_save(profile, formats[given->to], given->output, err) &&
                (!given->json || report(profile, given, err));
    rh_free(profile);
    return done;
}

static const struct option_spec convert_table[] = {
    OPTION(convert_options, output, OPTION_FILE, "output", .letter = 'o', .argument = "OUT", .required = true,
           .help = "file (json) or folder (oobleck) to write"),
    OPTION(convert_options, to, OPTION_CHOICE, "to", .argument = "FORMAT", .initial = "json",
           .words = formats,
           .help = "json is rehearse-profile/1; oobleck is a folder, or one folder per device type"),
    OPTION_REQUEST(convert_options, request, api_profile_show_options),
    OPTION(convert_options, json, OPTION_FLAG, "json",
           .help = "print a summary of the written files as JSON"),
    OPTION_END,
};

static const struct command_example convert_examples[] = {
    {"rehearse profile convert profiles/gpt2-xl -o gpt2-xl.json", "an Oobleck folder into one file"},
    {"rehearse profile convert gpt2-xl.json --to oobleck -o profiles/gpt2-xl", "and back"},
    {NULL, NULL},
};

const struct command command_profile_convert = {
    .name = "profile convert",
    .summary = "write a profile in another format",
    .description = "Reads a profile in any format and writes it as rehearse-profile/1 or for Oobleck. Times "
                   "and bytes are unchanged when they are read back. Oobleck's files have no place for names "
                   "of layers and models and for output bytes: these are lost.",
    .options = convert_table,
    .options_size = sizeof(struct convert_options),
    .operands = {.name = "PROFILE",
                 .help = "a file or folder",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct convert_options, profiles)},
    .examples = convert_examples,
    .run = convert,
};
