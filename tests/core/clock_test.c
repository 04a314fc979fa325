#include "core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void both_units_are_of_one_clock(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t before = clock_nanoseconds();
        double now = clock_now();
        int64_t after = clock_nanoseconds();
        assert_true(before <= after);
        assert_true(now >= 1e-9 * (double)before && now <= 1e-9 * (double)after);
    }
}

static void times_are_split_into_seconds_and_the_rest(void **state)
{
    static const struct {
        int64_t time;
        long seconds, rest;
    } cases[] = {{0, 0, 0},
                 {1, 0, 1},
                 {999999999, 0, 999999999},
                 {1000000000, 1, 0},
                 {1234567890123, 1234, 567890123}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct timespec time = clock_timespec(cases[i].time);
        assert_int_equal(time.tv_sec, cases[i].seconds);
        assert_int_equal(time.tv_nsec, cases[i].rest);
    }
}

static void work_takes_time_of_the_processor_and_sleep_does_not(void **state)
{
    double processor = clock_processor();
    int64_t start = clock_nanoseconds();
    (void)state;
    clock_sleep(20000000);
    assert_true(clock_nanoseconds() - start >= 20000000);
    double slept = clock_processor() - processor;
    assert_true(slept >= 0 && slept < 0.02);
    while (clock_processor() - processor < 0.02)
        ;
    assert_true(1e-9 * (double)(clock_nanoseconds() - start) > 0.02);
}

static void a_clock_that_is_not_there_reads_0(void **state)
{
    (void)state;
    assert_true(clock_read(CLOCK_REALTIME) > INT64_C(1600000000) * CLOCK_SECOND);
    assert_int_equal(clock_read(1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_units_are_of_one_clock),
        cmocka_unit_test(times_are_split_into_seconds_and_the_rest),
        cmocka_unit_test(work_takes_time_of_the_processor_and_sleep_does_not),
        cmocka_unit_test(a_clock_that_is_not_there_reads_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
