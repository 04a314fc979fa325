/* Orders that are searched for rather than made by a rule: schedules zb-1p, zb-2p, v-1p and best.
 *
 * zb-1p and zb-2p (arXiv 2401.10241) have one stage per device, and activations of p and 2 p micro-batches;
 * v-1p has two (arXiv 2405.15362), from the first device to the last and back, and activations of p. They are
 * never slower than a schedule of the table with the same placement that fits in memory. `best` tries the
 * placements of any number of chunks, and is never slower than a schedule of the table with the same chunks,
 * or with one chunk, that fits in memory; those of two chains, and passes that overlap, are left out.
 *
 * A shape of more than two million passes is not searched: of the schedules of the table those that their formulas
 * promise to be the shortest are played (starts.h), and the bound says how much there may be to gain. */
#ifndef REHEARSE_SCHEDULE_BEST_H
#define REHEARSE_SCHEDULE_BEST_H

#include "schedule/search/search.h"
#include "schedule/shape.h"

struct best_options {
    enum search_objective objective;
    int64_t effort; /* as in struct order_search */
};

/* Searches `chunks` stages per device, in memory shape->memory (0: no limit): all placements, or with in_flight > 0 the
 * wave alone, where without a limit memory is that of so many micro-batches on the fullest device. The caller ends the
 * result with order_found_release, also after a failure; options NULL: as given by zeros. */
bool best_order(const struct schedule_shape *shape, int chunks, int in_flight,
                const struct best_options *options, struct order_found *found, struct error *err);

#endif
