#include "cli/answer.h"
#include "cli/command.h"

static bool run_compare(void *context, struct error *err)
{
    const struct command_line *line = context;
    struct rh_compare_request *asked = context;
    asked->form = line->json ? "json" : "text";
    return answer_run(context, err);
}

COMMAND(compare, &api_compare, .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT), .operands = {.min = 2},
        .run = run_compare);
