/* Room is looked at before the first byte: in a file system of 4 MiB that only this test sees. */
#include "storage/space.h"

#include "dataset/generate.h"
#include "dataset/place.h"
#include "feed/space.h"

#include "dataset/io.h"
#include "support/data_place.h"
#include "support/expect.h"

#include <sched.h>
#include <sys/mount.h>

#define SIZE ((int64_t)4 << 20)

static char root[] = "/tmp/rehearse-space-XXXXXX";
static bool mounted;

/* A namespace of its own: as root, or where users may make one. */
static int mount_small(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return 0;
    mounted = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
              mount("none", root, "tmpfs", 0, "size=4m,nr_inodes=64") == 0;
    return 0;
}

static int unmount_small(void **state)
{
    (void)state;
    if (mounted && umount(root) != 0)
        return -1;
    return rmdir(root);
}

static void require_mounted(void)
{
    if (mounted)
        return;
    print_message("# skipped: no file system may be mounted here\n");
    skip();
}

static void a_path_that_is_not_there_is_its_folder_s(void **state)
{
    struct storage_space space, below;
    struct error err = {0};
    char path[PATH_MAX];
    (void)state;
    require_mounted();
    assert_true(storage_space(root, &space, &err));
    assert_int_equal(space.bytes, SIZE);
    assert_string_equal(space.mount, root);
    snprintf(path, sizeof path, "%s/not//there/yet", root);
    assert_true(storage_space(path, &below, &err));
    assert_int_equal(below.bytes, SIZE);
    assert_true(below.system == space.system);
    assert_true(storage_space("not/there/yet", &below, &err));
    assert_true(below.system != space.system);
}

static void what_does_not_fit_is_said(void **state)
{
    struct storage_space space;
    struct error err = {0};
    char text[PATH_MAX];
    (void)state;
    require_mounted();
    assert_true(storage_space(root, &space, &err));
    assert_true(storage_space_check(&space, SIZE, 60, &err));
    assert_false(storage_space_check(&space, 2 * SIZE, 1, &err));
    snprintf(text, sizeof text, "needs 8.00 MiB, but only 4.00 MiB are free on '%s' (--force writes anyway)",
             root);
    assert_string_equal(err.text, text);
    assert_false(storage_space_check(&space, 1, 100, &err));
    snprintf(text, sizeof text, "needs 100 files, but only 63 more fit on '%s' (--force writes anyway)",
             root);
    assert_string_equal(err.text, text);
}

static void pseudo_file_systems_have_no_limit(void **state)
{
    struct storage_space space;
    struct error err = {0};
    (void)state;
    assert_true(storage_space("/proc/self", &space, &err));
    assert_true(storage_space_check(&space, INT64_MAX, INT64_MAX, &err));
}

static void make_file(const char *path, size_t bytes)
{
    FILE *out = fopen(path, "w");
    char *zeros = calloc(1, bytes);
    assert_non_null(out);
    assert_non_null(zeros);
    assert_int_equal(fwrite(zeros, 1, bytes, out), bytes);
    assert_int_equal(fclose(out), 0);
    free(zeros);
}

static bool fits(const struct dataset_layout *layout, const char *folder)
{
    const struct dataset_work work = {.ranks = 1};
    struct error err = {0};
    struct comm *comm = comm_open(0, &err);
    assert_non_null(comm);
    bool fit = space_for_layout(comm, layout, folder, &work, &err);
    comm_close(comm);
    if (!fit)
        assert_non_null(strstr(err.text, "needs "));
    return fit;
}

/* Five files of 700,000 bytes, 172 pages each: 671,744 bytes are left. */
static void what_is_there_does_not_count(void **state)
{
    char set[64], path[128], part[160], other[64];
    struct dataset_layout layout;
    struct feed_place folder;
    const struct dataset_work work = {.ranks = 1};
    struct dataset_generated made;
    struct error err = {0};
    (void)state;
    require_mounted();
    snprintf(set, sizeof set, "%s/set", root);
    snprintf(other, sizeof other, "%s/other", root);
    snprintf(path, sizeof path, "%s/train/img_4_of_5.raw", set);
    snprintf(part, sizeof part, "%s.part", path);
    const struct dataset_place place = data_place(&folder, set);
    dataset_layout_init(&layout);
    layout.format = dataset_format_find("raw");
    layout.files_train = 5;
    layout.record_bytes = 700000;
    assert_true(dataset_layout_check(&layout, &err));

    assert_true(fits(&layout, set));
    make_file(other, 800000);
    assert_false(fits(&layout, set));
    assert_int_equal(unlink(other), 0);
    assert_true(dataset_generate(&layout, &place, &work, &made, &err));
    make_file(other, 600000);
    assert_true(fits(&layout, set)); /* nothing is to be written */
    assert_int_equal(rename(path, part), 0);
    assert_true(fits(&layout, set)); /* a killed run's file is written over */
    assert_int_equal(unlink(part), 0);
    assert_true(fits(&layout, set));
    make_file(other, 1000000);
    assert_false(fits(&layout, set));
    storage_free(folder.storage);
    dataset_layout_release(&layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_that_is_not_there_is_its_folder_s),
        cmocka_unit_test(what_does_not_fit_is_said),
        cmocka_unit_test(pseudo_file_systems_have_no_limit),
        cmocka_unit_test(what_is_there_does_not_count),
    };
    return cmocka_run_group_tests(tests, mount_small, unmount_small);
}
