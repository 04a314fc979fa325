#include "storage/facts.h"

#include "storage/ways.h"

#include <fcntl.h>

#define SIZE ((int64_t)1000001)

static char file_path[512];

static int make_one(void **state)
{
    make_folder(state);
    make_file("file", SIZE);
    path_of(file_path, "file");
    return 0;
}

static int64_t require_resident(void)
{
    struct error err;
    struct storage_cached cached;
    if (!storage_resident(file_path, &cached, &err))
        fail_msg("%s", err.text);
    return cached.resident;
}

/* Returns what is left. */
static int64_t require_dropped(void)
{
    struct error err;
    struct storage_cached left;
    if (!storage_drop_file(file_path, NULL, &left, &err))
        fail_msg("%s", err.text);
    return left.resident;
}

static struct storage_facts require_facts(const char *path)
{
    struct error err;
    struct storage_facts facts;
    if (!storage_facts(path, &facts, &err))
        fail_msg("%s", err.text);
    return facts;
}

static bool in_memory(void)
{
    struct storage_facts facts = require_facts(folder.path);
    if (facts.counted)
        return false;
    print_message("not on a disk but on '%s'\n", facts.file_system);
    return true;
}

static void test_a_file_just_written_is_resident(void **state)
{
    (void)state;
    assert_int_equal(require_resident(), SIZE);
}

static void test_a_dropped_file_is_not_resident(void **state)
{
    (void)state;
    if (in_memory())
        skip();
    assert_int_equal(require_dropped(), 0);
    assert_int_equal(require_resident(), 0);
}

static void test_direct_reads_leave_nothing_resident(void **state)
{
    (void)state;
    struct error err;
    struct storage *storage = open_way(&ways[2], NULL);
    if (!storage || in_memory()) {
        storage_free(storage);
        skip();
    }
    require_dropped();
    struct storage_reader *reader = storage_reader_new(storage, &err);
    assert_non_null(reader);
    require_content(reader, "file", SIZE);
    storage_reader_free(reader);
    storage_free(storage);
    assert_int_equal(require_resident(), 0);
}

/* Reads with less than what the kernel reads ahead. */
static void test_part_of_a_file_is_resident(void **state)
{
    (void)state;
    char byte;
    if (in_memory())
        skip();
    require_dropped();
    int fd = open(file_path, O_RDONLY);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
    assert_int_equal(pread(fd, &byte, 1, 500000), 1);
    close(fd);
    int64_t bytes = require_resident();
    assert_true(bytes > 0 && bytes < SIZE);
}

static void test_an_empty_file_has_nothing_resident(void **state)
{
    (void)state;
    make_file("file", 0);
    assert_int_equal(require_resident(), 0);
    assert_int_equal(require_dropped(), 0);
}

/* A page reaches beyond a file's end: never more is counted than is there. */
static void test_no_more_is_resident_than_is_there(void **state)
{
    (void)state;
    struct error err;
    struct storage_cached cached;
    static const int64_t sizes[] = {1, 4095, 4096, 4097, 100000, SIZE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_file("file", sizes[i]);
        assert_true(storage_resident(file_path, &cached, &err));
        assert_int_equal(cached.size, sizes[i]);
        assert_int_equal(cached.resident, sizes[i]);
    }
}

static void test_a_drop_can_be_stopped(void **state)
{
    (void)state;
    struct error err;
    struct storage_cached left;
    atomic_bool stop = true;
    assert_false(storage_drop_file(file_path, &stop, &left, &err));
    require_text(&err, "stopped");
    stop = false;
    assert_true(storage_drop_file(file_path, &stop, &left, &err));
}

/* An overlay's files have no pages of their own; what they lie on has. */
static void test_what_lies_below_an_overlay_is_seen(void **state)
{
    (void)state;
    struct error err;
    struct storage_cached cached;
    char command[2048], path[600];
    snprintf(command, sizeof command,
             "cd %s && mkdir over work up && mount -t overlay overlay -o "
             "lowerdir=%s,upperdir=up,workdir=work over 2>&1",
             folder.path, folder.path);
    if (geteuid() != 0 || system(command) != 0) {
        print_message("no overlay can be mounted here\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/over/file", folder.path);
    bool seen = storage_resident(path, &cached, &err);
    struct storage_facts facts = require_facts(path);
    snprintf(command, sizeof command, "umount %s/over", folder.path);
    assert_int_equal(system(command), 0);
    assert_true(seen);
    assert_int_equal(cached.resident, SIZE);
    assert_int_equal(facts.backing, STORAGE_BACKING_CACHED);
}

static void test_what_tells_where_bytes_come_from(void **state)
{
    (void)state;
    assert_int_equal(storage_backing_of("ext4", true), STORAGE_BACKING_DEVICE);
    assert_int_equal(storage_backing_of("xfs", true), STORAGE_BACKING_DEVICE);
    assert_int_equal(storage_backing_of("xfs", false), STORAGE_BACKING_CACHED);
    assert_int_equal(storage_backing_of("btrfs", true), STORAGE_BACKING_CACHED);
    assert_int_equal(storage_backing_of("fuseblk", true), STORAGE_BACKING_CACHED);
    assert_int_equal(storage_backing_of("nfs4", false), STORAGE_BACKING_CACHED);
    assert_int_equal(storage_backing_of("tmpfs", false), STORAGE_BACKING_MEMORY);
    assert_int_equal(storage_backing_of("zfs", false), STORAGE_BACKING_HIDDEN);
}

static void test_a_process_count_is_read(void **state)
{
    (void)state;
    int64_t bytes = -1;
    assert_true(
        storage_process_read_of("rchar: 9\nwchar: 0\nsyscr: 1\nread_bytes: 4096\nwrite_bytes: 7\n", &bytes));
    assert_int_equal(bytes, 4096);
    assert_false(storage_process_read_of("rchar: 9\ncancelled_read_bytes: 4\n", &bytes));
    assert_false(storage_process_read_of("read_bytes: x\n", &bytes));
    assert_false(storage_process_read_of("read_bytes: 99999999999999999999\n", &bytes));
    assert_false(storage_process_read_of("", &bytes));
}

/* Of a file that is not in memory, this process is told that it made a device read it; of one that is, nothing. */
static void test_what_a_process_read_is_counted(void **state)
{
    (void)state;
    static char bytes[SIZE];
    int64_t before, cold, warm;
    if (in_memory() || require_facts(folder.path).backing != STORAGE_BACKING_DEVICE ||
        !storage_process_read(&before))
        skip();
    require_dropped();
    int fd = open(file_path, O_RDONLY);
    storage_process_read(&before);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), SIZE);
    storage_process_read(&cold);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), SIZE);
    storage_process_read(&warm);
    close(fd);
    assert_true(cold - before >= SIZE);
    assert_true(warm - cold < SIZE / 2);
}

static void test_only_files_have_pages(void **state)
{
    (void)state;
    struct error err;
    struct storage_cached cached;
    assert_false(storage_resident(folder.path, &cached, &err));
    require_text(&err, "expected a regular file");
    assert_false(storage_drop_file("/nowhere/file", NULL, &cached, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    require_text(&err, "/nowhere/file: cannot open: No such file");
}

static void test_counters_of_the_device_count(void **state)
{
    (void)state;
    struct error err;
    if (in_memory())
        skip();
    struct storage_facts before = require_facts(folder.path);
    struct storage *storage = storage_new(&(struct storage_options){.root = folder.path}, &err);
    struct storage_writer *writer =
        storage_create(storage, "other", &(struct storage_write_options){.sync = true}, &err);
    static char bytes[(size_t)3 << 20];
    memset(bytes, 1, sizeof bytes);
    assert_true(storage_write(writer, bytes, sizeof bytes, &err));
    assert_true(storage_commit(writer, NULL, &err));
    storage_free(storage);
    struct storage_facts after = require_facts(folder.path);
    assert_true(after.written_bytes - before.written_bytes >= (int64_t)sizeof bytes);
    assert_true(after.read_bytes >= before.read_bytes);
    assert_string_not_equal(after.device, "unknown");
    assert_string_equal(after.device, before.device);
}

static void test_a_file_system_without_a_device_is_not_counted(void **state)
{
    (void)state;
    struct storage_facts facts = require_facts("/proc/self");
    assert_string_equal(facts.file_system, "proc");
    assert_string_equal(facts.device, "unknown");
    assert_false(facts.counted);
}

static void test_a_file_system_has_a_name(void **state)
{
    (void)state;
    assert_string_not_equal(require_facts(folder.path).file_system, "");
}

static void test_a_missing_path_has_no_facts(void **state)
{
    (void)state;
    struct error err;
    struct storage_facts facts;
    assert_false(storage_facts("/nowhere", &facts, &err));
    require_text(&err, "/nowhere: cannot stat: No such file");
}

/* As somebody who is not root, whoever runs the test. */
static void test_dropping_the_system_takes_root(void **state)
{
    (void)state;
    struct error err;
    uid_t user = geteuid();
    if (user == 0 && seteuid(65534) != 0)
        skip();
    bool ok = storage_drop_system(&err);
    assert_int_equal(seteuid(user), 0);
    assert_false(ok);
    require_text(&err, "cannot drop the system's page cache");
    require_text(&err, "root");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_one, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_just_written_is_resident),
        TEST(test_a_dropped_file_is_not_resident),
        TEST(test_direct_reads_leave_nothing_resident),
        TEST(test_part_of_a_file_is_resident),
        TEST(test_an_empty_file_has_nothing_resident),
        TEST(test_no_more_is_resident_than_is_there),
        TEST(test_a_drop_can_be_stopped),
        TEST(test_what_lies_below_an_overlay_is_seen),
        TEST(test_what_tells_where_bytes_come_from),
        TEST(test_a_process_count_is_read),
        TEST(test_what_a_process_read_is_counted),
        TEST(test_only_files_have_pages),
        TEST(test_counters_of_the_device_count),
        TEST(test_a_file_system_without_a_device_is_not_counted),
        TEST(test_a_file_system_has_a_name),
        TEST(test_a_missing_path_has_no_facts),
        TEST(test_dropping_the_system_takes_root),
    };
    return cmocka_run_group_tests_name("storage: facts", tests, NULL, NULL);
}
