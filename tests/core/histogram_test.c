/* Histograms against sorted lists. */
#include "core/histogram.h"
#include "core/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 1;

/* Of all sizes alike. */
static int64_t random_value(void)
{
    uint64_t bits = random_next(&seed);
    return (int64_t)(random_next(&seed) >> (1 + bits % 63));
}

static void bins_are_in_order_and_narrow(void **state)
{
    (void)state;
    for (int bits = 1; bits <= 12; bits++) {
        int bins = HISTOGRAM_SCALE_BINS(bits);
        for (int bin = 0; bin < bins; bin++) {
            int64_t first = histogram_min(bin, bits), last = histogram_min(bin + 1, bits) - 1;
            assert_true(first <= last || bin == bins - 1);
            assert_int_equal(histogram_bin(first, bits), bin);
            assert_int_equal(histogram_bin(last, bits), bin);
            assert_true(ldexp((double)(last - first), bits) <= (double)first);
        }
        assert_int_equal(histogram_bin(INT64_MAX, bits), bins - 1);
        assert_true(histogram_min(bins, bits) == INT64_MAX);
    }
}

static int by_value(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void quantiles_are_those_of_the_sorted_list(void **state)
{
    static struct histogram histogram, half;
    int64_t values[1000];
    (void)state;
    for (int round = 0; round < 100; round++) {
        int count = 1 + (int)(random_next(&seed) % 1000);
        double total = 0;
        memset(&histogram, 0, sizeof histogram);
        memset(&half, 0, sizeof half);
        for (int i = 0; i < count; i++) {
            values[i] = round % 2 ? random_value() >> 10 : random_value() % 256;
            total += (double)values[i];
            histogram_add(i % 3 ? &histogram : &half, values[i]);
        }
        histogram_merge(&histogram, &half);
        qsort(values, (size_t)count, sizeof *values, by_value);
        assert_int_equal(histogram.count, count);
        assert_int_equal(histogram.min, values[0]);
        assert_int_equal(histogram.max, values[count - 1]);
        assert_true(fabs(histogram.total - total) <= 1e-12 * total);
        for (int eighth = 0; eighth <= 8; eighth++) {
            int rank = (eighth * count + 7) / 8;
            double exact = (double)values[rank > 0 ? rank - 1 : 0];
            double found = histogram_quantile(&histogram, eighth / 8.0);
            assert_true(fabs(found - exact) <= exact / 256);
            if (exact < 256)
                assert_true(found == exact);
        }
    }
}

static void of_nothing_a_quantile_is_0(void **state)
{
    static struct histogram empty, other;
    (void)state;
    assert_true(histogram_quantile(&empty, 0.5) == 0);
    histogram_add(&other, 7);
    histogram_merge(&other, &empty);
    assert_int_equal(other.min, 7);
    histogram_merge(&empty, &other);
    assert_int_equal(empty.min, 7);
    assert_int_equal(empty.count, 1);
}

static void values_below_0_count_as_0(void **state)
{
    static struct histogram histogram;
    (void)state;
    histogram_add(&histogram, 5);
    histogram_add(&histogram, -5);
    histogram_add(&histogram, INT64_MIN);
    assert_int_equal(histogram.min, 0);
    assert_int_equal(histogram.max, 5);
    assert_true(histogram.total == 5);
    assert_true(histogram_quantile(&histogram, 0.5) == 0);
}

static void the_largest_value_is_kept(void **state)
{
    static struct histogram histogram;
    (void)state;
    histogram_add(&histogram, INT64_MAX);
    assert_true(histogram_quantile(&histogram, 0.5) == (double)INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_are_in_order_and_narrow),
        cmocka_unit_test(quantiles_are_those_of_the_sorted_list),
        cmocka_unit_test(of_nothing_a_quantile_is_0),
        cmocka_unit_test(values_below_0_count_as_0),
        cmocka_unit_test(the_largest_value_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
