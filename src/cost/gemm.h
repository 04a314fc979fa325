/* Matrix products on matrix units: tiles, waves, split of the long dimension, memory.
 *
 * The parameters of a device's GEMMs are in its description (devices/device.h); `rehearse calibrate` fits them to
 * measurements. */
#ifndef REHEARSE_COST_GEMM_H
#define REHEARSE_COST_GEMM_H

#include "core/unit/product_size.h"
#include "devices/device.h"

struct gemm_time {
    double seconds;
    double matrix_seconds; /* of the matrix units alone, waves and tile efficiency included */
    double memory_seconds; /* of the memory alone */
};

/* Returns the time of `batch` products of m x k by k x n on one device, launch included. All sizes are at
 * least 1. A type that the device cannot multiply is computed in the next wider one that it can (bf16 on V100
 * in fp32, fp8 in bf16). */
struct gemm_time gemm_time(const struct cost_device *device, enum cost_type type, struct product_size size);

#endif
