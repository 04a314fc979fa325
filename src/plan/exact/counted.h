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
 * behind never need more memory. And a value is dropped if even the cheapest front, by a program that does not
 * count, makes no better plan: *program has just been solved for the same interval, with some r of its own
 * (bound.h), and its values are those of the fronts. Where r is well chosen few counts are left in any state.
 *
 * Check. Brute force, with memory that binds (tests/plan/test_search_random.c). */
#ifndef REHEARSE_PLAN_EXACT_COUNTED_H
#define REHEARSE_PLAN_EXACT_COUNTED_H

#include "plan/exact/counted_node.h"

/* Allocates nothing yet. *program must outlive it. */
void counted_init(struct counted *counted, struct program *program);
void counted_release(struct counted *counted);

/* As program_solve and program_path, after program_solve for the same interval. PROGRAM_INFEASIBLE: no value is below
 * the limit. */
enum program_status counted_solve(struct counted *counted, const struct tile_costs *costs,
                                  const struct counted_limit *limit, double *value);
int counted_path(struct counted *counted, struct tile_stage *stages);

#endif
