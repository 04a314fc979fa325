#include "cli/command.h"

static const struct command_example examples[] = {
    {"rehearse check-plan plan.json", "a training job from 'rehearse plan -m', perhaps edited by hand"},
    {"rehearse check-plan -p profile.json -c cluster.yaml mine.json",
     "the excess of a plan over the optimum"},
    {"rehearse check-plan -m llama-3-8b --global-batch 256 mine.json -o complete.json",
     "a plan by hand, completed"},
    {NULL, NULL},
};

const struct command command_check_plan = {
    .name = "check-plan",
    .summary = "score a plan of any origin and compare it with the optimum",
    .description =
        "Reads plans of any kind (rehearse-plan/2; written by hand, each stage needs layers, device_type and "
        "its degrees), checks that they can run, and prints the time of an iteration and its excess over the "
        "optimum for the same question.\n\nA training job is rebuilt from the names and numbers in the plan. "
        "Plans of pipelines and DAPPLE plans need their profile and cluster.",
    .asks = &api_check_plan,
    .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON),
    .examples = examples,
};
