/* Orders of the table's schedules for a shape: to begin searches with, or the best of the most promising ones where a shape
 * is too large for a search.
 *
 * Left out are searched schedules, those of several chains or without flush, and those of other chunks. Where placements are
 * free, schedules with one chunk are cut into parts that lie on the same device. */
#ifndef REHEARSE_SCHEDULE_STARTS_H
#define REHEARSE_SCHEDULE_STARTS_H

#include "schedule/search/search.h"
#include "schedule/shape.h"

#define STARTS_MAX 64

/* Makes the orders of all schedules; of one that does not fit this shape there is none. Those that fill a memory are made for
 * `memory` (0: as they are defined), others may need more. *count of them are the caller's to
 * end with pass_order_release, also after a failure. */
bool starts_make(const struct schedule_shape *shape, int chunks, bool any_placement, double memory,
                 struct pass_order starts[static STARTS_MAX], int *count, struct error *err);

struct starts_goal {
    const struct timing_options
        *timing;   /* costs of the stages, wherever they are; else shape->costs_at gives them */
    double memory; /* of each device; 0: no limit */
    enum search_objective objective;
    double bound; /* an order that reaches it ends the choice */
};

/* Plays orders one after the other, in the sequence of what the closed formulas promise, until so many passes were played
 * that it takes some seconds, and keeps the best that fits in memory. Sets found->order, makespan and span; devices of the
 * order are 0 if none fits. The caller ends *found with order_found_release, also after a failure. */
bool starts_choose(const struct schedule_shape *shape, int chunks, bool any_placement,
                   const struct starts_goal *goal, struct order_found *found, struct error *err);

/* Returns the device of a stage where neighbours lie on one device. */
static inline uint16_t starts_block_place(int stage, int chunks)
{
    return (uint16_t)(stage / chunks);
}

#endif
