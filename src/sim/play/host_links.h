/* The links of hosts and of the storage, and the transfers that share them (host.h). They are numbered after those of
 * the cluster (wires.h). Private to sim/play. */
#ifndef REHEARSE_SIM_PLAY_HOST_LINKS_H
#define REHEARSE_SIM_PLAY_HOST_LINKS_H

#include "sim/engine/fabric.h"
#include "sim/play/host.h"
#include "sim/play/layout.h"

int host_link_count(const struct layout *layout);

/* The transfers of a plan over its cluster, to which those of hosts are added. */
struct host_joint {
    const struct layout *layout;
    const struct layer_orders *orders;
    const struct fabric *fabric;
    struct engine_route *routes;
    int route_count;
    const int *first_route; /* of each device */
    const int *seats;       /* of each device: the fabric's; NULL: the cluster is unknown */
    double *demand;         /* of each link, bytes/s */
    struct arena *arena;    /* for routes */
    int *device_of;         /* of each device of the fabric, while they are joined; -1: none */
};

#endif
