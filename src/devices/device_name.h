/* Devices by the names that drivers, frameworks and other planners give them. tables_device() uses this. */
#ifndef REHEARSE_DEVICES_DEVICE_NAME_H
#define REHEARSE_DEVICES_DEVICE_NAME_H

#include "devices/device.h"

/* Finds names such as "NVIDIA A100 - PCIe - 80 GB", "Tesla V100-SXM2-32GB", "gtx_1080ti", "H100-96GB-HBM2e (500W)": a
 * device's name, title or alias as product_name.h compares them, with or without its size and kind of memory. The text
 * before a bracket counts, else the text in it. `added`: a user's devices, or NULL. NULL: unknown; another word, number
 * or size means another product. */
const struct cost_device *device_named(const struct table *added, const struct table *known,
                                       const char *text);

#endif
