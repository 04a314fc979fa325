/* List scheduling by many sets of rules: one rule is changed at a time as long as an order gets better. */
#ifndef REHEARSE_SCHEDULE_SEARCH_RULES_H
#define REHEARSE_SCHEDULE_SEARCH_RULES_H

#include "schedule/search/evaluate.h"

#define POOL_SIZE 8

/* The best orders so far, the best first; no two have the same times. */
struct search_pool {
    size_t passes;
    uint32_t *sequence[POOL_SIZE];
    double value[POOL_SIZE], secondary[POOL_SIZE];
    int count;
};

bool search_pool_init(struct search_pool *pool, size_t passes, struct error *err);
void search_pool_release(struct search_pool *pool);

/* Keeps a copy of a sequence if it is among the best. */
void search_pool_offer(struct search_pool *pool, const struct search_problem *problem,
                       const uint32_t *sequence, double value, double secondary);

struct search_goal {
    double value, secondary;  /* no order has less */
    int64_t effort;           /* the evaluation's effort that ends the search */
    int64_t secondary_effort; /* the same when the value is reached and only the secondary one is not */
};

/* Fills the pool. */
bool search_by_rules(struct evaluation *evaluation, const struct timing_options *timing,
                     const struct search_goal *goal, struct search_pool *pool, struct error *err);

#endif
