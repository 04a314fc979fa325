/* The reference's exhaustive search: divide and conquer over nodes, devices and layers (reference_table.h),
 * for every number of stages, of which the first best one is taken. */
#include "core/clock.h"
#include "plan/reference/reference_table.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>

static int best_stage_count(const struct reference_table *table)
{
    int most = plan_problem_devices(table->problem), best = 0;
    double best_time = INFINITY;
    for (int stages = plan_problem_nodes(table->problem); stages <= most; stages++) {
        double time = reference_table_time(table, stages);
        if (time < best_time) {
            best = stages;
            best_time = time;
        }
    }
    return best;
}

static bool take_best(const struct reference_table *table, struct pipeline *plan, struct error *err)
{
    int count = best_stage_count(table);
    if (count == 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "no plan: wherever the layers are cut, some stage needs more memory than "
                         "its devices have");
    struct pipeline_stage *stages = malloc((size_t)count * sizeof *stages);
    if (!stages)
        return error_memory(err);
    reference_table_stages(table, count, stages);
    bool good = reference_finish(table->problem, stages, count, true, "divide", plan, err);
    free(stages);
    return good;
}

bool plan_search_divide(const struct plan_problem *problem, const struct plan_search_options *options,
                        struct pipeline *plan, struct error *err)
{
    double started = clock_now();
    struct reference_table table;
    if (!reference_table_init(&table, problem, false, options->progress, err))
        return false;
    bool good = take_best(&table, plan, err);
    if (good) {
        plan->states = (int64_t)table.value_count;
        plan->planning_seconds = clock_now() - started;
    }
    reference_table_release(&table);
    return good;
}
