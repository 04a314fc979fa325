/* Times of a sequence of passes per device, forwards and backwards, for the search.
 *
 * timing.h gives the same makespan and span for the order that a sequence stands for
 * (tests/schedule/search_test.c). Here a pass also has a tail: the longest way from its beginning to an end,
 * less the time at which that is due. Beginning and tail of the passes of a longest path add up to the
 * order's length. */
#ifndef REHEARSE_SCHEDULE_SEARCH_EVALUATE_H
#define REHEARSE_SCHEDULE_SEARCH_EVALUATE_H

#include "schedule/search/problem.h"

enum search_objective { SEARCH_MAKESPAN, SEARCH_SPAN };

/* When each device should have ended: at `end`, and `span` after its beginning. An order's length is the most
 * by which a device ends later. The makespan is the length for end 0 and no span; the span that for span 0
 * and no end. With both, one is shortened while the other keeps its value. */
struct due {
    double end, span; /* HUGE_VAL: none */
};

#define SEARCH_NO_PASS UINT32_MAX

struct evaluation {
    const struct search_problem *problem;
    enum search_objective objective;
    struct due due;
    double *start, *tail; /* of each pass */
    uint32_t *place;      /* of each pass in the sequence */
    uint32_t *sorted;     /* passes, each behind those that it waits for */
    double *begin, *end;  /* of each device */
    struct order_extent extent;
    double length;
    double
        value; /* of the objective; where two are due: of the second one, HUGE_VAL if the first is missed */
    double secondary; /* the other one */
    size_t *next;     /* scratch */
    double *clock;
    uint32_t *waits;
    int *runnable;
    int64_t evaluated; /* passes so far: the unit of effort */
};

bool evaluation_init(struct evaluation *evaluation, const struct search_problem *problem,
                     enum search_objective objective, struct error *err);
void evaluation_release(struct evaluation *evaluation);

/* Fills in all but the tails. Returns false if passes wait for each other. */
bool evaluate_starts(struct evaluation *evaluation, const uint32_t *sequence);

/* Makes the objective the value to keep, and the other one, which cannot be less than `bound`, the value to
 * shorten. */
void evaluation_keep(struct evaluation *evaluation, double bound);

/* Returns when a device is due. */
static inline double evaluation_due(const struct evaluation *evaluation, int device)
{
    double by_span = evaluation->begin[device] + evaluation->due.span;
    return by_span < evaluation->due.end ? by_span : evaluation->due.end;
}

/* True: a result is better than another, first in the objective and then in the secondary value. */
static inline bool evaluation_better(const struct search_problem *problem, double value, double secondary,
                                     double than_value, double than_secondary)
{
    if (value < than_value - problem->hair)
        return true;
    return value < than_value + problem->hair && secondary < than_secondary - problem->hair;
}

#endif
