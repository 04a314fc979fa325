#include "core/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Of the authors' splitmix64.c, https://prng.di.unimi.it/splitmix64.c, from state 0. */
static void numbers_are_those_of_splitmix64(void **state)
{
    static const uint64_t expected[] = {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f,
                                        0xf88bb8a8724c81ec};
    uint64_t random = 0;
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(random_next(&random) == expected[i]);
    assert_true(random == 4 * RANDOM_GOLDEN);
}

static void fractions_begin_at_0_and_end_before_1(void **state)
{
    (void)state;
    assert_true(random_fraction(0) == 0);
    assert_true(random_fraction((uint64_t)1 << 63) == 0.5);
    assert_true(random_fraction(UINT64_MAX) == 1 - 0x1p-53);
}

/* Within five standard errors; the seed is fixed. */
static void moments_are_those_of_the_distributions(void **state)
{
    enum { COUNT = 100000 };
    double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0;
    uint64_t random = 42;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        double uniform = random_uniform(&random), normal = random_normal(&random);
        assert_true(uniform >= 0 && uniform < 1 && isfinite(normal));
        sum += uniform;
        squares += uniform * uniform;
        normal_sum += normal;
        normal_squares += normal * normal;
    }
    assert_true(fabs(sum / COUNT - 0.5) < 5 * sqrt(1.0 / 12 / COUNT));
    assert_true(fabs(squares / COUNT - 1.0 / 3) < 5 * sqrt(4.0 / 45 / COUNT));
    assert_true(fabs(normal_sum / COUNT) < 5 * sqrt(1.0 / COUNT));
    assert_true(fabs(normal_squares / COUNT - 1) < 5 * sqrt(2.0 / COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_splitmix64),
        cmocka_unit_test(fractions_begin_at_0_and_end_before_1),
        cmocka_unit_test(moments_are_those_of_the_distributions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
