#include "schedule/make/contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Orders are cheap, but not free: of one with more passes only a few others are tried. */
#define LARGE (1 << 18)
#define VAST  (1 << 20) /* of these only one, or until one fits */

static bool fits(const struct contest *contest, const struct timing *timing)
{
    for (int device = 0; device < contest->order->devices; device++)
        if (timing->devices[device].peak > contest->memory[device] * (1 + 1e-9))
            return false;
    return true;
}

/* Fills in the memory of the devices. `timing` is that of a first order, or NULL. */
static void limit(struct contest *contest, const struct timing *timing)
{
    const struct pass_order *order = contest->order;
    for (int stage = 0; stage < order->stages; stage++)
        contest->memory[order->device_of[stage]] += contest->memory_of * contest->options.costs[stage].kept;
    for (int device = 0; device < order->devices; device++) {
        if (timing != NULL)
            contest->memory[device] = fmax(contest->memory[device], timing->devices[device].peak);
        if (contest->shape->memory > 0.0)
            contest->memory[device] = contest->shape->memory;
    }
}

static bool prepare(struct contest *contest, struct error *err)
{
    const struct pass_order *order = contest->order;
    size_t stages = (size_t)order->stages;
    contest->extent.makespan = contest->extent.span = INFINITY;
    contest->memory = calloc((size_t)order->devices, sizeof *contest->memory);
    contest->costs = malloc(stages * sizeof *contest->costs);
    if (contest->memory == NULL || contest->costs == NULL)
        return error_memory(err);
    for (size_t i = 0; i < stages; i++)
        contest->costs[i] = (struct pass_cost){
            .forward = 1.0, .input = 1.0, .weight = 1.0, .kept = 1.0, .kept_for_weight = 1.0};
    contest->options = (struct timing_options){.costs = contest->costs};
    if (contest->shape->timing != NULL)
        contest->options = *contest->shape->timing;
    return true;
}

/* Times an order and takes it as the best if it is. */
static bool enter(struct contest *contest, struct pass_order *order, struct error *err)
{
    struct timing timing;
    bool timed = timing_of_order(order, &contest->options, false, &timing, err);
    if (timed && order == contest->order)
        limit(contest, &timing);
    if (timed && fits(contest, &timing) &&
        (timing.extent.makespan < contest->extent.makespan ||
         (timing.extent.makespan <= contest->extent.makespan && timing.extent.span < contest->extent.span))) {
        contest->extent = timing.extent;
        if (order != contest->order) {
            struct pass_order loser = contest->best;
            contest->best = *order;
            *order = loser;
        }
    }
    timing_release(&timing);
    return timed;
}

static bool try_rules(struct contest *contest, const struct fill_rules *rules, struct error *err)
{
    const struct pass_order *first = contest->order;
    struct pass_order order;
    bool tried =
        pass_order_init(&order, first->devices, first->stages, first->chains, first->microbatches, err);
    if (tried) {
        memcpy(order.device_of, first->device_of, (size_t)first->stages * sizeof *first->device_of);
        tried = fill_order(rules, contest->options.costs, &order, err) ? enter(contest, &order, err)
                                                                       : err->kind == ERROR_INFEASIBLE;
    }
    pass_order_release(&order);
    return tried;
}

static bool try_all(struct contest *contest, bool complete, struct error *err)
{
    static const double patience[] = {0.25, 0.5, 0.75, 0.0, 1.0}; /* the first ones win most often */
    size_t passes = (size_t)contest->order->stages * (size_t)contest->order->microbatches * 3;
    for (int choice = complete ? FILL_SEQUENCE : FILL_SEQUENCE + 1; choice < FILL_CHOICES; choice++) {
        int tries = choice == FILL_SEQUENCE ? (int)(sizeof patience / sizeof patience[0]) : 2;
        if (!contest->split || passes > LARGE)
            tries = 1;
        for (int i = 0; i < tries; i++) {
            struct fill_rules rules = {.choice = choice,
                                       .sequence = contest->order,
                                       .memory = contest->memory,
                                       .patience = patience[i],
                                       .split = contest->split};
            if (!try_rules(contest, &rules, err))
                return false;
            if (passes > VAST && contest->extent.makespan < INFINITY)
                return true;
        }
    }
    return true;
}

bool contest_run(struct contest *contest, struct error *err)
{
    bool complete = pass_order_count(contest->order) > 0, run = prepare(contest, err);
    if (run && complete)
        run = enter(contest, contest->order, err);
    else if (run)
        limit(contest, NULL);
    run = run && try_all(contest, complete, err);
    if (run && isinf(contest->extent.makespan))
        run = error_set(err, ERROR_INFEASIBLE,
                        "no order of this schedule fits into a memory of %g for activations",
                        contest->shape->memory);
    if (run && contest->best.devices > 0) {
        contest->best.step = contest->order->step;
        struct pass_order loser = *contest->order;
        *contest->order = contest->best;
        contest->best = loser;
    }
    pass_order_release(&contest->best);
    free(contest->costs);
    free(contest->memory);
    return run;
}
