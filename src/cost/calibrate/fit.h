/* Fitting parameters to measurements: minimises a function of a few numbers. */
#ifndef REHEARSE_COST_CALIBRATE_FIT_H
#define REHEARSE_COST_CALIBRATE_FIT_H

#include "core/statistics.h"

#include <stdbool.h>

#define MAX_FIT 64 /* parameters */

/* Minimises by Nelder and Mead's simplex, restarted at its end until that gains nothing (no derivatives:
 * times have steps).
 *
 * `x` holds the start and receives the best point; `step` is each parameter's first move, 0 to keep it fixed.
 * At most `evaluations` calls of the objective; non-finite values count as worst. `best`, unless NULL,
 * receives the minimum. Pass parameters of different sizes as logarithms, bounds as a penalty. False: more
 * than MAX_FIT parameters, none that moves, or out of memory. */
bool fit_minimise(double (*objective)(const double *x, void *context), void *context, double *x,
                  const double *step, int count, int evaluations, double *best);

/* Scores `count` absolute errors, which it sorts: p90 is one of them, and the median is the mean of the middle two. */
struct error_score fit_score(double *errors, int count);

#endif
