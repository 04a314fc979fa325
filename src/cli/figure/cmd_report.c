#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

#include <string.h>

struct report_command {
    struct rh_report_request request;
    struct rh_list folders;
    bool json;
};

static bool deliver(const rh_report *report, const struct report_command *given, struct error *err)
{
    int undrawn = (int)rh_number(report, "undrawn");
    const char *output = rh_string(report, "output");
    if ((strcmp(output, "-") == 0 && !answer_write(report, "html", NULL, err)) ||
        (given->json && !answer_write(report, "json", NULL, err)))
        return false;
    return undrawn == 0 ||
           error_set(err, ERROR_FAILED, "%s: written, but pictures of %d file%s could not be drawn", output,
                     undrawn, undrawn == 1 ? "" : "s");
}

static bool run(void *context, struct error *err)
{
    struct report_command *given = context;
    struct rh_error error;
    struct rh_call call = answer_call(&(struct rh_call){.size = 0}, 0);
    if (given->json && given->request.output && strcmp(given->request.output, "-") == 0)
        return error_set(err, ERROR_USAGE, "--json and the page cannot both go to standard output");
    given->request.size = sizeof given->request;
    given->request.folder = given->folders.items[0];
    rh_report *report = rh_report_make(&given->request, &call, &error);
    if (!report)
        return answer_error(&error, err);
    bool done = deliver(report, given, err);
    rh_free(report);
    return done;
}

static const struct option_spec table[] = {
    OPTION_REQUEST(report_command, request, api_report_options),
    OPTION(report_command, json, OPTION_FLAG, "json",
           .help = "print as JSON, on standard output, the detected kind of each file"),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse report runs/", "runs/report.html: all files of the folder on one page"},
    {"rehearse report runs/ -o report.html --title 'UNET3D on the new array'",
     "the page elsewhere, with a title"},
    {NULL, NULL},
};

const struct command command_report = {
    .name = "report",
    .summary = "put all files of a folder on one HTML page",
    .description =
        "Makes one page of the plans, sweeps, profiles, storage runs, traces, comparisons and pictures in a "
        "folder and the folders in it: tables, figures and links to the files. The page needs no network, "
        "and "
        "can be printed.\n\n"
        "The page lists files that it does not understand or cannot read, and a warning names each. A "
        "picture "
        "that cannot be drawn is a warning, too, and makes the exit status 1; the page is written all the "
        "same.",
    .options = table,
    .options_size = sizeof(struct report_command),
    .operands = {.name = "DIR",
                 .help = "the folder",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct report_command, folders)},
    .examples = examples,
    .run = run,
};
