/* Recovery of folded plans by dynamic program (fold.c says how it works). */
#include "plan/reference/fold.h"

#include <math.h>
#include <string.h>

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

bool fold_recover_dp(struct fold *fold, const struct reference_table *table)
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
