#include "cli/answer.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/fields.h"

COMMAND(profile_show, &api_profile_show, .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT));

/* ---- convert ---- */

static const char *const formats[] = {"json", "oobleck", NULL}; /* forms of a profile */

/* clang-format off */
#define CONVERSION_FIELDS(X, of) \
    X(of, TEXT, profile) X(of, TEXT, output) X(of, TEXT, to) X(of, INT64, layers) X(of, INT64, devices)
/* clang-format on */
FIELDS_RECORD(conversion, CONVERSION_FIELDS);

static bool report(const rh_profile *profile, const struct command_line *line, struct error *err)
{
    const struct rh_profile_request *asked = (const void *)line;
    struct text text = {0};
    struct json json = {.out = &text};
    const struct conversion made = {asked->path, line->output, formats[line->to],
                                    (int64_t)rh_number(profile, "layers"),
                                    (int64_t)rh_number(profile, "devices")};
    json_open_document(&json, "rehearse-profile-conversion/1");
    FIELDS_WRITE(&made, conversion_fields, &json);
    json_close(&json);
    return output_and_release(NULL, &text, err);
}

static bool convert(void *context, struct error *err)
{
    const struct command_line *line = context;
    rh_profile *profile = answer_ask(context, err);
    bool done = profile && answer_save(profile, formats[line->to], line->output, err) &&
                (!line->json || report(profile, line, err));
    rh_free(profile);
    return done;
}

static const struct option_spec convert_table[] = {
    OPTION(command_line, output, OPTION_FILE, "output", .letter = 'o', .argument = "OUT", .required = true,
           .help = "file (json) or folder (oobleck) to write"),
    OPTION(command_line, to, OPTION_CHOICE, "to", .argument = "FORMAT", .initial = "json", .words = formats,
           .help = "json is rehearse-profile/1; oobleck is a folder, or one folder per device type"),
    LINE_JSON_OF("print a summary of the written files as JSON"),
    OPTION_END,
};

COMMAND(profile_convert, &api_profile_show, .options = convert_table, .run = convert);
