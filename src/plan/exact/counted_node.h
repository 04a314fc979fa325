/* One node of the program that counts stages (counted.h): every way to place stages on its devices. */
#ifndef REHEARSE_PLAN_EXACT_COUNTED_NODE_H
#define REHEARSE_PLAN_EXACT_COUNTED_NODE_H

#include "plan/exact/program.h"

enum phase {
    BEHIND,
    PLACED
}; /* the bottleneck is still in front, or placed; without phases there is only BEHIND */

/* What one thread needs to add a node: a row of layers for each (devices filled, phase, count). */
struct counted_scratch {
    double *values;
    double *keys; /* [layer]: the window's candidates, the least first */
    int *ends;
    double *best; /* [layer] */
};

/* Which values are worth keeping. */
struct counted_limit {
    double below;  /* of the value: plans from here on are of no interest */
    double reward; /* by which a stage after the slowest earns more here than in the program of the fronts */
    int most_after;
};

/* Counts and layers of a state's kept values; none if first > last. */
struct counted_range {
    int first, last, low, high;
};

struct counted {
    struct program *program; /* nodes, layers, windows, limits and threads are shared with it */
    struct counted_limit limit;
    struct tile_costs costs;
    int counts;     /* maximum count of stages */
    uint32_t *to;   /* [state x groups + group]: the state with one node of the group more, or LATTICE_NONE */
    int *nodes;     /* [state]: unused nodes, where none may be idle */
    int *devices;   /* [state]: maximum stages on the unused nodes */
    size_t *offset; /* [state]: where its values start */
    double *values; /* [state][phase][count][layer of the window]; only those in `kept` are set */
    struct counted_range *kept; /* [state] */
    size_t capacity, value_count;
    int scratch_count;
    struct counted_scratch *scratch; /* [thread] */
};

/* A node of `group` in front of what the state `behind` leaves: its stages hold layers low to low + width - 1. */
struct counted_node {
    const struct counted *counted;
    const struct counted_scratch *scratch;
    uint32_t behind, front;
    int group, devices;
    int low, width;
    int first_count, counts;
};

static inline int counted_phases(const struct counted *counted)
{
    return counted->costs.phases ? 2 : 1;
}

static inline int counted_min(int a, int b)
{
    return a < b ? a : b;
}

static inline int counted_max(int a, int b)
{
    return a > b ? a : b;
}

/* Counts of a state: at least one stage for each node behind that may not be idle, at most one for each device and each
 * layer there. */
static inline int counted_first(const struct counted *counted, uint32_t state)
{
    return counted_min(counted->nodes[state], counted->counts);
}

static inline int counted_last(const struct counted *counted, uint32_t state)
{
    int layers = counted->program->ticks->layer_count - counted->program->reach.first[state];
    return counted_min(counted->counts, counted_min(counted->devices[state], layers));
}

static inline int counted_width(const struct counted *counted, uint32_t state)
{
    const struct reach *reach = &counted->program->reach;
    return reach->last[state] >= reach->first[state] ? reach->last[state] - reach->first[state] + 1 : 0;
}

/* The row of a state's values; there is one for each of its counts. */
static inline double *counted_values(const struct counted *counted, uint32_t state, int phase, int count)
{
    int first = counted_first(counted, state), counts = counted_last(counted, state) - first + 1;
    return counted->values + counted->offset[state] +
           (size_t)(phase * counts + count - first) * (size_t)counted_width(counted, state);
}

static inline size_t counted_rows(const struct counted_node *node, int filled)
{
    return (size_t)filled * (size_t)(counted_phases(node->counted) * node->counts);
}

static inline double *counted_row(const struct counted_node *node, int filled, int phase, int count)
{
    size_t row = counted_rows(node, filled) + (size_t)(phase * node->counts + count - node->first_count);
    return node->scratch->values + row * (size_t)node->width;
}

/* A pipeline that begins at `layer`: where in the table, and inside a node with how many devices filled. */
struct counted_place {
    int layer, filled, phase, count;
};

#endif
