/* The linear system of kriging (Krige 1951): weights of the nearest known values, from covariances between them, and
 * between each of them and the place that is asked about. */
#ifndef REHEARSE_COST_KRIGING_H
#define REHEARSE_COST_KRIGING_H

#define KRIGING_MAX 16

/* Solves a * x = b for a symmetric positive definite a, of which the lower half is read and lost; x replaces b. */
void kriging_solve(double a[KRIGING_MAX][KRIGING_MAX], double *b, int count);

/* Returns the weighted median of up to KRIGING_MAX values and of 0, whose weight is `prior`. */
double kriging_median(const double *values, const double *weights, int count, double prior);

/* Returns a value's own part of the diagonal: the share `noise`, and more, the farther the value is from `median`, in
 * units of `outlier`: what contradicts its neighbours counts for less. */
double kriging_diagonal(double noise, double value, double median, double outlier);

#endif
