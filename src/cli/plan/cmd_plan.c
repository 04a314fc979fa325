#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct plan_command {
    struct rh_plan_request request;
    struct rh_call call;
    int64_t threads;
    bool json, csv, dot;
};

/* Two of these would fill the same place. */
static bool choose_form(const struct plan_command *given, const char **form, struct error *err)
{
    const bool wanted[] = {given->json, given->csv, given->dot, given->request.emit};
    static const char *const names[] = {"json", "csv", "dot", "emit"};
    *form = "text";
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++)
            if (wanted[i] && wanted[j])
                return error_set(err, ERROR_USAGE, "--%s and --%s both want standard output: choose one",
                                 names[i], names[j]);
    for (int i = 0; i < 4; i++)
        if (wanted[i])
            *form = names[i];
    return true;
}

static bool run(void *context, struct error *err)
{
    struct plan_command *given = context;
    struct rh_error error;
    const char *form;
    if (!choose_form(given, &form, err))
        return false;
    given->request.size = sizeof given->request;
    given->request.form = form;
    struct rh_call call = answer_call(&given->call, given->threads);
    return answer_print(rh_plan_find(&given->request, &call, &error), form, &error, err);
}

static const struct option_spec options[] = {
    OPTION_REQUEST(plan_command, request, api_plan_options),
    OPTION_TIME_LIMIT(struct plan_command, call.time_limit),
    OPTION_THREADS(struct plan_command),
    OPTION_JSON(struct plan_command),
    OPTION(plan_command, csv, OPTION_FLAG, "csv", .topic = "output",
           .help = "print comma-separated values instead of a table"),
    OPTION(plan_command, dot, OPTION_FLAG, "dot", .topic = "output",
           .help = "print a Graphviz graph instead of a table"),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse plan -m llama-3.1-405b -d h100 --devices 16384 --global-batch 2048",
     "the fastest split, proven"},
    {"rehearse plan -m llama-3-70b -d h100 --devices 64 --global-batch 512 --emit megatron",
     "as arguments of Megatron-LM"},
    {"rehearse plan -p profile.json -c cluster.yaml -n 50 -o plan.json --figure plan.svg",
     "the best pipeline for a measured profile"},
    {NULL, NULL},
};

/* `rehearse help plan TOPIC`. */
static const struct command_topic topics[] = {
    {"job", "of training jobs (objective iteration)"},
    {"pipeline", "of pipelines from a profile (objectives pipeline and oobleck)"},
    {"dapple", "of DAPPLE's planner (objective dapple)"},
    {"output", "of the printed and written output"},
    {NULL, NULL},
};

const struct command command_plan = {
    .name = "plan",
    .summary = "find the best pipeline for a model on a cluster, with a proof",
    .description =
        "Finds the split of a model over devices with the shortest iteration, and proves that it is optimal "
        "or bounds its distance to the optimum.\n\n"
        "Objectives: 'iteration' is all of a training job (the default with --model or --global-batch). "
        "'pipeline' "
        "is the sum of the stage times + (N - 1) x the slowest (the default with --microbatches). 'oobleck' "
        "is T1 + "
        "T2 + T3 of Oobleck. 'dapple' is DAPPLE's hybrid of data and pipeline parallelism.",
    .options = options,
    .options_size = sizeof(struct plan_command),
    .topics = topics,
    .examples = examples,
    .run = run,
};
