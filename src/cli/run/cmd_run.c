#include "api/command.h"
#include "api/run/run.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/stop.h"

#include <math.h>
#include <unistd.h>

/* Prints the answer; a drill that went wrong is an error, too. */
static bool deliver(const rh_report *report, const struct command_line *line, struct error *err)
{
    bool done = answer_write(report, line, err);
    if (done && rh_number(report, "code") > 0.0)
        done = error_set(err, (enum error_kind)rh_number(report, "code"), "%s", rh_string(report, "reason"));
    return done;
}

static bool run_ranks(void *context, struct error *err)
{
    struct command_line *line = context;
    struct rh_play_request *asked = context;
    struct rh_error error;
    asked->own_process = true;
    if (!play_is_rank() && (!output_check(line->output, err) || !output_check(asked->prometheus, err) ||
                            !answer_stoppable(line, err)))
        return false;
    rh_report *report = answer_ask_for(line, &error);
    if (!report && error.code == RH_STOPPED)
        stop_die(); /* all ranks have ended, and their files are gone */
    if (!report)
        return answer_error(&error, err);
    bool says = !isnan(rh_number(report, "passed")), ends = rh_number(report, "ends") > 0.0;
    bool done = !says || deliver(report, line, err);
    if (rh_number(report, "stopped") > 0.0 && output_finish(err))
        stop_die();
    if (ends && !done)
        output_error(err);
    rh_free(report);
    if (ends) /* MPI cannot end in order where ranks are lost */
        _exit(output_finish(err) && done ? 0 : (int)err->kind);
    return done;
}

COMMAND(run, &api_play, .operands = {.min = 1}, .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT),
        .run = run_ranks);
