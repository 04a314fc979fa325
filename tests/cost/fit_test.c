/* The simplex on functions whose least value is known. */
#include "cost/calibrate/fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double bowl(const double *x, void *context)
{
    int *calls = context;
    ++*calls;
    return 3 * (x[0] - 1) * (x[0] - 1) + (x[1] + 2) * (x[1] + 2) + 7;
}

/* Rosenbrock 1960: a curved valley. */
static double valley(const double *x, void *context)
{
    (void)context;
    return 100 * pow(x[1] - x[0] * x[0], 2) + pow(1 - x[0], 2);
}

static double stairs(const double *x, void *context)
{
    (void)context;
    return fabs(x[0] - 0.3) + 0.01 * ceil(10 * fabs(x[1] - 4));
}

static double only_right_of_zero(const double *x, void *context)
{
    (void)context;
    return x[0] > 0 ? x[0] - log(x[0]) : NAN;
}

static void a_bowl_is_followed_to_its_bottom(void **state)
{
    int calls = 0;
    double x[] = {10, 10};
    const double step[] = {1, 1};
    double best;
    (void)state;
    assert_true(fit_minimise(bowl, &calls, x, step, 2, 2000, &best));
    assert_true(fabs(x[0] - 1) < 1e-3 && fabs(x[1] + 2) < 1e-3);
    assert_true(fabs(best - 7) < 1e-6);
}

static void a_curved_valley_is_followed_to_its_end(void **state)
{
    double x[] = {-1.2, 1};
    const double step[] = {0.5, 0.5};
    (void)state;
    assert_true(fit_minimise(valley, NULL, x, step, 2, 20000, NULL));
    assert_true(fabs(x[0] - 1) < 1e-2 && fabs(x[1] - 1) < 1e-2);
}

static void steps_do_not_stop_it(void **state)
{
    double x[] = {3, 0};
    const double step[] = {1, 1};
    (void)state;
    assert_true(fit_minimise(stairs, NULL, x, step, 2, 5000, NULL));
    assert_true(fabs(x[0] - 0.3) < 1e-3 && fabs(x[1] - 4) < 0.2);
}

static void what_is_not_a_number_is_avoided(void **state)
{
    double x[] = {5};
    const double step[] = {-20};
    (void)state;
    assert_true(fit_minimise(only_right_of_zero, NULL, x, step, 1, 1000, NULL));
    assert_true(fabs(x[0] - 1) < 1e-3);
}

static void a_parameter_without_step_stays(void **state)
{
    int calls = 0;
    double x[] = {10, 5};
    const double step[] = {1, 0};
    (void)state;
    assert_true(fit_minimise(bowl, &calls, x, step, 2, 1000, NULL));
    assert_true(fabs(x[0] - 1) < 1e-3);
    assert_true(x[1] == 5);
}

static void evaluations_are_limited(void **state)
{
    int calls = 0;
    double x[] = {1e6, 1e6};
    const double step[] = {1e-3, 1e-3};
    (void)state;
    assert_true(fit_minimise(bowl, &calls, x, step, 2, 50, NULL));
    assert_in_range(calls, 1, 54); /* a move ends what it began */
}

static void nothing_to_fit_is_refused(void **state)
{
    int calls = 0;
    double x[MAX_FIT + 1] = {0};
    double step[MAX_FIT + 1] = {0};
    (void)state;
    assert_false(fit_minimise(bowl, &calls, x, step, 2, 100, NULL));
    step[0] = 1;
    assert_false(fit_minimise(bowl, &calls, x, step, MAX_FIT + 1, 100, NULL));
    assert_int_equal(calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bowl_is_followed_to_its_bottom),
        cmocka_unit_test(a_curved_valley_is_followed_to_its_end),
        cmocka_unit_test(steps_do_not_stop_it),
        cmocka_unit_test(what_is_not_a_number_is_avoided),
        cmocka_unit_test(a_parameter_without_step_stays),
        cmocka_unit_test(evaluations_are_limited),
        cmocka_unit_test(nothing_to_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
