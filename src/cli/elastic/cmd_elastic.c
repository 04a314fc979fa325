#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct elastic_command {
    struct rh_elastic_request request;
    struct rh_call call;
    struct rh_list plans;
    int64_t threads;
    bool json;
};

static bool run(void *context, struct error *err)
{
    struct elastic_command *given = context;
    given->request.size = sizeof given->request;
    given->request.plans = given->plans;
    struct rh_call call = answer_call(&given->call, given->threads);
    struct rh_error error;
    rh_report *report = rh_elastic(&given->request, &call, &error);
    return answer_print(report, given->json ? "json" : "text", &error, err);
}

static const struct option_spec options[] = {
    OPTION_REQUEST(elastic_command, request, api_elastic_options),
    OPTION_THREADS(struct elastic_command),
    OPTION_JSON(struct elastic_command),
    OPTION_END,
};

static const struct command_topic topics[] = {
    {"failures", "failures over time"},
    {NULL, NULL},
};

static const struct command_example examples[] = {
    {"rehearse elastic templates.json -c cluster.yaml --faults 2",
     "the fastest set of pipelines that survives any two lost nodes, and every single loss"},
    {"rehearse elastic templates.json -c cluster.yaml --lose 3,7 --return 3",
     "who copies which layers from whom, and how long that takes"},
    {"rehearse elastic templates.json -c cluster.yaml --rate rsc-1 --repair 6h",
     "a year of failures under each policy: goodput, and time lost by cause"},
    {"rehearse elastic --nodes 2048 --rate 6.5 --policy restart --save 60s --save-interval best",
     "the best interval between saves for a job of 2,048 nodes"},
    {NULL, NULL},
};

const struct command command_elastic = {
    .name = "elastic",
    .summary = "choose pipelines that survive lost nodes, and show each reconfiguration",
    .description =
        "Reads plans of any kind and sets of templates of one model. Finds the set of pipelines with the "
        "shortest iteration on the available nodes in which every layer survives any F lost nodes, and the "
        "exact split of the batch over unequal pipelines.\n\nThen shows the answer to lost and returned "
        "nodes: which instances change, which device copies which layers from which, the bytes and seconds "
        "of that, and the iteration time afterwards; or that a checkpoint is needed, and why.\n\nWith "
        "--failures, --rate or --mtbf it plays policies over losses and returns of nodes instead: restart "
        "from saves on disk or in memory, spares, and the ways of Varuna, Bamboo, Oobleck, Parcae, ReCycle "
        "and torchft, all on the same losses; prints their goodput and the time lost by cause.",
    .options = options,
    .options_size = sizeof(struct elastic_command),
    .operands = {.name = "PLAN",
                 .help = "plans (rehearse-plan/2) and sets of templates (rehearse-templates/2)",
                 .at = offsetof(struct elastic_command, plans)},
    .topics = topics,
    .examples = examples,
    .run = run,
};
