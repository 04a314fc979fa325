/* Orders of items, statistics of numbers, and of the errors of predictions. */
#ifndef REHEARSE_CORE_STATISTICS_H
#define REHEARSE_CORE_STATISTICS_H

#include "core/error.h"
#include "core/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns -1, 0 or 1, as a is less than b, equal, or more. */
static inline int order_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Orders for qsort and sort_items: the smallest first, texts by their bytes. */
int order_ints(const void *a, const void *b);
int order_int64s(const void *a, const void *b);
int order_doubles(const void *a, const void *b);
int order_texts(const void *a, const void *b);

/* Sort as qsort and qsort_r do, keeping the order of equal items, and look for a stop (core/stop.h) where there are
 * many. False: there was one, and the items are in no order. */
bool sort_items(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b),
                struct error *err);
bool sort_items_with(void *items, size_t count, size_t size,
                     int (*compare)(const void *a, const void *b, void *context), void *context,
                     struct error *err);

/* Sorts numbers, the smallest first. */
void sort_doubles(double *values, int count);

/* Returns the quantile of sorted numbers, between the two nearest in proportion. */
double quantile_of(const double *sorted, int count, double share);

/* Spearman's rank correlation of `count` pairs; equal values share the mean of their ranks; 0 if all values of a side
 * are equal. `room`: 2 * count. */
double rank_correlation(const double *a, const double *b, int count, double *room);

/* Returns P(|t| > at) of Student's t with whole degrees of freedom. */
double student_tail(double at, int freedom);

/* Errors as shares: 0.05 is 5 %. */
struct error_score {
    int rows;
    double mean, median, p90; /* of the absolute errors */
    double bias;              /* median of the signed errors */
};

/* Scores `count` signed errors. Sorts them and makes them positive. */
struct error_score error_score_of(double *errors, int count);

/* `modelled`, from ERRORS_MEAN on the three errors, then the bias. */
enum { ERRORS_MEAN = 1, ERRORS_BIAS = 4, ERRORS_FIELDS };
extern const struct field error_score_fields[ERRORS_FIELDS];

#endif
