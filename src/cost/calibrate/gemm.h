/* Fitting a device's matrix products to measurements. */
#ifndef REHEARSE_COST_CALIBRATE_GEMM_H
#define REHEARSE_COST_CALIBRATE_GEMM_H

#include "core/error.h"
#include "core/text.h"
#include "cost/calibrate/gemm_samples.h"
#include "devices/device.h"

#include <stdbool.h>

#define GEMM_FIT_FOLDS 5
#define GEMM_FIT_MIN   40   /* rows of a type; of fewer the parameters stay as they are */
#define GEMM_FIT_MAX   2000 /* rows of a type that a fit looks at: more change nothing and take long */

/* Errors as shares: 0.05 is 5 %. */
struct gemm_error {
    int rows;
    double median, mean, p90;
};

struct gemm_fit {
    struct cost_device device;                /* `start` with other parameters; its texts are start's */
    struct gemm_error types[COST_TYPE_COUNT]; /* on rows left out of the fit; rows 0: not fitted */
};

/* Fits, type by type, the parameters of `start` to the samples. The errors are those of GEMM_FIT_FOLDS fits, each
 * judged on the rows that it did not see. Types that were fitted keep theirs where there are
 * no rows, the others take those of the nearest type. */
bool gemm_fit_samples(struct gemm_fit *fit, const struct gemm_samples *samples,
                      const struct cost_device *start, struct error *err);

/* How far the device's times are from the samples of a type. */
bool gemm_error_of(struct gemm_error *error, const struct cost_device *device,
                   const struct gemm_samples *samples, enum cost_type type, struct error *err);

/* The device as a file (cost_device_write); `name` is its new name, `source` the table's. */
void gemm_fit_write(const struct gemm_fit *fit, const char *name, const char *source, struct text *out);

#endif
