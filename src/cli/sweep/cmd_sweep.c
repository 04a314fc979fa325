#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct sweep_command {
    struct rh_sweep_request request;
    struct rh_call call;
    struct rh_list plans;
    int64_t threads;
    bool json, csv;
};

static bool run(void *context, struct error *err)
{
    struct sweep_command *given = context;
    given->request.size = sizeof given->request;
    given->request.plan = given->plans.count > 0 ? given->plans.items[0] : NULL;
    struct rh_call call = answer_call(&given->call, given->threads);
    struct rh_error error;
    const char *form = given->json ? "json" : given->csv ? "csv" : "text";
    return answer_print(rh_sweep_plans(&given->request, &call, &error), form, &error, err);
}

static const struct option_spec options[] = {
    OPTION_REQUEST(sweep_command, request, api_sweep_options),
    OPTION_THREADS(struct sweep_command),
    OPTION_JSON(struct sweep_command),
    OPTION(sweep_command, csv, OPTION_FLAG, "csv", .help = "print comma-separated values instead of a table"),
    OPTION_END,
};

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
    .options = options,
    .options_size = sizeof(struct sweep_command),
    .operands = {.name = "PLAN",
                 .help = "a plan (rehearse-plan/2 or /1); without it, --model",
                 .max = 1,
                 .at = offsetof(struct sweep_command, plans)},
    .topics = topics,
    .examples = examples,
    .run = run,
};
