#include "api/command.h"
#include "cli/command.h"

static const struct command_example examples[] = {
    {"rehearse templates -p profile.json -c cluster.yaml --nodes 4..8", "the pipelines for 4, 5, … 8 nodes"},
    {NULL, NULL},
};

const struct command command_templates = {
    .name = "templates",
    .summary = "find the best pipeline for every number of nodes",
    .description = "Finds the best plan for every number of nodes, with a proof, so that after a failure the "
                   "next pipeline is already known. On a mixed cluster, the plan for n nodes is the best "
                   "over all mixes of n nodes.",
    .asks = &api_templates,
    .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON),
    .examples = examples,
};
