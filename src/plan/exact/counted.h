/* The dynamic program that counts stages: the cheapest pipeline if a stage's place from the end decides
 * whether it is allowed.
 *
 * Problem. That of program.h with two more conditions. The i-th stage from the end holds the activations of
 * min(N, i) micro-batches, which must fit into its memory (score/memory.h). And oobleck with N micro-batches
 * is undefined for N or more stages after the bottleneck.
 *
 * State: (nodes used per group, layers placed, stages behind, bottleneck behind or not), from the end of the
 * pipeline to its front. Step: one more node. Its tilings by halving are the ways to fill its devices 0, 1,
 * 2, … with stages of 2^k devices that begin at a multiple of 2^k. Stages are counted up to N, or to their
 * maximum number.
 *
 * Three things keep it small. The windows of reach.h hold here, too: they let every stage be as large as the
 * last one may be. Of two values the one with more stages is dropped unless it is smaller: fewer stages
 * behind never need more memory. And a stage's time is a difference of prefix sums, so that the best end for
 * each first layer is the minimum over a window that only moves forward: a step takes time proportional to
 * the layers.
 *
 * Check. Brute force, with memory that binds (tests/plan/test_search_random.c). */
#ifndef REHEARSE_PLAN_EXACT_COUNTED_H
#define REHEARSE_PLAN_EXACT_COUNTED_H

#include "plan/exact/program.h"

struct counted_scratch;

struct counted {
    struct program *program; /* nodes, layers, windows, limits and threads are shared with it */
    struct tile_costs costs;
    int counts;     /* maximum count of stages */
    uint32_t *to;   /* [state x groups + group]: the state with one node of the group more, or LATTICE_NONE */
    int *nodes;     /* [state]: unused nodes */
    int *devices;   /* [state]: devices of the unused nodes */
    size_t *offset; /* [state]: where its values start */
    double *values; /* [state][phase][count][layer of the window] */
    size_t capacity, value_count;
    int scratch_count;
    struct counted_scratch *scratch; /* [thread] */
};

/* Allocates nothing yet. *program must outlive it. */
void counted_init(struct counted *counted, struct program *program);
void counted_release(struct counted *counted);

/* As program_solve and program_path. */
enum program_status counted_solve(struct counted *counted, const struct tile_costs *costs, double *value);
int counted_path(struct counted *counted, struct tile_stage *stages);

#endif
