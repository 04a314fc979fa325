/* The reference's exhaustive search: divide and conquer over nodes, devices and layers (reference_table.h),
 * for every number of stages, of which the first best one that fits is taken. */
#include "core/clock.h"
#include "plan/reference/reference_table.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>

/* 0: none. *found: there is a plan, whether it fits or not. */
static int best_stage_count(const struct reference_table *table, struct pipeline_stage *stages, bool *found)
{
    int max = plan_problem_devices(table->problem), best = 0;
    double best_time = INFINITY;
    *found = false;
    for (int count = plan_problem_nodes(table->problem); count <= max; count++) {
        double time = reference_table_time(table, count);
        if (!(time < best_time))
            continue;
        *found = true;
        reference_table_stages(table, count, stages);
        if (reference_fits(table->problem, stages, count)) {
            best = count;
            best_time = time;
        }
    }
    return best;
}

static bool take_best(const struct reference_table *table, struct pipeline *plan, struct error *err)
{
    struct pipeline_stage *stages = calloc((size_t)plan_problem_devices(table->problem), sizeof *stages);
    if (!stages)
        return error_memory(err);
    bool found, good = false;
    int count = best_stage_count(table, stages, &found);
    if (count > 0) {
        reference_table_stages(table, count, stages);
        good = reference_finish(table->problem, stages, count, true, "divide", plan, err);
    } else if (found)
        error_set(err, ERROR_INFEASIBLE,
                  "no plan: divide and conquer counts one micro-batch in flight, and all of its plans exceed "
                  "the memory with every one; try --search exact");
    else
        error_set(err, ERROR_INFEASIBLE,
                  "no plan: wherever the layers are cut, some stage needs more memory than its devices have");
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
