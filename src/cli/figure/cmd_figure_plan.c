#include "cli/command.h"

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
    .asks = &api_figure_plan,
    .silent = true,
    .operands = {.min = 1},
    .examples = examples,
};
