/* Steps of the dynamic program without tables: a node's stages are placed one after the other, for wide windows.
 *
 * Problem. As in tiles.h: from the values of a state, those with one more node behind. The ways to split the node by
 * halving are the ways to fill its devices 0, 1, 2, … with stages of 2^k devices that begin at a multiple of 2^k. A
 * table of all [a, b) takes time with the cube of the layers; but a stage's time is a difference of prefix sums, so
 * that the best first layer for each end is a minimum over a window that only moves forward:
 *
 *     value(b) = min over a of (value(a) - scale x sum(a)) + scale x sum(b) + add
 *
 * A minimum of such a window takes two running minima, to the left and to the right of a place that is moved when the
 * window leaves it behind. A step takes time proportional to the layers.
 *
 * Where they are not too many, the rows of all steps are kept: the path needs no step again, and of a program that
 * differs from the one before only in what stages after the bottleneck are granted, only these are placed again.
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
    double *rows;        /* of one node, where not all are kept */
    double *keys, *left; /* [layer] */
};

struct sweep {
    struct arena arena;
    const struct ticks *ticks;
    const struct reach *reach;
    struct tile_costs costs;
    bool is_whole;  /* the last program was solved to its end */
    bool repeats;   /* this one differs from the one before only in its stages after the bottleneck */
    bool keeps;     /* rows of all nodes are kept */
    size_t *offset; /* [state x group_count + group]: where the rows of the last node begin */
    double *rows;
    size_t room;
    struct sweep_range *range[TICKS_MAX_GROUPS][PLAN_MAX_SPLITS][TILE_PLANES]; /* [end of the stage] */
    int threads;
    struct sweep_scratch *scratch; /* [thread] */
};

/* A node between two states: values of the first for layers `low` to `high`, in `values[phase]`; those of the second up
 * to layer `end`. */
struct sweep_node {
    const struct sweep *sweep;
    const struct sweep_scratch *scratch;
    int number; /* in the pipeline, from 1 on */
    int group, low, high, end;
    const double *values[2];
    double *rows; /* [row][devices filled][layer from `low` on] */
};

void sweep_release(struct sweep *sweep);

/* Prepares for a program with these costs under the current windows. False: out of memory. sweep_finish is called when
 * all of its nodes are filled. */
bool sweep_prepare(struct sweep *sweep, const struct tile_costs *costs, int threads);

/* Returns where the rows of the node before `state` are. */
double *sweep_rows(const struct sweep *sweep, uint32_t state, int group, const struct sweep_scratch *scratch);

/* Fills all rows of the node; sweep_row returns those behind all of its devices, from layer `low` to `end`. */
void sweep_fill(const struct sweep_node *node);
const double *sweep_row(const struct sweep_node *node, int phase);

/* Writes the stages that lead to a value of the node's last rows, once it is filled, and returns their number. *layer
 * and *phase: where the node ends, then where it begins. */
int sweep_path(const struct sweep_node *node, int *layer, int *phase, struct tile_stage *stages);

#endif
