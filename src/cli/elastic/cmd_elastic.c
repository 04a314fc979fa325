#include "cli/command.h"

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
    .asks = &api_elastic,
    .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON),
    .topics = topics,
    .examples = examples,
};
