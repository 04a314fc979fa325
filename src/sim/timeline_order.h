/* The timeline of an order of passes that timing.h has played. */
#ifndef REHEARSE_SIM_TIMELINE_ORDER_H
#define REHEARSE_SIM_TIMELINE_ORDER_H

#include "schedule/timing.h"
#include "sim/timeline.h"

/* An order among others in one timeline. */
struct timeline_part {
    int device;                           /* number of the order's first device */
    const struct timeline_memory *states; /* memory of each device without activations; NULL: none */
    int64_t *last;   /* NULL, or for the ids of each device's last pass; -1: it has none */
    int64_t next_id; /* of the first task; of the first one after this order, when its timeline was given */
};

/* Gives the passes, sorted by their begin, to the sink, with their sends and the memory of each device. `timing` has
 * the times of passes; part NULL: the order is alone. */
bool timeline_of_order(const struct pass_order *order, const struct timing_options *options,
                       const struct timing *timing, struct timeline_part *part,
                       const struct timeline_sink *sink, struct error *err);

#endif
