#include "core/statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_doubles(double *values, int count)
{
    if (count > 0)
        qsort(values, (size_t)count, sizeof *values, compare_doubles);
}

double quantile_of(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

struct error_score error_score_of(double *errors, int count)
{
    struct error_score score = {.rows = count};
    if (count == 0)
        return score;
    sort_doubles(errors, count);
    score.bias = quantile_of(errors, count, 0.5);
    for (int i = 0; i < count; i++) {
        errors[i] = fabs(errors[i]);
        score.mean += errors[i] / count;
    }
    sort_doubles(errors, count);
    score.median = quantile_of(errors, count, 0.5);
    score.p90 = quantile_of(errors, count, 0.9);
    return score;
}

void error_score_write(const struct error_score *score, struct json *json)
{
    json_number(json, "mean_error", score->mean);
    json_number(json, "median_error", score->median);
    json_number(json, "p90_error", score->p90);
}

/* A rank is the number of smaller values and half of the number of equal ones, itself included, and a half. Quadratic:
 * what is ranked has hundreds of rows. */
static void rank(const double *values, int count, double *ranks)
{
    for (int i = 0; i < count; i++) {
        ranks[i] = 0.5;
        for (int j = 0; j < count; j++)
            ranks[i] += values[j] < values[i] ? 1.0 : values[j] == values[i] ? 0.5 : 0.0;
    }
}

double rank_correlation(const double *a, const double *b, int count, double *room)
{
    double *x = room, *y = room + count, mean = 0.5 * (count + 1);
    double products = 0.0, x_squares = 0.0, y_squares = 0.0;
    rank(a, count, x);
    rank(b, count, y);
    for (int i = 0; i < count; i++) {
        products += (x[i] - mean) * (y[i] - mean);
        x_squares += (x[i] - mean) * (x[i] - mean);
        y_squares += (y[i] - mean) * (y[i] - mean);
    }
    return x_squares > 0.0 && y_squares > 0.0 ? products / sqrt(x_squares * y_squares) : 0.0;
}
