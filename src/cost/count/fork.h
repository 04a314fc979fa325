/* The layer times of umichAC99/xla (April 2024), reproduced for comparison.
 *
 * Its time is compute alone, on 512 lanes for any device: devices differ only in their clock. The operations
 * are GpuHloCostAnalysis's over every computation of the module, so that the body of a reduction counts once
 * more on its own, with sm_86's cycles for every device (the capabilities it sets have no profile). */
#ifndef REHEARSE_COST_COUNT_FORK_H
#define REHEARSE_COST_COUNT_FORK_H

#include "cost/count/count.h"

struct fork_device {
    const char *name;   /* the fork's */
    const char *device; /* name in data/devices.yaml */
    double clock_hz;
};

#define FORK_DEVICE_COUNT 7

/* The devices in the order of its driver's output (gpu_device_info_for_tests.cc). */
extern const struct fork_device fork_devices[FORK_DEVICE_COUNT];

/* Returns the device of this name, the fork's or ours, or NULL. */
const struct fork_device *fork_device_find(const char *name);

/* Returns the operations summed over all computations of a module counted by COUNT_XLA_FORK. */
double fork_module_flops(const struct module_count *count, const struct hlo_module *module);

/* Returns the seconds of a layer, rounded to a quarter of a nanosecond as absl::Duration does. */
double fork_layer_seconds(double gpu_flops, double clock_hz);

#endif
