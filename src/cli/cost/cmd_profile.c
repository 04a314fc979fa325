#include "cli/command.h"
#include "cli/output.h"
#include "core/json.h"
#include "model/profile.h"

#define OPTION_MICROBATCH_SIZE(type)                                                                         \
    {                                                                                                        \
        .name = "microbatch-size", .kind = OPTION_INTEGER, .at = offsetof(type, microbatch_size),            \
        .argument = "N", .initial = "0", .max = PROFILE_MAX_MICROBATCH,                                      \
        .help = "read mb{N}.json of an Oobleck folder; 0 reads the only one"                                 \
    }

/* ---- show ---- */

struct show_options {
    struct option_list profiles;
    const char *output;
    int64_t microbatch_size;
    bool json;
};

static bool show(void *context, struct error *err)
{
    const struct show_options *given = context;
    struct profile profile;
    struct text text = {0};
    if (!profile_load(&profile, given->profiles.items[0], (int)given->microbatch_size, err))
        return false;
    if (given->json)
        profile_write_json(&profile, &text);
    else
        profile_print(&profile, &text);
    bool printed = output_text(given->output, &text, err);
    text_release(&text);
    profile_release(&profile);
    return printed;
}

static const struct option_spec show_table[] = {
    OPTION_MICROBATCH_SIZE(struct show_options),
    OPTION_JSON(struct show_options),
    OPTION_OUTPUT(struct show_options),
    OPTION_END,
};

static const struct command_example show_examples[] = {
    {"rehearse profile show profile.json", "what each layer takes on each device type"},
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

enum format { FORMAT_JSON, FORMAT_OOBLECK };

static const char *const formats[] = {"json", "oobleck", NULL};

struct convert_options {
    struct option_list profiles;
    const char *output;
    int64_t microbatch_size;
    int to;
    bool json;
};

static void report(const struct profile *profile, const struct convert_options *given, struct text *out)
{
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-profile-conversion/1");
    json_string(&json, "profile", profile->path);
    json_string(&json, "output", given->output);
    json_string(&json, "to", formats[given->to]);
    json_integer(&json, "layers", profile->layer_count);
    json_integer(&json, "devices", profile->device_count);
    json_close(&json);
}

static bool convert(void *context, struct error *err)
{
    const struct convert_options *given = context;
    struct profile profile;
    struct text text = {0};
    if (!profile_load(&profile, given->profiles.items[0], (int)given->microbatch_size, err))
        return false;
    bool done = given->to == FORMAT_OOBLECK ? profile_save_oobleck(&profile, given->output, err)
                                            : profile_save(&profile, given->output, err);
    if (done && given->json) {
        report(&profile, given, &text);
        done = output_text(NULL, &text, err);
    }
    text_release(&text);
    profile_release(&profile);
    return done;
}

static const struct option_spec convert_table[] = {
    OPTION(convert_options, output, OPTION_FILE, "output", .letter = 'o', .argument = "OUT", .required = true,
           .help = "file (json) or folder (oobleck) to write"),
    OPTION(convert_options, to, OPTION_CHOICE, "to", .argument = "FORMAT", .initial = "json",
           .words = formats,
           .help = "json is rehearse-profile/1; oobleck is a folder, or one folder per device type"),
    OPTION_MICROBATCH_SIZE(struct convert_options),
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
