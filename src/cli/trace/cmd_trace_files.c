/* Traces as files: import, export, phases and summaries. */
#include "cli/answer.h"
#include "cli/command.h"

/* ---- import ---- */

static bool run_import(void *context, struct error *err)
{
    const struct command_line *line = context;
    rh_report *report = answer_ask(context, err);
    bool done = report && (line->json ? answer_write(report, line, err) : answer_say(report, "text", err));
    rh_free(report);
    return done;
}

const struct command command_trace_import = {
    SAYS_trace_import,
    .asks = &api_trace_import,
    .options = COMMAND_ROWS(LINE_JSON_OF("print a summary of the import as JSON, on standard output")),
    .run = run_import,
};

/* ---- export ---- */

const struct command command_trace_export = {
    SAYS_trace_export,
    .asks = &api_trace_export,
    .silent = true,
};

/* ---- phases ---- */

const struct command command_trace_phases = {
    SAYS_trace_phases,
    .asks = &api_trace_phases,
    .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT),
};

/* ---- show ---- */

const struct command command_trace_show = {
    SAYS_trace_show,
    .asks = &api_trace_show,
    .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT),
};
