#include "cost/device.h"

#include <stddef.h>
#include <string.h>

#define GiB ((int64_t)1 << 30)

/* Peaks are dense: where a datasheet gives numbers "with sparsity", half of them. */
static const struct cost_device devices[] = {
    /* NVIDIA V100 datasheet (2020), SXM2 column. */
    {"v100-16gb", {15.7e12, 0, 125e12, 0}, 900e9, 16 * GiB},
    {"v100-32gb", {15.7e12, 0, 125e12, 0}, 900e9, 32 * GiB},
    /* NVIDIA T4 datasheet (2019). */
    {"t4", {8.1e12, 0, 65e12, 0}, 320e9, 16 * GiB},
    /* NVIDIA A100 datasheet (2021), SXM column; 40 GB from the one of 2020. */
    {"a100-40gb", {19.5e12, 156e12, 312e12, 312e12}, 1555e9, 40 * GiB},
    {"a100-80gb", {19.5e12, 156e12, 312e12, 312e12}, 2039e9, 80 * GiB},
    /* NVIDIA A10 datasheet (2021). */
    {"a10", {31.2e12, 62.5e12, 125e12, 125e12}, 600e9, 24 * GiB},
    /* NVIDIA Ampere GA102 whitepaper V2.1, tables 2 and 5 and appendix A (RTX A6000). */
    {"a6000", {38.7e12, 77.4e12, 154.8e12, 154.8e12}, 768e9, 48 * GiB},
    {"rtx-3090", {35.6e12, 35.6e12, 71e12, 71e12}, 936e9, 24 * GiB},
    /* NVIDIA Ada GPU architecture whitepaper V2.02, appendix A. */
    {"rtx-4090", {82.6e12, 82.6e12, 165.2e12, 165.2e12}, 1008e9, 24 * GiB},
    /* NVIDIA L4 (2023) and L40S (2023) datasheets. */
    {"l4", {30.3e12, 60e12, 121e12, 121e12}, 300e9, 24 * GiB},
    {"l40s", {91.6e12, 183e12, 362.05e12, 362.05e12}, 864e9, 48 * GiB},
    /* NVIDIA H100 architecture whitepaper V1.04, table 2; memory of the SXM from the datasheet (2023). */
    {"h100-sxm", {66.9e12, 494.7e12, 989.4e12, 989.4e12}, 3350e9, 80 * GiB},
    {"h100-pcie", {51.2e12, 378e12, 756e12, 756e12}, 2000e9, 80 * GiB},
    /* AMD Instinct MI210 (2022), MI250X (2021), MI300X (2023) datasheets; fp32 by the matrix units. The
     * MI250X is the whole card, which programs see as two devices. */
    {"mi210", {45.3e12, 0, 181e12, 181e12}, 1638.4e9, 64 * GiB},
    {"mi250x", {95.7e12, 0, 383e12, 383e12}, 3276.8e9, 128 * GiB},
    {"mi300x", {163.4e12, 653.7e12, 1307.4e12, 1307.4e12}, 5300e9, 192 * GiB},
};

const struct cost_device *cost_devices(int *count)
{
    *count = (int)(sizeof devices / sizeof *devices);
    return devices;
}

const struct cost_device *cost_device_find(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strcmp(devices[i].name, name) == 0)
            return &devices[i];
    return NULL;
}

const char *cost_precision_name(enum cost_precision precision)
{
    static const char *const names[PRECISION_COUNT] = {"fp32", "tf32", "fp16", "bf16"};
    return (unsigned)precision < PRECISION_COUNT ? names[precision] : NULL;
}

int cost_precision_bytes(enum cost_precision precision)
{
    return precision == PRECISION_FP16 || precision == PRECISION_BF16 ? 2 : 4;
}
