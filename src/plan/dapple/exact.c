/* The optimum of DAPPLE's objective, with a proof.
 *
 * Problem. Every number of outer replicas r, every way to cut the chain into stages of layers that belong together,
 * every number of devices for each stage and every placement of them; devices may be idle (dapple.h).
 *
 * Bound. For given r and an interval of the pivot's seconds, a dynamic program (program.h) gives a lower bound on all
 * plans whose pivot is in the interval, for both k. Its plan, scored by itself, is an upper bound.
 *
 * Search. Best first over intervals of all r together: the interval with the minimum bound is solved, dropped if its
 * bound reaches the best plan, and otherwise cut in two, finally at values that a stage or transfer can take. If only
 * one such value is left, bound and plan are equal, so the search ends. With no more stages than micro-batches a slower
 * pivot is never better: its block counts M - 1 times, and hides less than M - 1 blocks of all-reduce. With more
 * stages, programs for each k have to reach the interval's lower end (solve_region). The drain of DAPPLE_FIXED does not
 * shrink with the pivot, so one program for each r is enough.
 *
 * Placements. All of them if they are few. Otherwise bounds come from a relaxation, and plans from packing the
 * relaxation's plans or from placements in order; their difference remains as a gap.
 *
 * Check. Equal to brute force on thousands of small cases (tests/plan/dapple_random_test.c). The number of programs at
 * a time does not depend on the threads, and so neither do the answers. */
#include "core/clock.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"
#include "plan/dapple/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_A_TIME  4
#define MAX_STEPS  60000    /* of all placements; with more the search itself would be too slow */
#define MAX_LOOSE  50000000 /* memory only */
#define FEW_LAYERS 256      /* see by_items */
#define NARROW     1.02     /* high / low */
#define SAME       (1 - 1e-12)

struct region {
    int replicas;
    double low, high; /* seconds for the whole batch */
    double bound;     /* minimum seconds of its plans */
    bool fresh;       /* no program was solved for this r yet */
};

struct task {
    struct region region;
    struct dapple_workspace work;
    struct dapple_answer answer, other;
    double bound;
    struct dapple_split plan; /* the best plan of the programs; no stages: none */
    bool failed;
    struct error err;
};

struct exact {
    const struct dapple_problem *problem;
    const struct dapple_options *options;
    struct places places, ordered; /* ordered: only if loose */
    bool loose;
    double *rates; /* possible rates of transfers out of a stage, ascending */
    int rate_count;
    struct region *regions;
    int region_count;
    size_t region_room;
    struct task tasks[AT_A_TIME];
    int task_count;
    double unresolved; /* minimum bound of undecided regions */
    struct dapple_split best;
    int64_t programs;
    double deadline;
};

/* --- possible pivots ---------------------------------------------------------------------------------------- */

static bool list_rates(struct exact *exact)
{
    const struct dapple_cluster *cluster = exact->problem->cluster;
    int devices = dapple_devices(cluster), count = 0;
    exact->rates = malloc(((size_t)devices * (size_t)(devices + 1) / 2 + 2) * sizeof *exact->rates);
    if (!exact->rates)
        return false;
    exact->rates[count++] = cluster->inside;
    exact->rates[count++] = dapple_spanning_rate(exact->problem);
    for (int n = 1; n <= devices; n++)
        for (int away = 1; away <= n; away++)
            exact->rates[count++] = cluster->point_to_point * n / away;
    qsort(exact->rates, (size_t)count, sizeof *exact->rates, order_doubles);
    for (int i = 0; i < count; i++)
        if (i == 0 || exact->rates[i] > exact->rates[exact->rate_count - 1])
            exact->rates[exact->rate_count++] = exact->rates[i];
    return true;
}

/* Returns the first rate that is not lower; rate_count: none. */
static int first_rate(const struct exact *exact, double min)
{
    int low = 0, high = exact->rate_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (exact->rates[middle] < min)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The longest time of a stage or transfer up to a value, and the shortest above it; -INFINITY and INFINITY: none. */
struct around {
    double below, above;
};

static void see_item(struct around *around, double max, double item)
{
    if (item <= max)
        around->below = fmax(around->below, item);
    else
        around->above = fmin(around->above, item);
}

/* Returns the maximum k: 2 if a slower pivot may be better. */
static int max_factor(const struct exact *exact, int replicas)
{
    bool slower = exact->problem->rules == DAPPLE_ORIGINAL &&
                  exact->places.devices / replicas > dapple_microbatches(exact->problem, replicas);
    return slower ? 2 : 1;
}

/* Adds the times of a stage on any number of units that are nearest to the value. */
static void see_stage(struct around *around, double max, double compute, int replicas, int units)
{
    double count = ceil(compute / (max * replicas));
    int middle = count < units ? (int)count : units;
    for (int n = middle > 1 ? middle - 1 : 1; n <= middle + 1 && n <= units; n++)
        see_item(around, max, compute / (n * replicas));
}

static struct around items_around(const struct exact *exact, const struct region *region, double max)
{
    const struct dapple_problem *problem = exact->problem;
    const struct chain *chain = problem->chain;
    int layers = chain->layer_count, units = exact->places.devices / region->replicas;
    struct around around = {-INFINITY, INFINITY};
    for (int last = 0; last < layers; last++)
        for (int first = 0; first <= last; first++)
            if (first == 0 || chain_before(chain, first - 1, last))
                see_stage(&around, max, dapple_compute(problem, first, last), region->replicas, units);
    for (int factor = 1; factor <= max_factor(exact, region->replicas); factor++)
        for (int layer = 0; layer < layers - 1; layer++) {
            double bytes = factor * dapple_crossing(problem, layer);
            int rate = first_rate(exact, bytes / max);
            for (int i = rate > 0 ? rate - 1 : 0; i <= rate + 1 && i < exact->rate_count; i++)
                see_item(&around, max, bytes / exact->rates[i]);
        }
    return around;
}

/* Are regions cut at values of stages and transfers? If the chain is short, or the region narrow: with many layers a
 * wide region has values nearly everywhere. */
static bool by_items(const struct exact *exact, const struct region *region)
{
    return exact->problem->chain->layer_count <= FEW_LAYERS || region->high < region->low * NARROW;
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static int devices_used(const struct dapple_split *plan)
{
    int used = 0;
    for (int s = 0; s < plan->stage_count; s++)
        used += plan->stages[s].devices;
    return used;
}

static bool is_better(const struct dapple_split *plan, const struct dapple_split *best)
{
    if (plan->latency < best->latency * SAME)
        return true;
    if (plan->latency * SAME > best->latency)
        return false;
    if (devices_used(plan) != devices_used(best))
        return devices_used(plan) < devices_used(best);
    return plan->stage_count < best->stage_count;
}

/* Scores a plan with the k that is better for it. */
static void score(const struct dapple_problem *problem, struct dapple_split *plan)
{
    plan->factor = 2;
    dapple_score(problem, plan);
    double latency = plan->latency;
    plan->factor = 1;
    dapple_score(problem, plan);
    if (latency < plan->latency) {
        plan->factor = 2;
        dapple_score(problem, plan);
    }
}

static void keep_better(struct dapple_split *best, struct dapple_split *plan)
{
    if (best->stage_count == 0 || is_better(plan, best)) {
        dapple_split_release(best);
        *best = *plan;
    } else {
        dapple_split_release(plan);
    }
    *plan = (struct dapple_split){0};
}

/* Scores the plan of an answer and keeps it if it is the task's best so far. *found: it could be placed. */
static bool place(const struct exact *exact, const struct places *places, const struct dapple_answer *answer,
                  struct task *task, bool *found)
{
    struct dapple_split plan;
    struct error *err = &task->err;
    *found = true;
    if (isinf(answer->bound))
        return true;
    if (!dapple_split_init(&plan, answer->stage_count, places->devices, err))
        return false;
    int last = exact->problem->chain->layer_count - 1;
    for (int s = answer->stage_count - 1; s >= 0; last = answer->stages[s--].first_layer - 1)
        plan.stages[s] =
            (struct dapple_stage){{answer->stages[s].first_layer, last}, answer->stages[s].devices};
    plan.replicas = task->region.replicas;
    bool done = places->kind == PLACES_LOOSE
                    ? places_pack(places, answer->stage_count, answer->stages, plan.stage_of, found, err)
                    : places_follow(places, answer->stage_count, answer->stages, plan.stage_of, err);
    if (!done || !*found) {
        dapple_split_release(&plan);
        return done;
    }
    score(exact->problem, &plan);
    keep_better(&task->plan, &plan);
    return true;
}

static double best_latency(const struct exact *exact)
{
    return exact->best.stage_count > 0 ? exact->best.latency : INFINITY;
}

/* --- regions ------------------------------------------------------------------------------------------------------ */

static bool add_region(struct exact *exact, struct region region, struct error *err)
{
    if (region.bound >= best_latency(exact) * SAME)
        return true;
    return VECTOR_ADD(exact->regions, exact->region_count, exact->region_room, region) || error_memory(err);
}

static double steady_share(const struct exact *exact, const struct region *region)
{
    double count = (double)dapple_microbatches(exact->problem, region->replicas);
    return exact->problem->rules == DAPPLE_ORIGINAL ? (count - 1) / count : 0;
}

/* Adds the region of one r that may hold better plans than the best. */
static bool start_region(struct exact *exact, int replicas, struct error *err)
{
    const struct dapple_problem *problem = exact->problem;
    double count = (double)dapple_microbatches(problem, replicas), total = dapple_total(problem);
    struct region region = {.replicas = replicas, .fresh = true};
    int max_devices = exact->places.devices / replicas * replicas;
    double min = total / max_devices;
    if (problem->rules == DAPPLE_FIXED) {
        region.bound = min;
        region.high = INFINITY;
        return add_region(exact, region, err);
    }
    double share = steady_share(exact, &region), max = total;
    for (int i = 0; i < problem->chain->layer_count - 1; i++)
        max = fmax(max, max_factor(exact, replicas) * dapple_crossing(problem, i) / exact->rates[0]);
    if (share > 0)
        max = fmin(max, (best_latency(exact) - total / (replicas * count)) / share);
    region.low = min;
    region.high = max;
    if (by_items(exact, &region)) {
        region.low = items_around(exact, &region, min * (1 - 1e-12)).above;
        region.high = items_around(exact, &region, max * (1 + 1e-12)).below;
    }
    region.bound = share * region.low + total / (replicas * count);
    return region.low > region.high || add_region(exact, region, err);
}

static bool start_regions(struct exact *exact, struct error *err)
{
    for (int replicas = 1; replicas <= exact->places.devices; replicas++)
        if (dapple_microbatches(exact->problem, replicas) > 0 && !start_region(exact, replicas, err))
            return false;
    return true;
}

/* Fresh regions with many replicas come first, one by one: their programs have few units and are soon solved, and the
 * others profit from their plans. Then the region with the minimum bound, the first of equals. */
static bool comes_before(const struct region *region, const struct region *other)
{
    if (!region->fresh || !other->fresh)
        return region->fresh || (!other->fresh && region->bound < other->bound);
    return region->replicas > other->replicas;
}

static bool take_region(struct exact *exact, struct region *region)
{
    int min = -1, count = 0;
    for (int i = 0; i < exact->region_count; i++)
        if (exact->regions[i].bound < best_latency(exact) * SAME)
            exact->regions[count++] = exact->regions[i];
    exact->region_count = count;
    for (int i = 0; i < count; i++)
        if (min < 0 || comes_before(&exact->regions[i], &exact->regions[min]))
            min = i;
    if (min < 0)
        return false;
    *region = exact->regions[min];
    memmove(&exact->regions[min], &exact->regions[min + 1],
            (size_t)(--exact->region_count - min) * sizeof *exact->regions);
    return true;
}

static bool split_region(struct exact *exact, const struct region *region, double bound, struct error *err)
{
    struct region left = *region, right = *region;
    double share = steady_share(exact, region);
    left.fresh = right.fresh = false;
    left.high = right.low = (region->low + region->high) / 2;
    if (by_items(exact, region)) {
        left.high = fmax(items_around(exact, region, left.high).below, region->low);
        right.low = items_around(exact, region, left.high * (1 + 1e-12)).above;
    }
    left.bound = bound;
    right.bound = bound + share * (right.low - region->low);
    return add_region(exact, left, err) && (right.low > right.high || add_region(exact, right, err));
}

static bool finish_task(struct exact *exact, struct task *task, struct error *err)
{
    struct region *region = &task->region;
    if (task->failed && task->err.kind != ERROR_INFEASIBLE) {
        *err = task->err;
        return false;
    }
    double bound = fmax(region->bound, task->bound);
    if (task->plan.stage_count > 0)
        keep_better(&exact->best, &task->plan);
    if (bound >= best_latency(exact) * SAME)
        return true;
    if (region->low < region->high * SAME && isfinite(region->high))
        return split_region(exact, region, bound, err);
    if (exact->loose || task->failed)
        exact->unresolved = fmin(exact->unresolved, bound);
    return true;
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

/* Solves a program of the task's region into *answer, and keeps its plan in the task. */
static bool solve(const struct exact *exact, const struct places *places, int factor, bool reach_low,
                  struct task *task, struct dapple_answer *answer, bool *found)
{
    const struct region *region = &task->region;
    struct dapple_program program = {
        .problem = exact->problem,
        .places = places,
        .replicas = region->replicas,
        .factor = factor,
        .microbatches = dapple_microbatches(exact->problem, region->replicas),
        .low = region->low,
        .high = fmin(region->high, exact->problem->rules == DAPPLE_FIXED ? best_latency(exact) : INFINITY),
        .reach_low = reach_low,
        .cutoff = best_latency(exact),
    };
    return dapple_program_solve(&program, &task->work, answer, &task->err) &&
           place(exact, places, answer, task, found);
}

/* k = 1 allows all plans of k = 2, so the first program's bound is for both. Its plan may have a pivot below the
 * interval. With no more stages than micro-batches the plan is no slower with its own pivot than with the interval's,
 * so the bound is as close as the interval is narrow. With more stages it may be slower and never reach the bound; then
 * programs limited to pivots in the interval, for both k, give better bounds. */
static bool solve_region(const struct exact *exact, struct task *task, bool *found)
{
    const struct region *region = &task->region;
    task->answer.min = 0;
    bool done = solve(exact, &exact->places, 1, false, task, &task->answer, found);
    task->bound = task->answer.min;
    if (!done)
        return false;
    task->bound = task->answer.bound;
    if (isinf(task->bound) || task->answer.reaches || max_factor(exact, region->replicas) == 1 ||
        task->answer.stage_count <= dapple_microbatches(exact->problem, region->replicas))
        return true;
    double bound = INFINITY;
    for (int factor = 1; factor <= 2; factor++) {
        bool placed;
        if (!solve(exact, &exact->places, factor, true, task, &task->other, &placed))
            return false;
        *found &= placed;
        bound = fmin(bound, task->other.bound);
    }
    task->bound = fmax(task->bound, bound);
    return true;
}

static void solve_tasks(void *context, size_t first, size_t last, int thread)
{
    struct exact *exact = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        struct task *task = &exact->tasks[i];
        bool found = true;
        task->bound = 0;
        task->failed = !solve_region(exact, task, &found) ||
                       (!found && !solve(exact, &exact->ordered, 1, false, task, &task->other, &found));
    }
}

static bool stopped(const struct exact *exact)
{
    return stop_is_late(exact->deadline) ||
           (exact->options->program_limit > 0 && exact->programs >= exact->options->program_limit);
}

static bool search(struct exact *exact, struct error *err)
{
    while (!stopped(exact)) {
        exact->task_count = 0;
        while (exact->task_count < AT_A_TIME && take_region(exact, &exact->tasks[exact->task_count].region))
            if (exact->tasks[exact->task_count++].region.fresh)
                break;
        if (exact->task_count == 0)
            return true;
        parallel_for(exact->options->pool, (size_t)exact->task_count, 1, solve_tasks, exact);
        exact->programs += exact->task_count;
        for (int i = 0; i < exact->task_count; i++)
            if (!finish_task(exact, &exact->tasks[i], err))
                return false;
    }
    for (int i = 0; i < exact->region_count; i++)
        exact->unresolved = fmin(exact->unresolved, exact->regions[i].bound);
    return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* With machines of one device each the relaxation is exact: a placement always exists. */
static bool find_places(struct exact *exact, struct error *err)
{
    const struct dapple_cluster *cluster = exact->problem->cluster;
    exact->loose = exact->options->relaxed || cluster->machine_count == dapple_devices(cluster);
    if (!exact->loose && places_init(&exact->places, cluster, PLACES_ALL, MAX_STEPS, err))
        return true;
    exact->loose = exact->loose || err->kind == ERROR_INFEASIBLE;
    return exact->loose && places_init(&exact->places, cluster, PLACES_LOOSE, MAX_LOOSE, err) &&
           places_init(&exact->ordered, cluster, PLACES_ORDERED, MAX_LOOSE, err);
}

/* Begins with HPGO's choice, if it finds one. */
static bool seed(struct exact *exact, struct error *err)
{
    if (dapple_search_hpgo(exact->problem, &exact->best, err))
        return true;
    exact->best = (struct dapple_split){.stage_count = 0};
    return err->kind == ERROR_INFEASIBLE;
}

static void release(struct exact *exact)
{
    for (int i = 0; i < AT_A_TIME; i++) {
        dapple_workspace_release(&exact->tasks[i].work);
        free(exact->tasks[i].answer.stages);
        free(exact->tasks[i].other.stages);
        dapple_split_release(&exact->tasks[i].plan);
    }
    places_release(&exact->places);
    places_release(&exact->ordered);
    free(exact->rates);
    free(exact->regions);
}

bool dapple_search_exact(const struct dapple_problem *problem, const struct dapple_options *options,
                         struct dapple_split *plan, struct error *err)
{
    if (!dapple_check(problem, err))
        return false;
    struct exact exact = {.problem = problem, .options = options, .unresolved = INFINITY};
    exact.deadline = options->time_limit > 0 ? clock_now() + options->time_limit : 0;
    bool done = find_places(&exact, err) && (list_rates(&exact) || error_memory(err)) && seed(&exact, err) &&
                start_regions(&exact, err) && search(&exact, err);
    release(&exact);
    if (done && exact.best.stage_count > 0) {
        *plan = exact.best;
        plan->search = "exact";
        plan->lower_bound = fmin(plan->latency, exact.unresolved);
        plan->proven_optimal = exact.unresolved >= plan->latency * SAME;
        plan->programs = exact.programs;
        return true;
    }
    dapple_split_release(&exact.best);
    return done && error_set(err, ERROR_INFEASIBLE, "no plan: no cut of the chain fits the memory");
}
