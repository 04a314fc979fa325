#include "cli/command.h"

COMMAND(figure_plan, &api_figure_plan, .silent = true, .operands = {.min = 1});
