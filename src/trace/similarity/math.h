/* The measures that docs/compare.md defines. Each is in [0, 1], 1 for equal arguments and symmetric to the
 * last bit. */
#ifndef REHEARSE_TRACE_SIMILARITY_MATH_H
#define REHEARSE_TRACE_SIMILARITY_MATH_H

#include <stddef.h>
#include <stdint.h>

/* The maximum distance is three decades, a factor of 1000 throughout. */
#define SIMILARITY_RANGE 3.0

void similarity_sort(double *values, size_t count);

/* `count` draws with replacement from sorted `from`, in order. */
void similarity_draw(uint64_t *state, const double *from, size_t from_count, double *draws, size_t count);

/* 1 − sup |F − G| and 1 − min(1, ∫|F − G| / range), of two sorted samples that are not empty. The first
 * ignores differences that values within `resolution` of each other would explain. */
double similarity_ks(const double *a, size_t a_count, const double *b, size_t b_count, double resolution);
double similarity_wasserstein(const double *a, size_t a_count, const double *b, size_t b_count, double range);

/* Curves of `parts` parts of `bins` bins each, none negative. Parts are smoothed, shifted and warped by at
 * most `band` bins, each on its own. */
/* Averages with weights that fall to 0 beyond `band`. */
void similarity_smooth(const double *curve, double *smooth, int parts, int bins, int band);

double similarity_correlation(const double *a, const double *b, int parts, int bins, int band);
double similarity_warped(const double *a, const double *b, int parts, int bins, int band);
#define SIMILARITY_MAX_BINS 1024

/* 1 − inversions / (count (count − 1) / 2); count > 1. `ranks` is sorted meanwhile, `space` as long. */
double similarity_order(uint32_t *ranks, uint32_t *space, size_t count);

/* min / max; 1 when both are 0. */
double similarity_ratio(double a, double b);

#endif
