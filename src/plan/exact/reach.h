/* How far resources reach under a cap on the stage time.
 *
 * If no stage may take longer than `cap`, then 2^split devices of a group, starting at layer a, can cover at
 * most the layers up to some b; so can a node, and so can any set of nodes in its best order. Because more
 * layers never take less time, the farthest reach of a set of nodes follows from the farthest reach of the
 * set with one node less: one pass over the resource states, without layers. From both ends this gives each
 * state its window: the layers at which the pipeline can possibly stand when these nodes are used up. Close
 * to the smallest feasible cap the windows are a few layers wide. */
#ifndef REHEARSE_PLAN_EXACT_REACH_H
#define REHEARSE_PLAN_EXACT_REACH_H

#include "core/arena.h"
#include "core/error.h"
#include "plan/exact/lattice.h"
#include "plan/exact/ticks.h"

#include <stdbool.h>

struct reach {
    struct arena arena;
    const struct ticks *ticks;
    const struct lattice *lattice;
    /* [group][split][layer] under the last cap: */
    int *stage_end[TICKS_MAX_GROUPS][PLAN_MAX_SPLITS]; /* last b such that one stage may hold [layer, b) */
    int *tile_end[TICKS_MAX_GROUPS]
                 [PLAN_MAX_SPLITS]; /* the same for 2^split devices, split up further at will */
    int *tile_start[TICKS_MAX_GROUPS][PLAN_MAX_SPLITS]; /* first a such that they may hold [a, layer) */
    int *first, *last;                                  /* [state]: its window; empty when first > last */
};

/* Returns false if certainly no plan has all stages within `cap` ticks. Fills stage_end and tile_end. */
bool reach_feasible(struct reach *reach, double cap);

/* Fills in everything. False: there is certainly no plan. */
bool reach_windows(struct reach *reach, double cap);

#endif
