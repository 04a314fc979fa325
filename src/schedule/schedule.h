/* Schedules by name: each makes an order for a shape.
 *
 * To add one, write its `make` beside the others and add a row to schedule.c. check.h checks every order, whoever made
 * it. */
#ifndef REHEARSE_SCHEDULE_SCHEDULE_H
#define REHEARSE_SCHEDULE_SCHEDULE_H

#include "schedule/moves.h"
#include "schedule/order.h"
#include "schedule/shape.h"

struct schedule {
    const char *name;    /* "zb-v" */
    const char *aliases; /* further names, separated by '|'; NULL: none */
    const char *title;   /* one line for people, with the source */
    int chunks;          /* of each device; 0: chosen by the user, at least 2 */
    bool single_too;     /* of those chosen by the user, 1 is possible as well */
    bool two_chains;     /* of stages; else one */
    bool no_flush;       /* iterations run into each other */
    bool
        cuts_sequence; /* the chunks that a shape asks for are slices of the sequence (2 if it asks for none) */
    moves_memory *moves;    /* activations leave their device; NULL: none */
    bool fills_memory;      /* sets no limit of its own: it takes what shape->memory allows */
    schedule_maker *within; /* of a shape with a memory of its own, unless that is large; NULL: the same */
    schedule_maker *make;   /* sets the device of each stage, and adds the passes */
};

/* Ended by a row without name. */
extern const struct schedule schedules[];

/* Returns the schedule with this name or alias, in any case; NULL: none, and *err proposes a similar name. A name may
 * end in the number of chunks where they are chosen ("interleaved-1F1B v4"), which goes to *chunks; else it is left
 * alone. */
const struct schedule *schedule_find(const char *name, int *chunks, struct error *err);

/* Returns the chunks of each device, and the stages, for a shape. */
int schedule_chunks(const struct schedule *schedule, const struct schedule_shape *shape);
int schedule_stages(const struct schedule *schedule, const struct schedule_shape *shape);

/* Returns the slices of the sequence for a shape; 1: whole. */
int schedule_slices(const struct schedule *schedule, const struct schedule_shape *shape);

/* Makes and checks an order; the caller ends it with pass_order_release, also after a failure. */
bool schedule_make(const struct schedule *schedule, const struct schedule_shape *shape,
                   struct pass_order *order, struct error *err);

/* Finds the seconds of an iteration in the steady state of a schedule without flush, from iteration to iteration; NAN:
 * the schedule flushes, or the orders that tell would be too large. shape->timing must be there. */
bool schedule_period(const struct schedule *schedule, const struct schedule_shape *shape, double *seconds,
                     struct error *err);

#endif
