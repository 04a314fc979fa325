/* Lower bounds of a split's iteration time, before its chunks, schedule and layout are chosen. Private to this room. */
#ifndef REHEARSE_PLAN_SPLIT_BOUND_H
#define REHEARSE_PLAN_SPLIT_BOUND_H

#include "plan/split/space.h"

/* Minimum seconds with schedules that have formulas, and with those that are timed; INFINITY: there is none. */
struct space_bounds {
    double formula, timed;
};

/* Returns whether both bounds are above `worst`. */
bool space_exceeds(const struct space_bounds *bounds, double worst);

/* Returns the bounds of plans with these pipeline and data parallel degrees and micro-batches, whose layers take
 * `layers` seconds, of which the blocks take `blocks`, and all that is not a pass takes `rest`. */
struct space_bounds space_bounds_of(const struct space *space, int pipeline, double count, double layers,
                                    double blocks, struct space_bounds rest);

/* Returns the minimum seconds of all that is not a pass, of any of these shardings. */
struct space_bounds space_rest_of(const struct space *space, struct job job, const struct space_group *group,
                                  unsigned shardings, const struct job_exchange exchanges[4]);

/* All combinations of a cut and a length of the pipeline. */
struct space_task {
    const struct space_cut *cut;
    int pipeline;
    double bound; /* minimum value of its combinations; bytes while the smallest is sought */
    double combinations;
};

/* Sets the minimum bound of a task's groups, and their number of combinations. `within`: see job_search_options. */
void space_weigh_task(const struct space *space, double within, struct space_task *task);

/* Orders tasks by their bounds. */
int space_compare_tasks(const void *a, const void *b);

/* Returns the longest pace at which another layout of a plan's blocks may take `worst` seconds. Beside the passes of
 * the slowest stage a layout changes what waits for its kernels, which is 0 at least, and the transfers of data that
 * they hide: a slower pace hides no more than it takes longer, and none below 0. All other terms are the same in every
 * layout, whatever they are; one that is not has to be taken off here. */
double space_longest_pace(const struct job_choice *plan, double worst);

#endif
