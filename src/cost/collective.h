/* Collective communication: ring, tree, one- and two-shot, hierarchical. */
#ifndef REHEARSE_COST_COLLECTIVE_H
#define REHEARSE_COST_COLLECTIVE_H

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

/* Who takes part. */
struct collective_group {
    int devices;                    /* at least 1; 1 takes no time */
    int devices_per_node;           /* of the group, in one node; devices when it does not leave the node */
    const struct cost_link *inside; /* between the devices of a node */
    const struct cost_link
        *across; /* between nodes, as one device sees it when all of its node's send; NULL when
                                       the group does not leave the node */
};

struct collective_time {
    double seconds;
    enum collective_algorithm algorithm;
    double latency_seconds; /* of those: what a message of no bytes would take */
};

struct collective_time collective_time(enum collective_kind kind, const struct collective_group *group,
                                       double bytes);

const char *collective_algorithm_name(enum collective_algorithm algorithm);

#endif
