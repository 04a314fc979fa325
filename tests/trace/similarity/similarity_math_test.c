#include "trace/similarity/math.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

static void assert_near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within))
        fail_msg("%.9g instead of %.9g", value, expected);
}

static void test_distances_of_shifted_samples(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {2, 3, 4, 5};
    assert_near(similarity_ks(a, 4, b, 4, 0), 0.75, 1e-12);
    assert_near(similarity_wasserstein(a, 4, b, 4, 10), 0.9, 1e-12);
    assert_true(similarity_wasserstein(a, 4, b, 4, 0.5) == 0);
    assert_true(similarity_ks(a, 4, &b[3], 1, 0) == 0);
}

/* Two values are 0.3 apart, the others 0.1. */
static void test_what_the_resolution_explains_is_no_difference(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {1.1, 1.9, 3.3, 4.3};
    assert_near(similarity_ks(a, 4, b, 4, 0), 0.75, 1e-12);
    assert_true(similarity_ks(a, 4, b, 4, 0.31) == 1);
    assert_near(similarity_ks(a, 4, b, 4, 0.2), 0.75, 1e-12);
    const double c[] = {2, 2, 2, 4};
    assert_near(similarity_ks(a, 4, c, 4, 0), 0.75, 1e-12); /* 1 before 2, and 3 after it */
    assert_near(similarity_ks(a, 4, c, 4, 0.5), 0.75, 1e-12);
    assert_true(similarity_ks(a, 4, c, 4, 1) == 1);
    assert_true(similarity_ks(a, 4, c, 4, 0.5) == similarity_ks(c, 4, a, 4, 0.5));
}

static void test_a_peak_may_be_late_within_the_band(void **state)
{
    (void)state;
    double a[10] = {0}, b[10] = {0};
    a[3] = b[5] = 8;
    assert_true(similarity_correlation(a, b, 1, 10, 2) == 1);
    assert_true(similarity_warped(a, b, 1, 10, 2) == 1);
    assert_true(similarity_correlation(a, b, 1, 10, 1) == 0);
    assert_true(similarity_correlation(a, b, 2, 5, 4) == 0); /* not from one part into the next */
    assert_true(similarity_warped(a, b, 1, 10, 0) == 0);
}

static void test_nothing_is_like_nothing(void **state)
{
    (void)state;
    const double none[4] = {0}, some[4] = {0, 1, 0, 0};
    assert_true(similarity_correlation(none, none, 1, 4, 1) == 1);
    assert_true(similarity_correlation(none, some, 1, 4, 1) == 0);
    assert_true(similarity_warped(none, none, 1, 4, 1) == 1);
    assert_true(similarity_warped(none, some, 1, 4, 1) == 0);
    assert_true(similarity_ratio(0, 0) == 1);
    assert_true(similarity_ratio(0, 2) == 0);
}

static void test_inversions_are_counted(void **state)
{
    (void)state;
    uint32_t ranks[7] = {3, 1, 2, 7, 6, 5, 4}, space[7];
    assert_near(similarity_order(ranks, space, 7), 1 - 8 / 21.0, 1e-12);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(ranks[i], i + 1);
}

static void test_draws_are_in_order_and_from_all(void **state)
{
    (void)state;
    const double from[4] = {1, 2, 3, 4};
    double draws[4000], sum = 0;
    uint64_t random = 3;
    similarity_draw(&random, from, 4, draws, 4000);
    for (int i = 0; i < 4000; i++) {
        assert_true(i == 0 || draws[i] >= draws[i - 1]);
        sum += draws[i];
    }
    assert_near(sum / 4000, 2.5, 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances_of_shifted_samples),
        cmocka_unit_test(test_what_the_resolution_explains_is_no_difference),
        cmocka_unit_test(test_a_peak_may_be_late_within_the_band),
        cmocka_unit_test(test_nothing_is_like_nothing),
        cmocka_unit_test(test_inversions_are_counted),
        cmocka_unit_test(test_draws_are_in_order_and_from_all),
    };
    return cmocka_run_group_tests_name("similarity_math", tests, NULL, NULL);
}
