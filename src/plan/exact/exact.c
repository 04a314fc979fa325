/* The optimum, with a proof.
 *
 * Problem. Choose the order of the nodes, how each node's devices are split by halving, and where the layers
 * are cut, so that the objective is least. All nodes and devices are used, as in the reference's exhaustive
 * search.
 *
 * Bound. For a fixed time of the slowest stage the objective is a sum over stages, which a dynamic program
 * minimises exactly; for an interval of it the program gives a lower bound, and the pipeline it finds is
 * real: an upper bound (bound.h). The program gives every stage the memory that the last one needs, with one micro-batch in
 * flight. Where the pipeline it finds has a stage that needs more for its place, the bound stays, the pipeline is no plan,
 * and the interval is solved again by a program that counts stages from the end (counted.h).
 *
 * Search. Best first over intervals: the interval with the least bound is solved, dropped when its bound
 * reaches the best plan, else cut in two; an interval of one value is exact. Intervals start at the smallest
 * feasible cap, found by bisection (reach.h), and grow upwards until a simple bound on everything above says
 * stop.
 *
 * Check. Equal to brute force on thousands of small cases (tests/plan/test_search_random.c) and to the
 * recorded optima of larger ones (tests/plan/test_exact.c). */
#include "core/clock.h"
#include "core/heap.h"
#include "core/progress.h"
#include "core/unit.h"
#include "core/vector.h"
#include "plan/exact/bound.h"
#include "plan/exact/counted.h"
#include "plan/exact/program.h"
#include "plan/exact/ticks.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME             (1 - 2e-10) /* a bound this close to the best plan has reached it */
#define ROUNDING         1e-9        /* ticks against seconds */
#define FIRST_GROWTH     (1.0 / 256) /* relative width of the first interval; doubles from there */
#define MAX_STATES       ((uint32_t)1 << 24)
#define MAX_VALUES       ((size_t)1 << 28) /* 2 GiB of doubles */
#define LARGE_LATTICE    5000              /* states from which on seeding pays */
#define CHAIN_PROGRAMS   50                /* enough for a good plan */
#define MAX_CHAIN_ORDERS 720

struct exact {
    const struct plan_problem *problem;
    const struct plan_search_options *options;
    struct ticks ticks;
    struct bound bound;
    struct error *err;
    double started, deadline; /* clock_now seconds; 0: none */

    /* the best plan so far */
    double best;
    int stage_count;
    struct tile_stage *stages;

    struct tile_stage *trial;
    int64_t programs, states;
};

/* --- the best plan so far ------------------------------------------------------------------------------- */

static void consider(struct exact *exact, const struct tile_stage *stages, int count, double time)
{
    if (time >= exact->best)
        return;
    exact->best = time;
    exact->stage_count = count;
    memcpy(exact->stages, stages, (size_t)count * sizeof *stages);
}

/* Does every stage fit, with the micro-batches in flight at its place? */
static bool all_fit(const struct ticks *ticks, const struct tile_stage *stages, int count)
{
    for (int i = 0; i < count; i++)
        if (ticks_memory(ticks, stages[i].first, stages[i].end, ticks_in_flight(ticks, count - i)) >
            ticks->groups[stages[i].group].memory[stages[i].split])
            return false;
    return true;
}

/* Under oobleck one stage has a formula of its own: it is tried by itself. */
static void consider_single_stage(struct exact *exact)
{
    const struct ticks *ticks = &exact->ticks;
    if (ticks->node_count != 1 || exact->problem->objective != OBJECTIVE_OOBLECK)
        return;
    struct tile_stage stage = {.end = ticks->layer_count};
    while (ticks->groups[stage.group].nodes == 0)
        stage.group++;
    stage.split = ticks->groups[stage.group].splits - 1;
    double slowest;
    if (all_fit(ticks, &stage, 1))
        consider(exact, &stage, 1, bound_evaluate(&exact->bound, &stage, 1, &slowest));
}

/* --- open intervals: a heap, least bound first, then least low ------------------------------------------ */

static bool before(const void *left, const void *right, const void *context)
{
    const struct interval *a = left, *b = right;
    (void)context;
    return a->bound < b->bound || (a->bound == b->bound && a->low < b->low);
}

/* --- branch and bound ----------------------------------------------------------------------------------- */

struct search {
    struct exact *exact;
    struct program program;
    struct counted counted;
    struct interval *open; /* a heap */
    size_t open_count, open_room;
    double unresolved; /* the least bound of intervals that were given up on */
    double growth;
    bool no_memory;
};

static void push(struct search *search, struct interval interval)
{
    if (interval.low > interval.high || interval.bound >= search->exact->best * SAME)
        return;
    if (VECTOR_ADD(search->open, search->open_count, search->open_room, interval))
        heap_push(search->open, search->open_count, sizeof *search->open, before, NULL);
    else
        search->no_memory = true;
}

/* The smallest cap that is not certainly infeasible; INFINITY when all are. */
static double min_cap(struct search *search)
{
    const struct ticks *ticks = &search->exact->ticks;
    double high = ticks_at_most(ticks, INFINITY), low = ticks_at_least(ticks, 0);
    if (!reach_feasible(&search->program.reach, high))
        return INFINITY;
    while (low < high) {
        double middle = low + (high - low) / 2;
        if (reach_feasible(&search->program.reach, middle))
            high = ticks_at_most(ticks, middle);
        else
            low = ticks_at_least(ticks, middle + 0.5);
    }
    return high;
}

/* Everything from interval->low up: take a piece off its lower end, leave the rest for later. */
static void carve(struct search *search, struct interval *interval)
{
    const struct ticks *ticks = &search->exact->ticks;
    double end = fmax(ticks_at_most(ticks, interval->low * (1 + search->growth)), interval->low);
    double rest = ticks_at_least(ticks, end + 0.5);
    search->growth *= 2;
    if (rest < INFINITY)
        push(search, (struct interval){rest, INFINITY,
                                       fmax(bound_simple(&search->exact->bound, rest), interval->bound),
                                       interval->theta, false});
    interval->high = end;
}

/* What is left of an interval whose program found no better plan than `bound`, and a pipeline whose slowest
 * stage takes `slowest`. One value is exact at theta 0, unless its pipeline is no plan, because it does not fit or has too
 * many stages after the slowest for oobleck to be defined: then it is solved again by a program that counts. */
static void branch(struct search *search, struct interval interval, double slowest, bool defined, bool fits)
{
    const struct exact *exact = search->exact;
    const struct ticks *ticks = &exact->ticks;
    if (!fits && !interval.counting) {
        interval.counting = true;
        push(search, interval);
        return;
    }
    if (interval.low == interval.high) {
        if (interval.theta > 0)
            interval.theta = 0;
        else if (!defined && !interval.counting)
            interval.counting = true;
        else
            return;
        push(search, interval);
        return;
    }
    double gained = 0; /* by the bound, per tick that the lower end moves up */
    if (exact->bound.objective == OBJECTIVE_PIPELINE && exact->bound.microbatches > 0) {
        /* the same program answers every cap from `slowest` up */
        interval.high = ticks_at_most(ticks, slowest - 0.5);
        gained = exact->bound.microbatches - 1;
    }
    interval.theta = bound_next_theta(&exact->bound, interval.theta, defined);
    double middle = ticks_at_most(ticks, interval.low + (interval.high - interval.low) / 2);
    if (middle < interval.low || interval.high < interval.low)
        return;
    struct interval below = interval, above = interval;
    below.high = middle;
    above.low = ticks_at_least(ticks, middle + 0.5);
    above.bound += gained * (above.low - interval.low);
    push(search, below);
    push(search, above);
}

static void solve_interval(struct search *search, struct interval *interval)
{
    struct exact *exact = search->exact;
    struct tile_costs costs = bound_costs(&exact->bound, interval);
    double value, slowest;
    bool counting = interval->counting;
    enum program_status status = counting ? counted_solve(&search->counted, &costs, &value)
                                          : program_solve(&search->program, &costs, &value);
    int64_t states = (int64_t)(counting ? search->counted.value_count : search->program.value_count);
    exact->programs++;
    if (states > exact->states)
        exact->states = states;
    search->no_memory |= status == PROGRAM_NO_MEMORY;
    if (status == PROGRAM_STOPPED || status == PROGRAM_TOO_LARGE)
        search->unresolved = fmin(search->unresolved, interval->bound);
    if (status != PROGRAM_DONE)
        return;
    int count = counting ? counted_path(&search->counted, exact->trial)
                         : program_path(&search->program, exact->trial);
    double time = bound_evaluate(&exact->bound, exact->trial, count, &slowest);
    bool fits = all_fit(&exact->ticks, exact->trial, count);
    if (fits)
        consider(exact, exact->trial, count, time);
    interval->bound = fmax(interval->bound, value + bound_constant(&exact->bound, interval));
    if (interval->bound < exact->best * SAME)
        branch(search, *interval, slowest, time < INFINITY, fits);
}

static void show_progress(const struct search *search, double bound)
{
    const struct exact *exact = search->exact;
    if (!exact->options->progress || exact->best == INFINITY)
        return;
    progress_show(exact->options->progress, "%.6g s, gap %.3f %%, %lld programs",
                  exact->best / exact->ticks.per_second, 100 * (1 - bound / exact->best),
                  (long long)exact->programs);
}

/* Searches the states of one lattice from the smallest cap up, with at most so many programs. *bound: no plan
 * over these states takes less. */
static bool search_lattice(struct exact *exact, const struct lattice *lattice, int64_t max_programs,
                           double *bound)
{
    struct search search = {.exact = exact, .unresolved = INFINITY, .growth = FIRST_GROWTH};
    if (!program_init(&search.program, &exact->ticks, lattice, exact->options->pool, exact->err))
        return false;
    search.program.deadline = exact->deadline;
    search.program.max_values = MAX_VALUES;
    counted_init(&search.counted, &search.program);
    max_programs += exact->programs;
    double min = min_cap(&search);
    if (min < INFINITY)
        push(&search, (struct interval){min, INFINITY, bound_simple(&exact->bound, min), 0, false});
    while (search.open_count > 0 && !search.no_memory) {
        heap_pop(search.open, search.open_count, sizeof *search.open, before, NULL);
        struct interval interval = search.open[--search.open_count];
        *bound = fmin(interval.bound, search.unresolved);
        show_progress(&search, *bound);
        if (interval.bound >= exact->best * SAME || exact->programs >= max_programs ||
            (exact->deadline > 0 && clock_now() > exact->deadline)) {
            search.unresolved = fmin(search.unresolved, interval.bound);
            break;
        }
        if (interval.high == INFINITY)
            carve(&search, &interval);
        solve_interval(&search, &interval);
    }
    *bound = fmin(search.unresolved, exact->best);
    counted_release(&search.counted);
    program_release(&search.program);
    free(search.open);
    return !search.no_memory || error_memory(exact->err);
}

/* --- clusters with too many states ---------------------------------------------------------------------- */

/* Next permutation in lexicographic order; false after the last. */
static bool next_order(int *order, int count)
{
    int i = count - 2;
    while (i >= 0 && order[i] > order[i + 1])
        i--;
    if (i < 0)
        return false;
    int j = count - 1;
    while (order[j] < order[i])
        j--;
    int swap = order[i];
    order[i] = order[j];
    order[j] = swap;
    for (int a = i + 1, b = count - 1; a < b; a++, b--) {
        swap = order[a];
        order[a] = order[b];
        order[b] = swap;
    }
    return true;
}

/* Plans in which the nodes of a group stay together, in up to `orders` orders of the groups: a good start,
 * and all that can be had where the states are too many. */
static bool search_chains(struct exact *exact, int orders)
{
    int order[PLAN_MAX_GROUPS];
    for (int g = 0; g < exact->ticks.group_count; g++)
        order[g] = g;
    do {
        struct lattice chain;
        double bound;
        if (!lattice_init_chain(&chain, &exact->ticks, order, exact->err))
            return false;
        bool ok = search_lattice(exact, &chain, CHAIN_PROGRAMS, &bound);
        lattice_release(&chain);
        if (!ok)
            return false;
    } while (--orders > 0 && next_order(order, exact->ticks.group_count));
    return true;
}

static bool search_all(struct exact *exact, double *bound)
{
    const struct ticks *ticks = &exact->ticks;
    uint32_t size = lattice_size(ticks, MAX_STATES / (uint32_t)ticks->group_count);
    if (size == 0) {
        *bound = bound_simple(&exact->bound, bound_min_slowest(&exact->bound));
        return search_chains(exact, MAX_CHAIN_ORDERS);
    }
    if (size > LARGE_LATTICE && !search_chains(exact, 2))
        return false;
    struct lattice lattice;
    if (!lattice_init(&lattice, ticks, exact->err))
        return false;
    bool ok = search_lattice(exact, &lattice, INT64_MAX / 2, bound);
    lattice_release(&lattice);
    return ok;
}

/* --- the result ----------------------------------------------------------------------------------------- */

static bool make_plan(const struct exact *exact, double bound, struct pipeline *plan)
{
    const struct plan_problem *problem = exact->problem;
    plan->stages = calloc((size_t)exact->stage_count, sizeof *plan->stages);
    if (!plan->stages)
        return error_memory(exact->err);
    plan->stage_count = exact->stage_count;
    int next_node[PLAN_MAX_GROUPS] = {0};
    for (int g = 1; g < problem->group_count; g++)
        next_node[g] = next_node[g - 1] + problem->groups[g - 1].nodes;
    for (int i = 0; i < exact->stage_count; i++) {
        const struct tile_stage *stage = &exact->stages[i];
        bool new_node = i == 0 || stage->node != exact->stages[i - 1].node;
        plan->stages[i] = (struct pipeline_stage){
            .first_layer = stage->first,
            .last_layer = stage->end - 1,
            .group = stage->group,
            .devices = 1 << stage->split,
            .node = new_node ? next_node[stage->group]++ : plan->stages[i - 1].node,
        };
    }
    if (!pipeline_score(problem, plan, exact->err)) {
        pipeline_release(plan);
        return false;
    }
    plan->search = "exact";
    plan->proven_optimal = bound >= exact->best * SAME;
    plan->lower_bound = plan->proven_optimal ? plan->iteration_time
                                             : fmin(bound / exact->ticks.per_second, plan->iteration_time);
    plan->programs = exact->programs;
    plan->states = exact->states;
    plan->planning_seconds = clock_now() - exact->started;
    return true;
}

/* The only reason why there is no plan at all. */
static bool no_room(const struct exact *exact)
{
    const struct plan_problem *problem = exact->problem;
    double needed = ticks_memory(&exact->ticks, 0, exact->ticks.layer_count, 1), there = 0;
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        if (group->nodes > 0)
            there +=
                group->memory ? (double)group->memory * group->nodes * group->devices_per_node : INFINITY;
    }
    char needs[32], has[32];
    if (there < needed)
        return error_set(exact->err, ERROR_INFEASIBLE,
                         "no plan: the layers need %s (parameters, gradients, optimizer state, activations), "
                         "the devices have %s",
                         unit_format(needs, sizeof needs, needed, UNIT_BYTES, 4),
                         unit_format(has, sizeof has, there, UNIT_BYTES, 4));
    return error_set(
        exact->err, ERROR_INFEASIBLE, "no plan: no split of the layers fits the memory of the devices%s",
        problem->memory == MEMORY_IN_FLIGHT ? ", with the activations of every micro-batch in flight" : "");
}

static bool no_plan(const struct exact *exact, double bound, struct pipeline *plan)
{
    plan->lower_bound = bound / exact->ticks.per_second;
    if (exact->options->better_than > 0 && bound >= exact->best * SAME)
        return error_set(exact->err, ERROR_INFEASIBLE, "no plan: none takes less than %.6g s",
                         exact->options->better_than);
    if (bound < INFINITY)
        return error_set(exact->err, ERROR_INFEASIBLE,
                         "no plan: none found within the time limit of %g s; try a longer --time-limit",
                         exact->options->time_limit);
    return no_room(exact);
}

bool plan_search_exact(const struct plan_problem *problem, const struct plan_search_options *options,
                       struct pipeline *plan, struct error *err)
{
    struct exact exact = {.problem = problem, .options = options, .err = err, .best = INFINITY};
    exact.started = clock_now();
    exact.deadline = options->time_limit > 0 ? exact.started + options->time_limit : 0;
    memset(plan, 0, sizeof *plan);
    plan->lower_bound = INFINITY;
    if (!plan_problem_check(problem, err) || !ticks_init(&exact.ticks, problem, err))
        return false;
    exact.bound = bound_init(&exact.ticks, problem);
    exact.stages = calloc((size_t)exact.ticks.max_stages, sizeof *exact.stages);
    exact.trial = calloc((size_t)exact.ticks.max_stages, sizeof *exact.trial);
    if (options->better_than > 0)
        exact.best = options->better_than * exact.ticks.per_second;
    double bound = INFINITY;
    bool ok = exact.stages && exact.trial ? true : error_memory(err);
    if (ok) {
        consider_single_stage(&exact);
        ok = search_all(&exact, &bound);
    }
    if (ok)
        ok = exact.stage_count > 0 ? make_plan(&exact, bound, plan) : no_plan(&exact, bound, plan);
    free(exact.stages);
    free(exact.trial);
    ticks_release(&exact.ticks);
    return ok;
}
