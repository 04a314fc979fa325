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
#include "core/arena.h"
#include "core/clock.h"
#include "core/error.h"
#include "plan/reference/reference.h"
#include "plan/reference/reference_table.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLD_NOISE 1e-9 /* 2 + 1e-16 is 2 */

struct fold {
    const struct plan_problem *problem;
    const struct plan_search_options *options;
    struct reference_objective objective;
    struct arena arena;
    double factor[PLAN_MAX_GROUPS];
    struct plan_problem folded;    /* the virtual cluster; borrows everything from *problem */
    int max_stages;                /* one per virtual device */
    struct pipeline_stage *stages; /* the result: room for most_stages */
    int stage_count;
    double time;
    struct error *err;
};

#define MILLISECONDS 1e3 /* per second */

struct reference_objective reference_objective_of(const struct plan_problem *problem)
{
    int n = problem->microbatches;
    if (problem->objective == OBJECTIVE_PIPELINE)
        return n > 0 ? (struct reference_objective){.fixed = n - 1, .single = n}
                     : (struct reference_objective){.fixed = -1, .per_stage = 3, .single = 3};
    return n > 0 ? (struct reference_objective){.fixed = n + 1, .per_stage = -1, .weight = 1, .single = 4}
                 : (struct reference_objective){.fixed = 1, .per_stage = 2, .weight = 1, .single = 4};
}

struct reference_part reference_stage(double time)
{
    return (struct reference_part){.stages = 1, .sum = time, .slowest = time, .tail = time};
}

struct reference_part reference_join(const struct reference_part *left, const struct reference_part *right)
{
    bool left_holds = left->slowest > right->slowest;
    return (struct reference_part){
        .stages = left->stages + right->stages,
        .bottleneck = left_holds ? left->bottleneck : left->stages + right->bottleneck,
        .sum = left->sum + right->sum,
        .slowest = left_holds ? left->slowest : right->slowest,
        .tail = left_holds ? left->tail + right->sum : right->tail,
    };
}

double reference_count(const struct reference_objective *objective, const struct reference_part *part)
{
    return objective->fixed + objective->per_stage * part->stages + objective->weight * part->bottleneck;
}

double reference_time(const struct reference_objective *objective, const struct reference_part *part)
{
    if (part->stages == 1)
        return objective->single * part->slowest;
    return part->sum + reference_count(objective, part) * part->slowest + objective->weight * part->tail;
}

/* Milliseconds of one layer on one device. */
static double reference_forward(const struct plan_group *group, int layer)
{
    return group->forward_ms ? group->forward_ms[layer] : group->forward[layer] * MILLISECONDS;
}

static double reference_backward(const struct plan_group *group, int layer)
{
    return group->backward_ms ? group->backward_ms[layer] : group->backward[layer] * MILLISECONDS;
}

double reference_stage_time(const struct plan_problem *problem, int group, int devices, int first, int end)
{
    const struct plan_group *g = &problem->groups[group];
    int split = 0;
    while (1 << split < devices)
        split++;
    if (!plan_stage_fits(problem, group, devices, first, end - 1, 1))
        return INFINITY;
    double forward = 0, backward = 0;
    for (int i = first; i < end; i++) {
        double allreduce = split > 0 ? g->allreduce[split][i] * MILLISECONDS : 0;
        forward += reference_forward(g, i) / devices;
        forward += allreduce;
        backward += reference_backward(g, i) / devices;
        backward += allreduce;
    }
    return forward + backward;
}

bool reference_fits(const struct plan_problem *problem, const struct pipeline_stage *stages, int count)
{
    for (int i = 0; i < count; i++)
        if (!plan_stage_fits(problem, stages[i].group, stages[i].devices, stages[i].layers.first,
                             stages[i].layers.last, count - i))
            return false;
    return true;
}

bool reference_count_error(const struct plan_problem *problem, struct error *err)
{
    return error_set(
        err, ERROR_INFEASIBLE,
        "no plan: the oobleck objective counts N - S + k + 1 micro-batches, which is not positive for "
        "parts of more than N = %d stages; use more micro-batches, or try --search exact",
        problem->microbatches);
}

bool reference_finish(const struct plan_problem *problem, const struct pipeline_stage *stages, int count,
                      bool nodes_known, const char *search, struct pipeline *plan, struct error *err)
{
    memset(plan, 0, sizeof *plan);
    plan->stages = malloc((size_t)count * sizeof *stages);
    if (!plan->stages)
        return error_memory(err);
    memcpy(plan->stages, stages, (size_t)count * sizeof *stages);
    plan->stage_count = count;
    plan->search = search;
    if ((nodes_known || pipeline_assign_nodes(problem, plan, err)) && pipeline_score(problem, plan, err))
        return true;
    pipeline_release(plan);
    return false;
}

/* Recovery of folded plans by dynamic program (fold.c says how it works). */

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

/* As in the reference there is one prefix for each number of virtual stages. */
struct fold_merge {
    struct fold *fold;
    int count;             /* virtual stages */
    int *start;            /* [count + 1]: first layer of each */
    struct prefix *prefix; /* [count + 1] */
    int choice_count;
    struct choice choices[PLAN_MAX_GROUPS * PLAN_MAX_SPLITS];
    bool uncountable;
};

static void add_choices(struct fold_merge *merging)
{
    const struct plan_problem *problem = merging->fold->problem;
    for (int t = 0; t < problem->group_count; t++)
        for (int split = 0; split < problem->groups[t].splits; split++) {
            double cover = merging->fold->factor[t] * (1 << split);
            if (cover >= 1 && cover <= merging->count)
                merging->choices[merging->choice_count++] = (struct choice){t, 1 << split, (int)cover};
        }
}

/* Puts one merged stage of `stage_time` behind a prefix (an empty one has no stages), if the devices are
 * there. */
static void extend(struct fold_merge *merging, const struct prefix *left, const struct choice *choice,
                   double stage_time, struct prefix *whole)
{
    const struct fold *fold = merging->fold;
    const struct plan_group *group = &fold->problem->groups[choice->group];
    if (left->used[choice->group] + choice->devices > group->nodes.count * group->nodes.devices)
        return;
    struct reference_part part = reference_stage(stage_time);
    if (left->found)
        part = reference_join(&left->part, &part);
    if (fold->problem->objective == OBJECTIVE_OOBLECK && left->found &&
        reference_count(&fold->objective, &part) <= 0) {
        merging->uncountable = true;
        return;
    }
    double time = reference_time(&fold->objective, &part);
    if (whole->found && !(time < whole->time))
        return;
    whole->found = true;
    whole->time = time;
    whole->part = part;
    whole->last = *choice;
    memcpy(whole->used, left->used, (size_t)fold->problem->group_count * sizeof *whole->used);
    whole->used[choice->group] += choice->devices;
}

/* Puts one merged stage behind the prefix of `from` virtual stages. */
static void extend_from(struct fold_merge *merging, int from, const struct choice *choice)
{
    int end = from + choice->cover;
    double time = reference_stage_time(merging->fold->problem, choice->group, choice->devices,
                                       merging->start[from], merging->start[end]);
    if (time < INFINITY && (merging->prefix[from].found || from == 0))
        extend(merging, &merging->prefix[from], choice, time, &merging->prefix[end]);
}

/* A single merged stage for every number of virtual stages first, then longer and longer pipelines. */
static void merge(struct fold_merge *merging)
{
    for (int c = 0; c < merging->choice_count; c++)
        extend_from(merging, 0, &merging->choices[c]);
    for (int i = 1; i <= merging->count; i++)
        for (int c = 0; c < merging->choice_count; c++)
            if (i > merging->choices[c].cover)
                extend_from(merging, i - merging->choices[c].cover, &merging->choices[c]);
}

static void take_merged(const struct fold_merge *merging, const struct prefix *best)
{
    struct fold *fold = merging->fold;
    int end = merging->count;
    fold->stage_count = best->part.stages;
    for (int i = fold->stage_count - 1; i >= 0; i--) {
        const struct choice *choice = &best->last;
        fold->stages[i] = (struct pipeline_stage){
            .layers.first = merging->start[end - choice->cover],
            .layers.last = merging->start[end] - 1,
            .group = choice->group,
            .devices = choice->devices,
        };
        end -= choice->cover;
        best -= choice->cover;
    }
}

static bool prepare_merging(struct fold_merge *merging, const struct reference_table *table)
{
    struct fold *fold = merging->fold;
    size_t groups = (size_t)fold->problem->group_count;
    size_t prefixes = (size_t)merging->count + 1;
    merging->start = ARENA_ARRAY(&fold->arena, (size_t)merging->count + 1, int);
    merging->prefix = ARENA_ARRAY(&fold->arena, prefixes, struct prefix);
    int *used = ARENA_ARRAY(&fold->arena, prefixes * groups, int);
    if (!merging->start || !merging->prefix || !used)
        return error_memory(fold->err);
    reference_table_stages(table, merging->count, fold->stages);
    for (int i = 0; i < merging->count; i++)
        merging->start[i] = fold->stages[i].layers.first;
    merging->start[merging->count] = fold->problem->layer_count;
    for (size_t i = 0; i < prefixes; i++)
        merging->prefix[i].used = used + i * groups;
    add_choices(merging);
    return true;
}

/* Assign the stages of the table's virtual plans to real devices: set fold->stages and fold->stage_count. */
static bool fold_recover_dp(struct fold *fold, const struct reference_table *table)
{
    struct fold_merge merging = {.fold = fold, .count = fold->max_stages};
    if (!prepare_merging(&merging, table))
        return false;
    merge(&merging);
    if (merging.uncountable)
        return reference_count_error(fold->problem, fold->err);
    const struct prefix *whole = &merging.prefix[merging.count];
    if (whole->found)
        take_merged(&merging, whole);
    return (whole->found && reference_fits(fold->problem, fold->stages, fold->stage_count)) ||
           error_set(
               fold->err, ERROR_INFEASIBLE,
               "no plan: recovery finds no way to cover the %d virtual stages of folding with the devices "
               "there are and their memory; try --search exact",
               merging.count);
}

/* Greedy recovery of folded plans (fold.c says how it works). */

#define MIN_DEVICES 0.6 /* a stage worth this much of a device or less is not given to it */

static void keep_if_best(struct fold *fold, const struct pipeline_stage *stages, int count, double time)
{
    if (!(time < fold->time))
        return;
    memcpy(fold->stages, stages, (size_t)count * sizeof *stages);
    fold->stage_count = count;
    fold->time = time;
}

struct recovery {
    struct fold *fold;
    int count;
    struct pipeline_stage *stages;
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

/* How many devices of a group with `left` devices take over a stage of `virtual_devices`; 0: none. A number
 * that is no power of two, or more than a node has, is no stage. */
static int devices_for(const struct fold *fold, int group, int virtual_devices, int left)
{
    double worth = fmin(virtual_devices / fold->factor[group], left);
    if (!(worth > MIN_DEVICES))
        return 0;
    double devices = ceil(worth - FOLD_NOISE);
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
        const struct pipeline_stage *stage = &recovery->stages[j];
        int devices = stage->group == 0 ? devices_for(recovery->fold, group, stage->devices, left) : 0;
        if (devices == 0)
            continue;
        double before = recovery->times[j];
        recovery->times[j] = reference_stage_time(recovery->fold->problem, group, devices,
                                                  stage->layers.first, stage->layers.last + 1);
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
        int left = problem->groups[t].nodes.count * problem->groups[t].nodes.devices;
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
        const struct pipeline_stage *stage = &recovery->stages[i];
        if (stage->group != 0)
            continue;
        used += stage->devices;
        if (reference_stage_time(problem, 0, stage->devices, stage->layers.first, stage->layers.last + 1) ==
            INFINITY)
            *fits = false;
    }
    if (used > group->nodes.count * group->nodes.devices)
        return error_set(
            recovery->fold->err, ERROR_INFEASIBLE,
            "no plan: greedy recovery of the virtual plan with %d stages leaves %d devices' worth of them to "
            "'%s', over-subscribing its %d devices; try --search fold-dp or exact",
            recovery->count, used, group->device, group->nodes.count * group->nodes.devices);
    return true;
}

static bool recover_greedily(struct recovery *recovery)
{
    struct fold *fold = recovery->fold;
    for (int i = 0; i < recovery->count; i++)
        recovery->times[i] =
            reference_stage_time(&fold->folded, 0, recovery->stages[i].devices,
                                 recovery->stages[i].layers.first, recovery->stages[i].layers.last + 1);
    bool recovered = give_stages(recovery), fits = false;
    if (recovered && !check_rest(recovery, &fits))
        return false;
    if (fits && reference_fits(fold->problem, recovery->stages, recovery->count))
        keep_if_best(fold, recovery->stages, recovery->count, pipeline_time(recovery));
    return !recovery->uncountable || reference_count_error(fold->problem, fold->err);
}

static bool greedy_error(const struct recovery *recovery)
{
    const struct fold *fold = recovery->fold;
    if (recovery->failed_group < 0)
        return error_set(
            fold->err, ERROR_INFEASIBLE,
            "no plan: every plan that greedy recovery finds has a stage over the memory of its devices; try "
            "--search exact");
    return error_set(fold->err, ERROR_INFEASIBLE,
                     "no plan: greedy recovery finds no stage of a virtual plan for some devices of '%s': it "
                     "takes more than "
                     "%g of a device, and one of these is worth %.3g of '%s'; try --search fold-dp or exact",
                     fold->problem->groups[recovery->failed_group].device, MIN_DEVICES,
                     fold->factor[recovery->failed_group], fold->problem->groups[0].device);
}

static bool recover_all(struct recovery *recovery, const struct reference_table *table)
{
    struct fold *fold = recovery->fold;
    for (int count = fold->folded.groups[0].nodes.count; count <= fold->max_stages; count++) {
        if (reference_table_time(table, count) == INFINITY)
            continue;
        recovery->count = count;
        reference_table_stages(table, count, recovery->stages);
        if (!recover_greedily(recovery))
            return false;
    }
    return fold->stage_count > 0 || greedy_error(recovery);
}

static bool fold_recover_greedily(struct fold *fold, const struct reference_table *table)
{
    struct recovery recovery = {
        .fold = fold,
        .stages = ARENA_ARRAY(&fold->arena, (size_t)fold->max_stages, struct pipeline_stage),
        .times = ARENA_ARRAY(&fold->arena, (size_t)fold->max_stages, double),
        .failed_group = -1,
    };
    if (!recovery.stages || !recovery.times)
        return error_memory(fold->err);
    return recover_all(&recovery, table);
}

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
