#include "schedule/best.h"
#include "schedule/formula.h"
#include "schedule/make/make.h"
#include "schedule/schedule.h"
#include "schedule/search/search.h"
#include "schedule/shape.h"

#include <math.h>
#include <stdlib.h>

#define STARTS_MAX 64

struct starts_goal {
    const struct timing_options
        *timing;   /* costs of the stages, wherever they are; else shape->costs_at gives them */
    double memory; /* of each device; 0: no limit */
    enum search_objective objective;
    double bound; /* an order that reaches it ends the choice */
};

/* Returns the device of a stage where neighbours lie on one device. */
static inline uint16_t starts_block_place(int stage, int chunks)
{
    return (uint16_t)(stage / chunks);
}

#define EFFORT (1 << 25) /* passes of all orders that are played by starts_choose */

/* Adds a pass of an order with one chunk as passes of its parts. */
static bool add_parts(struct pass_order *order, const struct pass *pass, int chunks, struct error *err)
{
    for (int i = 0; i < chunks; i++) {
        int part = pass->kind == PASS_FORWARD ? i : chunks - 1 - i;
        if (!pass_order_add(order, pass->kind, pass->stage * chunks + part, (int)pass->microbatch, false,
                            err))
            return false;
    }
    return true;
}

/* Cuts the stages of an order with one chunk into parts that lie on the same device. */
static bool cut(const struct pass_order *whole, int chunks, struct pass_order *order, struct error *err)
{
    if (!pass_order_init(order, whole->devices, whole->stages * chunks, 1, whole->microbatches, err))
        return false;
    for (int stage = 0; stage < order->stages; stage++)
        order->device_of[stage] = starts_block_place(stage, chunks);
    for (int device = 0; device < whole->devices; device++) {
        for (size_t i = whole->first[device]; i < whole->first[device + 1]; i++)
            if (!add_parts(order, &whole->passes[i], chunks, err))
                return false;
        pass_order_next_device(order);
    }
    return true;
}

/* Returns whether a schedule has orders for this shape. */
static bool is_start(const struct schedule *schedule, int chunks, bool any_placement)
{
    bool searched = schedule->make == maker_best || schedule->make == maker_zb_1p ||
                    schedule->make == maker_zb_2p || schedule->make == maker_v_1p;
    if (searched || schedule->two_chains || schedule->no_flush || schedule->cuts_sequence ||
        schedule->moves != NULL)
        return false;
    return schedule->chunks == chunks || (schedule->chunks == 0 && chunks > 1) ||
           (schedule->chunks == 1 && any_placement);
}

/* Makes the order of a schedule, whose devices are 0 if this shape does not fit it; memory 0: as it is defined. The
 * caller ends it with pass_order_release, also after a failure. */
static bool make_start(const struct schedule *schedule, const struct schedule_shape *shape, int chunks,
                       double memory, struct pass_order *order, struct error *err)
{
    bool parts = schedule->chunks == 1 && chunks > 1;
    struct schedule_shape own = *shape;
    struct error ignored = {.kind = ERROR_INPUT};
    own.chunks = parts ? 1 : chunks;
    own.memory = parts ? 0.0 : memory;
    own.unsearched = true;
    if (parts)
        own.timing = NULL; /* its costs and its memory are those of other stages */
    if (!schedule_make(schedule, &own, order, &ignored)) {
        pass_order_release(order);
        if (!error_is_memory(&ignored))
            return true;
        *err = ignored;
        return false;
    }
    if (!parts)
        return true;
    struct pass_order whole = *order;
    bool made = cut(&whole, chunks, order, err);
    pass_order_release(&whole);
    return made;
}

/* Makes the orders of all schedules; of one that does not fit this shape there is none. Those that fill a memory are
 * made for `memory` (0: as they are defined), others may need more. *count of them are the caller's to
 * end with pass_order_release, also after a failure. */
static bool starts_make(const struct schedule_shape *shape, int chunks, bool any_placement, double memory,
                        struct pass_order starts[static STARTS_MAX], int *count, struct error *err)
{
    for (const struct schedule *schedule = schedules; schedule->name != NULL && *count < STARTS_MAX;
         schedule++) {
        if (!is_start(schedule, chunks, any_placement))
            continue;
        if (!make_start(schedule, shape, chunks, memory, &starts[*count], err)) {
            pass_order_release(&starts[*count]);
            return false;
        }
        *count += starts[*count].devices > 0;
    }
    return true;
}

/* --- the best of the most promising ones --- */

struct promise {
    const struct schedule *schedule;
    double makespan; /* by the formula, HUGE_VAL: there is none */
    bool fits;       /* by the formula, or there is none */
};

/* Means over devices. */
static struct formula_case numbers_of(const struct schedule_shape *shape, int chunks,
                                      const struct pass_cost *costs, double *kept)
{
    struct formula_case numbers = {.p = shape->devices, .m = shape->microbatches, .v = chunks};
    *kept = 0.0;
    for (int stage = 0; stage < shape->devices * chunks; stage++) {
        numbers.f += costs[stage].forward / shape->devices;
        numbers.b += costs[stage].input / shape->devices;
        numbers.w += costs[stage].weight / shape->devices;
        *kept += costs[stage].kept / shape->devices;
    }
    numbers.x = numbers.f + numbers.b + numbers.w;
    return numbers;
}

static bool promises_more(const struct promise *a, const struct promise *b)
{
    if (a->fits != b->fits)
        return a->fits;
    return a->makespan < b->makespan;
}

/* Lists the schedules, those that promise the shortest orders first. Returns how many there are. */
static int list_promises(const struct schedule_shape *shape, int chunks, bool any_placement,
                         const struct pass_cost *costs, double memory, struct promise *promises)
{
    int count = 0;
    double kept;
    const struct formula_case numbers = numbers_of(shape, chunks, costs, &kept);
    for (const struct schedule *schedule = schedules; schedule->name != NULL && count < STARTS_MAX;
         schedule++) {
        if (!is_start(schedule, chunks, any_placement))
            continue;
        struct formula formula = schedule_formula(schedule, &numbers);
        struct promise promise = {.schedule = schedule,
                                  .makespan = isnan(formula.makespan) ? HUGE_VAL : formula.makespan,
                                  .fits = memory <= 0.0 || isnan(formula.memory) ||
                                          formula.memory * kept <= memory * (1.0 + 1e-9)};
        int at = count++;
        for (; at > 0 && promises_more(&promise, &promises[at - 1]); at--)
            promises[at] = promises[at - 1];
        promises[at] = promise;
    }
    return count;
}

/* Plays an order, and keeps it if it is the best one; then *order is empty. */
static bool play(const struct schedule_shape *shape, const struct starts_goal *goal, struct pass_cost *costs,
                 struct pass_order *order, struct order_found *found, struct error *err)
{
    struct timing timing;
    struct timing_options options = *goal->timing;
    options.costs = costs;
    if (shape->costs_at != NULL &&
        !shape->costs_at(shape->context, order->device_of, order->stages, costs, err))
        return false;
    if (!timing_of_order(order, &options, false, &timing, err)) {
        timing_release(&timing);
        return false;
    }
    bool by_span = goal->objective == SEARCH_SPAN, first = found->order.devices == 0;
    double value = by_span ? timing.extent.span : timing.extent.makespan,
           other = by_span ? timing.extent.makespan : timing.extent.span;
    double best = by_span ? found->extent.span : found->extent.makespan,
           then = by_span ? found->extent.makespan : found->extent.span;
    bool fits = goal->memory <= 0.0 || timing.peak <= goal->memory * (1.0 + 1e-9);
    if (fits && (first || value < best || (value <= best && other < then))) {
        struct pass_order loser = found->order;
        found->order = *order;
        *order = loser;
        found->extent = timing.extent;
    }
    timing_release(&timing);
    return true;
}

static bool has_pairs(const struct pass_order *order)
{
    size_t count = pass_order_count(order);
    for (size_t i = 0; i < count; i++)
        if (order->passes[i].paired)
            return true;
    return false;
}

/* Plays orders one after the other, in the sequence of what the closed formulas promise, until so many passes were
 * played that it takes some seconds, and keeps the best that fits in memory. Sets found->order, makespan and span;
 * devices of the order are 0 if none fits. The caller ends *found with order_found_release, also after a failure. */
static bool starts_choose(const struct schedule_shape *shape, int chunks, bool any_placement,
                          const struct starts_goal *goal, struct order_found *found, struct error *err)
{
    struct promise promises[STARTS_MAX];
    size_t stages = (size_t)shape->devices * (size_t)chunks;
    int64_t played = 0, passes = (int64_t)stages * shape->microbatches * 3;
    struct pass_cost *costs = malloc(stages * sizeof *costs);
    *found = (struct order_found){.extent.makespan = 0.0};
    if (costs == NULL)
        return error_memory(err);
    for (size_t i = 0; i < stages; i++)
        costs[i] = goal->timing->costs[i];
    int count = list_promises(shape, chunks, any_placement, costs, goal->memory, promises);
    bool ok = true;
    for (int i = 0; ok && i < count && (played < EFFORT || found->order.devices == 0); i++) {
        struct pass_order order = {.devices = 0};
        ok = make_start(promises[i].schedule, shape, chunks, goal->memory, &order, err);
        played += passes;
        if (ok && order.devices > 0 && !has_pairs(&order))
            ok = play(shape, goal, costs, &order, found, err);
        pass_order_release(&order);
        double value = goal->objective == SEARCH_SPAN ? found->extent.span : found->extent.makespan;
        if (found->order.devices > 0 && value <= goal->bound * (1.0 + 1e-9))
            break;
    }
    free(costs);
    return ok;
}

/* The shape's times, or those of equal passes; the caller frees *made. */
static const struct timing_options *timing_of_shape(const struct schedule_shape *shape, int stages,
                                                    struct timing_options *equal, struct pass_cost **made,
                                                    struct error *err)
{
    *made = NULL;
    if (shape->timing != NULL && shape->timing->costs != NULL)
        return shape->timing;
    struct pass_cost *costs = malloc((size_t)stages * sizeof *costs);
    if (costs == NULL)
        return error_memory_null(err);
    for (int stage = 0; stage < stages; stage++)
        costs[stage] = (struct pass_cost){
            .forward = 1.0, .input = 1.0, .weight = 1.0, .kept = 1.0, .kept_for_weight = 1.0};
    *made = costs;
    *equal = (struct timing_options){.costs = costs,
                                     .send_blocks = shape->timing != NULL && shape->timing->send_blocks};
    return equal;
}

/* Where the stages of a device lie. */
enum placement {
    PLACEMENT_ROUND, /* stage s on device s mod devices */
    PLACEMENT_WAVE,  /* from the first device to the last and back */
    PLACEMENT_BLOCK, /* neighbours on one device: one chunk, cut into parts */
    PLACEMENTS
};

static uint16_t place(enum placement placement, int stage, int devices, int chunks)
{
    int turn = stage / devices, step = stage % devices;
    if (placement == PLACEMENT_BLOCK)
        return starts_block_place(stage, chunks);
    return (uint16_t)(placement == PLACEMENT_WAVE && turn % 2 == 1 ? devices - 1 - step : step);
}

static void set_placement(uint16_t *device_of, enum placement placement, int devices, int chunks)
{
    for (int stage = 0; stage < devices * chunks; stage++)
        device_of[stage] = place(placement, stage, devices, chunks);
}

/* Returns what a micro-batch keeps on the fullest device. */
static double kept_at_most(const struct pass_order *order, const struct timing_options *timing)
{
    double most = 0.0;
    for (int device = 0; device < order->devices; device++) {
        double kept = 0.0;
        for (int stage = 0; stage < order->stages; stage++)
            kept += order->device_of[stage] == device ? timing->costs[stage].kept : 0.0;
        most = fmax(most, kept);
    }
    return most;
}

static double objective_of(const struct order_found *found, enum search_objective objective)
{
    return objective == SEARCH_SPAN ? found->extent.span : found->extent.makespan;
}

/* Searches `placements` of them, from `first`, and keeps the best order. The bound is the least one of
 * them. */
static bool search_placements(const struct order_search *all, const struct schedule_shape *shape, int chunks,
                              int first, int placements, uint16_t *device_of, struct pass_cost *costs,
                              struct order_found *found, struct error *err)
{
    int tried = 0;
    double bound = HUGE_VAL;
    struct order_search search = *all;
    struct timing_options placed = *all->timing;
    if (shape->costs_at != NULL) {
        placed.costs = costs;
        search.timing = &placed;
    }
    search.effort = search.effort > placements ? search.effort / placements : search.effort;
    for (int placement = first; placement < first + placements; placement++) {
        struct order_found other;
        set_placement(device_of, (enum placement)placement, search.devices, chunks);
        if (shape->costs_at != NULL && !shape->costs_at(shape->context, device_of, search.stages, costs, err))
            return false;
        if (!order_search(&search, &other, err)) {
            order_found_release(&other);
            if (err->kind != ERROR_INFEASIBLE || (placement == first + placements - 1 && tried == 0))
                return false;
            continue; /* a device would have to hold other stages, for which it has no memory */
        }
        bound = fmin(bound, other.bound);
        if (tried++ == 0 || objective_of(&other, search.objective) < objective_of(found, search.objective)) {
            order_found_release(found);
            *found = other;
        } else {
            order_found_release(&other);
        }
    }
    found->bound = bound;
    double objective = objective_of(found, search.objective);
    found->gap = objective > 0.0 ? 1.0 - bound / objective : 0.0;
    return true;
}

/* Finds the least bound of the placements. */
static bool bound_placements(const struct order_search *all, const struct schedule_shape *shape, int chunks,
                             int first, int placements, uint16_t *device_of, struct pass_cost *costs,
                             double *bound, struct error *err)
{
    struct order_search search = *all;
    struct timing_options placed = *all->timing;
    if (shape->costs_at != NULL) {
        placed.costs = costs;
        search.timing = &placed;
    }
    *bound = HUGE_VAL;
    for (int placement = first; placement < first + placements; placement++) {
        struct search_bound own;
        set_placement(device_of, (enum placement)placement, search.devices, chunks);
        if (shape->costs_at != NULL && !shape->costs_at(shape->context, device_of, search.stages, costs, err))
            return false;
        bool bounded = order_search_bound(&search, &own, err);
        if (bounded)
            *bound = fmin(*bound, search.objective == SEARCH_SPAN ? own.span : own.makespan);
        search_bound_release(&own);
        bool last = placement == first + placements - 1;
        if (!bounded && (err->kind != ERROR_INFEASIBLE || (last && *bound == HUGE_VAL)))
            return false;
    }
    return true;
}

/* Takes the best order of the table for a shape that is too large for a search; if none fits in memory, one that a
 * single list makes. */
static bool choose(const struct order_search *all, const struct schedule_shape *shape, int chunks, int first,
                   int placements, uint16_t *device_of, struct pass_cost *costs, struct order_found *found,
                   struct error *err)
{
    struct starts_goal goal = {
        .timing = all->timing, .memory = all->memory, .objective = all->objective, .bound = 0.0};
    if (!bound_placements(all, shape, chunks, first, placements, device_of, costs, &goal.bound, err) ||
        !starts_choose(shape, chunks, placements > 1, &goal, found, err))
        return false;
    if (found->order.devices == 0) {
        struct order_search once = *all;
        once.effort = 1;
        return search_placements(&once, shape, chunks, first, 1, device_of, costs, found, err);
    }
    double objective = objective_of(found, all->objective);
    found->bound = fmin(goal.bound, objective);
    found->gap = objective > 0.0 ? 1.0 - found->bound / objective : 0.0;
    return true;
}

bool best_order(const struct schedule_shape *shape, int chunks, int in_flight,
                const struct best_options *options, struct order_found *found, struct error *err)
{
    struct timing_options equal;
    struct pass_cost *made = NULL;
    struct pass_order starts[STARTS_MAX], plain; /* the second checks the numbers, and has the placement */
    const struct pass_order *pointers[STARTS_MAX];
    const struct timing_options *timing = NULL;
    int count = 0, first = in_flight > 0 ? PLACEMENT_WAVE : 0;
    int placements = in_flight > 0 || chunks == 1 ? 1 : PLACEMENTS;
    long long stages = (long long)shape->devices * chunks;
    bool is_large = SEARCH_KINDS * stages * shape->microbatches > SCHEDULE_MAX_SEARCHED;
    *found = (struct order_found){.extent.makespan = 0.0};
    bool ok = pass_order_init(&plain, shape->devices,
                              stages > ORDER_MAX_STAGES ? ORDER_MAX_STAGES + 1 : (int)stages, 1,
                              shape->microbatches, err) &&
              (timing = timing_of_shape(shape, (int)stages, &equal, &made, err)) != NULL;
    double memory = shape->memory;
    if (ok) {
        set_placement(plain.device_of, (enum placement)first, shape->devices, chunks);
        if (memory <= 0.0 && in_flight > 0)
            memory = in_flight * kept_at_most(&plain, timing);
        ok = is_large || starts_make(shape, chunks, in_flight <= 0, memory, starts, &count, err);
    }
    for (int i = 0; i < count; i++)
        pointers[i] = &starts[i];
    if (ok) {
        struct order_search search = {.devices = shape->devices,
                                      .stages = (int)stages,
                                      .microbatches = shape->microbatches,
                                      .device_of = plain.device_of,
                                      .timing = timing,
                                      .memory = memory,
                                      .starts = pointers,
                                      .start_count = count};
        if (options != NULL) {
            search.objective = options->objective;
            search.effort = options->effort;
        }
        struct pass_cost *costs = malloc((size_t)stages * sizeof *costs);
        ok = costs != NULL
                 ? (is_large ? choose : search_placements)(&search, shape, chunks, first, placements,
                                                           plain.device_of, costs, found, err)
                 : error_memory(err);
        free(costs);
    }
    for (int i = 0; i < count; i++)
        pass_order_release(&starts[i]);
    pass_order_release(&plain);
    free(made);
    return ok;
}

/* Moves the order that was found into one that schedule_make has begun. */
static bool deliver(bool ok, struct order_found *found, struct pass_order *order)
{
    if (ok) {
        int step = order->step;
        pass_order_release(order);
        *order = found->order;
        order->step = step;
        found->order = (struct pass_order){.devices = 0};
    }
    order_found_release(found);
    return ok;
}

#define MAKER(name, chunks, in_flight)                                                                       \
    bool maker_##name(const struct schedule_shape *shape, struct pass_order *order, struct error *err)       \
    {                                                                                                        \
        struct order_found found;                                                                            \
        const struct best_options options = {.objective = shape->by_span ? SEARCH_SPAN : SEARCH_MAKESPAN};   \
        return deliver(best_order(shape, chunks, in_flight, &options, &found, err), &found, order);          \
    }
MAKER(zb_1p, 1, shape->devices)
MAKER(zb_2p, 1, 2 * shape->devices)
MAKER(v_1p, 2, shape->devices)
MAKER(best, shape->chunks > 0 ? shape->chunks : 2, 0)
