/* The fastest set of whole pipelines out of a list, by dynamic programming over the devices.
 *
 * Problem. Pipelines (near.h) do m_k(T) whole micro-batches by a deadline T and use devices_k. Choose copies of them
 * that use at most N_t devices of each type and do M micro-batches by the earliest T + (seconds after the slowest of
 * them). Exactly `pipelines` of them are chosen, each with a micro-batch or more, or at most so many.
 *
 * For one T and one limit on the seconds afterwards, best[devices left][pipelines left] is a knapsack. T is halved
 * between a deadline that is too early and the real end of a set, until no set ends before the last one found; then the
 * limit falls below the seconds that this set takes afterwards.
 *
 * Checked: against brute force over all sets (tests/plan/fleet). */
#ifndef REHEARSE_PLAN_FLEET_PACK_H
#define REHEARSE_PLAN_FLEET_PACK_H

#include "plan/fleet/near.h"

struct fleet_pack_query {
    const struct fleet_problem *problem;
    const struct fleet_near *near;
    int together;     /* number of entries of `after` of the pipelines */
    int pipelines;    /* 0: any number */
    bool exactly;     /* not fewer of them */
    double max_after; /* of any pipeline */
    double min_after; /* of any set */
};

/* Returns the number of cells of the table; INFINITY: it is not worth it. */
double fleet_pack_cells(const struct fleet_problem *problem, int pipelines);

/* Lowers *seconds to those of the best set that takes less, and sets copies[near->count] to it; copies stay as they are
 * if there is none. *all is false if the effort ended before. False: out of memory. */
bool fleet_pack(const struct fleet_pack_query *query, double *seconds, int *copies,
                struct fleet_effort *effort, bool *all);

#endif
