/* The shortest order, with a proof, by branch and bound over counts.
 *
 * A partial order is a count of passes per type, the time at which each device is free, and the results that
 * are still under way. Passes are added in the order in which they begin, so a device is free no earlier than
 * the last of them began. Of two partial orders with equal counts the one that is nowhere later makes the
 * other superfluous; and one whose bound (chains and tails of bound.h, work left on each device) is not below
 * the best known order is dropped, and so is one in which a device waits although a weight pass would fit.
 * All partial orders of a length are made before the next longer ones. A first run keeps only so many of a
 * length, those of the least bounds (a beam); the order that it finds is the one to beat in the second run,
 * which leaves out nothing.
 *
 * For the makespan only. Checked in tests/schedule/exhaustive_test.c against a search without bounds. */
#ifndef REHEARSE_SCHEDULE_SEARCH_EXACT_H
#define REHEARSE_SCHEDULE_SEARCH_EXACT_H

#include "schedule/search/bound.h"

#define EXACT_MAX_MICROBATCHES 255
#define EXACT_MAX_STATES       500000 /* of all lengths */

/* Looks for an order shorter than *makespan; gives up after *states partial orders. Found: sets *makespan and
 * the sequence. *proven: no shorter one exists than *makespan now says. *states returns how many partial
 * orders were made. */
bool exact_search(const struct search_problem *problem, const struct search_bound *bound, uint32_t *sequence,
                  double *makespan, bool *proven, int64_t *states, struct error *err);

#endif
