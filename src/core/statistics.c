#include "core/statistics.h"
#include "core/fields.h"
#include "core/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUN ((size_t)4096) /* items that are sorted at once */

typedef int comparison(const void *a, const void *b, void *context);

struct sorting {
    size_t size; /* of an item */
    comparison *compare;
    void *context;
};

/* Merges two neighbouring runs, of which the second may be empty. */
static void merge(const struct sorting *sorting, char *to, const char *first, const char *second,
                  const char *end)
{
    const size_t size = sorting->size;
    const char *middle = second;
    for (size_t i = 0; first < middle && second < end && !stop_wanted_at(i); i++, to += size) {
        const char **next = sorting->compare(first, second, sorting->context) <= 0 ? &first : &second;
        memcpy(to, *next, size);
        *next += size;
    }
    if (first < middle)
        memcpy(to, first, (size_t)(middle - first));
    if (second < end)
        memcpy(to + (middle - first), second, (size_t)(end - second));
}

/* Merges longer and longer runs, to and fro between the items and the room. */
static void sort_long(const struct sorting *sorting, char *items, char *room, size_t count)
{
    const size_t size = sorting->size;
    char *from = items, *to = room;
    for (size_t at = 0; at < count && !stop_wanted(); at += RUN)
        qsort_r(from + at * size, count - at < RUN ? count - at : RUN, size, sorting->compare,
                sorting->context);
    for (size_t run = RUN; run < count && !stop_wanted(); run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t second = count - at < run ? count : at + run;
            size_t end = count - second < run ? count : second + run;
            merge(sorting, to + at * size, from + at * size, from + second * size, from + end * size);
        }
        char *sorted = to;
        to = from;
        from = sorted;
    }
    for (size_t at = 0; from != items && at < count && !stop_wanted(); at += RUN)
        memcpy(items + at * size, from + at * size, (count - at < RUN ? count - at : RUN) * size);
}

bool sort_items_with(void *items, size_t count, size_t size, comparison *compare, void *context,
                     struct error *err)
{
    const struct sorting sorting = {size, compare, context};
    char *room = count > RUN ? malloc(count * size) : NULL;
    if (!room) { /* few, or no memory for it */
        if (count > 1)
            qsort_r(items, count, size, compare, context);
        return true;
    }
    sort_long(&sorting, items, room, count);
    free(room);
    return !stop_obeyed(err);
}

struct plain {
    int (*compare)(const void *a, const void *b);
};

static int compare_plainly(const void *a, const void *b, void *context)
{
    return ((const struct plain *)context)->compare(a, b);
}

bool sort_items(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b),
                struct error *err)
{
    struct plain plain = {compare};
    return sort_items_with(items, count, size, compare_plainly, &plain, err);
}

int order_ints(const void *a, const void *b)
{
    return order_of(*(const int *)a, *(const int *)b);
}

int order_int64s(const void *a, const void *b)
{
    return order_of(*(const int64_t *)a, *(const int64_t *)b);
}

int order_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int order_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void sort_doubles(double *values, int count)
{
    struct error stopped;
    if (count > 0)
        sort_items(values, (size_t)count, sizeof *values, order_doubles, &stopped);
}

double quantile_of(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* Abramowitz and Stegun, 26.7.3 and 26.7.4. */
double student_tail(double at, int freedom)
{
    double angle = atan(at / sqrt(freedom)), cosine = cos(angle), term = 1, sum = 1;
    bool odd = freedom % 2 == 1;
    for (int i = odd ? 3 : 2; i < freedom; i += 2) {
        term *= cosine * cosine * (i - 1) / i;
        sum += term;
    }
    double more = freedom > 1 ? sin(angle) * (odd ? cosine : 1) * sum : 0;
    return fmax(0, 1 - (odd ? 2 / M_PI * (angle + more) : more));
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

const struct field error_score_fields[ERRORS_FIELDS] = {
    FIELD_OUT(struct error_score, "modelled", rows, FIELD_INT),
    FIELD_OUT(struct error_score, "mean_error", mean, FIELD_DOUBLE),
    FIELD_OUT(struct error_score, "median_error", median, FIELD_DOUBLE),
    FIELD_OUT(struct error_score, "p90_error", p90, FIELD_DOUBLE),
    FIELD_OUT(struct error_score, "bias", bias, FIELD_DOUBLE),
};

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
