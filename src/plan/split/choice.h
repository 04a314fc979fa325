/* A plan that a search may choose, and the options of the search. */
#ifndef REHEARSE_PLAN_SPLIT_CHOICE_H
#define REHEARSE_PLAN_SPLIT_CHOICE_H

#include "core/parallel.h"
#include "core/progress.h"
#include "plan/split/job.h"

struct job_choice {
    struct job job; /* devices: those used; stage_blocks: in the search's arena, or NULL */
    struct job_time time;
    struct job_memory memory; /* of the fullest device */
    bool on_front;            /* no plan found is better in time, memory and devices at once */
};

struct job_search_options {
    int top; /* maximum number of plans, each the best of its split (t, c, e, p, d); at least 1 */
    /* instead the plans that no other beats in time, memory and devices at once, the fastest of each. Nothing is
     * dismissed then, and only the even layout and the fastest layout are considered */
    bool front;
    bool money; /* the front is that of time, money and devices, whatever the memory is */
    /* > 0: instead the plans of the fewest device-seconds (the cheapest, as devices are alike) of those that take at
     * most so many seconds */
    double within;
    double time_limit; /* seconds; 0: none */
    double ceiling;    /* seconds: slower plans are not looked for; 0: none */
    struct parallel *pool;
    struct progress *progress; /* NULL: none */
};

#endif
