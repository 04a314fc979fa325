#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct templates_command {
    struct rh_templates_request request;
    struct rh_call call;
    int64_t threads;
    bool json;
};

static bool run(void *context, struct error *err)
{
    struct templates_command *given = context;
    given->request.size = sizeof given->request;
    struct rh_call call = answer_call(&given->call, given->threads);
    struct rh_error error;
    rh_report *report = rh_templates(&given->request, &call, &error);
    return answer_print(report, given->json ? "json" : "text", &error, err);
}

static const struct option_spec options[] = {
    OPTION_REQUEST(templates_command, request, api_templates_options),
    OPTION_TIME_LIMIT(struct templates_command, call.time_limit),
    OPTION_THREADS(struct templates_command),
    OPTION_JSON(struct templates_command),
    OPTION_END,
};

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
    .options = options,
    .options_size = sizeof(struct templates_command),
    .examples = examples,
    .run = run,
};
