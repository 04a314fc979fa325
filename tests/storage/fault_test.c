/* Faults of the system, put in place of its calls. */
#include "storage/ways.h"

#include <errno.h>
#include <fcntl.h>

#define SIZE ((int64_t)100001)

/* What goes wrong, and how often it has been asked. A fault of -1 never comes. */
struct faults {
    int calls;
    int fail_at;
    int error;
    int64_t shorten; /* transfers end early, at a multiple of this; 0: they do not */
    bool interrupt;
    int syncs;
};

/* Like the kernel: a direct transfer ends early only at a block. */
static ssize_t shortened(const struct faults *faults, ssize_t length)
{
    int64_t half = length / 2 + 3;
    if (faults->shorten == 0 || half >= length || half < faults->shorten)
        return length;
    return (ssize_t)(half - half % faults->shorten);
}

/* Of this call: 0, or errno. */
static int fault(struct faults *faults)
{
    int call = faults->calls++;
    if (call == faults->fail_at)
        return faults->error;
    return faults->interrupt && call % 2 == 0 ? EINTR : 0;
}

static ssize_t faulty_pread(void *context, int fd, void *to, size_t length, off_t offset)
{
    struct faults *faults = context;
    errno = fault(faults);
    if (errno)
        return -1;
    return shortened(faults, pread(fd, to, length, offset));
}

static ssize_t faulty_pwrite(void *context, int fd, const void *from, size_t length, off_t offset)
{
    struct faults *faults = context;
    errno = fault(faults);
    if (errno)
        return -1;
    return shortened(faults, pwrite(fd, from, length, offset));
}

static int faulty_fsync(void *context, int fd)
{
    struct faults *faults = context;
    faults->syncs++;
    errno = fault(faults);
    return errno ? -1 : fsync(fd);
}

static int faulty_result(void *context, int result)
{
    struct faults *faults = context;
    int error = fault(faults);
    if (error)
        return -error;
    return (int)shortened(faults, result);
}

static struct faults faults;
static const struct storage_calls calls = {&faults, faulty_pread, faulty_pwrite, faulty_fsync, faulty_result};

static void content(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    require_content(reader, "file", SIZE);
}

static void short_content(struct storage *storage, struct storage_reader *reader)
{
    struct storage_file *file = require_open(reader, "file");
    faults = (struct faults){.fail_at = -1, .shorten = storage_file_alignment(file)};
    storage_close(file);
    require_content(reader, "file", SIZE);
    if (storage_options(storage)->method != STORAGE_MMAP)
        assert_true(storage_reader_counts(reader).requests > 5);
}

static void test_short_reads_are_completed(void **state)
{
    (void)state;
    make_file("file", SIZE);
    each_way_with(&calls, short_content);
}

static void test_interrupted_reads_are_repeated(void **state)
{
    (void)state;
    make_file("file", SIZE);
    faults = (struct faults){.fail_at = -1, .interrupt = true};
    each_way_with(&calls, content);
}

static void broken(struct storage *storage, struct storage_reader *reader)
{
    if (storage_options(storage)->method == STORAGE_MMAP)
        return; /* no call to replace */
    struct error err;
    for (int at = 0; at < 5; at++) {
        faults = (struct faults){.fail_at = at, .error = EIO};
        struct storage_file *file = require_open(reader, "file");
        struct storage_extent all = {.length = SIZE, .to = storage_reader_buffer(reader, 0, SIZE, &err)};
        bool ok = storage_read(reader, file, &all, 1, &err);
        assert_true(ok == (faults.calls <= at)); /* large requests are few */
        if (!ok) {
            require_text(&err, "/file: cannot read ");
            require_text(&err, " at byte ");
            require_text(&err, "Input/output error");
        }
        storage_close(file);
    }
    faults = (struct faults){.fail_at = -1};
    require_content(reader, "file", SIZE); /* no request of before is left over */
}

static void test_a_device_that_cannot_read_is_reported(void **state)
{
    (void)state;
    make_file("file", SIZE);
    each_way_with(&calls, broken);
}

static bool write_file(struct storage *storage, const struct storage_write_options *options,
                       struct error *err)
{
    static char bytes[SIZE];
    for (int64_t i = 0; i < SIZE; i++)
        bytes[i] = byte_at(i);
    struct storage_writer *writer = storage_create(storage, "file", options, err);
    assert_non_null(writer);
    for (int64_t at = 0; at < SIZE; at += 4000) {
        if (!storage_write(writer, bytes + at, (size_t)(SIZE - at < 4000 ? SIZE - at : 4000), err)) {
            storage_discard(writer);
            return false;
        }
    }
    return storage_commit(writer, NULL, err);
}

static void written(struct storage *storage, struct storage_reader *reader)
{
    struct error err;
    struct faults with = faults;
    faults.calls = 0;
    if (!write_file(storage, NULL, &err))
        fail_msg("%s", err.text);
    faults = (struct faults){.fail_at = -1};
    require_content(reader, "file", SIZE);
    faults = with;
}

static void test_short_writes_are_completed(void **state)
{
    (void)state;
    faults = (struct faults){.fail_at = -1, .shorten = 4096};
    each_way_with(&calls, written);
}

static void test_interrupted_writes_are_repeated(void **state)
{
    (void)state;
    faults = (struct faults){.fail_at = -1, .interrupt = true};
    each_way_with(&calls, written);
}

static void require_unwritten(struct storage *storage, int error, const char *text)
{
    char path[512];
    struct error err;
    for (int at = 0; at < 40; at++) {
        faults = (struct faults){.fail_at = at, .error = error};
        bool ok = write_file(storage, &(struct storage_write_options){.sync = true}, &err);
        assert_false(exists("file.part"));
        assert_true(exists("file") == ok);
        assert_true(ok == (faults.calls <= at));
        path_of(path, "file");
        unlink(path);
        if (ok)
            return;
        require_text(&err, "/file: cannot ");
        require_text(&err, text);
    }
}

static void full(struct storage *storage, struct storage_reader *reader)
{
    (void)reader;
    require_unwritten(storage, ENOSPC, "No space left on device");
    require_unwritten(storage, EIO, "Input/output error");
}

/* At each call that there is, the fsync among them. */
static void test_a_failed_write_or_sync_leaves_nothing(void **state)
{
    (void)state;
    each_way_with(&calls, full);
}

static void count_syncs(struct storage *storage, struct storage_reader *reader)
{
    (void)reader;
    static const struct storage_write_options options[] = {
        {0}, {.sync = true}, {.sync = true, .sync_folder = true}};
    struct error err;
    for (int i = 0; i < 3; i++) {
        faults = (struct faults){.fail_at = -1};
        assert_true(write_file(storage, &options[i], &err));
        assert_int_equal(faults.syncs, i);
    }
}

static void test_syncs_happen(void **state)
{
    (void)state;
    each_way_with(&calls, count_syncs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_short_reads_are_completed),
        TEST(test_interrupted_reads_are_repeated),
        TEST(test_a_device_that_cannot_read_is_reported),
        TEST(test_short_writes_are_completed),
        TEST(test_interrupted_writes_are_repeated),
        TEST(test_a_failed_write_or_sync_leaves_nothing),
        TEST(test_syncs_happen),
    };
    return cmocka_run_group_tests_name("storage: faults", tests, NULL, NULL);
}
