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

#endif
