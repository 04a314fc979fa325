/* The optimum, with a proof.
 *
 * Problem. Choose the order of the stages, the devices of each (a power of two of one node), and where the layers are
 * cut, so that the objective is least. Devices may be idle. To reproduce the reference, its objective ranges over what
 * its exhaustive search does: all nodes in any order, each split by halving, none idle. So it is where the number of
 * micro-batches follows from the stages, as fewer of them would do less work. Where the states of single devices are
 * too many, nodes are whole, used or idle.
 *
 * Bound. For a fixed time of the slowest stage the objective is a sum over stages, which a dynamic program minimises
 * exactly; for an interval of it the program gives a lower bound, and the pipeline it finds is real: an upper bound
 * (bound.h). The program gives every stage the memory that the last one needs, with one micro-batch in flight. Where
 * the pipeline it finds has a stage that needs more for its place, the bound stays, the pipeline is no plan, and the
 * interval is solved again by a program that counts stages from the end (counted.h). So it is for a single value of the
 * slowest stage where oobleck's limit on the stages after it leaves a gap between the bound and all plans.
 *
 * Search. Best first over intervals: the interval with the least bound is solved, dropped when its bound reaches the
 * best plan, else cut in two, by the slowest stage's time or by its place in the pipeline; an interval of one value is
 * exact. Intervals start at the smallest feasible cap, found by bisection (reach.h), and grow upwards until a simple
 * bound on everything above says stop.
 *
 * Idle. A state counts what is used, and a pipeline may end at any of them (find_final, ends_at): a program over all
 * states has the optimum of every part of the cluster, so that more devices are never worse. Bounds hold as before:
 * none of them counts on a node being used, but for what every node costs at least (ticks.c), which is left out.
 *
 * Check. Equal to brute force on thousands of small cases (tests/plan/test_search_random.c) and to the recorded optima
 * of larger ones (tests/plan/test_exact.c). */
#include "core/clock.h"
#include "core/heap.h"
#include "core/progress.h"
#include "core/stop.h"
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
#define MAX_TRIES        4           /* values of r in an interval */
#define MAX_SINGLE_TRIES 40          /* in one of one value */
#define FIRST_MARGIN     (1.0 / 4096)
#define NEXT_MARGIN      4
#define MAX_MARGIN       0.5
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
    double reward; /* the best r of the interval before; INFINITY: of none */
    bool counted_once;
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
    while (low < high && !stop_wanted()) {
        double middle = low + (high - low) / 2;
        if (reach_feasible(&search->program.reach, middle))
            high = ticks_at_most(ticks, middle);
        else
            low = ticks_at_least(ticks, middle + 0.5);
    }
    return high;
}

/* From `low` up, the slowest stage anywhere. */
static struct interval whole_interval(const struct search *search, double low, double bound)
{
    return (struct interval){
        .low = low,
        .high = INFINITY,
        .bound = fmax(bound_simple(&search->exact->bound, low), bound),
        .reward = search->reward,
        .first = 1,
        .last = search->exact->ticks.node_count,
    };
}

/* Everything from interval->low up: take a piece off its lower end, leave the rest for later. */
static void carve(struct search *search, struct interval *interval)
{
    const struct ticks *ticks = &search->exact->ticks;
    double end = fmax(ticks_at_most(ticks, interval->low * (1 + search->growth)), interval->low);
    double rest = ticks_at_least(ticks, end + 0.5);
    search->growth *= 2;
    interval->reward = search->reward;
    if (rest < INFINITY)
        push(search, whole_interval(search, rest, interval->bound));
    interval->high = end;
}

/* What is left of an interval whose last program found no better plan than `bound`, and a pipeline whose slowest
 * stage takes `slowest`. If r only decides between two places of the slowest stage, each has a better r of its own: the
 * interval is cut between them, and otherwise between two values of the slowest stage. Of one value the program is
 * exact if no r can raise its bound, or else if it counts. */
static void branch(struct search *search, struct interval interval, double slowest,
                   const struct tangents *tangents, bool exact_value, bool fits)
{
    const struct exact *exact = search->exact;
    const struct ticks *ticks = &exact->ticks;
    int left = tangents->rising.node, right = tangents->falling.node;
    int cut = (left + right) / 2;
    if (fits && !interval.counting && left > 0 && right > 0 && left != right && interval.first <= cut &&
        cut < interval.last) {
        struct interval before = interval, after = interval;
        before.last = cut;
        after.first = before.last + 1;
        push(search, before);
        push(search, after);
        return;
    }
    if (!interval.counting && (!fits || (interval.low == interval.high && !exact_value))) {
        interval.counting = true;
        interval.margin = fits ? FIRST_MARGIN : INFINITY;
        push(search, interval);
        return;
    }
    if (interval.low == interval.high)
        return;
    double gained = 0; /* by the bound, per tick that the lower end moves up */
    if (exact->bound.objective == OBJECTIVE_PIPELINE && exact->bound.microbatches > 0) {
        /* the same program answers every cap from `slowest` up */
        interval.high = ticks_at_most(ticks, slowest - 0.5);
        gained = exact->bound.microbatches - 1;
    }
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

static void note_states(struct exact *exact, size_t values)
{
    exact->states = (int64_t)values > exact->states ? (int64_t)values : exact->states;
}

/* Solves the interval's program for its r, and raises the interval's bound. */
static enum program_status solve_program(struct search *search, struct interval *interval, double *value)
{
    struct exact *exact = search->exact;
    struct tile_costs costs = bound_costs(&exact->bound, interval);
    *value = INFINITY;
    if (!reach_windows(&search->program.reach, costs.cap))
        return PROGRAM_INFEASIBLE;
    enum program_status status = program_solve(&search->program, &costs, value);
    note_states(exact, search->program.value_count);
    *value += bound_constant(&exact->bound, interval);
    if (status == PROGRAM_DONE)
        interval->bound = fmax(interval->bound, *value);
    return status;
}

/* Counts stages, with the fronts' values from the program that does not. Close to the bound few values have to be kept,
 * so plans are looked for there first; if there is none, the bound rises. The first interval is searched to its end at
 * once, for a good plan. */
static enum program_status solve_counting(struct search *search, struct interval *interval, double *value)
{
    struct exact *exact = search->exact;
    enum program_status status = solve_program(search, interval, value);
    struct interval counting = *interval;
    counting.reward = INFINITY;
    struct tile_costs costs = bound_costs(&exact->bound, &counting);
    double constant = bound_constant(&exact->bound, &counting), end = exact->best * SAME;
    struct counted_limit limit = {
        .reward = bound_reward(&exact->bound, &counting) - bound_reward(&exact->bound, interval),
        .most_after = exact->bound.most_after,
    };
    if (status != PROGRAM_DONE || interval->bound >= end)
        return status;
    do {
        double margin = interval->margin < MAX_MARGIN ? interval->margin : INFINITY;
        double below = fmin(interval->bound + margin * fmax(interval->bound, 1), end);
        limit.below = below - constant;
        *value = INFINITY;
        status = counted_solve(&search->counted, &costs, &limit, value);
        *value += constant;
        interval->bound = fmax(interval->bound, status == PROGRAM_DONE         ? *value
                                                : status == PROGRAM_INFEASIBLE ? below
                                                                               : 0);
        interval->margin *= NEXT_MARGIN;
        note_states(exact, search->counted.value_count);
    } while (status == PROGRAM_INFEASIBLE && interval->bound < end && !search->counted_once);
    if (status == PROGRAM_INFEASIBLE)
        push(search, *interval);
    search->counted_once = true;
    return status;
}

/* Either of them; *count: of the stages in exact->trial. */
static bool solve_one(struct search *search, struct interval *interval, double *value, int *count)
{
    struct exact *exact = search->exact;
    bool counting = interval->counting;
    enum program_status status =
        counting ? solve_counting(search, interval, value) : solve_program(search, interval, value);
    exact->programs++;
    search->no_memory |= status == PROGRAM_NO_MEMORY;
    if (status == PROGRAM_STOPPED || status == PROGRAM_TOO_LARGE)
        search->unresolved = fmin(search->unresolved, interval->bound);
    if (status != PROGRAM_DONE || interval->bound >= exact->best * SAME)
        return false;
    *count = counting ? counted_path(&search->counted, exact->trial)
                      : program_path(&search->program, exact->trial);
    return true;
}

static void solve_interval(struct search *search, struct interval *interval)
{
    struct exact *exact = search->exact;
    struct tangents tangents = {.rising.slope = 0};
    double value, slowest, reached = -INFINITY, reward = fmin(interval->reward, interval->low), best = reward;
    int count;
    for (int tries = interval->low == interval->high ? MAX_SINGLE_TRIES : MAX_TRIES; tries > 0; tries--) {
        interval->reward = reward;
        if (!solve_one(search, interval, &value, &count))
            return;
        double time = bound_evaluate(&exact->bound, exact->trial, count, &slowest);
        bool fits = all_fit(&exact->ticks, exact->trial, count);
        if (fits)
            consider(exact, exact->trial, count, time);
        if (interval->bound >= exact->best * SAME)
            return;
        if (value > reached) {
            reached = value;
            best = interval->reward;
        }
        struct tangent tangent = bound_tangent(&exact->bound, interval, value, exact->trial, count);
        bool exact_value = tangent.slope == 0 || (tangent.slope > 0 && reward >= interval->low);
        if (exact_value || !fits || interval->counting || tries == 1 ||
            !bound_next_reward(interval, &tangents, &tangent, reached, exact->best, &reward)) {
            interval->reward = search->reward = best < interval->low ? best : INFINITY;
            branch(search, *interval, slowest, &tangents, exact_value, fits);
            return;
        }
    }
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
    struct search search = {
        .exact = exact, .unresolved = INFINITY, .growth = FIRST_GROWTH, .reward = INFINITY};
    if (!program_init(&search.program, &exact->ticks, lattice, exact->options->pool, exact->err))
        return false;
    search.program.deadline = exact->deadline;
    search.program.max_values = MAX_VALUES;
    counted_init(&search.counted, &search.program);
    max_programs += exact->programs;
    double min = min_cap(&search);
    if (min < INFINITY)
        push(&search, whole_interval(&search, min, 0));
    while (search.open_count > 0 && !search.no_memory) {
        heap_pop(search.open, search.open_count, sizeof *search.open, before, NULL);
        struct interval interval = search.open[--search.open_count];
        *bound = fmin(interval.bound, search.unresolved);
        show_progress(&search, *bound);
        if (interval.bound >= exact->best * SAME || exact->programs >= max_programs ||
            stop_is_late(exact->deadline)) {
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

/* Plans in which the nodes of a group stay together, in up to `orders` orders of the groups: a good start,
 * and all that can be had where the states are too many. */
static bool search_chains(struct exact *exact, int orders)
{
    int order[PLAN_MAX_GROUPS];
    for (int k = 0; k < exact->ticks.kind_count; k++)
        order[k] = k;
    do {
        struct lattice chain;
        double bound;
        if (!lattice_init_chain(&chain, &exact->ticks, order, exact->err))
            return false;
        bool ok = search_lattice(exact, &chain, CHAIN_PROGRAMS, &bound);
        lattice_release(&chain);
        if (!ok)
            return false;
    } while (--orders > 0 && lattice_next_order(order, exact->ticks.kind_count));
    return true;
}

/* Returns the number of states; 0: too many. */
static uint32_t states_of(const struct ticks *ticks)
{
    return lattice_size(ticks, MAX_STATES / (uint32_t)ticks->group_count);
}

static bool search_all(struct exact *exact, double *bound)
{
    const struct ticks *ticks = &exact->ticks;
    uint32_t size = states_of(ticks);
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

/* The plans that a proof is about; NULL: all. */
static const char *const proof_over[] = {
    [SPACE_ALL] = "plans that use every device, node after node",
    [SPACE_NODES] = "plans that use every device of their nodes, node after node",
    [SPACE_DEVICES] = NULL,
};

static bool make_plan(const struct exact *exact, double bound, struct pipeline *plan)
{
    const struct plan_problem *problem = exact->problem;
    const struct ticks *ticks = &exact->ticks;
    plan->stages = calloc((size_t)exact->stage_count, sizeof *plan->stages);
    if (!plan->stages)
        return error_memory(exact->err);
    plan->stage_count = exact->stage_count;
    int next_node[PLAN_MAX_GROUPS] = {0};
    for (int g = 1; g < problem->group_count; g++)
        next_node[g] = next_node[g - 1] + problem->groups[g - 1].nodes.count;
    for (int i = 0; i < exact->stage_count; i++) {
        const struct tile_stage *stage = &exact->stages[i];
        int kind = ticks->groups[stage->group].kind;
        bool new_node = i == 0 || stage->node != exact->stages[i - 1].node;
        plan->stages[i] = (struct pipeline_stage){
            .layers.first = stage->first,
            .layers.last = stage->end - 1,
            .group = kind,
            .devices = ticks->groups[stage->group].takes << stage->split,
            .node = new_node ? next_node[kind]++ : plan->stages[i - 1].node,
        };
    }
    if ((ticks->space == SPACE_DEVICES && !pipeline_assign_nodes(problem, plan, exact->err)) ||
        !pipeline_score(problem, plan, exact->err)) {
        pipeline_release(plan);
        return false;
    }
    plan->search = "exact";
    plan->proof_over = proof_over[ticks->space];
    plan->proven_optimal = bound >= exact->best * SAME;
    plan->lower_bound = plan->proven_optimal ? plan->iteration_time
                                             : fmin(bound / exact->ticks.per_second, plan->iteration_time);
    plan->programs = exact->programs;
    plan->states = exact->states;
    plan->planning_seconds = clock_now() - exact->started;
    return true;
}

static bool search_in(enum ticks_space space, const struct plan_problem *problem,
                      const struct plan_search_options *options, struct pipeline *plan, struct error *err);

/* Is there a pipeline that fits, but none for which the reference's formula has a value? The other objective knows. */
static bool is_undefined(const struct exact *exact)
{
    struct plan_problem problem = *exact->problem;
    struct plan_search_options options = *exact->options;
    struct pipeline plan;
    problem.objective = OBJECTIVE_PIPELINE;
    options.better_than = 0;
    bool fits = exact->problem->objective == OBJECTIVE_OOBLECK && problem.microbatches > 0 &&
                search_in(SPACE_ALL, &problem, &options, &plan, &(struct error){0});
    if (fits)
        pipeline_release(&plan);
    return fits;
}

static bool no_room(const struct exact *exact)
{
    const struct plan_problem *problem = exact->problem;
    double needed = ticks_memory(&exact->ticks, 0, exact->ticks.layer_count, 1), there = 0;
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        if (group->nodes.count > 0)
            there += group->nodes.memory
                         ? (double)group->nodes.memory * group->nodes.count * group->nodes.devices
                         : INFINITY;
    }
    char needs[32], has[32];
    if (there < needed)
        return error_set(exact->err, ERROR_INFEASIBLE,
                         "no plan: the layers need %s (parameters, gradients, optimizer state, activations), "
                         "the devices have %s",
                         unit_format(needs, sizeof needs, needed, UNIT_BYTES, 4),
                         unit_format(has, sizeof has, there, UNIT_BYTES, 4));
    if (is_undefined(exact))
        return error_set(
            exact->err, ERROR_INFEASIBLE,
            "no plan: every pipeline that uses every device and fits has N = %d or more stages after its "
            "slowest one, for which the oobleck objective has no value (N - S + k + 1 <= 0): use more "
            "micro-batches",
            problem->microbatches);
    const char *over = proof_over[exact->ticks.space];
    return error_set(
        exact->err, ERROR_INFEASIBLE, "no plan: no split of the layers%s%s fits the memory of the devices%s",
        over ? ", of " : "", over ? over : "",
        problem->memory == MEMORY_IN_FLIGHT ? ", with the activations of every micro-batch in flight" : "");
}

static bool no_plan(const struct exact *exact, double bound, struct pipeline *plan)
{
    plan->lower_bound = bound / exact->ticks.per_second;
    if (exact->options->better_than > 0 && bound >= exact->best * SAME)
        return error_set(exact->err, ERROR_INFEASIBLE, "no plan: none takes less than %.6g s",
                         exact->options->better_than);
    if (bound < INFINITY)
        return plan_late_error(exact->options->time_limit, exact->err);
    return no_room(exact);
}

static bool search_in(enum ticks_space space, const struct plan_problem *problem,
                      const struct plan_search_options *options, struct pipeline *plan, struct error *err)
{
    struct exact exact = {.problem = problem, .options = options, .err = err, .best = INFINITY};
    exact.started = clock_now();
    exact.deadline = options->time_limit > 0 ? exact.started + options->time_limit : 0;
    memset(plan, 0, sizeof *plan);
    plan->lower_bound = INFINITY;
    if (!plan_problem_check(problem, space == SPACE_ALL, err) ||
        !ticks_init(&exact.ticks, problem, space, err))
        return false;
    if (space == SPACE_DEVICES && states_of(&exact.ticks) == 0) {
        ticks_release(&exact.ticks);
        return search_in(SPACE_NODES, problem, options, plan, err);
    }
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

bool plan_search_exact(const struct plan_problem *problem, const struct plan_search_options *options,
                       struct pipeline *plan, struct error *err)
{
    bool few = ticks_groups(problem, SPACE_DEVICES) <= TICKS_MAX_GROUPS;
    return search_in(!plan_may_idle(problem) ? SPACE_ALL
                     : few                   ? SPACE_DEVICES
                                             : SPACE_NODES,
                     problem, options, plan, err);
}
