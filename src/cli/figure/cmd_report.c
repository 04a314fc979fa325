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

COMMAND(report, &api_report_page,
        .options =
            COMMAND_ROWS(LINE_JSON_OF("print as JSON, on standard output, the detected kind of each file")),
        .run = run_report);
