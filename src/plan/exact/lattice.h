/* The resource states of the exact search: the number of used units (nodes, or devices) of each kind.
 *
 * States are numbered by level (number of used units): state 0 uses none, the last one all, and every state
 * comes after its predecessors. */
#ifndef REHEARSE_PLAN_EXACT_LATTICE_H
#define REHEARSE_PLAN_EXACT_LATTICE_H

#include "core/arena.h"
#include "core/error.h"
#include "plan/exact/ticks.h"

#include <stdbool.h>
#include <stdint.h>

#define LATTICE_NONE UINT32_MAX

struct lattice {
    struct arena arena;
    int group_count;
    uint32_t count;
    int level_count;       /* units of the cluster + 1 */
    uint32_t *level_start; /* [level_count + 1] */
    /* [state x group_count + group]: the state with one node of the group less, or LATTICE_NONE */
    uint32_t *from;
};

/* Returns the number of all states, the product of (units + 1) over the kinds; 0 if it exceeds `max`. */
uint32_t lattice_size(const struct ticks *ticks, uint32_t max);
bool lattice_init(struct lattice *lattice, const struct ticks *ticks, struct error *err);

/* Only the states on one path: all units of kind order[0], then all of order[1], … */
bool lattice_init_chain(struct lattice *lattice, const struct ticks *ticks, const int *order,
                        struct error *err);

/* Sets the next permutation in lexicographic order; false after the last. */
bool lattice_next_order(int *order, int count);

void lattice_release(struct lattice *lattice);

#endif
