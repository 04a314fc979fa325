/* The search for an order of passes: a short one in a given memory, and a bound that says how short any can
 * be.
 *
 * Problem: each device of a pipeline does a forward, an input and a weight pass of each of its stages for
 * every micro-batch, one at a time; the activations that it keeps must fit. The longest device's end
 * (makespan) is minimised, or the longest time from a device's first to its last pass (span), where
 * iterations overlap because optimizer steps do not wait for each other.
 *
 * Method: list scheduling by many sets of rules (list.h, rules.h), orders from periodic patterns where memory is
 * scarce (pattern.h), gaps filled from both ends (pull.h), then tabu search on longest paths (tabu.h), from the
 * best of these and of those that the caller brings; at last the other of makespan and span is shortened at no
 * cost to the objective. Small problems are solved to the end by branch and bound (exact.h). A run ends when the
 * bound (bound.h) is reached, or when its effort is spent: effort counts passes, not seconds, so the answer is
 * the same everywhere.
 *
 * Check: tests/schedule/search_test.c plays every answer by timing.h and compares with schedules of the table
 * and with published results, exhaustive_test.c with all orders of small pipelines. */
#ifndef REHEARSE_SCHEDULE_SEARCH_SEARCH_H
#define REHEARSE_SCHEDULE_SEARCH_SEARCH_H

#include "schedule/search/bound.h"
#include "schedule/search/evaluate.h"

#define SEARCH_EFFORT          40000000 /* at most, if none is given: less than a second */
#define SEARCH_EFFORT_PER_PASS 20000

struct order_search {
    int devices, stages, microbatches;
    const uint16_t *device_of; /* of each stage, in one chain */
    /* `hidden` is not used: passes of these orders are not paired. The search does not know messages that
     * share a call or wait for each other (`fusion`, `send_in_turn`), but the times and the bound of its
     * answer do. */
    const struct timing_options *timing;
    double memory; /* of each device, in the unit of `kept`; 0: no limit */
    enum search_objective objective;
    int64_t effort; /* passes that are evaluated; 0: by the size of the problem */
    const struct pass_order *
        *starts; /* orders to begin with; those of other placements or too large are skipped */
    int start_count;
};

struct order_found {
    struct pass_order order;
    struct order_extent extent;
    double bound; /* no order has a smaller objective */
    double gap;   /* (objective - bound) / objective */
};

/* The caller ends the result with order_found_release, also after a failure. ERROR_INFEASIBLE: not even one
 * micro-batch fits. */
bool order_search(const struct order_search *search, struct order_found *found, struct error *err);
void order_found_release(struct order_found *found);

/* Finds the bound alone, without messages that block if they may share a call. The caller ends it with
 * search_bound_release, also after a failure. */
bool order_search_bound(const struct order_search *search, struct search_bound *bound, struct error *err);

#endif
