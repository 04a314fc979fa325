/* What a job's products are computed in, by the names that options and plans have for it. */
#ifndef REHEARSE_DEVICES_PRECISION_H
#define REHEARSE_DEVICES_PRECISION_H

#include "devices/device.h"

/* Number formats of products and of stored tensors. */
enum model_precision {
    MODEL_MIXED, /* products in bf16, in fp16 where the device has no bf16; activations and parameters 16 bits */
    MODEL_FP32, /* products in tf32 where the device has it; everything kept in 32 bits */
    MODEL_FP8,  /* products in fp8; the rest as mixed */
    MODEL_FP4,
    MODEL_BF16,
    MODEL_FP16,
    MODEL_TF32, /* everything kept in 32 bits */
};

extern const char *const model_precisions[]; /* "mixed", "fp32", "fp8", "fp4", "bf16", "fp16", "tf32", NULL */

/* Returns the type of products that a precision asks for. */
enum cost_type model_wanted(enum model_precision precision);

#endif
