#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "core/json.h"
#include "figure/pipeline.h"

#include <string.h>

struct plan_options {
    struct planning_options planning;
    int search;
    bool fold_exact_factors, fold_longest_only;
    const char *output, *figure;
    bool json, dot;
};

/* In the order of enum plan_search_method. */
static const char *const searches[] = {"exact", "divide", "fold-greedy", "fold-dp", NULL};

static bool write_json(const char *path, const struct plan *plan, const struct plan_problem *problem,
                       struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    plan_write_json(plan, problem, &json, NULL);
    bool ok = output_text(path, &text, err);
    text_release(&text);
    return ok;
}

/* Files first: what goes to standard output says that all went well. */
static bool deliver(const struct plan_options *options, const struct plan *plan,
                    const struct plan_problem *problem, struct error *err)
{
    if (options->output && !write_json(options->output, plan, problem, err))
        return false;
    if (options->figure && !figure_pipeline(options->figure, plan, problem, err))
        return false;
    if (options->json)
        return write_json(NULL, plan, problem, err);
    struct text text = {0};
    if (options->dot)
        plan_write_dot(plan, problem, &text);
    else
        plan_print(plan, problem, &text);
    bool ok = output_text(NULL, &text, err);
    text_release(&text);
    return ok;
}

static bool run(void *context, struct error *err)
{
    const struct plan_options *options = context;
    struct planning planning;
    struct plan plan;
    if (options->json && options->dot)
        return error_set(err, ERROR_USAGE, "--json and --dot both want standard output: choose one");
    if (options->output && options->figure && strcmp(options->output, options->figure) == 0)
        return error_set(err, ERROR_USAGE, "--output and --figure both want '%s': choose two names",
                         options->output);
    if (options->figure && !figure_can_write(options->figure, err))
        return false;
    if (!planning_open(&planning, &options->planning, err))
        return false;
    planning.search.method = (enum plan_search_method)options->search;
    planning.search.fold_exact_factors = options->fold_exact_factors;
    planning.search.fold_longest_only = options->fold_longest_only;
    bool ok = plan_search(&planning.problem, &planning.search, &plan, err);
    progress_end(&planning.progress);
    if (ok) {
        ok = deliver(options, &plan, &planning.problem, err);
        plan_release(&plan);
    }
    planning_close(&planning);
    return ok;
}

static const struct option_spec options[] = {
    PLANNING_OPTIONS(struct plan_options),
    {.name = "microbatches",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .required = true,
     .at = offsetof(struct plan_options, planning.microbatches),
     .argument = "N",
     .most = PLAN_MAX_MICROBATCHES,
     .help = "micro-batches per iteration; 0 is the reference's default, three for each stage"},
    PLANNING_OBJECTIVE(struct plan_options),
    {.name = "search",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct plan_options, search),
     .argument = "METHOD",
     .initial = "exact",
     .words = searches,
     .help =
         "how the plan is found: exact is the optimum, proven; the others are the reference's methods, to "
         "compare with"},
    PLANNING_TIME_LIMIT(struct plan_options),
    {.name = "fold-exact-factors",
     .kind = OPTION_FLAG,
     .at = offsetof(struct plan_options, fold_exact_factors),
     .help = "fold-*: a node of another type counts as what it is worth (2.15 nodes), not rounded (2)"},
    {.name = "fold-longest-only",
     .kind = OPTION_FLAG,
     .at = offsetof(struct plan_options, fold_longest_only),
     .help = "fold-greedy: recover only from the folded plan with the most stages, as the reference's script "
             "does"},
    PLANNING_THREADS(struct plan_options),
    OPTION_JSON(struct plan_options),
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .at = offsetof(struct plan_options, output),
     .argument = "FILE",
     .help = "also write the plan (rehearse-plan/1) to FILE"},
    {.name = "dot",
     .kind = OPTION_FLAG,
     .at = offsetof(struct plan_options, dot),
     .help = "print a Graphviz graph instead of a table"},
    {.name = "figure",
     .kind = OPTION_FILE,
     .at = offsetof(struct plan_options, figure),
     .argument = "FILE",
     .help = "also draw the pipeline; the ending says how: .svg, .png or .pdf (needs gnuplot)"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse plan -p profile.json -c cluster.yaml -n 50", "the best pipeline, and why"},
    {"rehearse plan -p profile.json -c cluster.yaml -n 50 -o plan.json --figure plan.svg",
     "for programs and for slides"},
    {"rehearse plan -p profile.json -c cluster.yaml -n 50 --objective oobleck --search divide",
     "what Oobleck's planner would choose"},
    {NULL, NULL},
};

const struct command command_plan = {
    .name = "plan",
    .summary = "find the best pipeline for a model on a cluster, with a proof",
    .description = "Splits the model's layers into stages, gives every stage devices of one node, and orders "
                   "nodes of all kinds "
                   "along the pipeline so that an iteration takes the least time. Every node and device is "
                   "used; a node's "
                   "devices are split by halving.\n\n"
                   "The exact search proves its plan: the lower bound equals the iteration time. If it is "
                   "stopped before that, it "
                   "says how far from the optimum the plan can be.",
    .options = options,
    .options_size = sizeof(struct plan_options),
    .examples = examples,
    .run = run,
};
