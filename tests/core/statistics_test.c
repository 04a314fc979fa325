/* Quantiles, scores of errors and rank correlation against their definitions, on random numbers with many equal ones. */
#include "core/random.h"
#include "core/statistics.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX 40

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-12 * fmax(1, fabs(expected))))
        fail_msg("%.17g, expected %.17g", found, expected);
}

/* A quantile moves in a straight line from each number to the next, from the least to the greatest. */
static void quantiles_lie_between_neighbours(void **state)
{
    (void)state;
    const double one[] = {7}, five[] = {1, 2, 4, 8, 16};
    near(quantile_of(one, 1, 0), 7);
    near(quantile_of(one, 1, 0.9), 7);
    near(quantile_of(one, 1, 1), 7);
    for (int i = 0; i < 5; i++)
        near(quantile_of(five, 5, i / 4.0), five[i]);
    near(quantile_of(five, 5, 0.125), 1.5);
    near(quantile_of(five, 5, 0.9375), 14);
}

static void scores_are_of_absolute_errors(void **state)
{
    (void)state;
    double errors[] = {-0.5, 0.25, -0.125, 0, 0.375};
    struct error_score score = error_score_of(errors, 5), none = error_score_of(NULL, 0);
    assert_int_equal(score.rows, 5);
    near(score.mean, 0.25);
    near(score.median, 0.25);
    near(score.p90, 0.45); /* of 0.375 and 0.5, at 3.6 of 4 */
    near(score.bias, 0);
    assert_int_equal(none.rows, 0);
    assert_true(none.mean == 0 && none.median == 0 && none.p90 == 0 && none.bias == 0);
    double signs[] = {-0.5, -0.5, 0.25};
    near(error_score_of(signs, 3).bias, -0.5);
    double pair[] = {0.25, -0.75};
    near(error_score_of(pair, 2).bias, -0.25); /* half-way */
}

/* The mean place of each number in all sorted lists of them: equal numbers share it. */
static void ranks_of(const double *values, int count, double *ranks)
{
    double sorted[MAX];
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    sort_doubles(sorted, count);
    for (int i = 1; i < count; i++)
        assert_true(sorted[i - 1] <= sorted[i]);
    for (int i = 0; i < count; i++) {
        int first = 0, last = count - 1;
        while (sorted[first] < values[i])
            first++;
        while (sorted[last] > values[i])
            last--;
        ranks[i] = 1 + 0.5 * (first + last);
    }
}

/* Pearson's correlation of the ranks, by sums. */
static double by_sums(const double *x, const double *y, int n)
{
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        sx += x[i], sy += y[i];
        sxx += x[i] * x[i], syy += y[i] * y[i], sxy += x[i] * y[i];
    }
    double a = n * sxx - sx * sx, b = n * syy - sy * sy;
    return a > 0 && b > 0 ? (n * sxy - sx * sy) / sqrt(a * b) : 0;
}

static void ranks_correlate_as_defined(void **state)
{
    (void)state;
    uint64_t random = 3;
    double a[MAX], b[MAX], x[MAX], y[MAX], room[2 * MAX];
    for (int trial = 0; trial < 500; trial++) {
        int count = 1 + (int)(random_next(&random) % MAX), values = 1 + trial % 30;
        for (int i = 0; i < count; i++) {
            a[i] = (double)(random_next(&random) % (uint64_t)values) - 3;
            b[i] = (double)(random_next(&random) % (uint64_t)values);
        }
        ranks_of(a, count, x);
        ranks_of(b, count, y);
        near(rank_correlation(a, b, count, room), by_sums(x, y, count));
        near(rank_correlation(a, b, count, room), rank_correlation(b, a, count, room));
        for (int i = 0; i < count; i++)
            y[i] = exp(b[i] / 10) - 5; /* the same order */
        near(rank_correlation(a, y, count, room), rank_correlation(a, b, count, room));
        for (int i = 0; i < count; i++)
            y[i] = -b[i];
        near(rank_correlation(a, y, count, room), -rank_correlation(a, b, count, room));
    }
    for (int i = 0; i < MAX; i++)
        a[i] = 3 * i * i, b[i] = i - 9, x[i] = 4;
    near(rank_correlation(a, b, MAX, room), 1);
    near(rank_correlation(a, x, MAX, room), 0);
    near(rank_correlation(x, a, MAX, room), 0);
}

/* Also where a difference would not fit. */
static void orders_have_three_answers(void **state)
{
    (void)state;
    static const int ints[] = {INT_MIN, -1, 0, 1, INT_MAX};
    static const int64_t longs[] = {INT64_MIN, -1, 0, INT64_C(1) << 40, INT64_MAX};
    static const double doubles[] = {-INFINITY, -1e-300, 0, 1e-300, INFINITY};
    static const char *const texts[] = {"", "B", "a", "aa", "\xc3\xa4"};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++) {
            int expected = (i > j) - (i < j);
            assert_int_equal(order_ints(&ints[i], &ints[j]), expected);
            assert_int_equal(order_int64s(&longs[i], &longs[j]), expected);
            assert_int_equal(order_doubles(&doubles[i], &doubles[j]), expected);
            int text = order_texts(&texts[i], &texts[j]);
            assert_int_equal((text > 0) - (text < 0), expected);
        }
}

/* Two-sided points of the tables of Student's t. */
static void tails_are_those_of_the_tables(void **state)
{
    static const struct {
        int freedom;
        double at, tail;
    } rows[] = {{1, 12.706, 0.05}, {2, 4.303, 0.05}, {3, 5.841, 0.01}, {4, 4.604, 0.01}, {30, 2.042, 0.05}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(fabs(student_tail(rows[i].at, rows[i].freedom) - rows[i].tail) < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_between_neighbours), cmocka_unit_test(scores_are_of_absolute_errors),
        cmocka_unit_test(ranks_correlate_as_defined),       cmocka_unit_test(orders_have_three_answers),
        cmocka_unit_test(tails_are_those_of_the_tables),
    };
    return cmocka_run_group_tests_name("core/statistics", tests, NULL, NULL);
}
