#include "schedule/starts.h"

#include "schedule/formula.h"
#include "schedule/make/make.h"
#include "schedule/schedule.h"

#include <math.h>
#include <stdlib.h>

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
    if (searched || schedule->two_chains || schedule->no_flush)
        return false;
    return schedule->chunks == chunks || (schedule->chunks == 0 && chunks > 1) ||
           (schedule->chunks == 1 && any_placement);
}

/* Makes the order of a schedule, whose devices are 0 if this shape does not fit it; memory 0: as it is defined. The caller
 * ends it with pass_order_release, also after a failure. */
static bool make_start(const struct schedule *schedule, const struct schedule_shape *shape, int chunks,
                       double memory, struct pass_order *order, struct error *err)
{
    bool parts = schedule->chunks == 1 && chunks > 1;
    struct schedule_shape own = *shape;
    struct error ignored = {.kind = ERROR_INPUT};
    own.chunks = parts ? 1 : chunks;
    own.memory = parts ? 0.0 : memory;
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

bool starts_make(const struct schedule_shape *shape, int chunks, bool any_placement, double memory,
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

bool starts_choose(const struct schedule_shape *shape, int chunks, bool any_placement,
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
