/* Control groups in texts as kernels write them. */
#include "core/system/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void groups_of_both_versions_are_found(void **state)
{
    (void)state;
    char path[CGROUP_PATH];
    static const char both[] = "12:cpuset:/\n4:cpu,cpuacct:/a/b\n1:name=systemd:/x\n0::/user.slice/c\n";
    assert_true(cgroup_path_of(both, "cpu", path));
    assert_string_equal(path, "/a/b");
    assert_true(cgroup_path_of(both, "", path));
    assert_string_equal(path, "/user.slice/c");
    assert_false(cgroup_path_of("3:cpuset:/\n0::/\n", "cpu", path));
    assert_false(cgroup_path_of("", "", path));
    assert_false(cgroup_path_of("0:", "", path));
}

static void mounts_of_both_versions_are_found(void **state)
{
    (void)state;
    struct cgroup_mount mount;
    static const char both[] =
        "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "30 22 0:26 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
        "31 22 0:27 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 22 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n";
    assert_true(cgroup_mount_of(both, "cpu", &mount));
    assert_string_equal(mount.root, "/docker/1");
    assert_string_equal(mount.point, "/sys/fs/cgroup/cpu,cpuacct");
    assert_true(cgroup_mount_of(both, "", &mount));
    assert_string_equal(mount.point, "/sys/fs/cgroup/unified");
    assert_int_equal(mount.version, 2);
    assert_true(cgroup_mount_on(both, 0, 26, &mount));
    assert_string_equal(mount.options, "rw,cpuset");
    assert_false(cgroup_mount_on(both, 254, 0, &mount));
    assert_false(cgroup_mount_of("22 1 254:0 / / rw - ext4 /dev/vda rw\n", "", &mount));
    assert_false(cgroup_mount_of("x - cgroup2 y z", "", &mount));
}

static void a_group_lies_below_the_mounted_one_or_outside(void **state)
{
    (void)state;
    const struct cgroup_mount top = {.root = "/"}, inner = {.root = "/docker/1"};
    assert_string_equal(cgroup_below(&top, "/a/b"), "/a/b");
    assert_string_equal(cgroup_below(&top, "/"), "");
    assert_string_equal(cgroup_below(&inner, "/docker/1"), "");
    assert_string_equal(cgroup_below(&inner, "/docker/1/x"), "/x");
    assert_null(cgroup_below(&inner, "/docker/12"));
    assert_null(cgroup_below(&inner, "/"));
}

#define ID "85cc26a8250a45f4f93953d29d38e192d0da2a137c5482d19adc210f6b1ced5a"

static bool names_it(const char *component)
{
    const char *id = cgroup_id_of(component, (int)strlen(component));
    return id && strncmp(id, ID, CGROUP_ID) == 0;
}

static void containers_are_named_by_their_id(void **state)
{
    (void)state;
    assert_true(names_it(ID));
    assert_true(names_it("docker-" ID ".scope"));
    assert_true(names_it("libpod-" ID));
    assert_true(names_it("cri-containerd-" ID ".scope"));
    assert_true(names_it("kubepods-burstable-pod1.slice:cri-containerd:" ID));
    assert_false(names_it("libpod-conmon-" ID ".scope")); /* the monitor, which lives beside the container */
    assert_false(names_it("crio-conmon-" ID ".scope"));
    assert_false(names_it("docker-" ID ".service"));
    assert_false(names_it("a" ID));
    assert_false(names_it(&ID[1]));
    assert_false(names_it("docker"));
    assert_false(names_it(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_both_versions_are_found),
        cmocka_unit_test(mounts_of_both_versions_are_found),
        cmocka_unit_test(a_group_lies_below_the_mounted_one_or_outside),
        cmocka_unit_test(containers_are_named_by_their_id),
    };
    return cmocka_run_group_tests_name("core: control groups", tests, NULL, NULL);
}
