#include "cost/device.h"

#include <stddef.h>
#include <string.h>

#define T   1e12
#define GB  1e9
#define GiB ((int64_t)1 << 30)

/* Peaks are dense: where a datasheet gives numbers "with sparsity", half of them. */
static const struct cost_device devices[] = {
    /* NVIDIA V100 datasheet (2020), SXM2 column. */
    {"v100-16gb", {15.7 * T, 0, 125 * T, 0}, 900 * GB, 16 * GiB},
    {"v100-32gb", {15.7 * T, 0, 125 * T, 0}, 900 * GB, 32 * GiB},
    /* NVIDIA T4 datasheet (2019). */
    {"t4", {8.1 * T, 0, 65 * T, 0}, 320 * GB, 16 * GiB},
    /* NVIDIA A100 datasheet (2021), SXM column; 40 GB from the one of 2020. */
    {"a100-40gb", {19.5 * T, 156 * T, 312 * T, 312 * T}, 1555 * GB, 40 * GiB},
    {"a100-80gb", {19.5 * T, 156 * T, 312 * T, 312 * T}, 2039 * GB, 80 * GiB},
    /* NVIDIA A10 datasheet (2021). */
    {"a10", {31.2 * T, 62.5 * T, 125 * T, 125 * T}, 600 * GB, 24 * GiB},
    /* NVIDIA Ampere GA102 whitepaper V2.1, tables 2 and 5 and appendix A (RTX A6000). */
    {"a6000", {38.7 * T, 77.4 * T, 154.8 * T, 154.8 * T}, 768 * GB, 48 * GiB},
    {"rtx-3090", {35.6 * T, 35.6 * T, 71 * T, 71 * T}, 936 * GB, 24 * GiB},
    /* NVIDIA Ada GPU architecture whitepaper V2.02, appendix A. */
    {"rtx-4090", {82.6 * T, 82.6 * T, 165.2 * T, 165.2 * T}, 1008 * GB, 24 * GiB},
    /* NVIDIA L4 (2023) and L40S (2023) datasheets. */
    {"l4", {30.3 * T, 60 * T, 121 * T, 121 * T}, 300 * GB, 24 * GiB},
    {"l40s", {91.6 * T, 183 * T, 362.05 * T, 362.05 * T}, 864 * GB, 48 * GiB},
    /* NVIDIA H100 architecture whitepaper V1.04, table 2; memory of the SXM from the datasheet (2023). */
    {"h100-sxm", {66.9 * T, 494.7 * T, 989.4 * T, 989.4 * T}, 3350 * GB, 80 * GiB},
    {"h100-pcie", {51.2 * T, 378 * T, 756 * T, 756 * T}, 2000 * GB, 80 * GiB},
    /* AMD Instinct MI210 (2022), MI250X (2021), MI300X (2023) datasheets; fp32 by the matrix units. The MI250X is the whole
     * card, which programs see as two devices. */
    {"mi210", {45.3 * T, 0, 181 * T, 181 * T}, 1638.4 * GB, 64 * GiB},
    {"mi250x", {95.7 * T, 0, 383 * T, 383 * T}, 3276.8 * GB, 128 * GiB},
    {"mi300x", {163.4 * T, 653.7 * T, 1307.4 * T, 1307.4 * T}, 5300 * GB, 192 * GiB},
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
