/* What goes for every format: what is written has the computed size, is found where it was expected, and decodes to
 * what was generated. */
#include "dataset/format/npy.h"
#include "dataset/io.h"
#include "dataset/pack.h"

struct parts {
    struct blob blobs[DATASET_MAX_PARTS];
    struct dataset_source sources[DATASET_MAX_PARTS];
    const struct dataset_source *list[DATASET_MAX_PARTS];
};

static void parts_write(struct parts *parts, const struct dataset_file *file)
{
    *parts = (struct parts){0};
    for (int i = 0; i < dataset_file_parts(file); i++) {
        parts->blobs[i] = blob_of(file, i, NULL);
        parts->sources[i] = blob_source(&parts->blobs[i]);
        parts->list[i] = &parts->sources[i];
    }
}

static void parts_release(struct parts *parts)
{
    for (int i = 0; i < DATASET_MAX_PARTS; i++)
        free(parts->blobs[i].bytes);
}

static void locate(struct dataset_index *index, const struct dataset_file *file, const struct parts *parts)
{
    struct error err = {0};
    if (!dataset_locate(file->layout->format, index, "test", parts->list, &err))
        fail_msg("%s: %s", file->layout->format->name, err.text);
}

/* Decodes every sample and compares it with the generated content. */
static void check_samples(const struct dataset_file *file, const struct dataset_index *index,
                          const struct parts *parts)
{
    struct dataset_content content;
    struct dataset_bytes bytes;
    unsigned char *all = malloc((size_t)file->payload_bytes + 1),
                  *expected = malloc((size_t)file->record_bytes + 1);
    unsigned char *decoded = malloc((size_t)index->sample_bytes + 1);
    assert_true(all && decoded && expected);
    dataset_content_init(&content, &bytes, file);
    content.fill(content.context, 0, all, (size_t)file->payload_bytes);
    assert_int_equal(index->samples, file->samples);
    for (int64_t i = 0; i < index->samples; i++) {
        struct dataset_extent extent;
        struct error err = {0};
        size_t length, n = (size_t)file->record_bytes;
        assert_int_equal(dataset_index_extents(index, i, &extent), 1);
        assert_int_equal(extent.length, dataset_index_length(index, i));
        assert_in_range(extent.offset + extent.length, 0, parts->blobs[0].length);
        if (!file->layout->format->decode(index, i, parts->blobs[0].bytes + extent.offset,
                                          (size_t)extent.length, decoded, (size_t)index->sample_bytes,
                                          &length, &err))
            fail_msg("%s", err.text);
        if (index->interleaved > 1)
            assert_true(npy_pick(index, i, all, (size_t)file->payload_bytes, expected, n, &length, &err));
        else
            memcpy(expected, all + (size_t)i * n, n);
        assert_int_equal(length, n);
        assert_memory_equal(decoded, expected, n);
    }
    free(all);
    free(decoded);
    free(expected);
}

static const char *const names[] = {"npz", "npy", "csv", "tfrecord", "indexed_binary", "mmap_indexed_binary"};
#define NAMES (sizeof names / sizeof *names)

static void sizes_are_computed(void **state)
{
    const int samples[] = {1, 2, 13};
    const double bytes[] = {1, 130, 16384, 300007};
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        for (int s = 0; s < 3; s++) {
            for (int b = 0; b < 4; b++) {
                struct dataset_layout layout;
                struct dataset_file file;
                layout_make(&layout, names[n], bytes[b], samples[s]);
                dataset_file_init(&file, &layout, 5);
                for (int part = 0; part < dataset_file_parts(&file); part++) {
                    struct blob blob = blob_of(&file, part, NULL);
                    assert_int_equal(blob.length, dataset_file_bytes(&file, part));
                    free(blob.bytes);
                }
            }
        }
    }
}

static void samples_decode_to_what_was_generated(void **state)
{
    const int samples[] = {1, 13};
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        for (int s = 0; s < 2; s++) {
            struct dataset_layout layout;
            struct dataset_file file;
            struct dataset_index index;
            struct parts parts;
            layout_make(&layout, names[n], 4097, samples[s]);
            dataset_file_init(&file, &layout, 3);
            parts_write(&parts, &file);
            locate(&index, &file, &parts);
            check_samples(&file, &index, &parts);
            dataset_index_release(&index);
            parts_release(&parts);
        }
    }
}

static void what_is_expected_is_found(void **state)
{
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        struct dataset_layout layout;
        struct dataset_file file;
        struct dataset_index index, expected;
        struct parts parts;
        layout_make(&layout, names[n], 4096, 13);
        dataset_file_init(&file, &layout, 3);
        parts_write(&parts, &file);
        locate(&index, &file, &parts);
        assert_true(layout.format->expect(&file, &expected));
        assert_int_equal(index.samples, expected.samples);
        assert_int_equal(index.open_count, expected.open_count);
        for (int i = 0; i < index.open_count; i++) {
            assert_int_equal(index.open[i].part, expected.open[i].part);
            assert_int_equal(index.open[i].offset, expected.open[i].offset);
            assert_int_equal(index.open[i].length, expected.open[i].length);
        }
        assert_int_equal(index.first, expected.first);
        assert_int_equal(index.stride, expected.stride);
        assert_int_equal(index.length, expected.length);
        assert_int_equal(index.sample_bytes, expected.sample_bytes);
        assert_int_equal(index.interleaved, expected.interleaved);
        dataset_index_release(&index);
        dataset_index_release(&expected);
        parts_release(&parts);
    }
}

static void compressed_files_decode(void **state)
{
    const struct {
        const char *name;
        enum dataset_compression compression;
    } cases[] = {{"npz", DATASET_ZIP}, {"csv", DATASET_GZIP}};
    (void)state;
    if (dataset_pack_missing()) {
        print_message("# skipped: built without %s\n", dataset_pack_missing());
        skip();
    }
    for (int i = 0; i < 2; i++) {
        struct dataset_layout layout;
        struct dataset_file file;
        struct dataset_index index;
        struct parts parts;
        struct error err;
        layout_make(&layout, cases[i].name, 100000, 3);
        layout.compression = cases[i].compression;
        layout.compressibility = 0.5;
        assert_true(dataset_layout_check(&layout, &err));
        dataset_file_init(&file, &layout, 3);
        assert_int_equal(dataset_file_bytes(&file, 0), -1);
        parts_write(&parts, &file);
        assert_in_range(parts.blobs[0].length, 100000, 240000);
        locate(&index, &file, &parts);
        check_samples(&file, &index, &parts);
        dataset_index_release(&index);
        parts_release(&parts);
    }
}

static void floats_are_numbers_from_one_to_two(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct error err;
    (void)state;
    dataset_layout_init(&layout);
    layout.format = dataset_format_find("npy");
    layout.element = DATASET_FLOAT32;
    layout.record_bytes = 4000;
    assert_true(dataset_layout_check(&layout, &err));
    dataset_file_init(&file, &layout, 0);
    struct blob blob = blob_of(&file, 0, NULL);
    for (size_t at = 128; at < blob.length; at += 4) {
        float value;
        memcpy(&value, blob.bytes + at, 4);
        assert_true(value >= 1 && value < 2);
    }
    free(blob.bytes);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        for (size_t limit = 1; limit < 600000; limit = 2 * limit + 777) {
            struct dataset_layout layout;
            struct dataset_file file;
            struct blob blob = {.limit = limit};
            struct dataset_sink sink = blob_sink(&blob);
            struct error err = {0};
            layout_make(&layout, names[n], 600000, 2);
            dataset_file_init(&file, &layout, 0);
            assert_false(dataset_write(&file, 0, NULL, &sink, &err));
            assert_string_equal(err.text, "cannot write 'blob': No space left on device");
            free(blob.bytes);
        }
    }
}

/* Every shorter file is refused, or found to hold fewer samples; no read beyond its end. */
static void a_file_that_was_cut_is_noticed(void **state)
{
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        struct dataset_layout layout;
        struct dataset_file file;
        struct parts parts;
        layout_make(&layout, names[n], 64, 3);
        dataset_file_init(&file, &layout, 0);
        parts_write(&parts, &file);
        for (parts.sources[0].size = 0; parts.sources[0].size < (int64_t)parts.blobs[0].length;
             parts.sources[0].size++) {
            struct dataset_index index;
            struct error err = {0};
            if (!dataset_locate(layout.format, &index, "test", parts.list, &err)) {
                assert_true(err.text[0] != '\0');
                continue;
            }
            if (strcmp(names[n], "csv") != 0) /* text ends anywhere */
                assert_true(index.samples < 3);
            dataset_index_release(&index);
        }
        parts_release(&parts);
    }
}

static void a_damaged_record_is_named(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct parts parts;
    struct dataset_index index;
    unsigned char to[4096];
    size_t length;
    struct error err = {0};
    (void)state;
    layout_make(&layout, "tfrecord", 64, 3);
    dataset_file_init(&file, &layout, 0);
    parts_write(&parts, &file);
    locate(&index, &file, &parts);
    parts.blobs[0].bytes[index.first + index.stride + 40] ^= 1;
    assert_false(layout.format->decode(&index, 1, parts.blobs[0].bytes + index.stride, (size_t)index.length,
                                       to, sizeof to, &length, &err));
    assert_string_equal(err.text, "record 1: wrong checksum of its data");
    parts.blobs[0].bytes[index.first + index.stride] ^= 1;
    assert_false(dataset_locate(layout.format, &index, "test", parts.list, &err));
    assert_non_null(strstr(err.text, "wrong checksum of its length"));
    parts_release(&parts);
}

static void records_of_all_lengths_are_found(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct parts parts = {0};
    struct dataset_index index;
    int64_t offset = 0;
    (void)state;
    for (int i = 0; i < 100; i++) {
        layout_make(&layout, "tfrecord", 1 + i * i % 37, 1);
        dataset_file_init(&file, &layout, 0);
        struct blob blob = blob_of(&file, 0, NULL);
        struct error err;
        assert_true(blob_write(&parts.blobs[0], blob.bytes, blob.length, &err));
        free(blob.bytes);
    }
    parts.sources[0] = blob_source(&parts.blobs[0]);
    parts.list[0] = &parts.sources[0];
    locate(&index, &file, &parts);
    assert_int_equal(index.samples, 100);
    for (int64_t i = 0; i < 100; i++) {
        struct dataset_extent extent;
        dataset_index_extents(&index, i, &extent);
        assert_int_equal(extent.offset, offset);
        offset += extent.length;
    }
    assert_int_equal(offset, parts.blobs[0].length);
    dataset_index_release(&index);
    parts_release(&parts);
}

static void a_number_that_is_no_byte_is_refused(void **state)
{
    const char *const texts[] = {"1,2\n3,256\n", "1,2\n3,x\n", "1,2\n,3\n", "1,2\n3,4,\n", "1,2\n3,-4\n"};
    const struct dataset_format *csv = dataset_format_find("csv");
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dataset_index index = {.samples = 2, .sample_bytes = 2};
        unsigned char to[16];
        size_t length;
        struct error err;
        const unsigned char *raw = (const unsigned char *)texts[i];
        assert_true(csv->decode(&index, 0, raw, strlen(texts[i]), to, sizeof to, &length, &err));
        assert_true(length == 2 && to[0] == 1 && to[1] == 2);
        assert_false(csv->decode(&index, 1, raw, strlen(texts[i]), to, sizeof to, &length, &err));
        assert_non_null(strstr(err.text, "row 2, value"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_computed),
        cmocka_unit_test(samples_decode_to_what_was_generated),
        cmocka_unit_test(what_is_expected_is_found),
        cmocka_unit_test(compressed_files_decode),
        cmocka_unit_test(floats_are_numbers_from_one_to_two),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(a_file_that_was_cut_is_noticed),
        cmocka_unit_test(a_damaged_record_is_named),
        cmocka_unit_test(records_of_all_lengths_are_found),
        cmocka_unit_test(a_number_that_is_no_byte_is_refused),
    };
    return cmocka_run_group_tests_name("dataset format", tests, NULL, NULL);
}
