/* Greedy recovery of folded plans (fold.c says how it works). */
#include "plan/reference/fold.h"

#include <math.h>
#include <string.h>

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

bool fold_recover_greedily(struct fold *fold, const struct reference_table *table)
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
