#include "cli/command.h"

const struct command command_figure_plan = {
    SAYS_figure_plan,
    .asks = &api_figure_plan,
    .silent = true,
    .operands = {.min = 1},
};
