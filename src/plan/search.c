#include "plan/search.h"

bool plan_problem_check(const struct plan_problem *problem, bool all_nodes, struct error *err)
{
    int nodes = plan_problem_nodes(problem);
    if (all_nodes && nodes > problem->layer_count)
        return error_set(
            err, ERROR_INFEASIBLE,
            "no plan: %d nodes, of which none may be idle, need at least a layer each, the model has %d",
            nodes, problem->layer_count);
    for (int g = 0; g < problem->group_count; g++)
        if (problem->groups[g].nodes > 0 && !plan_group_check(&problem->groups[g], err))
            return false;
    return true;
}

bool plan_search(const struct plan_problem *problem, const struct plan_search_options *options,
                 struct pipeline *plan, struct error *err)
{
    switch (options->method) {
    case SEARCH_EXACT:
        return plan_search_exact(problem, options, plan, err);
    case SEARCH_DIVIDE:
        return plan_search_divide(problem, options, plan, err);
    case SEARCH_FOLD_GREEDY:
    case SEARCH_FOLD_DP:
        return plan_search_fold(problem, options, plan, err);
    }
    return error_set(err, ERROR_FAILED, "unknown search method %d", (int)options->method);
}
