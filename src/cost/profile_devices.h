/* The device types of a computed profile. */
#ifndef REHEARSE_COST_PROFILE_DEVICES_H
#define REHEARSE_COST_PROFILE_DEVICES_H

#include "devices/tables.h"
#include "model/profile.h"

/* How far a profile's all-reduce times go. */
struct profile_reach {
    int devices_per_node;           /* inside a node for up to this many devices */
    int nodes;                      /* and across up to this many nodes with one device of each; 0: none */
    const struct cost_link *across; /* between nodes; NULL: not known */
};

struct profile_maker {
    struct profile *profile;     /* with its path and layers */
    const struct tables *tables; /* the user's; NULL: none */
    struct profile_reach reach;

    /* Sets the forward and backward seconds of a layer. */
    void (*time_layer)(void *context, struct profile_device *to, int layer, const struct cost_device *device);
    void *context;
};

/* Fills in all device types: the times of layers, and of the all-reduces of their gradients (the bytes of their
 * parameters). False: out of memory. */
bool profile_make_devices(const struct profile_maker *maker, const struct cost_device *const *devices,
                          int count);

/* Fills in the all-reduce times of one device type: inside a node for 1 to devices_per_node devices, across 1 to
 * `nodes` nodes with one device of each. 0: none. False: out of memory. */
bool profile_fill_allreduce(struct profile *profile, struct profile_device *device,
                            const struct cost_link *inside, const struct cost_link *across,
                            int devices_per_node, int nodes);

#endif
