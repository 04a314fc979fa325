/* Folding, the approximation of Ditto (heterogeneous Oobleck): a mixed cluster is folded into a virtual one of its first
 * kind, which is planned by divide and conquer; then the virtual plan is recovered, that is, its stages are given to real devices.
 *
 * Factor f_t: how many devices of group 0 a device of group t is worth, by the time of all layers together. The
 * reference assumes that group 0 is the slowest, and rounds half to even: 1.8 is 2, 2.15 is 2, 4.5 is 4. The virtual
 * cluster has  n = sum over t of nodes_t x int(devices_t / devices_0 x f_t)  nodes like those of group 0.
 *
 * With options->fold_exact_factors factors stay as they are (2.15, or 0.7 where group 0 is faster), and differ
 * from the above in three places:
 *   - they are relative to group 0 whether it is the slowest or not;
 *   - fractions are summed over the cluster before anything is cut off:
 *     n = floor(sum over t of nodes_t x devices_t / devices_0 x f_t);
 *   - no number of virtual stages is what j devices are worth. In fold-dp they may take floor(f_t j) or
 *     ceil(f_t j) of them, so that what one stage loses another can gain; each is scored with its real times.
 *
 * fold-greedy: from the fastest group down (the last one first), as long as it has devices left, the one stage is moved to
 * it that makes the plan shortest. A stage of g virtual devices takes x = g / f_t devices, rounded up, unless that is
 * 0.6 of a device or less. What is left stays on group 0. Stages are never merged or cut again. All virtual plans
 * are tried, from n stages up to one per virtual device, and the best result is taken. If any result needs more of
 * group 0 than there is, the reference stops.
 *
 * fold-dp: from the virtual plan with one stage per virtual device. j = 1, 2, 4, … devices of group t take
 * f_t j neighbouring virtual stages and merge them into one; the cheapest way to cover the first i stages is kept for each
 * i, with the devices it used, and extended. One state per i: nothing makes it the best. */
#include "plan/reference_table.h"
#include "plan/search.h"

#include <math.h>
#include <string.h>

#define LEAST_DEVICES 0.6  /* a stage worth less of a device is not given to it */
#define FACTOR_NOISE  1e-9 /* 2 + 1e-16 is 2 */

struct fold {
    const struct plan_problem *problem;
    const struct plan_search_options *options;
    struct reference_objective objective;
    struct arena arena;
    double factor[PLAN_MAX_GROUPS];
    struct plan_problem folded; /* the virtual cluster; borrows everything from *problem */
    int most_stages;            /* one per virtual device */
    struct plan_stage *stages;  /* the result: room for most_stages */
    int stage_count;
    double time;
    struct error *err;
};

static double all_layers_seconds(const struct plan_problem *problem, int group)
{
    double sum = 0;
    for (int i = 0; i < problem->layer_count; i++)
        sum += problem->groups[group].forward[i] + problem->groups[group].backward[i];
    return sum;
}

static void set_factors(struct fold *fold)
{
    const struct plan_problem *problem = fold->problem;
    double base = all_layers_seconds(problem, 0);
    for (int t = 1; t < problem->group_count && !fold->options->fold_exact_factors; t++)
        base = fmax(base, all_layers_seconds(problem, t));
    for (int t = 0; t < problem->group_count; t++) {
        double factor = base / all_layers_seconds(problem, t);
        double clean =
            rint(factor / FACTOR_NOISE) * FACTOR_NOISE; /* so that 4.5 is the half that it was in ms */
        fold->factor[t] = fold->options->fold_exact_factors ? factor : rint(clean);
    }
}

static double count_virtual_nodes(const struct fold *fold)
{
    const struct plan_group *groups = fold->problem->groups;
    double nodes = 0;
    for (int t = 0; t < fold->problem->group_count; t++) {
        double worth = (double)groups[t].devices_per_node / groups[0].devices_per_node * fold->factor[t];
        nodes += groups[t].nodes * (fold->options->fold_exact_factors ? worth : trunc(worth));
    }
    return floor(nodes + FACTOR_NOISE);
}

/* Its stages may take any memory: what is limited are those of the real plan. */
static bool set_folded_problem(struct fold *fold)
{
    double nodes = count_virtual_nodes(fold), layers = fold->problem->layer_count;
    double devices = nodes * fold->problem->groups[0].devices_per_node;
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
    fold->folded.groups[0].nodes = (int)nodes;
    fold->folded.groups[0].memory = 0;
    fold->most_stages = (int)fmin(devices, layers);
    fold->stages = ARENA_ARRAY(&fold->arena, (size_t)fold->most_stages, struct plan_stage);
    return fold->stages || error_memory(fold->err);
}

static void keep_if_best(struct fold *fold, const struct plan_stage *stages, int count, double time)
{
    if (!(time < fold->time))
        return;
    memcpy(fold->stages, stages, (size_t)count * sizeof *stages);
    fold->stage_count = count;
    fold->time = time;
}

/* ---- greedy recovery ---- */

struct recovery {
    struct fold *fold;
    int count;
    struct plan_stage *stages;
    double *times; /* of each stage */
    bool uncountable;
    int failed_group; /* the last group that no stage could be given to; -1: none */
};

static double pipeline_time(struct recovery *recovery)
{
    struct reference_part part = reference_stage(recovery->times[0]);
    for (int i = 1; i < recovery->count; i++) {
        struct reference_part stage = reference_stage(recovery->times[i]);
        part = reference_join(&part, &stage);
    }
    if (recovery->fold->problem->objective == OBJECTIVE_OOBLECK && part.stages > 1 &&
        reference_count(&recovery->fold->objective, &part) <= 0)
        recovery->uncountable = true;
    return reference_time(&recovery->fold->objective, &part);
}

/* How many devices of a group with `left` devices take over a stage of `virtual_devices`; 0: none. A number that is no
 * power of two, or more than a node has, is no stage. */
static int devices_for(const struct fold *fold, int group, int virtual_devices, int left)
{
    double worth = fmin(virtual_devices / fold->factor[group], left);
    if (!(worth > LEAST_DEVICES))
        return 0;
    double devices = ceil(worth - FACTOR_NOISE);
    for (int split = 0; split < fold->problem->groups[group].splits; split++)
        if (devices == 1 << split)
            return 1 << split;
    return 0;
}

/* Gives the one best stage to the group. Returns its devices; 0: no stage can be given. */
static int give_stage(struct recovery *recovery, int group, int left)
{
    int best = -1, best_devices = 0;
    double best_time = INFINITY, best_stage_time = 0;
    for (int j = 0; j < recovery->count; j++) {
        const struct plan_stage *stage = &recovery->stages[j];
        int devices = stage->group == 0 ? devices_for(recovery->fold, group, stage->devices, left) : 0;
        if (devices == 0)
            continue;
        double before = recovery->times[j];
        recovery->times[j] = reference_stage_time(recovery->fold->problem, group, devices, stage->first_layer,
                                                  stage->last_layer + 1);
        double time = recovery->times[j] < INFINITY ? pipeline_time(recovery) : INFINITY;
        if (time < best_time) {
            best = j;
            best_devices = devices;
            best_time = time;
            best_stage_time = recovery->times[j];
        }
        recovery->times[j] = before;
    }
    if (best >= 0) {
        recovery->stages[best].group = group;
        recovery->stages[best].devices = best_devices;
        recovery->times[best] = best_stage_time;
    }
    return best_devices;
}

/* False: not all devices of some group could be put to use. */
static bool give_stages(struct recovery *recovery)
{
    const struct plan_problem *problem = recovery->fold->problem;
    for (int t = problem->group_count - 1; t > 0; t--) {
        int left = problem->groups[t].nodes * problem->groups[t].devices_per_node;
        while (left > 0) {
            int devices = give_stage(recovery, t, left);
            if (devices == 0) {
                recovery->failed_group = t;
                return false;
            }
            left -= devices;
        }
    }
    return true;
}

/* The stages that stay on group 0 must find their devices and memory there. */
static bool check_rest(struct recovery *recovery, bool *fits)
{
    const struct plan_problem *problem = recovery->fold->problem;
    const struct plan_group *group = &problem->groups[0];
    int used = 0;
    *fits = true;
    for (int i = 0; i < recovery->count; i++) {
        const struct plan_stage *stage = &recovery->stages[i];
        if (stage->group != 0)
            continue;
        used += stage->devices;
        if (reference_stage_time(problem, 0, stage->devices, stage->first_layer, stage->last_layer + 1) ==
            INFINITY)
            *fits = false;
    }
    if (used > group->nodes * group->devices_per_node)
        return error_set(
            recovery->fold->err, ERROR_INFEASIBLE,
            "no plan: greedy recovery of the virtual plan with %d stages leaves %d devices' worth of them to "
            "'%s', over-subscribing its %d devices; try --search fold-dp or exact",
            recovery->count, used, group->device, group->nodes * group->devices_per_node);
    return true;
}

static bool recover_greedily(struct recovery *recovery)
{
    struct fold *fold = recovery->fold;
    for (int i = 0; i < recovery->count; i++)
        recovery->times[i] =
            reference_stage_time(&fold->folded, 0, recovery->stages[i].devices,
                                 recovery->stages[i].first_layer, recovery->stages[i].last_layer + 1);
    bool recovered = give_stages(recovery), fits = false;
    if (recovered && !check_rest(recovery, &fits))
        return false;
    if (fits)
        keep_if_best(fold, recovery->stages, recovery->count, pipeline_time(recovery));
    return !recovery->uncountable || reference_count_error(fold->problem, fold->err);
}

static bool greedy_error(const struct recovery *recovery)
{
    const struct fold *fold = recovery->fold;
    if (recovery->failed_group < 0)
        return error_set(
            fold->err, ERROR_INFEASIBLE,
            "no plan: every plan that greedy recovery finds has a stage over the memory of '%s'; try "
            "--search exact",
            fold->problem->groups[0].device);
    return error_set(fold->err, ERROR_INFEASIBLE,
                     "no plan: greedy recovery finds no stage of a virtual plan for some devices of '%s': it "
                     "takes more than "
                     "%g of a device, and one of these is worth %.3g of '%s'; try --search fold-dp or exact",
                     fold->problem->groups[recovery->failed_group].device, LEAST_DEVICES,
                     fold->factor[recovery->failed_group], fold->problem->groups[0].device);
}

static bool recover_all(struct recovery *recovery, const struct reference_table *table)
{
    struct fold *fold = recovery->fold;
    for (int count = fold->folded.groups[0].nodes; count <= fold->most_stages; count++) {
        if (reference_table_time(table, count) == INFINITY)
            continue;
        recovery->count = count;
        reference_table_stages(table, count, recovery->stages);
        if (!recover_greedily(recovery))
            return false;
    }
    return fold->stage_count > 0 || greedy_error(recovery);
}

static bool fold_greedy(struct fold *fold, const struct reference_table *table)
{
    struct recovery recovery = {
        .fold = fold,
        .stages = ARENA_ARRAY(&fold->arena, (size_t)fold->most_stages, struct plan_stage),
        .times = ARENA_ARRAY(&fold->arena, (size_t)fold->most_stages, double),
        .failed_group = -1,
    };
    if (!recovery.stages || !recovery.times)
        return error_memory(fold->err);
    return recover_all(&recovery, table);
}

/* ---- recovery by dynamic program ---- */

/* `devices` devices of a group for `cover` virtual stages. */
struct choice {
    int group, devices, cover;
};

/* The first so many virtual stages, on real devices. */
struct prefix {
    bool found;
    double time;
    struct reference_part part;
    struct choice last;
    int *used; /* [group] devices */
};

struct merging {
    struct fold *fold;
    int count;             /* virtual stages */
    int *start;            /* [count + 1]: first layer of each */
    struct prefix *prefix; /* [count + 1] */
    int choice_count;
    struct choice choices[PLAN_MAX_GROUPS * PLAN_MAX_SPLITS * 2];
    bool uncountable;
};

static void add_choice(struct merging *merging, int group, int devices, double cover)
{
    if (cover >= 1 && cover <= merging->count)
        merging->choices[merging->choice_count++] = (struct choice){group, devices, (int)cover};
}

static void add_choices(struct merging *merging)
{
    const struct plan_problem *problem = merging->fold->problem;
    for (int t = 0; t < problem->group_count; t++)
        for (int split = 0; split < problem->groups[t].splits; split++) {
            double worth = merging->fold->factor[t] * (1 << split);
            double less = floor(worth + FACTOR_NOISE), more = ceil(worth - FACTOR_NOISE);
            add_choice(merging, t, 1 << split, less);
            if (more > less)
                add_choice(merging, t, 1 << split, more);
        }
}

/* Extends the plan of the first `from` virtual stages (none: 0) by one choice, if the devices are there. */
static void extend(struct merging *merging, int from, const struct choice *choice)
{
    const struct fold *fold = merging->fold;
    const struct plan_problem *problem = fold->problem;
    const struct plan_group *group = &problem->groups[choice->group];
    struct prefix *left = &merging->prefix[from], *whole = &merging->prefix[from + choice->cover];
    if (left->used[choice->group] + choice->devices > group->nodes * group->devices_per_node)
        return;
    double stage = reference_stage_time(problem, choice->group, choice->devices, merging->start[from],
                                        merging->start[from + choice->cover]);
    if (stage == INFINITY)
        return;
    struct reference_part part = reference_stage(stage);
    if (from > 0)
        part = reference_join(&left->part, &part);
    if (problem->objective == OBJECTIVE_OOBLECK && from > 0 && reference_count(&fold->objective, &part) <= 0)
        merging->uncountable = true;
    double time = reference_time(&fold->objective, &part);
    if (whole->found && !(time < whole->time))
        return;
    whole->found = true;
    whole->time = time;
    whole->part = part;
    whole->last = *choice;
    memcpy(whole->used, left->used, (size_t)problem->group_count * sizeof *whole->used);
    whole->used[choice->group] += choice->devices;
}

/* A single merged stage for every number of virtual stages first, then longer and longer pipelines. */
static void merge(struct merging *merging)
{
    for (int c = 0; c < merging->choice_count; c++)
        extend(merging, 0, &merging->choices[c]);
    for (int i = 1; i <= merging->count; i++)
        for (int c = 0; c < merging->choice_count; c++) {
            int from = i - merging->choices[c].cover;
            if (from > 0 && merging->prefix[from].found)
                extend(merging, from, &merging->choices[c]);
        }
}

static void take_merged(const struct merging *merging)
{
    struct fold *fold = merging->fold;
    int end = merging->count;
    fold->stage_count = merging->prefix[end].part.stages;
    for (int i = fold->stage_count - 1; i >= 0; i--) {
        const struct choice *choice = &merging->prefix[end].last;
        fold->stages[i] = (struct plan_stage){
            .first_layer = merging->start[end - choice->cover],
            .last_layer = merging->start[end] - 1,
            .group = choice->group,
            .devices = choice->devices,
        };
        end -= choice->cover;
    }
}

static bool prepare_merging(struct merging *merging, const struct reference_table *table)
{
    struct fold *fold = merging->fold;
    size_t groups = (size_t)fold->problem->group_count, prefixes = (size_t)merging->count + 1;
    merging->start = ARENA_ARRAY(&fold->arena, prefixes, int);
    merging->prefix = ARENA_ARRAY(&fold->arena, prefixes, struct prefix);
    int *used = ARENA_ARRAY(&fold->arena, prefixes * groups, int);
    if (!merging->start || !merging->prefix || !used)
        return error_memory(fold->err);
    reference_table_stages(table, merging->count, fold->stages);
    for (int i = 0; i < merging->count; i++)
        merging->start[i] = fold->stages[i].first_layer;
    merging->start[merging->count] = fold->problem->layer_count;
    for (size_t i = 0; i < prefixes; i++)
        merging->prefix[i].used = used + i * groups;
    add_choices(merging);
    return true;
}

static bool fold_dp(struct fold *fold, const struct reference_table *table)
{
    struct merging merging = {.fold = fold, .count = fold->most_stages};
    if (!prepare_merging(&merging, table))
        return false;
    merge(&merging);
    if (merging.uncountable)
        return reference_count_error(fold->problem, fold->err);
    if (!merging.prefix[merging.count].found)
        return error_set(
            fold->err, ERROR_INFEASIBLE,
            "no plan: recovery finds no way to cover the %d virtual stages of folding with the devices "
            "there are and their memory; try --search exact",
            merging.count);
    take_merged(&merging);
    return true;
}

/* Devices are counted per group, nodes are not: with nodes that do not fill up, no node may be left for a stage. */
static bool check_nodes(const struct plan_problem *problem, const struct plan *plan, struct error *err)
{
    for (int i = 0; i < plan->stage_count; i++)
        if (plan->stages[i].node < 0)
            return error_set(
                err, ERROR_INFEASIBLE,
                "no plan: the recovered stages of '%s' do not fit into its nodes; try --search exact",
                problem->groups[plan->stages[i].group].device);
    return true;
}

static bool search(struct fold *fold, struct plan *plan)
{
    bool dp = fold->options->method == SEARCH_FOLD_DP;
    struct reference_table table;
    set_factors(fold);
    if (!set_folded_problem(fold) ||
        !reference_table_init(&table, &fold->folded, dp || fold->options->fold_longest_only,
                              fold->options->progress, fold->err))
        return false;
    bool good = dp ? fold_dp(fold, &table) : fold_greedy(fold, &table);
    int64_t states = (int64_t)table.value_count;
    reference_table_release(&table);
    if (!good || !reference_finish(fold->problem, fold->stages, fold->stage_count, false,
                                   dp ? "fold-dp" : "fold-greedy", plan, fold->err))
        return false;
    plan->states = states;
    if (check_nodes(fold->problem, plan, fold->err))
        return true;
    plan_release(plan);
    return false;
}

bool plan_search_fold(const struct plan_problem *problem, const struct plan_search_options *options,
                      struct plan *plan, struct error *err)
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
