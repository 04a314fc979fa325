/* The resource states of the exact search: how many nodes of each group are used up.
 *
 * States are numbered by level (number of nodes used), so that state 0 uses none, the last one uses all, and
 * every state comes after those it is reached from. */
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
    int level_count;       /* nodes of the cluster + 1 */
    uint32_t *level_start; /* [level_count + 1] */
    uint32_t
        *from; /* [state x group_count + group]: the state with one node of the group less, or LATTICE_NONE */
};

/* Every state: the product of (nodes + 1) over the groups. 0 when that is more than `most`. */
uint32_t lattice_size(const struct ticks *ticks, uint32_t most);
bool lattice_init(struct lattice *lattice, const struct ticks *ticks, struct error *err);

/* Only the states on one path: all nodes of group order[0], then all of order[1], … */
bool lattice_init_chain(struct lattice *lattice, const struct ticks *ticks, const int *order,
                        struct error *err);

void lattice_release(struct lattice *lattice);

#endif
