/* The nodes that a device usually comes in, where nothing is said about them. */
#ifndef REHEARSE_DEVICES_USUAL_H
#define REHEARSE_DEVICES_USUAL_H

#include "devices/device.h"

struct usual_node {
    int devices;
    const char *across; /* link between nodes, as one device sees it */
};

struct usual_node usual_node(const struct cost_device *device);

#endif
