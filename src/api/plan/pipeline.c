/* `rehearse plan` by the pipeline and oobleck objectives: stages on nodes of all kinds, from a profile of layers. */
#include "api/plan/command.h"
#include "api/plan/deliver.h"

struct answer {
    const struct pipeline *pipeline;
    const struct plan_problem *problem;
};

static void print(const void *context, struct text *out)
{
    const struct answer *answer = context;
    pipeline_print(answer->pipeline, answer->problem, out);
}

static bool deliver(const struct plan_options *options, const struct planning *planning,
                    const struct pipeline *pipeline, struct error *err)
{
    struct plan plan;
    const struct answer answer = {pipeline, &planning->problem};
    const struct plan_delivery delivery = {.plan = &plan, .print = print, .context = &answer};
    plan_init(&plan);
    if (!plan_of_planning(&plan, planning, &planning->problem, pipeline, err))
        return false;
    bool ok = plan_deliver(options, &delivery, err);
    plan_release(&plan);
    return ok;
}

bool plan_by_pipeline(const struct plan_options *options, struct error *err)
{
    struct planning planning;
    struct pipeline pipeline;
    struct cost_chosen chosen = {0};
    if (!planning_open_given(&planning, options->planning, &options->asked, &chosen, err)) {
        cost_chosen_release(&chosen);
        return false;
    }
    planning.search.method = (enum plan_search_method)options->search;
    planning.search.fold_longest_only = options->asked.fold_longest_only;
    bool ok = plan_search(&planning.problem, &planning.search, &pipeline, err);
    progress_end(&planning.progress);
    if (ok) {
        ok = deliver(options, &planning, &pipeline, err);
        pipeline_release(&pipeline);
    }
    planning_close(&planning);
    cost_chosen_release(&chosen);
    return ok;
}
