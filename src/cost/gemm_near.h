/* Times of matrix products that lean on measured ones: those of a grid (devices/measured/kernels.h) where there is one for
 * the device and type, else the formula, corrected by the nearest shapes.
 *
 * Libraries choose among hundreds of kernels; no formula with ten parameters follows their choice. By how much measured
 * times differ from the formula (devices/measured/products.h) is interpolated between the nearest shapes by kriging
 * (Krige 1951; simple kriging, its mean 0, an exponential covariance): the best linear estimate, which goes to the
 * formula alone where no measured shape is near. */
#ifndef REHEARSE_COST_GEMM_NEAR_H
#define REHEARSE_COST_GEMM_NEAR_H

#include "core/statistics.h"
#include "cost/gemm.h"
#include "cost/kriging.h"
#include "devices/measured/kernels.h"
#include "devices/measured/products.h"

#define GEMM_NEAREST KRIGING_MAX

struct gemm_near {
    double log_ratio;             /* of seconds over those of the formula; 0: nothing is near */
    const struct measured *table; /* the grid; NULL: neighbours, if any */
    int count;                    /* of neighbours */
    const struct product *products[GEMM_NEAREST]; /* the one that counts most first */
    double weights[GEMM_NEAREST]; /* of their ratios; what is missing to 1 counts for the formula */
};

/* Returns gemm_time corrected by what was measured near the shape; not faster than the device's peak. `near`, unless
 * NULL, receives what corrects it. */
struct gemm_time gemm_time_near(const struct cost_device *device, enum cost_type type,
                                struct product_size size, struct gemm_near *near);

/* What is left out when the table is asked about its own rows. */
enum gemm_left_out { GEMM_LEAVE_ROWS, GEMM_LEAVE_SIZES };

/* Computes the errors of a table's products, physics alone and with neighbours: of five folds of rows, or of rows whose
 * n or k the neighbours do not have. False: out of memory. */
bool gemm_near_errors(const struct products *products, enum gemm_left_out left_out,
                      struct error_score *physics, struct error_score *near);

#endif
