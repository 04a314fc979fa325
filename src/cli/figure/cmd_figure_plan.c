#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct figure_plan_command {
    struct rh_figure_plan_request request;
    struct rh_list plans;
};

static bool run(void *context, struct error *err)
{
    struct figure_plan_command *given = context;
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.plan = given->plans.items[0];
    return answer_end(rh_figure_plan(&given->request, NULL, &error), &error, err);
}

static const struct option_spec table[] = {
    OPTION_REQUEST(figure_plan_command, request, api_figure_plan_options),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse figure plan plan.json -o plan.svg", "where the iterations go, or the time of each stage"},
    {"rehearse figure plan plan.json --kind stages --style paper -o stages.pdf", "the stages, for a paper"},
    {"rehearse figure plan templates.json --nodes 4 -o four.svg", "the plan for four nodes"},
    {NULL, NULL},
};

const struct command command_figure_plan = {
    .name = "figure plan",
    .summary = "draw a plan: the time of its stages, or the breakdown of its iteration",
    .description =
        "Draws a plan of any kind and version (rehearse plan -o, or made by hand), or one of a set of\n"
        "templates: a bar for each stage, coloured by device type, or a bar for the parts of an iteration\n"
        "in this plan and each of its alternatives.",
    .options = table,
    .options_size = sizeof(struct figure_plan_command),
    .operands = {.name = "PLAN",
                 .help = "the plan",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct figure_plan_command, plans)},
    .examples = examples,
    .run = run,
};
