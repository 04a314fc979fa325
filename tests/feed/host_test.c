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

static void groups_of_both_versions_are_found(void **state)
{
    (void)state;
    char path[HOST_PATH];
    static const char both[] = "12:cpuset:/\n4:cpu,cpuacct:/a/b\n1:name=systemd:/x\n0::/user.slice/c\n";
    assert_true(host_group_of(both, 1, path));
    assert_string_equal(path, "/a/b");
    assert_true(host_group_of(both, 2, path));
    assert_string_equal(path, "/user.slice/c");
    assert_false(host_group_of("3:cpuset:/\n0::/\n", 1, path));
    assert_false(host_group_of("", 2, path));
    assert_false(host_group_of("0:", 2, path));
}

static void mounts_of_both_versions_are_found(void **state)
{
    (void)state;
    char root[HOST_PATH], point[HOST_PATH];
    static const char both[] =
        "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "30 22 0:26 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
        "31 22 0:27 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 22 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n";
    assert_true(host_mount_of(both, 1, root, point));
    assert_string_equal(root, "/docker/1");
    assert_string_equal(point, "/sys/fs/cgroup/cpu,cpuacct");
    assert_true(host_mount_of(both, 2, root, point));
    assert_string_equal(point, "/sys/fs/cgroup/unified");
    assert_false(host_mount_of("22 1 254:0 / / rw - ext4 /dev/vda rw\n", 2, root, point));
    assert_false(host_mount_of("x - cgroup2 y z", 2, root, point));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delay_is_the_second_number),
        cmocka_unit_test(throttling_is_counted_by_both_versions),
        cmocka_unit_test(groups_of_both_versions_are_found),
        cmocka_unit_test(mounts_of_both_versions_are_found),
    };
    return cmocka_run_group_tests_name("feed: the host", tests, NULL, NULL);
}
