#include "cli/command.h"

COMMAND(figure_timeline, &api_figure_timeline, .silent = true);
COMMAND(figure_distribution, &api_figure_distribution, .silent = true);
COMMAND(figure_throughput, &api_figure_throughput, .silent = true);
