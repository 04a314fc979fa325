/* The fastest of several orders for one shape, within the memory of each device. */
#ifndef REHEARSE_SCHEDULE_MAKE_CONTEST_H
#define REHEARSE_SCHEDULE_MAKE_CONTEST_H

#include "schedule/make/fill.h"
#include "schedule/shape.h"

struct contest {
    const struct schedule_shape *shape;
    struct pass_order *order; /* a first order: complete, or only with its devices */
    bool split;               /* backward passes are split */
    double memory_of;         /* micro-batches at all stages of a device for which it has memory */
    /* the rest is contest_run's */
    struct timing_options options;
    struct pass_cost *costs;    /* equal ones, of a shape without times */
    double *memory;             /* of each device */
    struct pass_order best;     /* without devices while the first order is the best */
    struct order_extent extent; /* of the best; infinite while there is none */
};

/* Replaces contest->order by the fastest order of all rules of fill.h and itself. Each device has the memory of the
 * shape, else memory_of micro-batches, or as much as a complete first order needs. The caller sets the first four
 * fields, and the others to 0. ERROR_INFEASIBLE: no order fits into the memory. */
bool contest_run(struct contest *contest, struct error *err);

#endif
