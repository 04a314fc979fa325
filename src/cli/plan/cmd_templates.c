#include "api/plan/planning.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/json.h"
#include "elastic/templates.h"

struct templates_options {
    struct planning_options planning;
    struct model_given model;
    struct option_range nodes;
    const char *output;
    bool json;
};

static bool choose_range(const struct templates_options *options, const struct plan_problem *problem,
                         struct option_range *range, struct error *err)
{
    int nodes = plan_problem_nodes(problem);
    *range = options->nodes;
    if (range->last == 0)
        *range = (struct option_range){1, nodes};
    return range->last <= nodes ||
           error_set(err, ERROR_USAGE, "--nodes: the cluster has %d nodes, found %lld", nodes,
                     (long long)range->last);
}

static bool write_json(const char *path, const struct template_set *set, const struct planning *planning,
                       struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    if (templates_write_json(set, planning, &json, err))
        return output_and_release(path, &text, err);
    text_release(&text);
    return false;
}

static bool deliver(const struct templates_options *options, const struct template_set *set,
                    const struct planning *planning, struct error *err)
{
    if (options->output && !write_json(options->output, set, planning, err))
        return false;
    if (options->json)
        return write_json(NULL, set, planning, err);
    struct text text = {0};
    templates_print(set, &text);
    return output_and_release(NULL, &text, err);
}

static bool run(void *context, struct error *err)
{
    const struct templates_options *options = context;
    struct planning planning;
    struct option_range range;
    struct template_set set;
    struct cost_chosen chosen = {0};
    if (!options->model.name == !options->planning.profile)
        return error_set(err, ERROR_USAGE,
                         options->model.name ? "templates: --model and --profile are two models: choose one"
                                             : "templates: '--profile P' or '--model NAME' is missing");
    if (!planning_open_given(&planning, options->planning, &options->model, &chosen, err)) {
        cost_chosen_release(&chosen);
        return false;
    }
    bool ok =
        choose_range(options, &planning.problem, &range, err) &&
        templates_make(&set, &planning.problem, (int)range.first, (int)range.last, &planning.search, err);
    if (ok) {
        ok = deliver(options, &set, &planning, err);
        templates_release(&set);
    }
    planning_close(&planning);
    cost_chosen_release(&chosen);
    return ok;
}

static const char *const objectives[] = {"pipeline", "oobleck", NULL}; /* enum plan_objective */

static const struct option_spec options[] = {
    PLANNING_MODEL(templates_options),
    OPTION(
        templates_options, planning.profile, OPTION_FILE, "profile", .letter = 'p', .argument = "P",
        .help =
            "layer times: a rehearse-profile/1 file, an Oobleck profile folder, or a folder of such folders "
            "named by device type"),
    OPTION(templates_options, planning.cluster, OPTION_FILE, "cluster", .letter = 'c', .required = true,
           .argument = "FILE", .help = "the cluster, rehearse-cluster/1"),
    OPTION(templates_options, planning.microbatch_size, OPTION_INTEGER, "microbatch-size", .argument = "N",
           .initial = "0", .max = PROFILE_MAX_MICROBATCH,
           .help = "with --model: samples of a micro-batch, 0 is 1; with an Oobleck folder: read its "
                   "mb{N}.json, 0 reads the only one"),
    PLANNING_ALLREDUCE(struct templates_options),
    PLANNING_MEMORY(struct templates_options),
    OPTION(templates_options, nodes, OPTION_RANGE, "nodes", .argument = "A..B", .min = 1,
           .max = CLUSTER_MAX_GROUPS * CLUSTER_MAX_NODES,
           .help = "the numbers of nodes to plan for; by default all"),
    OPTION(templates_options, planning.microbatches, OPTION_INTEGER, "microbatches", .letter = 'n',
           .argument = "N", .initial = "0", .max = PLAN_MAX_MICROBATCHES,
           .help = "micro-batches per iteration; 0 is the reference's default, three for each stage"),
    OPTION(templates_options, planning.objective, OPTION_CHOICE, "objective", .argument = "NAME",
           .initial = "pipeline", .words = objectives,
           .help = "the minimised time: pipeline is the sum of stage times + (N - 1) x the slowest; oobleck "
                   "is the reference's T1 + T2 + T3"),
    PLANNING_TIME_LIMIT(struct templates_options),
    PLANNING_THREADS(struct templates_options),
    OPTION_JSON(struct templates_options),
    OPTION(templates_options, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .help = "also write the templates (rehearse-templates/2) to FILE"),
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
    .options_size = sizeof(struct templates_options),
    .examples = examples,
    .run = run,
};
