/* `rehearse plan` by the pipeline and oobleck objectives: stages on nodes of all kinds, from a profile of layers. */
#include "figure/pipeline.h"
#include "cli/output.h"
#include "cli/plan/command.h"
#include "core/json.h"

static bool write_json(const char *path, const struct pipeline *plan, const struct plan_problem *problem,
                       struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    pipeline_write_json(plan, problem, &json, NULL);
    return output_and_release(path, &text, err);
}

/* Files first: what goes to standard output says that all went well. */
static bool deliver(const struct plan_options *options, const struct pipeline *plan,
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
        pipeline_write_dot(plan, problem, &text);
    else
        pipeline_print(plan, problem, &text);
    return output_and_release(NULL, &text, err);
}

bool plan_by_pipeline(const struct plan_options *options, struct error *err)
{
    struct planning planning;
    struct pipeline plan;
    if (!planning_open(&planning, &options->planning, err))
        return false;
    planning.search.method = (enum plan_search_method)options->search;
    planning.search.fold_exact_factors = options->fold_exact_factors;
    planning.search.fold_longest_only = options->fold_longest_only;
    bool ok = plan_search(&planning.problem, &planning.search, &plan, err);
    progress_end(&planning.progress);
    if (ok) {
        ok = deliver(options, &plan, &planning.problem, err);
        pipeline_release(&plan);
    }
    planning_close(&planning);
    return ok;
}
