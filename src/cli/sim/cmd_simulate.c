#include "cli/command.h"

static const struct command_example examples[] = {
    {"rehearse simulate plan.json", "an iteration of a plan: time by cause, and its bottlenecks"},
    {"rehearse simulate plan.json --schedule zb-h1 --figure run.svg",
     "the same with another schedule, drawn"},
    {"rehearse simulate --schedule interleaved --stages 8 --microbatches 32",
     "time, bubble and memory of a schedule"},
    {"rehearse simulate --compare --stages 8 --microbatches 32 --comm 0.05", "all schedules, in a table"},
    {"rehearse simulate --schedule 1f1b -p 4 -n 8 --figure 1f1b.svg", "a picture of it"},
    {"rehearse simulate --schedule mine.csv --forward 1,1,1.5,1",
     "a schedule of PyTorch, with unequal stages"},
    {"rehearse simulate --replay trace.json.gz --what-if 'nccl*=0.5'",
     "a recorded run, if its collectives took half the time"},
    {NULL, NULL},
};

static const struct command_topic topics[] = {
    {"plan", "of playing plans"},
    {"output", "of files that are written"},
    {"replay", "of recorded traces of GPUs"},
    {NULL, NULL},
};

const struct command command_simulate = {
    .name = "simulate",
    .summary = "play a plan, or a pipeline schedule: time, bubbles, memory",
    .description = "Plays the passes of a pipeline schedule, by name or from PyTorch's schedule CSV, with "
                   "the given times of passes and sends: makespan, idle time and memory of each device, and "
                   "a closed formula beside it where one holds.\n\nTimes and memory are those of a device "
                   "for one micro-batch; several chunks on a device share them.",
    .asks = &api_simulate,
    .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON, LINE_OUTPUT),
    .topics = topics,
    .examples = examples,
};
