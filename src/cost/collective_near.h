/* Times of collectives that lean on the nearest measured ones: the formula first, then the neighbours.
 *
 * A library changes protocols, channels and kernels by tables of its own; no formula with three protocols follows them.
 * By how much measured times differ from the formula (cost/collective_known.h) is interpolated between the nearest
 * ones of the link and of its kin, by kriging as for matrix products (cost/gemm_near.h): the distance is of bytes,
 * devices, kind, version and link. A neighbour that contradicts the others counts for less: many were measured but
 * once. Where nothing is near, between nodes and on other links, the formula alone counts. */
#ifndef REHEARSE_COST_COLLECTIVE_NEAR_H
#define REHEARSE_COST_COLLECTIVE_NEAR_H

#include "core/statistics.h"
#include "cost/collective_known.h"
#include "cost/kriging.h"

struct collective_near {
    double log_ratio; /* of seconds over those of the formula; 0: nothing is near */
    int count;        /* of neighbours */
    struct collective_neighbour {
        const struct known_collective *of;
        double weight;      /* of its ratio; what is missing to 1 counts for the formula */
    } nearest[KRIGING_MAX]; /* the one that counts most first */
};

/* Returns collective_time corrected by the neighbours; not faster than the link's bandwidth allows. `near`, unless
 * NULL, receives them. */
struct collective_time collective_time_near(enum collective_kind kind, const struct collective_group *group,
                                            double bytes, struct collective_near *near);

/* What is left out when a link is asked about its own rows: a fifth of the shapes (of kind, devices and bytes, of
 * all versions), all rows of about the same bytes, or all rows of as many devices; the latter two of the kin's rows,
 * too. */
enum collective_left_out {
    COLLECTIVE_LEAVE_ROWS,
    COLLECTIVE_LEAVE_SIZES,
    COLLECTIVE_LEAVE_GROUPS,
    COLLECTIVE_LEFT_OUT
};

/* Writes the signed errors of a link's rows, by the formula alone and with neighbours; room for as many as it has. */
void collective_near_errors(const struct known_collectives *known, enum collective_left_out left_out,
                            double *physics, double *near);

#endif
