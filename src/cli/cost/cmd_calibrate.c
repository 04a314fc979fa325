#include "cli/answer.h"
#include "cli/command.h"

#include <string.h>

/* Files that go to standard output stand there alone. */
static bool run_calibrate(void *context, struct error *err)
{
    const struct rh_calibrate_request *asked = context;
    rh_report *report = answer_ask(context, err);
    bool alone = asked->output && strcmp(asked->output, "-") == 0;
    bool done = report && (alone || answer_write(report, context, err));
    rh_free(report);
    return done;
}

COMMAND(calibrate, &api_calibrate, .options = COMMAND_ROWS(LINE_JSON), .run = run_calibrate);
