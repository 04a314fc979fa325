#include "cli/answer.h"
#include "cli/command.h"

/* A report whose picture cannot be drawn is printed first. */
static bool deliver(const struct command_line *line, const rh_report *report, struct error *err)
{
    const char *undrawn = rh_string(report, "undrawn");
    return answer_write(report, line, err) &&
           (!undrawn || error_set(err, (enum error_kind)rh_number(report, "undrawn_code"), "%s", undrawn));
}

static bool run_validate(void *context, struct error *err)
{
    rh_report *report = answer_ask(context, err);
    bool done = report && deliver(context, report, err);
    rh_free(report);
    return done;
}

COMMAND(validate, &api_validate, .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON, LINE_OUTPUT),
        .run = run_validate);
