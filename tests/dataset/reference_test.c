/* Files that DLIO wrote: each is read, and written again from nothing but its samples, byte for byte. */
#include "dataset/io.h"
#include "support/reference.h"

#include <glob.h>

/* Text of rows into the values that a csv file is made of. */
static struct blob values_of(const struct blob *text)
{
    struct blob values = {0};
    struct error err;
    unsigned char value = 0;
    for (size_t i = 0; i < text->length; i++) {
        if (text->bytes[i] >= '0' && text->bytes[i] <= '9') {
            value = (unsigned char)(10 * value + text->bytes[i] - '0');
        } else {
            assert_true(blob_write(&values, &value, 1, &err));
            value = 0;
        }
    }
    return values;
}

/* The samples of a file, in the order in which its content has them. */
static struct blob payload_of(const struct dataset_format *format, const struct blob *blob,
                              const struct dataset_index *index)
{
    struct blob payload = {0};
    struct error err = {0};
    if (strcmp(format->name, "csv") == 0)
        return values_of(blob);
    if (index->stride == 0 && strcmp(format->name, "tfrecord") != 0) { /* one array */
        assert_true(blob_write(&payload, blob->bytes + index->first, (size_t)index->length, &err));
        return payload;
    }
    for (int64_t i = 0; i < index->samples; i++) {
        struct dataset_extent extent;
        unsigned char *sample = malloc((size_t)index->sample_bytes + 1);
        size_t length;
        assert_non_null(sample);
        dataset_index_extents(index, i, &extent);
        if (!format->decode(index, i, blob->bytes + extent.offset, (size_t)extent.length, sample,
                            (size_t)index->sample_bytes, &length, &err))
            fail_msg("%s", err.text);
        assert_true(blob_write(&payload, sample, length, &err));
        free(sample);
    }
    return payload;
}

static void check_again(const struct dataset_format *format, const struct dataset_index *index,
                        const struct blob *payload, const struct blob *const *originals)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct dataset_content content = {.context = payload->bytes, .fill = blob_fill};
    layout_make(&layout, format->name, (double)index->sample_bytes, (int)index->samples);
    dataset_file_init(&file, &layout, 0);
    assert_int_equal(file.payload_bytes, payload->length);
    for (int part = 0; part < format->parts; part++) {
        struct blob again = blob_of(&file, part, &content);
        assert_int_equal(again.length, originals[part]->length);
        assert_memory_equal(again.bytes, originals[part]->bytes, again.length);
        free(again.bytes);
    }
}

/* Paths of the other parts of a sample file. */
static void part_path(const struct dataset_format *format, const char *path, int part, struct text *text)
{
    text->length = 0;
    const char *folder = strstr(path, "/train/");
    if (part == 0 || strcmp(format->name, "tfrecord") != 0) {
        text_add(text, path);
        text_add(text, part ? format->part_suffix[part] : "");
    } else {
        folder = folder ? folder : strstr(path, "/valid/");
        assert_non_null(folder);
        text_add_bytes(text, path, (size_t)(folder - path));
        text_format(text, "/index%s.idx", folder);
    }
}

static void check_file(const struct dataset_format *format, const char *path)
{
    struct blob blobs[DATASET_MAX_PARTS] = {0};
    const struct blob *originals[DATASET_MAX_PARTS];
    struct dataset_source sources[DATASET_MAX_PARTS];
    const struct dataset_source *parts[DATASET_MAX_PARTS] = {0};
    struct dataset_index index;
    struct text text = {0};
    struct error err = {0};
    for (int i = 0; i < format->parts; i++) {
        part_path(format, path, i, &text);
        blobs[i] = blob_load(text.data);
        originals[i] = &blobs[i];
        sources[i] = blob_source(&blobs[i]);
        parts[i] = &sources[i];
    }
    if (!dataset_locate(format, &index, path, parts, &err))
        fail_msg("%s", err.text);
    struct blob payload = payload_of(format, &blobs[0], &index);
    check_again(format, &index, &payload, originals);
    dataset_index_release(&index);
    free(payload.bytes);
    for (int i = 0; i < format->parts; i++)
        free(blobs[i].bytes);
    text_release(&text);
}

static void check_samples(const char *name)
{
    const char *const folders[] = {"train", "valid"};
    int found = 0;
    char relative[128];
    snprintf(relative, sizeof relative, "feed/samples/dlio_main_%s", name);
    char *path = reference_path(relative);
    if (!path)
        skip();
    for (int f = 0; f < 2; f++) {
        char *pattern;
        glob_t files;
        assert_true(asprintf(&pattern, "%s/%s/*.%s", path, folders[f], name) > 0);
        if (glob(pattern, 0, NULL, &files) == 0) {
            for (size_t i = 0; i < files.gl_pathc; i++, found++)
                check_file(dataset_format_find(name), files.gl_pathv[i]);
            globfree(&files);
        }
        free(pattern);
    }
    free(path);
    assert_true(found > 0);
}

static void npz_is_written_as_numpy_does(void **state)
{
    (void)state;
    check_samples("npz");
}

static void npy_is_written_as_numpy_does(void **state)
{
    (void)state;
    check_samples("npy");
}

static void csv_is_written_as_pandas_does(void **state)
{
    (void)state;
    check_samples("csv");
}

static void tfrecord_is_written_as_tensorflow_does(void **state)
{
    (void)state;
    check_samples("tfrecord");
}

static void indexed_binary_is_written_as_dlio_does(void **state)
{
    (void)state;
    check_samples("indexed_binary");
}

/* Arrays and records of another generator, whose shapes are not DLIO's. */
static void foreign_files_are_read(void **state)
{
    const struct {
        const char *path, *format;
    } files[] = {
        {"feed/samples/datagen/case_00000_x.npy", "npy"},
        {"feed/samples/datagen/case_00000_y.npy", "npy"},
        {"feed/samples/datagen/day_fea_count.npz", "npz"},
        {"feed/samples/datagen/part-00027-of-00500", "tfrecord"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = reference_path(files[i].path);
        if (!path)
            skip();
        const struct dataset_format *format = dataset_format_find(files[i].format);
        struct blob blob = blob_load(path);
        struct dataset_source source = blob_source(&blob);
        const struct dataset_source *parts[DATASET_MAX_PARTS] = {&source};
        struct dataset_index index;
        struct dataset_extent extent;
        struct error err = {0};
        size_t length;
        if (!dataset_locate(format, &index, path, parts, &err))
            fail_msg("%s", err.text);
        unsigned char *to = malloc((size_t)index.sample_bytes + 1);
        assert_non_null(to);
        for (int64_t k = 0; k < index.samples; k++) {
            dataset_index_extents(&index, k, &extent);
            if (!format->decode(&index, k, blob.bytes + extent.offset, (size_t)extent.length, to,
                                (size_t)index.sample_bytes, &length, &err))
                fail_msg("%s", err.text);
            assert_true(length > 0);
        }
        free(to);
        dataset_index_release(&index);
        free(blob.bytes);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npz_is_written_as_numpy_does),
        cmocka_unit_test(npy_is_written_as_numpy_does),
        cmocka_unit_test(csv_is_written_as_pandas_does),
        cmocka_unit_test(tfrecord_is_written_as_tensorflow_does),
        cmocka_unit_test(indexed_binary_is_written_as_dlio_does),
        cmocka_unit_test(foreign_files_are_read),
    };
    return cmocka_run_group_tests_name("dataset reference", tests, NULL, NULL);
}
