#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct simulate_command {
    struct rh_simulate_request request;
    struct rh_call call;
    struct rh_list plans;
    int64_t threads;
    bool json;
    const char *output;
};

static bool run(void *context, struct error *err)
{
    struct simulate_command *given = context;
    given->request.size = sizeof given->request;
    given->request.plan = given->plans.count > 0 ? given->plans.items[0] : NULL;
    struct rh_call call = answer_call(&given->call, given->threads);
    struct rh_error error;
    rh_report *report = rh_simulate(&given->request, &call, &error);
    if (!report)
        return answer_error(&error, err);
    bool done = answer_write(report, given->json ? "json" : "text", given->output, err);
    rh_free(report);
    return done;
}

static const struct option_spec options[] = {
    OPTION_REQUEST(simulate_command, request, api_simulate_options),
    OPTION_THREADS(struct simulate_command),
    OPTION_JSON(struct simulate_command),
    OPTION_OUTPUT(struct simulate_command),
    OPTION_END,
};

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
    .options = options,
    .options_size = sizeof(struct simulate_command),
    .operands = {.name = "PLAN",
                 .help = "the plan to play; without one, a schedule is played",
                 .max = 1,
                 .at = offsetof(struct simulate_command, plans)},
    .topics = topics,
    .examples = examples,
    .run = run,
};
