/* Devices by the names that tables of published runs and measurements use. */
#ifndef REHEARSE_DEVICES_DEVICE_NAME_H
#define REHEARSE_DEVICES_DEVICE_NAME_H

#include "devices/tables.h"

/* "NVIDIA A100 - PCIe - 80 GB", "Tesla V100-SXM2-32GB", "AMD Instinct MI300X 192GB HBM3", "H100-96GB-HBM2e (500W)":
 * the words of a device's name, title or alias in any order, parted by spaces or dashes, with or without the vendor,
 * the form factor's number, the size (that of the device) and kind of memory. What stands before a bracket counts, else
 * what stands in it. NULL: none that is known; a word too many is another product. */
const struct cost_device *device_named(const struct tables *tables, const char *text);

#endif
