#include "plan/search.h"

bool plan_problem_check(const struct plan_problem *problem, struct error *err)
{
    int nodes = plan_problem_nodes(problem);
    if (nodes > problem->layer_count)
        return error_set(err, ERROR_INFEASIBLE,
                         "no plan: %d nodes need at least a layer each, the model has %d", nodes,
                         problem->layer_count);
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        if (group->nodes > 0 && group->devices_per_node != 1 << (group->splits - 1))
            return error_set(err, ERROR_INFEASIBLE,
                             "no plan: %s%sa '%s' node has %d devices, and a node is only ever split by "
                             "halving: the number must be a power of two, at most %d",
                             group->place ? group->place : "", group->place ? ": " : "", group->device,
                             group->devices_per_node, 1 << (PLAN_MAX_SPLITS - 1));
    }
    return true;
}

bool plan_search(const struct plan_problem *problem, const struct plan_search_options *options,
                 struct plan *plan, struct error *err)
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
