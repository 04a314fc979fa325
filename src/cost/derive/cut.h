/* Minimum cuts: the values whose keeping takes the minimum memory. */
#ifndef REHEARSE_COST_DERIVE_CUT_H
#define REHEARSE_COST_DERIVE_CUT_H

#include "core/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define CUT_NEVER ((int64_t)1 << 60) /* a capacity that is never cut */

struct cut_edge {
    int to, next; /* next: of the same node; -1: the last */
    int64_t left; /* remaining capacity */
};

struct cut {
    int node_count, edge_count;
    int *first;              /* edge of each node; -1: none */
    struct cut_edge *edges;  /* in pairs, there and back */
    int *level, *at, *queue; /* of each node, while searching */
};

/* Makes a graph; node 0 is the source, node 1 the sink. False: out of memory. */
bool cut_init(struct cut *cut, struct arena *arena, int node_count, size_t max_connections);
void cut_connect(struct cut *cut, int from, int to, int64_t capacity);

/* Finds the cut nearest to the sink; then cut_reaches_sink tells whether a node is on the sink's side. */
void cut_find(struct cut *cut);
bool cut_reaches_sink(const struct cut *cut, int node);

#endif
