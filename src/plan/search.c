#include "plan/search.h"

#include "core/stop.h"

bool plan_problem_check(const struct plan_problem *problem, bool all_nodes, struct error *err)
{
    int nodes = plan_problem_nodes(problem);
    if (all_nodes && nodes > problem->layer_count)
        return error_set(
            err, ERROR_INFEASIBLE,
            "no plan: %d nodes, of which none may be idle, need at least a layer each, the model has %d",
            nodes, problem->layer_count);
    for (int g = 0; g < problem->group_count; g++)
        if (problem->groups[g].nodes.count > 0 && !plan_group_check(&problem->groups[g], err))
            return false;
    return true;
}

bool plan_search(const struct plan_problem *problem, const struct plan_search_options *options,
                 struct pipeline *plan, struct error *err)
{
    if (options->method == SEARCH_EXACT)
        return plan_search_exact(problem, options, plan, err);
    double before = stop_deadline(stop_after(options->time_limit));
    bool found = options->method == SEARCH_DIVIDE ? plan_search_divide(problem, options, plan, err)
                                                  : plan_search_fold(problem, options, plan, err);
    bool late = stop_wanted();
    stop_restore(before);
    if (!late || stop_wanted())
        return found;
    if (found) /* of a part of the tables */
        pipeline_release(plan);
    return plan_late_error(options->time_limit, err);
}

bool plan_late_error(double time_limit, struct error *err)
{
    return error_set(err, ERROR_INFEASIBLE,
                     "no plan found within the time limit of %g s: try a longer --time-limit", time_limit);
}
