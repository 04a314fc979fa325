#include "cli/command.h"

static const struct command_topic topics[] = {
    {"job", "of the plans that --model makes"},
    {NULL, NULL},
};

static const struct command_example examples[] = {
    {"rehearse sweep plan.json --schedule 1f1b,zb-h1,zb-v --global-batch 64..1024",
     "a plan with other schedules"},
    {"rehearse sweep -m llama-3-8b -d h100 --devices 8..1024 --global-batch 512 --link across=0.5,1,2",
     "more GPUs, and other networks"},
    {NULL, NULL},
};

const struct command command_sweep = {
    .name = "sweep",
    .summary = "simulate plans for ranges of GPUs, batches, schedules and links",
    .description = "Plays a plan, or the best plans of a model for several numbers of devices, for every "
                   "combination of global batch, schedule and bandwidth of links.\n\nPoints are computed on "
                   "all processors. With --output, results are saved in FILE.sweep as they are computed: "
                   "after an interruption, the same command continues there, with the same result.",
    .asks = &api_sweep,
    .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON, LINE_CSV),
    .topics = topics,
    .examples = examples,
};
