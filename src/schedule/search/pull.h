/* Orders with gaps filled: where a device waits for the next pass of its sequence, it takes a later one that is ready.
 *
 * Problem: an order that keeps to a pattern is idle while the pipeline fills and drains, and where passes are shorter
 * than their slots. Devices are played in the order of time. One whose next pass is not ready takes the first of the
 * passes behind it that is, if it ends before the next one can begin (or overruns that by a share of itself), and if
 * the memory holds it beside all that it overtakes: so every sequence that comes out keeps to the memory, and none
 * locks, since a pass is overtaken only by passes that run at once.
 *
 * The same is done from the end of the iteration towards its beginning: what fills the one shortens the filling of the
 * pipeline, what fills the other its draining (forward and backward improvement, as of project schedules).
 *
 * Check: as all orders of the search (search_test.c); scripts/compare-zero-bubble runs the code of the zero-bubble
 * authors beside it. */
#ifndef REHEARSE_SCHEDULE_SEARCH_PULL_H
#define REHEARSE_SCHEDULE_SEARCH_PULL_H

#include "schedule/search/rules.h"

/* Sets of rules: how far a pass may delay the one that it overtakes, whether weight passes come last, and from which
 * end the first round goes. */
#define PULL_RULES 12

struct puller;

struct puller *puller_make(const struct search_problem *problem, struct error *err);
void puller_free(struct puller *puller);

/* Fills the gaps of a sequence that fits in memory from the beginning and from the end in turn, while that shortens it,
 * and offers the orders to the pool. */
void pull_and_offer(struct puller *puller, struct evaluation *evaluation, int rules, const uint32_t *sequence,
                    struct search_pool *pool);

#endif
