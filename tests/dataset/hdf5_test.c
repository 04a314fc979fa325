/* HDF5: sizes, places and samples of every way to lay a file out, and DLIO's own files. */
#include "dataset/io.h"
#include "dataset/pack.h"
#include "support/reference.h"

static bool missing(void)
{
    const struct dataset_format *hdf5 = dataset_format_find("hdf5");
    if (hdf5->missing)
        print_message("# skipped: built without %s\n", hdf5->missing);
    return hdf5->missing != NULL;
}

struct made {
    struct dataset_layout layout;
    struct dataset_file file;
    struct blob blob;
    struct dataset_source source;
    const struct dataset_source *parts[DATASET_MAX_PARTS];
    struct dataset_index index;
};

static void begin(struct made *made, int samples)
{
    *made = (struct made){0};
    dataset_layout_init(&made->layout);
    made->layout.format = dataset_format_find("hdf5");
    made->layout.samples_per_file = samples;
}

static void set_dims(struct made *made, int64_t a, int64_t b, int64_t c)
{
    made->layout.dims_count = 3;
    made->layout.dims[0] = a;
    made->layout.dims[1] = b;
    made->layout.dims[2] = c;
}

static void set_chunk(struct made *made, int count, const int64_t *chunk)
{
    made->layout.chunk_dims_count = count;
    memcpy(made->layout.chunk_dims, chunk, (size_t)count * sizeof *chunk);
}

static void make(struct made *made)
{
    struct error err = {0};
    if (!dataset_layout_check(&made->layout, &err))
        fail_msg("%s", err.text);
    dataset_file_init(&made->file, &made->layout, 1);
    made->blob = blob_of(&made->file, 0, NULL);
    made->source = blob_source(&made->blob);
    made->parts[0] = &made->source;
    if (!dataset_locate(made->layout.format, &made->index, "test", made->parts, &err))
        fail_msg("%s", err.text);
}

static void end(struct made *made)
{
    dataset_index_release(&made->index);
    free(made->blob.bytes);
}

/* Sample k as the file has it. */
static size_t decode(const struct made *made, int64_t k, unsigned char *to, size_t capacity,
                     struct error *err)
{
    struct dataset_extent *extents = calloc((size_t)made->index.per_sample, sizeof *extents);
    unsigned char *raw = malloc((size_t)dataset_index_length(&made->index, k) + 1);
    size_t at = 0, length = 0;
    assert_true(extents && raw);
    int64_t count = dataset_index_extents(&made->index, k, extents);
    for (int64_t i = 0; i < count; i++) {
        assert_in_range(extents[i].offset + extents[i].length, 0, made->blob.length);
        memcpy(raw + at, made->blob.bytes + extents[i].offset, (size_t)extents[i].length);
        at += (size_t)extents[i].length;
    }
    bool decoded = made->layout.format->decode(&made->index, k, raw, at, to, capacity, &length, err);
    free(extents);
    free(raw);
    return decoded ? length : 0;
}

static void check(struct made *made)
{
    struct dataset_content content;
    struct dataset_bytes bytes;
    size_t n = (size_t)made->file.record_bytes;
    unsigned char *found = malloc(n + 1), *expected = malloc(n + 1);
    int64_t size = dataset_file_bytes(&made->file, 0);
    assert_true(found && expected);
    assert_true(size < 0 || size == (int64_t)made->blob.length);
    assert_int_equal(made->index.samples, made->file.samples);
    assert_int_equal(made->index.sample_bytes, n);
    dataset_content_init(&content, &bytes, &made->file);
    for (int64_t k = 0; k < made->file.samples; k++) {
        struct error err = {0};
        content.fill(content.context, k * (int64_t)n, expected, n);
        if (decode(made, k, found, n, &err) != n)
            fail_msg("%s", err.text);
        assert_memory_equal(found, expected, n);
    }
    free(found);
    free(expected);
    end(made);
}

static void files_in_one_piece(void **state)
{
    const double bytes[] = {1, 64, 511, 2047, 2048, 4096, 16384, 300007};
    const int samples[] = {1, 2, 13};
    (void)state;
    if (missing())
        skip();
    for (int s = 0; s < 3; s++) {
        for (int b = 0; b < 8; b++) {
            struct made made;
            begin(&made, samples[s]);
            made.layout.record_bytes = bytes[b];
            make(&made);
            check(&made);
        }
    }
}

static void sizes_of_files_that_vary_are_computed(void **state)
{
    (void)state;
    if (missing())
        skip();
    for (int64_t i = 0; i < 40; i++) {
        struct made made;
        begin(&made, 2);
        made.layout.record_bytes = 9000;
        made.layout.record_bytes_stdev = 6000;
        made.layout.files_train = 40;
        assert_true(dataset_layout_check(&made.layout, &(struct error){0}));
        dataset_file_init(&made.file, &made.layout, i);
        made.blob = blob_of(&made.file, 0, NULL);
        assert_int_equal(dataset_file_bytes(&made.file, 0), made.blob.length);
        free(made.blob.bytes);
    }
}

static void several_data_sets_per_sample(void **state)
{
    struct made made;
    (void)state;
    if (missing())
        skip();
    begin(&made, 3);
    set_dims(&made, 6, 8, 5);
    made.layout.element = DATASET_FLOAT32;
    made.layout.records_per_sample = 3;
    make(&made);
    assert_int_equal(made.index.per_sample, 3);
    assert_int_equal(made.index.dims[0], 6);
    check(&made);
}

/* Chunks of a part of a sample, of several samples, of sides that do not divide. */
static void files_in_chunks(void **state)
{
    const int64_t chunks[][4] = {{1, 3, 4, 5}, {1, 2, 8, 5}, {2, 6, 3, 2}, {3, 1, 1, 5}};
    (void)state;
    if (missing())
        skip();
    for (int c = 0; c < 4; c++) {
        for (int level = -1; level < 7; level += 4) {
            struct made made;
            if (level >= 0 && dataset_pack_missing())
                continue;
            begin(&made, 4);
            set_dims(&made, 6, 8, 5);
            set_chunk(&made, 4, chunks[c]);
            made.layout.element = DATASET_UINT16;
            made.layout.compression = level < 0 ? DATASET_NONE : DATASET_GZIP;
            made.layout.compression_level = level < 0 ? 0 : level;
            made.layout.compressibility = level < 0 ? 0 : 0.5;
            make(&made);
            check(&made);
        }
    }
}

static void chunks_are_chosen_as_by_dlio_and_h5py(void **state)
{
    struct made made;
    (void)state;
    if (missing())
        skip();
    begin(&made, 2);
    made.layout.record_bytes = 250000;
    made.layout.chunked = true;
    made.layout.chunk_bytes = 10000; /* 100 × 100 of 500 × 500 */
    make(&made);
    assert_int_equal(made.index.per_sample, 25);
    assert_int_equal(made.index.extents[0].length, 10000);
    check(&made);
    begin(&made, 2);
    made.layout.record_bytes = 250000;
    made.layout.chunked = true;
    make(&made); /* h5py.h5f: guess_chunk((2, 500, 500)) is (1, 125, 125) */
    assert_int_equal(made.index.extents[0].length, 125 * 125);
    check(&made);
}

static void data_sets_that_may_grow(void **state)
{
    struct made made;
    (void)state;
    if (missing())
        skip();
    begin(&made, 2);
    set_dims(&made, 4, 8, 16);
    made.layout.max_shape_count = 3;
    made.layout.max_shape[0] = 4;
    made.layout.max_shape[1] = -1;
    made.layout.max_shape[2] = 64;
    make(&made);
    check(&made);
    for (int compressed = 0; compressed < 2; compressed++) { /* many chunks, of sides that may grow */
        const int64_t chunk[] = {1, 3, 16, 16};
        if (compressed && dataset_pack_missing())
            continue;
        begin(&made, 2);
        set_dims(&made, 6, 32, 16);
        set_chunk(&made, 4, chunk);
        made.layout.element = DATASET_FLOAT32;
        made.layout.records_per_sample = 2;
        made.layout.max_shape_count = 3;
        made.layout.max_shape[0] = 3;
        made.layout.max_shape[1] = -1;
        made.layout.max_shape[2] = compressed ? -1 : 16;
        made.layout.compression = compressed ? DATASET_GZIP : DATASET_NONE;
        make(&made);
        check(&made);
    }
}

static void what_is_expected_is_found(void **state)
{
    const double bytes[] = {100, 16384, 100000};
    (void)state;
    if (missing())
        skip();
    for (int b = 0; b < 3; b++) {
        for (int again = 0; again < 2; again++) {
            struct made made;
            struct dataset_index expected = {0};
            begin(&made, 5);
            made.layout.record_bytes = bytes[b] + again;
            make(&made);
            assert_true(made.layout.format->expect(&made.file, &expected));
            assert_int_equal(expected.samples, made.index.samples);
            assert_int_equal(expected.first, made.index.first);
            assert_int_equal(expected.stride, made.index.stride);
            assert_int_equal(expected.sample_bytes, made.index.sample_bytes);
            assert_memory_equal(expected.dims, made.index.dims, sizeof expected.dims);
            assert_int_equal(expected.open_count, made.index.open_count);
            assert_memory_equal(expected.open, made.index.open, sizeof expected.open);
            dataset_index_release(&expected);
            end(&made);
        }
    }
}

static void a_file_that_was_cut_is_refused(void **state)
{
    struct made made;
    (void)state;
    if (missing())
        skip();
    begin(&made, 3);
    made.layout.record_bytes = 3000;
    make(&made);
    for (made.source.size = 0; made.source.size < (int64_t)made.blob.length; made.source.size += 97) {
        struct dataset_index index;
        struct error err = {0};
        assert_false(dataset_locate(made.layout.format, &index, "test", made.parts, &err));
        assert_true(text_starts_with(err.text, "test: "));
    }
    end(&made);
}

/* Of the superblock; libhdf5 1.10 loses memory where headers further on are damaged, which a sanitizer counts as ours. */
static void a_damaged_superblock_is_refused(void **state)
{
    struct made made;
    (void)state;
    if (missing())
        skip();
    begin(&made, 3);
    made.layout.record_bytes = 3000;
    make(&made);
    for (size_t i = 0; i < 48; i++) {
        struct dataset_index index;
        struct error err = {0};
        made.blob.bytes[i] ^= 0x11;
        assert_false(dataset_locate(made.layout.format, &index, "test", made.parts, &err));
        assert_true(text_starts_with(err.text, "test: "));
        made.blob.bytes[i] ^= 0x11;
    }
    end(&made);
}

static void a_damaged_chunk_is_found(void **state)
{
    struct made made;
    unsigned char to[4 * 600];
    struct error err = {0};
    (void)state;
    if (missing() || dataset_pack_missing())
        skip();
    begin(&made, 1);
    set_dims(&made, 6, 20, 20);
    made.layout.compression = DATASET_GZIP;
    made.layout.compressibility = 0.5;
    make(&made);
    made.blob.bytes[made.index.extents[0].offset + 20] ^= 4;
    assert_int_equal(decode(&made, 0, to, sizeof to, &err), 0);
    assert_non_null(strstr(err.text, "HDF5: "));
    end(&made);
}

static void what_cannot_be_is_refused(void **state)
{
    const int64_t chunk[] = {1, 9, 8, 5};
    struct made made;
    struct error err = {0};
    (void)state;
    if (missing())
        skip();
    begin(&made, 1);
    made.layout.compression = DATASET_LZF;
    assert_false(dataset_layout_check(&made.layout, &err));
    begin(&made, 1);
    set_dims(&made, 6, 8, 5);
    made.layout.records_per_sample = 4;
    assert_false(dataset_layout_check(&made.layout, &err));
    assert_non_null(strstr(err.text, "num_dset_per_record"));
    made.layout.records_per_sample = 1;
    set_chunk(&made, 4, chunk);
    assert_false(dataset_layout_check(&made.layout, &err));
    assert_string_equal(err.text, "dataset.hdf5.chunk_dims[1]: 9 is more than the 6 of the data set");
    begin(&made, 1);
    made.layout.element = DATASET_FLOAT16;
    assert_false(dataset_layout_check(&made.layout, &err));
}

/* A file of the reference, or NULL. */
static struct blob reference(const char *relative)
{
    struct blob blob = {0};
    char *path = reference_path(relative);
    if (path)
        blob = blob_load(path);
    free(path);
    return blob;
}

/* What lies between the data is the same but for the times of the root group, 16 bytes, and what these move. */
static void the_structure_is_dlios(void **state)
{
    struct made ours;
    struct blob theirs = {0};
    (void)state;
    if (missing() || !(theirs = reference("feed/samples/dlio_main_hdf5/train/img_0_of_2.hdf5")).bytes)
        skip();
    begin(&ours, 4);
    ours.layout.record_bytes = 16384;
    make(&ours);
    assert_int_equal(ours.blob.length, theirs.length);
    assert_memory_equal(ours.blob.bytes, theirs.bytes, 48); /* superblock, but for its sum */
    assert_int_equal(ours.index.first, 2048);
    size_t records = 0xb3, length = 0x34; /* header of records_0 up to its layout message */
    assert_memory_equal(ours.blob.bytes + records, theirs.bytes + records + 16, length);
    assert_memory_equal(ours.blob.bytes + 67584, theirs.bytes + 67584, 32); /* labels */
    free(theirs.bytes);
    end(&ours);
}

static void check_read(const char *relative, int64_t samples, int64_t bytes, int64_t per_sample)
{
    struct made theirs = {0};
    struct error err = {0};
    theirs.blob = reference(relative);
    theirs.layout.format = dataset_format_find("hdf5");
    theirs.source = blob_source(&theirs.blob);
    theirs.parts[0] = &theirs.source;
    if (!dataset_locate(theirs.layout.format, &theirs.index, relative, theirs.parts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(theirs.index.samples, samples);
    assert_int_equal(theirs.index.sample_bytes, bytes);
    assert_int_equal(theirs.index.per_sample, per_sample);
    unsigned char *to = malloc((size_t)bytes);
    assert_non_null(to);
    for (int64_t k = 0; k < samples; k++)
        if (decode(&theirs, k, to, (size_t)bytes, &err) != (size_t)bytes)
            fail_msg("%s", err.text);
    if (per_sample > 1) /* DLIO writes the same into every data set */
        assert_memory_equal(to, to + bytes / 2, (size_t)bytes / 2);
    free(to);
    end(&theirs);
}

static void files_of_dlio_are_read(void **state)
{
    (void)state;
    char *folder = missing() ? NULL : reference_path("feed/samples/dlio_main_hdf5");
    if (!folder)
        skip();
    free(folder);
    check_read("feed/samples/dlio_main_hdf5/train/img_0_of_2.hdf5", 4, 16384, 1);
    check_read("feed/samples/dlio_main_hdf5/train/img_1_of_2.hdf5", 4, 16384, 1);
    check_read("feed/samples/dlio_main_hdf5/valid/img_0_of_1.hdf5", 4, 16384, 1);
    if (!dataset_pack_missing()) {
        check_read("feed/samples/dlio_main_hdf5_record_dims/train/0/img_0_of_4.hdf5", 1, 2048, 8);
        check_read("feed/samples/dlio_main_hdf5_record_dims/train/1/img_3_of_4.hdf5", 1, 2048, 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_in_one_piece),
        cmocka_unit_test(sizes_of_files_that_vary_are_computed),
        cmocka_unit_test(several_data_sets_per_sample),
        cmocka_unit_test(files_in_chunks),
        cmocka_unit_test(chunks_are_chosen_as_by_dlio_and_h5py),
        cmocka_unit_test(data_sets_that_may_grow),
        cmocka_unit_test(what_is_expected_is_found),
        cmocka_unit_test(a_file_that_was_cut_is_refused),
        cmocka_unit_test(a_damaged_superblock_is_refused),
        cmocka_unit_test(a_damaged_chunk_is_found),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(the_structure_is_dlios),
        cmocka_unit_test(files_of_dlio_are_read),
    };
    return cmocka_run_group_tests_name("dataset hdf5", tests, NULL, NULL);
}
