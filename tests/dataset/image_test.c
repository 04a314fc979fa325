/* PNG and JPEG: files of exactly the size asked for, with pictures in them that were generated. */
#include "dataset/io.h"
#include "support/reference.h"

static const char *const names[] = {"png", "jpeg"};

/* Skips the formats that are not in this build. */
static bool missing(const char *name)
{
    const struct dataset_format *format = dataset_format_find(name);
    if (format->missing)
        print_message("# skipped: built without %s\n", format->missing);
    return format->missing != NULL;
}

/* Decodes the one sample of a file; how many bytes it has. */
static size_t decode(const struct dataset_format *format, const struct blob *blob, unsigned char **to,
                     struct dataset_index *index, struct error *err)
{
    struct dataset_source source = blob_source((struct blob *)(uintptr_t)blob);
    const struct dataset_source *parts[DATASET_MAX_PARTS] = {&source};
    size_t length = 0;
    *to = NULL;
    if (!dataset_locate(format, index, "test", parts, err))
        return 0;
    assert_int_equal(index->samples, 1);
    assert_int_equal(index->length, blob->length);
    *to = malloc((size_t)index->sample_bytes + 1);
    assert_non_null(*to);
    if (!format->decode(index, 0, blob->bytes, blob->length, *to, (size_t)index->sample_bytes, &length, err))
        return 0;
    return length;
}

static void files_have_the_bytes_asked_for(void **state)
{
    const double bytes[] = {1024, 1025, 1500, 5001, 65536, 114660, 1000003};
    const double compressibility[] = {0, 0.5, 1};
    (void)state;
    for (int n = 0; n < 2; n++) {
        for (int b = 0; b < 7 * 3 && !missing(names[n]); b++) {
            struct dataset_layout layout;
            struct dataset_file file;
            layout_make(&layout, names[n], bytes[b / 3], 1);
            layout.compressibility = compressibility[b % 3];
            for (int64_t i = 0; i < 3; i++) {
                dataset_file_init(&file, &layout, i);
                struct blob blob = blob_of(&file, 0, NULL);
                assert_int_equal(blob.length, (int64_t)bytes[b / 3]);
                assert_int_equal(blob.length, dataset_file_bytes(&file, 0));
                free(blob.bytes);
            }
        }
    }
}

/* Little of a file is padding. */
static void pictures_fill_their_files(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    (void)state;
    if (!missing("png")) {
        layout_make(&layout, "png", 114660, 1);
        dataset_file_init(&file, &layout, 0);
        assert_true(file.record_bytes > 0.99 * 114660);
    }
    if (!missing("jpeg")) {
        layout_make(&layout, "jpeg", 114660, 1);
        dataset_file_init(&file, &layout, 0);
        assert_true(file.record_bytes * 0.55 > 0.93 * 114660);
    }
}

static void png_decodes_to_what_was_generated(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct dataset_index index;
    struct dataset_content content;
    struct dataset_bytes bytes;
    struct error err = {0};
    unsigned char *to;
    (void)state;
    if (missing("png"))
        skip();
    layout_make(&layout, "png", 60000, 1);
    dataset_file_init(&file, &layout, 2);
    struct blob blob = blob_of(&file, 0, NULL);
    if (decode(layout.format, &blob, &to, &index, &err) != (size_t)file.record_bytes)
        fail_msg("%s", err.text);
    assert_int_equal(index.dims[0], file.dims[0]);
    assert_int_equal(index.dims[1], file.dims[1]);
    unsigned char *expected = malloc((size_t)file.record_bytes);
    assert_non_null(expected);
    dataset_content_init(&content, &bytes, &file);
    content.fill(content.context, 0, expected, (size_t)file.record_bytes);
    assert_memory_equal(to, expected, (size_t)file.record_bytes);
    free(expected);
    free(to);
    free(blob.bytes);
}

/* Lossy: on the mean a pixel is near what was generated. */
static void jpeg_decodes_to_about_what_was_generated(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct dataset_index index;
    struct dataset_content content;
    struct dataset_bytes bytes;
    struct error err = {0};
    unsigned char *to;
    double sum = 0;
    (void)state;
    if (missing("jpeg"))
        skip();
    layout_make(&layout, "jpeg", 60000, 1);
    dataset_file_init(&file, &layout, 2);
    struct blob blob = blob_of(&file, 0, NULL);
    if (decode(layout.format, &blob, &to, &index, &err) != (size_t)file.record_bytes)
        fail_msg("%s", err.text);
    dataset_content_init(&content, &bytes, &file);
    for (int64_t i = 0; i < file.record_bytes; i++) {
        unsigned char expected;
        content.fill(content.context, i, &expected, 1);
        sum += abs(expected - to[i]);
    }
    assert_true(sum / (double)file.record_bytes < 16);
    free(to);
    free(blob.bytes);
}

static void what_is_expected_is_found(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        struct dataset_layout layout;
        struct dataset_file file;
        struct dataset_index index, expected;
        struct error err = {0};
        unsigned char *to;
        if (missing(names[n]))
            continue;
        layout_make(&layout, names[n], 9000, 1);
        dataset_file_init(&file, &layout, 1);
        struct blob blob = blob_of(&file, 0, NULL);
        assert_true(decode(layout.format, &blob, &to, &index, &err) > 0);
        assert_true(layout.format->expect(&file, &expected));
        assert_memory_equal(&index, &expected, sizeof index);
        free(to);
        free(blob.bytes);
    }
}

/* Every chunk of a PNG has a sum. */
static void a_flipped_bit_is_found_in_png(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    (void)state;
    if (missing("png"))
        skip();
    layout_make(&layout, "png", 1024, 1);
    dataset_file_init(&file, &layout, 0);
    struct blob blob = blob_of(&file, 0, NULL);
    for (size_t i = 0; i < blob.length; i++) {
        struct dataset_index index;
        struct error err = {0};
        unsigned char *to;
        blob.bytes[i] ^= 1;
        assert_int_equal(decode(layout.format, &blob, &to, &index, &err), 0);
        assert_true(err.text[0] != '\0');
        blob.bytes[i] ^= 1;
        free(to);
    }
    free(blob.bytes);
}

static void files_that_were_cut_are_refused(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        struct dataset_layout layout;
        struct dataset_file file;
        if (missing(names[n]))
            continue;
        layout_make(&layout, names[n], 3000, 1);
        dataset_file_init(&file, &layout, 0);
        struct blob blob = blob_of(&file, 0, NULL);
        size_t whole = blob.length;
        for (blob.length = 0; blob.length < whole - 30; blob.length += 7) {
            struct dataset_index index;
            struct error err = {0};
            unsigned char *to;
            size_t length = decode(layout.format, &blob, &to, &index, &err);
            if (n == 0 || blob.length < 2000) /* the end of a JPEG is comments */
                assert_int_equal(length, 0);
            free(to);
        }
        free(blob.bytes);
    }
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        for (size_t limit = 1; limit < 600000 && !missing(names[n]); limit = 2 * limit + 77777) {
            struct dataset_layout layout;
            struct dataset_file file;
            struct blob blob = {.limit = limit};
            struct dataset_sink sink = blob_sink(&blob);
            struct error err = {0};
            layout_make(&layout, names[n], 600000, 1);
            dataset_file_init(&file, &layout, 0);
            assert_false(dataset_write(&file, 0, NULL, &sink, &err));
            assert_string_equal(err.text, "cannot write 'blob': No space left on device");
            free(blob.bytes);
        }
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        struct dataset_layout layout;
        struct error err = {0};
        if (missing(names[n]))
            continue;
        dataset_layout_init(&layout);
        layout.format = dataset_format_find(names[n]);
        layout.samples_per_file = 2;
        assert_false(dataset_layout_check(&layout, &err));
        layout.samples_per_file = 1;
        layout.element = DATASET_FLOAT32;
        assert_false(dataset_layout_check(&layout, &err));
        layout.element = DATASET_UINT8;
        layout.record_bytes = 100;
        assert_false(dataset_layout_check(&layout, &err));
        assert_non_null(strstr(err.text, "record_length_bytes"));
    }
}

static void check_samples_of_dlio(const char *name)
{
    const char *const files[] = {"train/img_0_of_2", "train/img_1_of_2", "valid/img_0_of_1"};
    char relative[128];
    for (int i = 0; i < 3; i++) {
        struct dataset_index index;
        struct error err = {0};
        unsigned char *to;
        snprintf(relative, sizeof relative, "feed/samples/dlio_main_%s/%s.%s", name, files[i], name);
        char *path = reference_path(relative);
        if (!path)
            skip();
        struct blob blob = blob_load(path);
        if (decode(dataset_format_find(name), &blob, &to, &index, &err) != 128 * 128)
            fail_msg("%s", err.text);
        free(to);
        free(blob.bytes);
        free(path);
    }
}

/* The size of DLIO's files, in the mode that makes them: to a block of zlib in PNG, nearly in JPEG. */
static void pictures_are_as_large_as_dlios(void **state)
{
    const int64_t sizes[] = {16580, 9412}, range[] = {5, 60};
    (void)state;
    for (int n = 0; n < 2; n++) {
        struct dataset_layout layout;
        struct dataset_file file;
        struct error err = {0};
        if (missing(names[n]))
            continue;
        check_samples_of_dlio(names[n]);
        dataset_layout_init(&layout);
        layout.format = dataset_format_find(names[n]);
        layout.record_bytes = 16384;
        layout.dlio_sizes = true;
        assert_true(dataset_layout_check(&layout, &err));
        dataset_file_init(&file, &layout, 0);
        assert_int_equal(dataset_file_bytes(&file, 0), -1);
        struct blob blob = blob_of(&file, 0, NULL);
        assert_in_range(blob.length, sizes[n] - range[n], sizes[n] + range[n]);
        free(blob.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_the_bytes_asked_for),
        cmocka_unit_test(pictures_fill_their_files),
        cmocka_unit_test(png_decodes_to_what_was_generated),
        cmocka_unit_test(jpeg_decodes_to_about_what_was_generated),
        cmocka_unit_test(what_is_expected_is_found),
        cmocka_unit_test(a_flipped_bit_is_found_in_png),
        cmocka_unit_test(files_that_were_cut_are_refused),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(pictures_are_as_large_as_dlios),
    };
    return cmocka_run_group_tests_name("dataset image", tests, NULL, NULL);
}
