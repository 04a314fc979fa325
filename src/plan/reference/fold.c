/* Folding, the approximation of Ditto (heterogeneous Oobleck): a mixed cluster is folded into a virtual one
 * of its first kind, which is planned by divide and conquer; then the virtual plan is recovered, that is, its
 * stages are given to real devices.
 *
 * Factor f_t: how many devices of group 0 a device of group t is worth, by the time of all layers together.
 * The reference assumes that group 0 is the slowest, and rounds half to even: 1.8 is 2, 2.15 is 2, 4.5 is 4.
 * The virtual cluster has n = sum over t of nodes_t x int(devices_t / devices_0 x f_t) nodes like those of
 * group 0.
 *
 * fold-greedy: from the fastest group down (the last one first), as long as it has devices left, the one
 * stage is moved to it that makes the plan shortest. A stage of g virtual devices takes x = g / f_t devices,
 * rounded up, unless that is 0.6 of a device or less. What is left stays on group 0. Stages are never merged
 * or cut again. All virtual plans are tried, from n stages up to one per virtual device, and the best result
 * is taken. If any result needs more of group 0 than there is, the reference stops.
 *
 * fold-dp: from the virtual plan with one stage per virtual device. j = 1, 2, 4, … devices of group t take
 * f_t j neighbouring virtual stages and merge them into one; the cheapest way to cover the first i stages is
 * kept for each i, with the devices it used, and extended. One state per i: nothing makes it the best. */
#include "plan/reference/fold.h"
#include "core/clock.h"
#include "plan/search.h"

#include <math.h>

static double all_layers_time(const struct plan_problem *problem, int group)
{
    double sum = 0;
    for (int i = 0; i < problem->layer_count; i++)
        sum += reference_forward(&problem->groups[group], i) + reference_backward(&problem->groups[group], i);
    return sum;
}

static void set_factors(struct fold *fold)
{
    const struct plan_problem *problem = fold->problem;
    double base = all_layers_time(problem, 0);
    for (int t = 1; t < problem->group_count; t++)
        base = fmax(base, all_layers_time(problem, t));
    for (int t = 0; t < problem->group_count; t++) {
        double factor = base / all_layers_time(problem, t);
        double clean = rint(factor / FOLD_NOISE) * FOLD_NOISE; /* so that 4.5 is the half that it was in ms */
        fold->factor[t] = rint(clean);
    }
}

static double count_virtual_nodes(const struct fold *fold)
{
    const struct plan_group *groups = fold->problem->groups;
    double nodes = 0;
    for (int t = 0; t < fold->problem->group_count; t++) {
        nodes += groups[t].nodes.count *
                 trunc((double)groups[t].nodes.devices / groups[0].nodes.devices * fold->factor[t]);
    }
    return nodes;
}

/* Its stages may take any memory: what is limited are those of the real plan. */
static bool set_folded_problem(struct fold *fold)
{
    double nodes = count_virtual_nodes(fold), layers = fold->problem->layer_count;
    double devices = nodes * fold->problem->groups[0].nodes.devices;
    bool longest = fold->options->method == SEARCH_FOLD_DP || fold->options->fold_longest_only;
    if (nodes < 1)
        return error_set(
            fold->err, ERROR_INFEASIBLE,
            "no plan: folded into nodes like the first group's, the cluster is less than one node; "
            "name the slowest group first, or try --search exact");
    if (nodes > layers || (longest && devices > layers))
        return error_set(
            fold->err, ERROR_INFEASIBLE,
            "no plan: folding gives %.0f virtual nodes and %.0f virtual stages, more than the %.0f layers; "
            "try --search exact",
            nodes, devices, layers);
    fold->folded = *fold->problem;
    fold->folded.group_count = 1;
    fold->folded.groups[0].nodes.count = (int)nodes;
    fold->folded.groups[0].nodes.memory = 0;
    fold->max_stages = (int)fmin(devices, layers);
    fold->stages = ARENA_ARRAY(&fold->arena, (size_t)fold->max_stages, struct pipeline_stage);
    return fold->stages || error_memory(fold->err);
}

/* Devices are counted per group, nodes are not: with nodes that do not fill up, no node may be left for a
 * stage. */
static bool check_nodes(const struct plan_problem *problem, const struct pipeline *plan, struct error *err)
{
    for (int i = 0; i < plan->stage_count; i++)
        if (plan->stages[i].node < 0)
            return error_set(
                err, ERROR_INFEASIBLE,
                "no plan: the recovered stages of '%s' do not fit into its nodes; try --search exact",
                problem->groups[plan->stages[i].group].device);
    return true;
}

static bool search(struct fold *fold, struct pipeline *plan)
{
    bool dp = fold->options->method == SEARCH_FOLD_DP;
    struct reference_table table;
    set_factors(fold);
    if (!set_folded_problem(fold) ||
        !reference_table_init(&table, &fold->folded, dp || fold->options->fold_longest_only,
                              fold->options->progress, fold->err))
        return false;
    bool good = dp ? fold_recover_dp(fold, &table) : fold_recover_greedily(fold, &table);
    int64_t states = (int64_t)table.value_count;
    reference_table_release(&table);
    if (!good || !reference_finish(fold->problem, fold->stages, fold->stage_count, false,
                                   dp ? "fold-dp" : "fold-greedy", plan, fold->err))
        return false;
    plan->states = states;
    if (check_nodes(fold->problem, plan, fold->err))
        return true;
    pipeline_release(plan);
    return false;
}

bool plan_search_fold(const struct plan_problem *problem, const struct plan_search_options *options,
                      struct pipeline *plan, struct error *err)
{
    double started = clock_now();
    struct fold fold = {
        .problem = problem,
        .options = options,
        .objective = reference_objective_of(problem),
        .time = INFINITY,
        .err = err,
    };
    bool good = search(&fold, plan);
    if (good)
        plan->planning_seconds = clock_now() - started;
    arena_release(&fold.arena);
    return good;
}
