#include "cli/answer.h"
#include "cli/command.h"

static bool run_figure_steps(void *context, struct error *err)
{
    const struct command_line *line = context;
    const struct rh_figure_steps_request *asked = context;
    rh_report *report = answer_ask(context, err);
    bool done = report && ((asked->output && !line->json) || answer_write(report, line, err));
    rh_free(report);
    return done;
}

COMMAND(figure_steps, &api_figure_steps, .options = COMMAND_ROWS(LINE_JSON), .run = run_figure_steps);
