#include "cli/answer.h"
#include "cli/command.h"
#include "core/file.h"

#include <string.h>

enum format { FORMAT_BY_OUTPUT, FORMAT_JSON, FORMAT_OOBLECK };

/* A profile may be written to a folder. */
static bool save(const struct command_line *line, const rh_profile *profile, struct error *err)
{
    size_t length = line->output ? strlen(line->output) : 0;
    enum file_kind kind = FILE_NONE;
    if (line->output && !file_look(line->output, &kind, err))
        return false;
    bool folder = (length > 0 && line->output[length - 1] == '/') || kind == FILE_FOLDER;
    if (line->to == FORMAT_OOBLECK && !line->output)
        return error_set(err, ERROR_USAGE, "--to oobleck writes a folder: name it with --output");
    if (line->to == FORMAT_JSON && folder)
        return error_set(err, ERROR_USAGE, "--to json writes a file: --output '%s' is a folder",
                         line->output);
    if (folder || line->to == FORMAT_OOBLECK)
        return answer_save(profile, "oobleck", line->output, err);
    return answer_write_form(profile, line->json || line->output ? "json" : "text", line->output, err);
}

static bool run_cost(void *context, struct error *err)
{
    rh_handle *answer = answer_ask(context, err);
    const struct command_line *line = context;
    const char *form = line->json || line->output ? "json" : "text";
    bool done = answer && (strcmp(rh_kind(answer), "profile") == 0
                               ? save(line, answer, err)
                               : answer_write_form(answer, form, line->output, err));
    rh_free(answer);
    return done;
}

static const char *const formats[] = {"by-output", "json", "oobleck", NULL}; /* enum format */

static const struct option_spec options[] = {
    OPTION(command_line, to, OPTION_CHOICE, "to", .argument = "FORMAT", .initial = "by-output",
           .words = formats,
           .help = "json is rehearse-profile/1, a file; oobleck is a folder, or one folder per device type; "
                   "by-output is oobleck when --output is a folder, else json"),
    LINE_JSON,
    OPTION(command_line, output, OPTION_FILE, "output", .letter = 'o', .argument = "OUT",
           .help = "write the profile to this file or folder, without --device the counts"),
    OPTION_END,
};

COMMAND(cost, &api_cost, .options = options, .run = run_cost);
