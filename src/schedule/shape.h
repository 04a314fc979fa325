/* The shape that an order is made for. */
#ifndef REHEARSE_SCHEDULE_SHAPE_H
#define REHEARSE_SCHEDULE_SHAPE_H

#include "schedule/timing.h"

#define SCHEDULE_MAX_SEARCHED (1 << 21) /* passes: the order of a larger shape is not searched */

struct schedule_shape {
    int devices;      /* of the pipeline */
    int chunks;       /* of each device; 0: as the schedule has them, or 2 */
    int microbatches; /* of an iteration, over all chains */
    int iterations;   /* that a schedule without flush runs into each other; 0: 1. The others have 1 */
    /* Times that a schedule may look at, and the memory that it may fill, in the unit of `kept`. `costs` has one entry
     * per stage in the schedule's own numbering (schedule_stages); NULL: equal passes, and sends of no time. */
    const struct timing_options *timing;
    /* For a schedule that chooses the devices of stages: fills in the costs of all stages on these devices. NULL: costs
     * belong to stages, wherever they are. */
    bool (*costs_at)(const void *context, const uint16_t *device_of, int stages, struct pass_cost *costs,
                     struct error *err);
    const void *context; /* of costs_at */
    /* Searches minimise the longest time of a device from its first to its last pass, not the makespan: where optimizer
     * steps are validated afterwards, iterations overlap. */
    bool by_span;
    double memory;   /* of each device, for activations; 0: as the schedule is defined */
    bool unsearched; /* no maker searches: the order is to be the start of a search */
};

/* Adds the passes of a shape to an empty order. ERROR_INPUT: the shape does not fit; the text says why. */
typedef bool schedule_maker(const struct schedule_shape *shape, struct pass_order *order, struct error *err);

#endif
