/* Steps of the dynamic program without tables: a node's stages are placed one after the other, for wide windows.
 *
 * Problem. As in tiles.h: from the values of a state, those with one more node behind. The ways to split the node by
 * halving are the ways to fill its devices 0, 1, 2, … with stages of 2^k devices that begin at a multiple of 2^k. A table
 * of all [a, b) takes time with the cube of the layers; but a stage's time is a difference of prefix sums, so that the best
 * first layer for each end is a minimum over a window that only moves forward:
 *
 *     value(b) = min over a of (value(a) - scale x sum(a)) + scale x sum(b) + add
 *
 * A minimum of such a window takes two running minima, to the left and to the right of a place that is moved when the
 * window leaves it behind. A step takes time proportional to the layers.
 *
 * Check. Equal to the tables (tests/plan/test_program.c), which are equal to brute force. */
#ifndef REHEARSE_PLAN_EXACT_SWEEP_H
#define REHEARSE_PLAN_EXACT_SWEEP_H

#include "core/error.h"
#include "plan/exact/tiles.h"

/* The first and last beginning of a stage that ends before a layer; none if first > last. */
struct sweep_range {
    int first, last;
};

struct sweep_scratch {
    double *rows;        /* [devices filled][phase][layer] */
    double *keys, *left; /* [layer] */
};

struct sweep {
    struct arena arena;
    const struct ticks *ticks;
    const struct reach *reach;
    struct tile_costs costs;
    struct sweep_range *range[PLAN_MAX_GROUPS][PLAN_MAX_SPLITS][TILE_PLANES]; /* [end of the stage] */
    int threads;
    struct sweep_scratch *scratch; /* [thread] */
};

/* A node between two states: values of the first for layers `low` to `high`, in `values[phase]`; those of the second up to
 * layer `end`. */
struct sweep_node {
    const struct sweep *sweep;
    const struct sweep_scratch *scratch;
    int number; /* in the pipeline, from 1 on */
    int group, low, high, end;
    const double *values[2];
};

/* Takes no memory yet. */
void sweep_init(struct sweep *sweep, const struct reach *reach);
void sweep_release(struct sweep *sweep);

/* Prepares for programs with these costs under the current windows. False: out of memory. */
bool sweep_prepare(struct sweep *sweep, const struct tile_costs *costs, int threads);

/* Fills all rows of the node in its scratch; sweep_row returns one, from layer 0 on, valid from `low` to `end`. */
void sweep_fill(const struct sweep_node *node);
const double *sweep_row(const struct sweep_node *node, int filled, int phase);

/* Writes the stages that lead to a value of the node's last rows, after sweep_fill, and returns their number. *layer and
 * *phase: where the node ends, then where it begins. */
int sweep_path(const struct sweep_node *node, int *layer, int *phase, struct tile_stage *stages);

#endif
