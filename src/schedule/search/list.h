/* List scheduling: the device that is free first takes a pass by rules.
 *
 * A device looks as far ahead as passes have been begun elsewhere: it knows the results that will arrive, and
 * may wait for one, or fill the gap with a weight pass. A forward pass begins only if the oldest micro-batch
 * can still finish all its forward passes on this device (a banker's rule): so memory never locks the
 * pipeline, whatever the rules. */
#ifndef REHEARSE_SCHEDULE_SEARCH_LIST_H
#define REHEARSE_SCHEDULE_SEARCH_LIST_H

#include "schedule/search/problem.h"

enum list_first { LIST_INPUT_FIRST, LIST_ALTERNATE, LIST_FORWARD_FIRST, LIST_FIRSTS };

struct list_rules {
    enum list_first first;    /* when a forward and an input pass are ready */
    bool late_forward;        /* of forward passes the one of the latest stage first, else of the earliest */
    bool early_input;         /* of input passes the one of the earliest stage first, else of the latest */
    bool weight_before_input; /* where memory is full and a forward pass waits */
    double overrun;           /* share of a weight pass by which it may overrun a gap */
    double wait; /* share of a forward pass that may be idle before an input pass that is known to come */
    int backlog; /* weight passes that may wait while forward passes begin */
    const double *limit; /* of each device: memory of micro-batches between forward and input pass */
};

struct list_state;

struct list_state *list_state_make(const struct search_problem *problem, struct error *err);
void list_state_free(struct list_state *state);

/* Fills in a sequence. Returns false if the rules come to nothing, which only a cycle in the problem can
 * cause. */
bool list_schedule(struct list_state *state, const struct list_rules *rules, uint32_t *sequence);

#endif
