#include "storage/ways.h"
#include "support/sanitizer.h"

#include <pthread.h>

#define SIZE      ((int64_t)300001)
#define LISTS     (150 / GOLDEN_STEP)
#define MOST      8
#define BUFFER    (SIZE + 3 * STORAGE_SLACK)
#define UNTOUCHED ((char)0xa5)

/* A small generator, so that a failure can be repeated. */
static uint64_t random_state;

static int64_t below(int64_t limit)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)(random_state >> 33) % limit;
}

static struct storage_extent random_extent(char *buffer)
{
    struct storage_extent extent = {.offset = below(SIZE + 1)};
    if (below(3) == 0)
        extent.offset -= extent.offset % 4096;
    int64_t max = SIZE - extent.offset;
    int64_t kind = below(4);
    extent.length = kind == 0 ? max : kind == 1 && max > 100 ? below(100) : below(max + 1);
    if (kind == 2)
        extent.length -= extent.length % 4096;
    if (below(5) == 0)
        return extent; /* let go */
    int64_t shift = below(3);
    extent.to = buffer + (shift == 0 ? 0 : shift == 1 ? extent.offset % 4096 : below(4096));
    extent.room = below(2) ? extent.length + below(2 * STORAGE_SLACK) : 0;
    return extent;
}

/* What is beyond the room of an extent must stay as it is. */
static void require_rest(const struct storage_extent *extent, const char *buffer)
{
    int64_t start = extent->to - buffer, end = start + (extent->room ? extent->room : extent->length);
    for (int64_t i = 0; i < start; i++)
        assert_int_equal(buffer[i], UNTOUCHED);
    for (int64_t i = end; i < BUFFER; i++)
        assert_int_equal(buffer[i], UNTOUCHED);
}

static void random_lists(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    struct error err;
    struct storage_file *file = require_open(reader, "file");
    for (int i = 0; i < LISTS; i++) {
        struct storage_extent extents[MOST], before[MOST];
        char *buffers[MOST];
        int count = (int)below(MOST + 1);
        for (int k = 0; k < count; k++) {
            buffers[k] = storage_reader_buffer(reader, k, BUFFER, &err);
            assert_non_null(buffers[k]);
            memset(buffers[k], UNTOUCHED, BUFFER);
            before[k] = extents[k] = random_extent(buffers[k]);
        }
        require_read(reader, file, extents, count);
        for (int k = 0; k < count; k++) {
            if (!before[k].to) {
                assert_null(extents[k].at);
                continue;
            }
            require_bytes(extents[k].at, before[k].offset, before[k].length);
            require_rest(&before[k], buffers[k]);
        }
    }
    storage_close(file);
}

static void test_random_extents_are_the_bytes_of_the_file(void **state)
{
    (void)state;
    make_file("file", SIZE);
    random_state = 11;
    each_way(random_lists);
}

static void nothing(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    char to[8] = "as it is";
    struct storage_file *file = require_open(reader, "file");
    struct storage_extent extents[] = {
        {.offset = 17, .to = to}, {.offset = SIZE, .to = to}, {.offset = 2 * SIZE}};
    require_read(reader, file, extents, 3);
    require_read(reader, file, NULL, 0);
    assert_memory_equal(to, "as it is", 8);
    assert_ptr_equal(extents[0].at, to);
    storage_close(file);
}

static void test_no_bytes_are_read_anywhere(void **state)
{
    (void)state;
    make_file("file", SIZE);
    each_way(nothing);
}

static void empty(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    require_content(reader, "file", 0);
}

static void test_an_empty_file(void **state)
{
    (void)state;
    make_file("file", 0);
    each_way(empty);
}

static void past_the_end(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    static const struct {
        int64_t offset, length;
    } cases[] = {{SIZE - 1, 2},     {SIZE, 1},          {0, SIZE + 1},
                 {0, SIZE + 50000}, {SIZE + 100000, 5}, {299008, 4096}};
    struct error err;
    struct storage_file *file = require_open(reader, "file");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int let_go = 0; let_go < 2; let_go++) {
            struct storage_extent extent = {.offset = cases[i].offset, .length = cases[i].length};
            if (!let_go)
                extent.to = storage_reader_buffer(reader, 0, cases[i].length, &err);
            assert_false(storage_read(reader, file, &extent, 1, &err));
            assert_int_equal(err.kind, ERROR_INPUT);
            require_text(&err, "file: truncated: expected ");
            require_text(&err, " at byte ");
        }
    }
    storage_close(file);
    require_content(reader, "file", SIZE); /* a reader outlives a failure */
}

static void test_a_file_that_ends_early_is_truncated(void **state)
{
    (void)state;
    make_file("file", SIZE);
    each_way(past_the_end);
}

static void cut_after_open(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    char path[512];
    struct error err;
    make_file("file", SIZE);
    path_of(path, "file");
    struct storage_file *file = require_open(reader, "file");
    assert_int_equal(truncate(path, SIZE / 2), 0);
    struct storage_extent all = {.length = SIZE, .to = storage_reader_buffer(reader, 0, SIZE, &err)};
    assert_false(storage_read(reader, file, &all, 1, &err));
    require_text(&err, "file: truncated: expected ");
    storage_close(file);
}

static void test_a_file_truncated_after_it_was_opened(void **state)
{
    (void)state;
    each_way(cut_after_open);
}

static void removed_after_open(struct storage *storage, struct storage_reader *reader)
{
    struct error err;
    make_file("file", SIZE);
    struct storage_file *file = require_open(reader, "file");
    assert_true(storage_remove(storage, "file", &err));
    struct storage_extent all = {.length = SIZE, .to = storage_reader_buffer(reader, 0, SIZE, &err)};
    require_read(reader, file, &all, 1);
    require_bytes(all.at, 0, SIZE);
    storage_close(file);
    assert_null(storage_open(reader, "file", &err));
}

static void test_a_file_removed_after_it_was_opened_is_read(void **state)
{
    (void)state;
    each_way(removed_after_open);
}

static void missing(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    struct error err;
    assert_null(storage_open(reader, "no/such", &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    require_text(&err, "/no/such: cannot open: No such file");
}

static void test_a_missing_file_is_named(void **state)
{
    (void)state;
    each_way(missing);
}

static void no_file(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    struct error err;
    assert_null(storage_open(reader, "folder", &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    require_text(&err, "/folder: a directory, expected a file");
    assert_null(storage_open(reader, "pipe", &err)); /* and does not wait for a writer */
    require_text(&err, "/pipe: not a regular file, expected a file");
}

static void test_a_folder_and_a_pipe_are_no_files(void **state)
{
    (void)state;
    char path[512];
    path_of(path, "folder");
    assert_int_equal(mkdir(path, 0777), 0);
    path_of(path, "pipe");
    assert_int_equal(mkfifo(path, 0666), 0);
    each_way(no_file);
}

static void whole_file(struct storage *storage, struct storage_reader *reader)
{
    require_content(reader, "file", SIZE);
    struct storage_counts counts = storage_reader_counts(reader);
    assert_int_equal(counts.bytes, SIZE);
    assert_in_range(counts.read, SIZE, SIZE + 100000);
    if (storage_options(storage)->method != STORAGE_MMAP)
        assert_int_equal(counts.copied, 0);
}

static void test_whole_files_are_read_without_a_copy(void **state)
{
    (void)state;
    make_file("file", SIZE);
    each_way(whole_file);
}

static void room_at_the_front(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    struct error err;
    int64_t room = 50000 + STORAGE_SLACK;
    struct storage_file *file = require_open(reader, "file");
    char *to = storage_reader_buffer(reader, 0, room, &err);
    struct storage_extent extent = {.offset = 70123, .length = 50000, .to = to, .room = room};
    require_read(reader, file, &extent, 1);
    require_bytes(extent.at, 70123, 50000);
    assert_in_range(extent.at - to, 0, STORAGE_SLACK);
    storage_close(file);
}

static void test_an_extent_with_room_says_where_it_begins(void **state)
{
    (void)state;
    make_file("file", SIZE);
    each_way(room_at_the_front);
}

static void nonsense(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    char to[16];
    struct error err;
    struct storage_file *file = require_open(reader, "file");
    struct storage_extent wrong[] = {{.offset = -1, .length = 1, .to = to},
                                     {.length = -1, .to = to},
                                     {.offset = INT64_MAX - 5, .length = 10, .to = to},
                                     {.offset = 1, .length = INT64_MAX - 1},
                                     {.length = 10, .to = to, .room = 9}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(storage_read(reader, file, &wrong[i], 1, &err));
        require_text(&err, "/file: ");
    }
    storage_close(file);
}

static void test_extents_that_cannot_be_are_refused(void **state)
{
    (void)state;
    make_file("file", SIZE);
    each_way(nonsense);
}

static void buffers(struct storage *storage, struct storage_reader *reader)
{
    (void)storage;
    struct error err;
    char *first = storage_reader_buffer(reader, 0, 5000, &err);
    assert_ptr_equal(storage_reader_buffer(reader, 0, 100, &err), first);
    char *other = storage_reader_buffer(reader, 1, 5000, &err);
    assert_ptr_not_equal(other, first);
    memset(other, 1, 5000);
    char *larger = storage_reader_buffer(reader, 0, (int64_t)3 << 20, &err);
    assert_int_equal((uintptr_t)larger % 4096, 0);
    memset(larger, 2, (size_t)3 << 20);
    assert_int_equal(other[4999], 1);
    assert_null(storage_reader_buffer(reader, STORAGE_MAX_BUFFERS, 1, &err));
    assert_null(storage_reader_buffer(reader, -1, 1, &err));
    assert_null(storage_reader_buffer(reader, 2, STORAGE_MAX_BUFFER + 1, &err));
    require_text(&err, "at most");
    assert_null(storage_reader_buffer(reader, 2, -1, &err));
}

static void test_buffers_belong_to_the_reader(void **state)
{
    (void)state;
    each_way(buffers);
}

struct sharer {
    struct storage *storage;
    struct storage_file *file;
    bool ok;
};

static void *read_share(void *argument)
{
    struct sharer *sharer = argument;
    struct error err;
    struct storage_reader *reader = storage_reader_new(sharer->storage, &err);
    char *to = reader ? storage_reader_buffer(reader, 0, SIZE, &err) : NULL;
    sharer->ok = to != NULL;
    for (int64_t offset = 0; sharer->ok && offset < SIZE; offset += 10007) {
        struct storage_extent extent = {.offset = offset, .length = SIZE - offset, .to = to};
        sharer->ok = storage_read(reader, sharer->file, &extent, 1, &err) && to[0] == byte_at(offset) &&
                     to[extent.length - 1] == byte_at(SIZE - 1);
    }
    storage_reader_free(reader);
    return NULL;
}

static void shared(struct storage *storage, struct storage_reader *reader)
{
    struct storage_file *file = require_open(reader, "file");
    pthread_t threads[4];
    struct sharer sharers[4];
    for (int i = 0; i < 4; i++) {
        sharers[i] = (struct sharer){storage, file, false};
        assert_int_equal(pthread_create(&threads[i], NULL, read_share, &sharers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(sharers[i].ok);
    }
    storage_close(file);
}

static void test_threads_share_a_file(void **state)
{
    (void)state;
    make_file("file", SIZE);
    each_way(shared);
}

static void test_options_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct storage_options options;
        const char *text;
    } cases[] = {
        {{.method = STORAGE_MMAP, .direct = true}, "'mmap' always goes through the page cache"},
        {{.method = (enum storage_kind)9}, "storage method 9"},
        {{.request = 511}, "request: expected 512 to 1073741824 bytes, found 511"},
        {{.request = STORAGE_MAX_REQUEST + 1}, "request: expected"},
        {{.queue_depth = -1}, "queue depth: expected 1 to 4096, found -1"},
        {{.queue_depth = 5000}, "queue depth: expected"},
    };
    struct error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(storage_new(&cases[i].options, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        require_text(&err, cases[i].text);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_random_extents_are_the_bytes_of_the_file),
        TEST(test_no_bytes_are_read_anywhere),
        TEST(test_an_empty_file),
        TEST(test_a_file_that_ends_early_is_truncated),
        TEST(test_a_file_truncated_after_it_was_opened),
        TEST(test_a_file_removed_after_it_was_opened_is_read),
        TEST(test_a_missing_file_is_named),
        TEST(test_a_folder_and_a_pipe_are_no_files),
        TEST(test_whole_files_are_read_without_a_copy),
        TEST(test_an_extent_with_room_says_where_it_begins),
        TEST(test_extents_that_cannot_be_are_refused),
        TEST(test_buffers_belong_to_the_reader),
        TEST(test_threads_share_a_file),
        TEST(test_options_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests_name("storage: reading", tests, NULL, NULL);
}
