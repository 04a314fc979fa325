#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct check_command {
    struct rh_check_request request;
    struct rh_call call;
    int64_t threads;
    bool json;
};

static bool run(void *context, struct error *err)
{
    struct check_command *given = context;
    given->request.size = sizeof given->request;
    struct rh_call call = answer_call(&given->call, given->threads);
    struct rh_error error;
    return answer_print(rh_check_plan(&given->request, &call, &error), given->json ? "json" : "text", &error,
                        err);
}

static const struct option_spec options[] = {
    OPTION_REQUEST(check_command, request, api_check_plan_options),
    OPTION_TIME_LIMIT(struct check_command, call.time_limit),
    OPTION_THREADS(struct check_command),
    OPTION_JSON(struct check_command),
    OPTION_END,
};

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
    .options = options,
    .options_size = sizeof(struct check_command),
    .operands = {.name = "PLAN",
                 .help = "plan files",
                 .min = 1,
                 .at = offsetof(struct check_command, request.plans)},
    .examples = examples,
    .run = run,
};
