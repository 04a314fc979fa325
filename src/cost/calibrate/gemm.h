/* Fitting a device's matrix products to measurements. */
#ifndef REHEARSE_COST_CALIBRATE_GEMM_H
#define REHEARSE_COST_CALIBRATE_GEMM_H

#include "core/error.h"
#include "core/statistics.h"
#include "core/text.h"
#include "cost/calibrate/samples.h"
#include "devices/device.h"

#include <stdbool.h>

#define GEMM_FIT_FOLDS 5
#define GEMM_FIT_FEW   20   /* minimum rows, of all types together, for a pace */
#define GEMM_FIT_MIN   40   /* minimum rows of a type; with fewer its parameters stay unchanged */
#define GEMM_FIT_MAX   2000 /* maximum rows of a type in a fit: more change nothing and take long */

struct gemm_fit {
    struct cost_device device;                 /* `start` with fitted parameters; its texts are start's */
    struct error_score types[COST_TYPE_COUNT]; /* on rows held out of the fit; rows 0: not fitted */
    bool
        is_paced; /* by a pace of the card; its parameters, and with them the known products, stay those of `start` */
};

/* Fits `start` to the samples: a pace, one number for all of its products beside what is known of them, or the
 * parameters, type by type, whichever has the smaller mean error on rows held out. With fewer than GEMM_FIT_MIN rows of
 * each type, it is the pace. Errors are those of GEMM_FIT_FOLDS fits on their held-out rows, which share no matrix (n x
 * k) with the others: rows of one matrix and another m resemble each other more than those of a user's next matrix.
 * Without rows, types fitted before keep their parameters, others take the nearest type's. */
bool gemm_fit_samples(struct gemm_fit *fit, const struct gemm_samples *samples,
                      const struct cost_device *start, struct error *err);

/* Computes the errors of the device's times on the samples of a type, with neighbours (gemm_time_near). */
bool gemm_error_of(struct error_score *error, const struct cost_device *device,
                   const struct gemm_samples *samples, enum cost_type type, struct error *err);

/* Appends the device as a file (cost_device_write); `name` is its new name, `source` the table's. */
void gemm_fit_write(const struct gemm_fit *fit, const char *name, const char *source, struct text *out);

#endif
