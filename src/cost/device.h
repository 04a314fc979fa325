/* Devices by their datasheets. */
#ifndef REHEARSE_COST_DEVICE_H
#define REHEARSE_COST_DEVICE_H

#include <stdint.h>

enum cost_precision { PRECISION_FP32, PRECISION_TF32, PRECISION_FP16, PRECISION_BF16, PRECISION_COUNT };

struct cost_device {
    const char *name;
    double peak[PRECISION_COUNT]; /* flop/s of matrix products, dense, fp32 accumulation; 0: cannot */
    double bandwidth;             /* of its memory, bytes/s */
    int64_t memory;               /* bytes */
};

const struct cost_device *cost_devices(int *count);
const struct cost_device *cost_device_find(const char *name);

/* "fp32", …; NULL beyond the last. */
const char *cost_precision_name(enum cost_precision precision);

/* Bytes of a number: tf32 is how matrices are multiplied, numbers are kept as fp32. */
int cost_precision_bytes(enum cost_precision precision);

#endif
