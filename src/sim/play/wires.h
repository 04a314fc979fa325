/* The links of a plan's cluster, and the transfers that share them. Private to sim/play.
 *
 * Each transfer of a known rate goes over the links between the devices that take part (sim/engine/fabric.h): a
 * collective around a ring of them, an exchange of experts' tokens from each to each, a message straight. The norm of
 * all gradients is a few bytes, and takes no link.
 *
 * Links that all transfers over them cannot fill, even if all of them go at once, slow nobody: they are left out, and
 * transfers over no other links are plain tasks. That changes no time, since the engine gives a flow that is not slowed
 * exactly its seconds. A sink that is told of links is told of all that carry something. */
#ifndef REHEARSE_SIM_PLAY_WIRES_H
#define REHEARSE_SIM_PLAY_WIRES_H

#include "sim/engine/fabric.h"
#include "sim/play/layout.h"

struct wires {
    struct arena arena; /* owns all below */
    struct fabric fabric;
    struct engine_group *groups;
    struct engine_route *routes;
    struct engine_link *links;
    int group_count, route_count, link_count;
    int *fabric_link; /* of each link: the fabric's */
    int *group_of;    /* [device][kind of group - 1] */
    int *first_route; /* of each device */
    int *numbers;     /* 0, 1, 2, … */
};

/* Makes groups, links and routes for all devices of the layout; tasks of `orders` that nothing can slow lose their
 * routes. The caller ends it with wires_release, also after a failure. */
bool wires_make(struct wires *wires, const struct layout *layout, struct layer_orders *orders,
                struct error *err);
void wires_release(struct wires *wires);

/* Returns a device's groups by kind, from GROUP_TENSOR on; its routes. */
const int *wires_groups(const struct wires *wires, int device);
const int *wires_routes(const struct wires *wires, int device);

#endif
