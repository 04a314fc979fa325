#include "dataset/format/zip.h"
#include "dataset/io.h"

/* Bytes at the begin and at the end of a file that is larger than memory. */
struct ends {
    struct blob head, tail;
    int64_t tail_at;
};

static bool ends_read(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    const struct ends *ends = context;
    (void)err;
    if (offset >= ends->tail_at) {
        assert_true((size_t)(offset - ends->tail_at) + n <= ends->tail.length);
        memcpy(to, ends->tail.bytes + (offset - ends->tail_at), n);
    } else {
        assert_true((size_t)offset + n <= ends->head.length);
        memcpy(to, ends->head.bytes + offset, n);
    }
    return true;
}

static struct blob put(const struct zip_member *members, int count, bool header, int64_t offset)
{
    struct blob blob = {0};
    struct dataset_sink sink = blob_sink(&blob);
    struct dataset_writer writer;
    struct error err;
    assert_true(dataset_writer_init(&writer, &sink, &err));
    if (header)
        zip_put_header(&writer, members);
    else
        zip_put_tail(&writer, members, count, offset);
    assert_true(dataset_writer_end(&writer));
    return blob;
}

static void sizes_of_any_number_of_bits_come_back(void **state)
{
    const int64_t sizes[] = {100, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, (int64_t)1 << 45};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct zip_member members[2] = {{.name = "x.npy", .sum = 7}, {.name = "y.npy", .sum = 9}}, found;
        struct error err = {0};
        members[0].size = members[0].packed = sizes[i];
        members[1].size = members[1].packed = 136;
        int64_t y_at = zip_place(&members[0], 0), end = zip_place(&members[1], y_at);
        struct ends ends = {.head = put(members, 1, true, 0), .tail_at = y_at};
        ends.tail = put(&members[1], 1, true, 0);
        assert_true(blob_write(&ends.tail, (unsigned char[136]){0}, 136, &err));
        struct blob tail = put(members, 2, false, end);
        assert_int_equal(tail.length, zip_tail_bytes(members, 2, end));
        assert_true(blob_write(&ends.tail, tail.bytes, tail.length, &err));
        const struct dataset_source source = {&ends, y_at + (int64_t)ends.tail.length, ends_read};
        for (int m = 0; m < 2; m++) {
            if (!zip_find(&source, "large.npz", members[m].name, false, &found, &err))
                fail_msg("%s", err.text);
            assert_int_equal(found.size, members[m].size);
            assert_int_equal(found.data, members[m].data);
            assert_int_equal(found.sum, members[m].sum);
            assert_int_equal(found.directory, end);
        }
        assert_false(zip_find(&source, "large.npz", "z.npy", false, &found, &err));
        assert_string_equal(err.text, "large.npz: there is no member 'z.npy' in this archive");
        free(ends.head.bytes);
        free(ends.tail.bytes);
        free(tail.bytes);
    }
}

static void a_comment_behind_the_directory_is_no_harm(void **state)
{
    struct zip_member member = {.name = "x.npy", .size = 3, .packed = 3}, found;
    struct error err = {0};
    (void)state;
    int64_t end = zip_place(&member, 0);
    struct blob blob = put(&member, 1, true, 0), tail = put(&member, 1, false, end);
    assert_true(blob_write(&blob, "abc", 3, &err));
    tail.bytes[tail.length - 2] = 5;
    assert_true(blob_write(&blob, tail.bytes, tail.length, &err));
    assert_true(blob_write(&blob, "hello", 5, &err));
    struct dataset_source source = blob_source(&blob);
    assert_true(zip_find(&source, "x", "none", true, &found, &err));
    assert_string_equal(found.name, "x.npy");
    free(blob.bytes);
    free(tail.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_any_number_of_bits_come_back),
        cmocka_unit_test(a_comment_behind_the_directory_is_no_harm),
    };
    return cmocka_run_group_tests_name("dataset zip", tests, NULL, NULL);
}
