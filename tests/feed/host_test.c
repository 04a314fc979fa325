/* What kept a run from its processors, of texts as kernels write them. */
#include "feed/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void a_delay_is_the_second_number(void **state)
{
    (void)state;
    assert_int_equal(host_delay_of("123456 789 12\n"), 789);
    assert_int_equal(host_delay_of("0 0 0\n"), 0);
    assert_int_equal(host_delay_of("12"), 0);
    assert_int_equal(host_delay_of(""), 0);
    assert_true(host_thread_delay(getpid()) >= 0);
    assert_int_equal(host_thread_delay(-1), 0);
}

static void throttling_is_counted_by_both_versions(void **state)
{
    (void)state;
    assert_int_equal(host_throttled_of("usage_usec 5\nnr_periods 9\nnr_throttled 8\nthrottled_usec 2500\n"),
                     2500000);
    assert_int_equal(host_throttled_of("nr_periods 9\nnr_throttled 8\nthrottled_time 2500\nwait_sum 7\n"),
                     2500);
    assert_int_equal(host_throttled_of("nr_throttled 8\n"), 0);
    assert_int_equal(host_throttled_of("throttled_usec 9223372036854775807\n"), INT64_MAX);
    assert_int_equal(host_throttled_of("throttled_usec -4\n"), 0);
    assert_true(host_throttled() >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delay_is_the_second_number),
        cmocka_unit_test(throttling_is_counted_by_both_versions),
    };
    return cmocka_run_group_tests_name("feed: the host", tests, NULL, NULL);
}
