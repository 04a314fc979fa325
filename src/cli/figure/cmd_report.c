#include "cli/answer.h"
#include "cli/command.h"

#include <string.h>

static bool deliver(const rh_report *report, const struct command_line *line, struct error *err)
{
    const char *output = rh_string(report, "output");
    return (strcmp(output, "-") != 0 || answer_write_form(report, "html", NULL, err)) &&
           (!line->json || answer_write(report, line, err));
}

static bool run_report(void *context, struct error *err)
{
    const struct command_line *line = context;
    const struct rh_report_request *asked = context;
    if (line->json && asked->output && strcmp(asked->output, "-") == 0)
        return error_set(err, ERROR_USAGE, "--json and the page cannot both go to standard output");
    rh_report *report = answer_ask(context, err);
    bool done = report && deliver(report, line, err);
    rh_free(report);
    return done;
}

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
        "The page lists files that it does not understand or cannot read, and a warning names each.",
    .asks = &api_report_page,
    .options =
        COMMAND_ROWS(LINE_JSON_OF("print as JSON, on standard output, the detected kind of each file")),
    .examples = examples,
    .run = run_report,
};
