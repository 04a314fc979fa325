/* The plans that a search keeps: the best of each of the best splits, or the Pareto front. Private to this room.
 *
 * Plans that take the same time to the last bit are ordered by simplicity: fewer devices, fewer dimensions beyond data
 * parallelism and fewer techniques, smaller degrees, less memory. So the answer does not depend on the order in which
 * plans are found, and an experienced reader finds nothing in it that gains nothing. */
#ifndef REHEARSE_PLAN_SPLIT_KEPT_H
#define REHEARSE_PLAN_SPLIT_KEPT_H

#include "core/arena.h"
#include "plan/split/choice.h"

struct kept {
    const struct job_search_options *options;
    struct job_choice *plans;
    int count, top; /* the maximum number */
    int *blocks;    /* [top][max_stages]: layouts of the plans */
    int max_stages;
};

/* Makes room for plans of max_stages, which is set before. False: out of memory. */
bool kept_init(struct kept *kept, const struct job_search_options *options, struct arena *arena);

/* Keeps a plan if it is good enough, with a copy of its layout. */
void kept_offer(struct kept *kept, const struct job_choice *plan);

/* Returns what a search minimises: seconds, or device-seconds. */
double kept_value(const struct job_search_options *options, const struct job_choice *plan);

/* Returns the value of the last of the plans; INFINITY: there is room for more, or they are a front. */
double kept_worst(const struct kept *kept);

/* Sorts the plans, and marks those that no other plan of them beats in one of time, memory and devices without being
 * worse in another. */
void kept_sort(struct kept *kept);

/* A total order of plans, fastest first; also for qsort. */
int job_choice_compare(const void *first, const void *second);

#endif
