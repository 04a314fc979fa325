#include "cost/count/fork.h"

#include <math.h>
#include <string.h>

#define LANES 512 /* the threads it reckons with: NCCL's, as the collective model asks for them */

const struct fork_device fork_devices[FORK_DEVICE_COUNT] = {
    {"a6000", "a6000", 1.8e9},        {"amdmi210", "mi210", 1.7e9},  {"h100_pcie", "h100-pcie", 1.755e9},
    {"h100", "h100-sxm", 1.98e9},     {"v100", "v100-16gb", 1.53e9}, {"a100_80", "a100-80gb", 1.1105e9},
    {"a100_40", "a100-40gb", 1.41e9},
};

const struct fork_device *fork_device_find(const char *name)
{
    for (int i = 0; i < FORK_DEVICE_COUNT; i++)
        if (!strcmp(fork_devices[i].name, name) || !strcmp(fork_devices[i].device, name))
            return &fork_devices[i];
    return NULL;
}

double fork_module_flops(const struct module_count *count, const struct hlo_module *module)
{
    double flops = 0;
    for (int i = 0; i < module->count; i++)
        for (int j = 0; j < module->computations[i]->count; j++)
            flops += count->computations[i][j].flops;
    return flops;
}

double fork_layer_seconds(double gpu_flops, double clock_hz)
{
    double nanoseconds = gpu_flops / (2 * clock_hz * 1e-9 * LANES);
    return round(nanoseconds * 4) / 4 * 1e-9;
}
