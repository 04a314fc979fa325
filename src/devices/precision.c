#include "devices/precision.h"

const char *const model_precisions[] = {"mixed", "fp32", "fp8", "fp4", "bf16", "fp16", "tf32", NULL};

static const enum cost_type wanted[] = {
    [MODEL_MIXED] = COST_BF16, [MODEL_FP32] = COST_TF32, [MODEL_FP8] = COST_FP8,   [MODEL_FP4] = COST_FP4,
    [MODEL_BF16] = COST_BF16,  [MODEL_FP16] = COST_FP16, [MODEL_TF32] = COST_TF32,
};

enum cost_type model_wanted(enum model_precision precision)
{
    return wanted[precision];
}
