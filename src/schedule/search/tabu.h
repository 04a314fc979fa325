/* Tabu search over sequences, as for job shops: only a change on a longest path can make an order shorter.
 *
 * A longest path runs through blocks: passes back to back on one device. A move takes a pass of a block
 * before the block's first pass or behind its last one, or the first or last pass into the block. Memory is
 * checked on the part that moves. The value of a move is estimated from heads and tails of that part; the
 * chosen one is evaluated exactly. */
#ifndef REHEARSE_SCHEDULE_SEARCH_TABU_H
#define REHEARSE_SCHEDULE_SEARCH_TABU_H

#include "schedule/search/evaluate.h"

struct tabu;

struct tabu *tabu_make(struct evaluation *evaluation, struct error *err);
void tabu_free(struct tabu *tabu);

/* Improves a valid sequence until `target` is reached, or evaluation->evaluated passes `effort`, or
 * `patience` iterations have improved nothing. *value and *secondary are those of the sequence on entry and
 * on return. */
void tabu_improve(struct tabu *tabu, uint32_t *sequence, double *value, double *secondary, double target,
                  int64_t effort, int patience);

/* Swaps some neighbours of a valid sequence by chance; it stays valid. */
void tabu_kick(struct tabu *tabu, uint32_t *sequence, int swaps);

#endif
