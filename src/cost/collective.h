/* Collective communication: ring, tree, one- and two-shot, hierarchical. */
#ifndef REHEARSE_COST_COLLECTIVE_H
#define REHEARSE_COST_COLLECTIVE_H

#include "devices/calibration.h"
#include "devices/link.h"

enum collective_algorithm {
    ALGORITHM_RING,
    ALGORITHM_TREE,
    ALGORITHM_ONE_SHOT,
    ALGORITHM_TWO_SHOT,
    ALGORITHM_HIERARCHICAL,
    ALGORITHM_DIRECT,
    ALGORITHM_NVLS /* in the switch */
};

/* The participants of a collective. */
struct collective_group {
    int devices;                    /* at least 1; 1 takes no time */
    int devices_per_node;           /* of the group, per node; `devices` if it stays within one node */
    const struct cost_link *inside; /* between the devices of a node */
    /* between nodes, as seen by one device when all of its node's send; NULL if the group stays within one
     * node */
    const struct cost_link *across;
};

struct collective_time {
    double seconds;
    enum collective_algorithm algorithm;
    double latency_seconds; /* of those: the time of an empty message */
};

struct collective_time collective_time(enum collective_kind kind, const struct collective_group *group,
                                       double bytes);

/* Returns the seconds of a collective in training, on links shared with kernels and other transfers: its latency alone,
 * and the rest of its time divided by the share of the bandwidth that training reaches. */
double transfer_seconds(enum collective_kind kind, const struct collective_group *group, double bytes,
                        const struct calibration *calibration);

/* The same for gradients and the parameters that they change: large messages, and no kernel waits for each. */
double transfer_gradient_seconds(enum collective_kind kind, const struct collective_group *group,
                                 double bytes, const struct calibration *calibration);

/* The same of a time that is known. */
double transfer_seconds_of(const struct collective_time *time, enum collective_kind kind,
                           const struct collective_group *group, const struct calibration *calibration);

#endif
