/* Times of matrix products that lean on measured ones (devices/measured/kernels.h), where there are any for the device
 * and type: libraries choose among hundreds of kernels, and no formula with ten parameters follows their choice. */
#ifndef REHEARSE_COST_GEMM_NEAR_H
#define REHEARSE_COST_GEMM_NEAR_H

#include "cost/gemm.h"
#include "devices/measured/kernels.h"

struct gemm_near {
    double log_ratio;             /* of seconds over those of the formula */
    const struct measured *table; /* NULL: the formula alone */
};

/* `groups` are the experts of a grouped product, 0 of a single one. Returns gemm_time, or what was measured near the shape; not faster than the device's peak. `near`, unless NULL,
 * receives what corrects it. */
struct gemm_time gemm_time_near(const struct cost_device *device, enum cost_type type,
                                struct product_size size, double groups, struct gemm_near *near);

#endif
