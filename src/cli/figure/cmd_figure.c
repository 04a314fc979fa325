#include "cli/command.h"

/* ---- timeline ---- */

const struct command command_figure_timeline = {
    SAYS_figure_timeline,
    .asks = &api_figure_timeline,
    .silent = true,
};

/* ---- distribution ---- */

const struct command command_figure_distribution = {
    SAYS_figure_distribution,
    .asks = &api_figure_distribution,
    .silent = true,
};

/* ---- throughput ---- */

const struct command command_figure_throughput = {
    SAYS_figure_throughput,
    .asks = &api_figure_throughput,
    .silent = true,
};
