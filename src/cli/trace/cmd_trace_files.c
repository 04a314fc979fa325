/* Traces as files: import, export, phases and summaries. */
#include "cli/answer.h"
#include "cli/command.h"

static bool run_import(void *context, struct error *err)
{
    const struct command_line *line = context;
    rh_report *report = answer_ask(context, err);
    bool done = report && (line->json ? answer_write(report, line, err) : answer_say(report, "text", err));
    rh_free(report);
    return done;
}

COMMAND(trace_import, &api_trace_import,
        .options = COMMAND_ROWS(LINE_JSON_OF("print a summary of the import as JSON, on standard output")),
        .run = run_import);
COMMAND(trace_export, &api_trace_export, .silent = true);
COMMAND(trace_phases, &api_trace_phases, .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT));
COMMAND(trace_show, &api_trace_show, .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT));
