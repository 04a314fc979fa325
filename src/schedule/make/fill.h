/* List scheduling of split backward passes on one chain, with the times of the shape.
 *
 * Devices are played in the order of time. A device that is free takes a forward or backward pass that is ready and
 * fits into its memory; gradients of weights (W), first come first served, go where nothing is ready, or where a
 * forward pass lacks memory. A device knows when results on their way will arrive, and starts no W if one arrives soon.
 * Micro-batches keep their sequence at each stage, and a forward pass leaves room for those of the later stages of its
 * device, so that the oldest micro-batch can always go on: no memory of at least one micro-batch on each device leads
 * to a standstill.
 *
 * The result is an order like any other: the checker checks it, and timing.h says what it is worth. */
#ifndef REHEARSE_SCHEDULE_MAKE_FILL_H
#define REHEARSE_SCHEDULE_MAKE_FILL_H

#include "schedule/timing.h"

enum fill_choice {
    FILL_SEQUENCE,       /* forward and backward passes come in the sequence of another order */
    FILL_BACKWARD_FIRST, /* of passes that are ready: backward before forward, later stages before earlier ones */
    FILL_FORWARD_FIRST,
    FILL_OLDEST,    /* the smallest micro-batch first, backward before forward */
    FILL_ALTERNATE, /* forward after backward and backward after forward, later stages before earlier ones */
    FILL_CHOICES
};

struct fill_rules {
    enum fill_choice choice;
    const struct pass_order *sequence; /* for FILL_SEQUENCE; its weight passes are left out */
    const double *memory;              /* of each device, in the unit of `kept` */
    double patience; /* a W starts if nothing arrives within this share of its time; 0 to 1 */
    bool split;      /* backward passes are split; else they are full, and there is no W */
};

/* Adds all passes to an order that has only its devices. ERROR_INFEASIBLE: the memory does not hold one micro-batch. */
bool fill_order(const struct fill_rules *rules, const struct pass_cost *costs, struct pass_order *order,
                struct error *err);

#endif
