/* The usual nodes of a device, as defaults. */
#ifndef REHEARSE_DEVICES_USUAL_H
#define REHEARSE_DEVICES_USUAL_H

#include "devices/device.h"

struct usual_node {
    int devices;
    const char *across; /* link between nodes, as seen by one device */
};

struct usual_node usual_node(const struct cost_device *device);

#endif
