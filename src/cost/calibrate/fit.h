/* Fitting parameters to measurements: the least value of a function of a few numbers. */
#ifndef REHEARSE_COST_CALIBRATE_FIT_H
#define REHEARSE_COST_CALIBRATE_FIT_H

#include <stdbool.h>

#define MAX_FIT 64 /* parameters */

/* Nelder and Mead's simplex, begun again where it ends until that gains nothing (no derivatives: times have steps).
 *
 * `x` holds the start and gets the best found; `step` is how far each parameter is moved at first, 0 keeps it as it
 * is. At most `evaluations` calls of the objective; what is not finite counts as worse than anything. `best`, when
 * not NULL, gets the objective there. Parameters of different sizes are best passed as logarithms, bounds as a
 * penalty. False when there are more than MAX_FIT parameters, none that moves, or no memory. */
bool fit_minimise(double (*objective)(const double *x, void *context), void *context, double *x,
                  const double *step, int count, int evaluations, double *best);

#endif
