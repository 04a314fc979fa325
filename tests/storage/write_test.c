#include "storage/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct storage_writer *require_create(struct storage *storage, const char *name,
                                             const struct storage_write_options *options)
{
    struct error err;
    struct storage_writer *writer = storage_create(storage, name, options, &err);
    if (!writer)
        fail_msg("%s", err.text);
    return writer;
}

/* Writes bytes from..to of the file in pieces of `piece`, out of memory that is not aligned. */
static void append(struct storage_writer *writer, int64_t from, int64_t to, int64_t piece)
{
    struct error err;
    char *bytes = malloc((size_t)piece + 1);
    assert_non_null(bytes);
    for (int64_t at = from; at < to;) {
        int64_t length = to - at < piece ? to - at : piece;
        for (int64_t i = 0; i < length; i++)
            bytes[1 + i] = byte_at(at + i);
        if (!storage_write(writer, bytes + 1, (size_t)length, &err))
            fail_msg("%s", err.text);
        at += length;
    }
    free(bytes);
}

static void require_commit(struct storage_writer *writer, struct storage_written *written)
{
    struct error err;
    if (!storage_commit(writer, written, &err))
        fail_msg("%s", err.text);
}

static void sizes(struct storage *storage, struct storage_reader *reader)
{
    static const struct {
        int64_t size, piece;
    } cases[] = {{0, 1},       {1, 1},         {511, 100},       {4096, 4096},
                 {8192, 1000}, {100000, 3333}, {100000, 100000}, {12288, 12288}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct storage_written written;
        struct storage_writer *writer = require_create(storage, "file", NULL);
        append(writer, 0, cases[i].size, cases[i].piece);
        require_commit(writer, &written);
        assert_int_equal(written.bytes, cases[i].size);
        require_content(reader, "file", cases[i].size);
        assert_false(exists("file.part"));
    }
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    each_way(sizes);
}

static void large(struct storage *storage, struct storage_reader *reader)
{
    struct error err;
    int64_t size = ((int64_t)20 << 20) + 77;
    char *bytes = storage_buffer_new(size, &err);
    assert_non_null(bytes);
    for (int64_t i = 0; i < size; i++)
        bytes[i] = byte_at(i);
    struct storage_writer *writer = require_create(storage, "file", NULL);
    assert_true(storage_write(writer, bytes, (size_t)size, &err));
    require_commit(writer, NULL);
    storage_buffer_free(bytes, size);
    require_content(reader, "file", size);
}

static void test_aligned_memory_is_written(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS;
         i += 2) { /* posix with its defaults, buffered and direct; small ones are above */
        struct storage *storage = open_way(&ways[i], NULL);
        struct error err;
        if (!storage)
            continue;
        struct storage_reader *reader = storage_reader_new(storage, &err);
        assert_non_null(reader);
        large(storage, reader);
        storage_reader_free(reader);
        storage_free(storage);
    }
}

static void unfinished(struct storage *storage, struct storage_reader *reader)
{
    (void)reader;
    struct storage_writer *writer = require_create(storage, "file", NULL);
    append(writer, 0, 100000, 5000);
    assert_false(exists("file"));
    assert_true(exists("file.part"));
    storage_discard(writer);
    assert_false(exists("file"));
    assert_false(exists("file.part"));
}

static void test_discard_leaves_nothing(void **state)
{
    (void)state;
    storage_discard(NULL);
    each_way(unfinished);
}

static void replace(struct storage *storage, struct storage_reader *reader)
{
    make_file("file", 70000);
    struct storage_writer *writer = require_create(storage, "file", NULL);
    append(writer, 0, 5000, 5000);
    require_content(reader, "file", 70000); /* the old one stays until the new one is whole */
    require_commit(writer, NULL);
    require_content(reader, "file", 5000);
}

static void test_commit_replaces_the_file(void **state)
{
    (void)state;
    each_way(replace);
}

static void leftover(struct storage *storage, struct storage_reader *reader)
{
    make_file("file.part", 70000);
    struct storage_writer *writer = require_create(storage, "file", NULL);
    append(writer, 0, 5000, 5000);
    require_commit(writer, NULL);
    require_content(reader, "file", 5000);
}

static void test_what_a_killed_program_left_is_written_over(void **state)
{
    (void)state;
    each_way(leftover);
}

static void both(struct storage *storage, struct storage_reader *reader)
{
    struct error err;
    struct storage_writer *writer = require_create(storage, "file", NULL);
    append(writer, 0, 9000, 5000);
    assert_null(storage_create(storage, "file", NULL, &err));
    require_text(&err, "/file: cannot write: another program is writing it");
    append(writer, 9000, 20000, 5000);
    require_commit(writer, NULL);
    require_content(reader, "file", 20000);
}

static void test_one_file_has_one_writer(void **state)
{
    (void)state;
    each_way(both);
}

static void synced(struct storage *storage, struct storage_reader *reader)
{
    struct storage_written written;
    struct storage_writer *writer =
        require_create(storage, "file", &(struct storage_write_options){.sync = true, .sync_folder = true});
    append(writer, 0, 30000, 5000);
    require_commit(writer, &written);
    assert_true(written.write > 0 && written.sync > 0 && written.rename > 0 && written.sync_folder > 0);
    writer = require_create(storage, "file", NULL);
    append(writer, 0, 30000, 5000);
    require_commit(writer, &written);
    assert_true(written.write > 0 && written.rename > 0);
    assert_true(written.sync == 0 && written.sync_folder == 0);
    require_content(reader, "file", 30000);
}

static void test_syncs_are_timed_where_they_are_asked_for(void **state)
{
    (void)state;
    each_way(synced);
}

static void folders(struct storage *storage, struct storage_reader *reader)
{
    struct storage_writer *writer = require_create(storage, "a/b/c/file", NULL);
    append(writer, 0, 5000, 5000);
    require_commit(writer, NULL);
    require_content(reader, "a/b/c/file", 5000);
}

static void test_folders_are_made(void **state)
{
    (void)state;
    each_way(folders);
}

static void on_a_folder(struct storage *storage, struct storage_reader *reader)
{
    (void)reader;
    struct error err;
    assert_null(storage_create(storage, "folder", NULL, &err));
    require_text(&err, "/folder: cannot write: it is a directory");
    assert_null(storage_create(storage, "file/below", NULL, &err));
    require_text(&err, "/file/below: cannot write: Not a directory");
}

static void test_a_folder_is_not_written_over(void **state)
{
    (void)state;
    char path[512];
    path_of(path, "folder");
    assert_int_equal(mkdir(path, 0777), 0);
    make_file("file", 1);
    each_way(on_a_folder);
}

struct seen {
    int files, folders;
    int64_t bytes;
    int max;
};

static bool see(void *context, const char *name, int64_t size)
{
    struct seen *seen = context;
    assert_non_null(name);
    seen->files += size >= 0;
    seen->folders += size < 0;
    seen->bytes += size > 0 ? size : 0;
    errno = EIO; /* a visitor's, not of the walk */
    return seen->files + seen->folders < seen->max;
}

static void listed(struct storage *storage, struct storage_reader *reader)
{
    (void)reader;
    struct error err;
    struct seen all = {.max = 100}, first = {.max = 1};
    assert_true(storage_list(storage, "list", see, &all, &err));
    assert_int_equal(all.files, 3);
    assert_int_equal(all.folders, 1);
    assert_int_equal(all.bytes, 600);
    assert_true(storage_list(storage, "list", see, &first, &err));
    assert_int_equal(first.files + first.folders, 1);
    assert_false(storage_list(storage, "nowhere", see, &all, &err));
    require_text(&err, "/nowhere: cannot open: ");
}

static void test_a_folder_is_listed(void **state)
{
    (void)state;
    folder_write(&folder, "list/folder/inner", "x");
    make_file("list/1", 100);
    make_file("list/2", 200);
    make_file("list/3", 300);
    make_file("list/4.part", 400);
    each_way(listed);
}

static void removed(struct storage *storage, struct storage_reader *reader)
{
    (void)reader;
    struct error err;
    make_file("file", 10);
    assert_true(storage_remove(storage, "file", &err));
    assert_false(exists("file"));
    assert_true(storage_remove(storage, "file", &err));
    folder_write(&folder, "full/file", "x");
    assert_false(storage_remove(storage, "full", &err)); /* a folder with something in it */
    require_text(&err, "cannot remove: ");
    assert_true(storage_remove(storage, "full/file", &err));
    assert_true(storage_remove(storage, "full", &err));
    assert_false(exists("full"));
}

static void test_files_are_removed(void **state)
{
    (void)state;
    each_way(removed);
}

static void beyond_the_limit(struct storage *storage, struct storage_reader *reader)
{
    (void)reader;
    struct error err;
    static char bytes[200000];
    struct storage_writer *writer = require_create(storage, "file", NULL);
    bool ok = storage_write(writer, bytes, sizeof bytes, &err);
    if (ok)
        ok = storage_commit(writer, NULL, &err);
    else
        storage_discard(writer);
    assert_false(ok);
    require_text(&err, "/file: cannot write: File too large");
    assert_false(exists("file"));
    assert_false(exists("file.part"));
}

/* The system's own failure, not a replaced call's. */
static void test_a_file_that_grows_too_large_leaves_nothing(void **state)
{
    (void)state;
    struct rlimit old, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){.rlim_cur = 65536, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    each_way(beyond_the_limit);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

/* In a child that is killed: its lock goes with it, its file stays unfinished. */
static void test_a_killed_writer_leaves_no_file(void **state)
{
    (void)state;
    struct storage *storage = open_way(&ways[0], NULL);
    struct error err;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct storage_writer *writer = storage_create(storage, "file", NULL, &err);
        static char bytes[(size_t)3 << 20];
        if (!writer || !storage_write(writer, bytes, sizeof bytes, &err))
            _exit(1);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_true(exists("file.part"));
    assert_false(exists("file"));
    struct storage_writer *writer = require_create(storage, "file", NULL);
    append(writer, 0, 1000, 1000);
    require_commit(writer, NULL);
    assert_false(exists("file.part"));
    storage_free(storage);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written_is_read),
        TEST(test_aligned_memory_is_written),
        TEST(test_discard_leaves_nothing),
        TEST(test_commit_replaces_the_file),
        TEST(test_what_a_killed_program_left_is_written_over),
        TEST(test_one_file_has_one_writer),
        TEST(test_syncs_are_timed_where_they_are_asked_for),
        TEST(test_folders_are_made),
        TEST(test_a_folder_is_not_written_over),
        TEST(test_a_folder_is_listed),
        TEST(test_files_are_removed),
        TEST(test_a_file_that_grows_too_large_leaves_nothing),
        TEST(test_a_killed_writer_leaves_no_file),
    };
    return cmocka_run_group_tests_name("storage: writing", tests, NULL, NULL);
}
