#include "cli/answer.h"
#include "cli/command.h"

#include <inttypes.h>

/* The exit status: 1 where a rule is broken. */
static bool run_submit(void *context, struct error *err)
{
    rh_report *report = answer_ask(context, err);
    if (!report)
        return false;
    int64_t failed = (int64_t)rh_number(report, "failed");
    bool done = answer_write(report, context, err);
    if (done && failed > 0)
        done = error_set(err, ERROR_FAILED, "%" PRId64 " rule%s broken: see the table", failed,
                         failed == 1 ? " is" : "s are");
    rh_free(report);
    return done;
}

COMMAND(submit, &api_submit, .options = COMMAND_ROWS(LINE_JSON), .run = run_submit);
