/* Finds devices by their names in tables of published runs and measurements. */
#ifndef REHEARSE_DEVICES_DEVICE_NAME_H
#define REHEARSE_DEVICES_DEVICE_NAME_H

#include "devices/tables.h"

/* Finds names such as "NVIDIA A100 - PCIe - 80 GB", "Tesla V100-SXM2-32GB", "H100-96GB-HBM2e (500W)": the
 * words of a device's name, title or alias in any order, separated by spaces or dashes, with or without the
 * vendor, the form factor's number, the size (the device's) and kind of memory. The text before a bracket
 * counts, else the text in it. NULL: unknown; an additional word means another product. */
const struct cost_device *device_named(const struct tables *tables, const char *text);

#endif
