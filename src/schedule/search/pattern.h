/* Orders from patterns: every micro-batch does the same, one period after the one before.
 *
 * A pattern gives each type of passes a place in time, such that the passes of all micro-batches, a period
 * apart, never meet on a device. Memory then follows from the time between forward and weight pass, so
 * patterns are good where memory is scarce (building blocks: arXiv 2405.15362). Patterns are made greedily,
 * in the order of a micro-batch's way, for many periods and gaps between devices; of those that fit, the ones
 * that promise the shortest order are tried. */
#ifndef REHEARSE_SCHEDULE_SEARCH_PATTERN_H
#define REHEARSE_SCHEDULE_SEARCH_PATTERN_H

#include "schedule/search/rules.h"

/* Offers orders to the pool. */
bool search_by_patterns(struct evaluation *evaluation, const struct search_goal *goal,
                        struct search_pool *pool, struct error *err);

#endif
