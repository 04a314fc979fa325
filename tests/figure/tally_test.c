/* Tallies against sorted lists. */
#include "figure/tally.h"

/* cmocka wants these first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed = 88172645463325252;

/* Of all sizes alike. */
static int64_t random_value(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed >> (1 + seed % 63));
}

static void bins_are_in_order_and_narrow(void **state)
{
    (void)state;
    for (int bin = 0; bin < TALLY_BINS; bin++) {
        int64_t first = tally_value(bin), last = tally_value(bin + 1) - 1;
        assert_true(first <= last || bin == TALLY_BINS - 1);
        assert_int_equal(histogram_bin(first, TALLY_BITS), bin);
        assert_int_equal(histogram_bin(last, TALLY_BITS), bin);
        assert_true((double)(last - first) <= (double)first / 1024);
    }
    assert_int_equal(histogram_bin(INT64_MAX, TALLY_BITS), TALLY_BINS - 1);
    assert_int_equal(tally_value(histogram_bin(4096, TALLY_BITS)), 4096);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void quantiles_are_those_of_the_sorted_list(void **state)
{
    (void)state;
    int64_t values[1001];
    for (int round = 0; round < 200; round++) {
        struct tally tally = {0};
        int count = 1 + (int)(random_value() % 1001);
        for (int i = 0; i < count; i++) {
            values[i] = round % 2 ? random_value() : random_value() % 2000;
            tally_add(&tally, values[i]);
        }
        qsort(values, (size_t)count, sizeof *values, compare);
        assert_int_equal(tally.total, count);
        assert_int_equal(tally.min, values[0]);
        assert_int_equal(tally.max, values[count - 1]);
        for (int tenth = 0; tenth <= 10; tenth++) {
            int at = (tenth * count + 9) / 10 - 1; /* the least index at or below which a tenth lies */
            int64_t exact = values[at < 0 ? 0 : at], found = tally_quantile(&tally, tenth / 10.0);
            assert_true(found <= exact && (double)(exact - found) <= (double)exact / 1024);
            if (exact < 2048)
                assert_int_equal(found, exact);
        }
        tally_release(&tally);
    }
}

static void what_is_not_known_is_not_counted(void **state)
{
    (void)state;
    struct tally tally = {0};
    tally_add(&tally, -1);
    tally_add(&tally, INT64_MIN);
    assert_int_equal(tally.total, 0);
    assert_int_equal(tally_quantile(&tally, 0.5), 0);
    tally_add(&tally, 0);
    assert_int_equal(tally.total, 1);
    tally_release(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_are_in_order_and_narrow),
        cmocka_unit_test(quantiles_are_those_of_the_sorted_list),
        cmocka_unit_test(what_is_not_known_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
