/* The formats of the VLDB study: sizes that were asked for, values in their ranges, files as its own generator's. */
#include "dataset/io.h"
#include "dataset/verify.h"
#include "support/data_place.h"
#include "support/reference.h"

static const char *const names[] = {"unet3d_npy", "bert_tfrecord", "dlrm_binary", "criteo_text"};
#define NAMES (sizeof names / sizeof *names)

static void begin(struct dataset_layout *layout, const char *name, int samples, int64_t total)
{
    struct error err = {0};
    dataset_layout_init(layout);
    layout->format = dataset_format_find(name);
    layout->files_train = 1;
    layout->samples_per_file = samples;
    layout->total_bytes = total;
    if (!dataset_layout_check(layout, &err))
        fail_msg("%s: %s", name, err.text);
}

/* Bytes of all training data; indexes and counts beside them are not asked for. */
static int64_t training_bytes(const struct dataset_layout *layout)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < layout->files_train; i++) {
        struct dataset_file file;
        dataset_file_init(&file, layout, i);
        sum += dataset_file_bytes(&file, 0);
        if (strcmp(layout->format->name, "unet3d_npy") == 0)
            sum += dataset_file_bytes(&file, 1);
    }
    return sum;
}

static void sizes_are_those_that_are_written(void **state)
{
    const int64_t totals[] = {1000000, 3000017};
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        for (int t = 0; t < 2; t++) {
            struct dataset_layout layout;
            begin(&layout, names[n], 1, totals[t]);
            for (int64_t i = 0; i < dataset_files(&layout); i++) {
                struct dataset_file file;
                dataset_file_init(&file, &layout, i);
                for (int part = 0; part < dataset_file_parts(&file); part++) {
                    struct blob blob = blob_of(&file, part, NULL);
                    assert_int_equal(blob.length, dataset_file_bytes(&file, part));
                    free(blob.bytes);
                }
            }
        }
    }
}

/* Rows and records are whole; text is exact; sides of a case come near. */
static void the_total_is_what_was_asked_for(void **state)
{
    const int64_t totals[] = {100000, 2000003, 671231633, 30786160607}, max[] = {20000, 3200, 159, 0};
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        for (int t = 0; t < 4; t++) {
            struct dataset_layout layout;
            begin(&layout, names[n], 1, totals[t]);
            assert_in_range(totals[t] - training_bytes(&layout), 0, max[n]);
        }
    }
}

/* The study's generator adds the size of the whole file for each block, and stops at 37.7 of 671 GB. */
static void dlrm_is_as_large_as_asked(void **state)
{
    struct dataset_layout layout;
    (void)state;
    begin(&layout, "dlrm_binary", 1, 671231630720);
    assert_int_equal(training_bytes(&layout), 671231630720);
}

/* Its loop over text ends at the size of an object and so never. */
static void text_is_shared_out_exactly(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct text path = {0};
    struct error err = {0};
    (void)state;
    dataset_layout_init(&layout);
    layout.format = dataset_format_find("criteo_text");
    layout.files_train = 24;
    layout.total_bytes = 1000000007;
    assert_true(dataset_layout_check(&layout, &err));
    assert_int_equal(training_bytes(&layout), 1000000007);
    dataset_file_init(&file, &layout, 23);
    assert_true(dataset_file_path(&file, 0, &path));
    assert_string_equal(path.data, "day_23");
    text_release(&path);
}

static void check_path(const char *name, int64_t number, int part, const char *expected)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct text path = {0};
    begin(&layout, name, 1, 0);
    layout.files_eval = 1;
    dataset_file_init(&file, &layout, number);
    assert_true(part < dataset_file_parts(&file));
    assert_true(dataset_file_path(&file, part, &path));
    assert_string_equal(path.data, expected);
    text_release(&path);
}

static void names_are_those_of_the_study(void **state)
{
    (void)state;
    check_path("unet3d_npy", 0, 0, "case_00000_x.npy");
    check_path("unet3d_npy", 1, 1, "case_00001_y.npy");
    check_path("bert_tfrecord", 0, 0, "part-00027-of-00500");
    check_path("dlrm_binary", 0, 0, "terabyte_processed_train.bin");
    check_path("dlrm_binary", 0, 1, "day_fea_count.npz");
    check_path("dlrm_binary", 1, 0, "terabyte_processed_test.bin");
    check_path("criteo_text", 0, 0, "train.txt");
    check_path("criteo_text", 1, 0, "test.txt");
}

struct made {
    struct dataset_file file;
    struct blob blobs[DATASET_MAX_PARTS];
    struct dataset_source sources[DATASET_MAX_PARTS];
    const struct dataset_source *parts[DATASET_MAX_PARTS];
    struct dataset_index index;
};

static void make(struct made *made, const struct dataset_layout *layout)
{
    struct error err = {0};
    *made = (struct made){0};
    dataset_file_init(&made->file, layout, 0);
    for (int i = 0; i < dataset_file_parts(&made->file); i++) {
        made->blobs[i] = blob_of(&made->file, i, NULL);
        made->sources[i] = blob_source(&made->blobs[i]);
        made->parts[i] = &made->sources[i];
    }
    if (!dataset_locate(layout->format, &made->index, "test", made->parts, &err))
        fail_msg("%s", err.text);
}

static void end(struct made *made)
{
    dataset_index_release(&made->index);
    for (int i = 0; i < DATASET_MAX_PARTS; i++)
        free(made->blobs[i].bytes);
}

static void what_is_expected_is_found(void **state)
{
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        struct dataset_layout layout;
        struct dataset_index expected = {0};
        struct made made;
        begin(&layout, names[n], strcmp(names[n], "unet3d_npy") == 0 ? 1 : 300, 0);
        if (strcmp(names[n], "unet3d_npy") == 0)
            begin(&layout, names[n], 1, 300000);
        make(&made, &layout);
        assert_true(layout.format->expect(&made.file, &expected));
        assert_int_equal(made.index.samples, expected.samples);
        assert_int_equal(made.index.sample_bytes - expected.sample_bytes, 0);
        assert_int_equal(made.index.per_sample, expected.per_sample);
        for (int64_t k = 0; k < expected.samples; k++) {
            struct dataset_extent a[2], b[2];
            dataset_index_extents(&made.index, k, a);
            dataset_index_extents(&expected, k, b);
            for (int64_t i = 0; i < expected.per_sample; i++)
                assert_true(a[i].part == b[i].part && a[i].offset == b[i].offset &&
                            a[i].length == b[i].length);
        }
        dataset_index_release(&expected);
        end(&made);
    }
}

static void voxels_are_in_their_range(void **state)
{
    struct dataset_layout layout;
    struct made made;
    float min = 9, max = -9;
    (void)state;
    begin(&layout, "unet3d_npy", 1, 2000000);
    make(&made, &layout);
    for (size_t at = 128; at < made.blobs[0].length; at += 4) {
        float value;
        memcpy(&value, made.blobs[0].bytes + at, 4);
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    assert_true(min >= -2.340702F && min < -2.34F && max <= 2.639792F && max > 2.639F);
    for (size_t at = 128; at < made.blobs[1].length; at++)
        assert_true(made.blobs[1].bytes[at] <= 1);
    end(&made);
}

static void rows_are_in_their_ranges(void **state)
{
    struct dataset_layout layout;
    struct made made;
    const int32_t ranges[] = {2, 2557264};
    (void)state;
    begin(&layout, "dlrm_binary", 2000, 0);
    make(&made, &layout);
    for (size_t at = 0; at < made.blobs[0].length; at += 160) {
        int32_t row[40];
        memcpy(row, made.blobs[0].bytes + at, sizeof row);
        assert_in_range(row[0], 0, ranges[0] - 1);
        assert_in_range(row[1], 0, ranges[1] - 1);
        assert_in_range(row[19], 0, 2);
        assert_in_range(row[39], 0, 35);
    }
    end(&made);
}

static void text_has_forty_columns(void **state)
{
    struct dataset_layout layout;
    struct made made;
    (void)state;
    begin(&layout, "criteo_text", 1, 100003);
    make(&made, &layout);
    int tabs = 0, rows = 0;
    for (size_t i = 0; i < made.blobs[0].length; i++) {
        tabs += made.blobs[0].bytes[i] == '\t';
        if (made.blobs[0].bytes[i] != '\n')
            continue;
        assert_int_equal(tabs, 39);
        tabs = 0;
        rows++;
    }
    assert_int_equal(made.blobs[0].bytes[made.blobs[0].length - 1], '\n');
    assert_int_equal(made.index.samples, rows);
    end(&made);
}

/* The first rows are the same, however large the file. */
static void bytes_do_not_depend_on_pieces(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    (void)state;
    begin(&layout, "dlrm_binary", 300000, 0);
    dataset_file_init(&file, &layout, 0);
    struct blob whole = blob_of(&file, 0, NULL);
    begin(&layout, "dlrm_binary", 100, 0);
    dataset_file_init(&file, &layout, 0);
    struct blob begin_of = blob_of(&file, 0, NULL);
    assert_memory_equal(whole.bytes, begin_of.bytes, begin_of.length);
    free(whole.bytes);
    free(begin_of.bytes);
}

static void counts_are_the_studys(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    char *path = reference_path("feed/samples/datagen/day_fea_count.npz");
    (void)state;
    if (!path)
        skip();
    begin(&layout, "dlrm_binary", 1, 0);
    dataset_file_init(&file, &layout, 0);
    struct blob ours = blob_of(&file, 1, NULL), theirs = blob_load(path);
    assert_int_equal(ours.length, theirs.length);
    assert_memory_equal(ours.bytes, theirs.bytes, theirs.length);
    free(ours.bytes);
    free(theirs.bytes);
    free(path);
}

/* Files of the study's generator are read, and begin as ours do. */
static void files_of_the_study_are_read(void **state)
{
    const struct {
        const char *format, *paths[2];
        int64_t samples;
    } files[] = {
        {"unet3d_npy", {"feed/samples/datagen/case_00000_x.npy", "feed/samples/datagen/case_00000_y.npy"}, 1},
        {"bert_tfrecord", {"feed/samples/datagen/part-00027-of-00500"}, 20},
        {"dlrm_binary", {"feed/samples/datagen/terabyte_processed_train_100rows.bin"}, 100},
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct blob blobs[2] = {0};
        struct dataset_source sources[2];
        const struct dataset_source *parts[DATASET_MAX_PARTS] = {0};
        struct dataset_index index;
        struct error err = {0};
        for (int p = 0; p < 2 && files[i].paths[p]; p++) {
            char *path = reference_path(files[i].paths[p]);
            if (!path)
                skip();
            blobs[p] = blob_load(path);
            sources[p] = blob_source(&blobs[p]);
            parts[p] = &sources[p];
            free(path);
        }
        if (!dataset_locate(dataset_format_find(files[i].format), &index, "test", parts, &err))
            fail_msg("%s", err.text);
        assert_int_equal(index.samples, files[i].samples);
        dataset_index_release(&index);
        free(blobs[0].bytes);
        free(blobs[1].bytes);
    }
}

/* Generated twice, cut short in between, damaged in one byte: kept, made again, found. */
static void a_set_is_resumed_and_verified(const char *name, int64_t total, const char *damaged)
{
    struct dataset_layout layout;
    struct dataset_work work = {.ranks = 1};
    struct dataset_generated generated;
    struct dataset_verified verified;
    struct error err = {0};
    char *root = folder_make(), *path;
    struct feed_place folder;
    struct dataset_place place = data_place(&folder, root);
    dataset_layout_init(&layout);
    layout.format = dataset_format_find(name);
    layout.files_train = total > 0 ? 1 : 3;
    layout.record_bytes = 5000;
    layout.total_bytes = total;
    if (!dataset_layout_check(&layout, &err) || !dataset_generate(&layout, &place, &work, &generated, &err))
        fail_msg("%s", err.text);
    int64_t files = generated.files_written;
    assert_true(asprintf(&path, "%s/%s", root, damaged) > 0);
    assert_int_equal(truncate(path, 1000), 0);
    assert_true(dataset_generate(&layout, &place, &work, &generated, &err));
    assert_int_equal(generated.files_written, 1);
    assert_int_equal(generated.files_kept, files - 1);
    assert_true(dataset_verify(&layout, &place, &work, true, &verified, &err));
    assert_int_equal(verified.fault_count, 0);
    dataset_verified_release(&verified);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 3001, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, 3001, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 4, file), byte ^ 4);
    fclose(file);
    assert_true(dataset_verify(&layout, &place, &work, true, &verified, &err));
    assert_int_equal(verified.fault_count, 1);
    assert_true(text_starts_with(verified.faults[0].text, damaged));
    dataset_verified_release(&verified);
    free(path);
    storage_free(folder.storage);
    folder_remove(root);
}

static void sets_are_resumed_and_one_byte_is_found(void **state)
{
    (void)state;
    a_set_is_resumed_and_verified("unet3d_npy", 300000, "case_00000_x.npy");
    a_set_is_resumed_and_verified("bert_tfrecord", 50000, "part-00027-of-00500");
    a_set_is_resumed_and_verified("dlrm_binary", 50000, "terabyte_processed_train.bin");
    a_set_is_resumed_and_verified("criteo_text", 50000, "train.txt");
}

static void pictures_and_hdf5_are_resumed_and_one_byte_is_found(void **state)
{
    const char *const formats[] = {"png", "jpeg", "hdf5"};
    char path[64];
    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "train/img_1_of_3.%s", formats[i]);
        if (!dataset_format_find(formats[i])->missing)
            a_set_is_resumed_and_verified(formats[i], 0, path);
    }
}

/* One large file: its pieces are made wherever they begin. */
static void threads_make_the_bytes_of_one(void **state)
{
    const char *const paths[] = {"terabyte_processed_train.bin", "train.txt"};
    const size_t formats[] = {2, 3};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct dataset_layout layout;
        struct dataset_file file;
        struct dataset_generated generated;
        struct error err = {0};
        char *root = folder_make(), *path;
        struct feed_place folder;
        struct dataset_place place = data_place(&folder, root);
        struct dataset_work work = {.ranks = 1, .pool = parallel_new(3, &(struct error){0})};
        assert_non_null(work.pool);
        begin(&layout, names[formats[i]], 1, 40000019);
        if (!dataset_generate(&layout, &place, &work, &generated, &err))
            fail_msg("%s", err.text);
        assert_true(asprintf(&path, "%s/%s", root, paths[i]) > 0);
        dataset_file_init(&file, &layout, 0);
        struct blob alone = blob_of(&file, 0, NULL), together = blob_load(path);
        assert_int_equal(alone.length, together.length);
        assert_memory_equal(alone.bytes, together.bytes, alone.length);
        free(alone.bytes);
        free(together.bytes);
        free(path);
        parallel_free(work.pool);
        storage_free(folder.storage);
        folder_remove(root);
    }
}

static void a_total_is_for_the_study_alone(void **state)
{
    struct dataset_layout layout;
    struct error err = {0};
    (void)state;
    dataset_layout_init(&layout);
    layout.total_bytes = 100000;
    assert_false(dataset_layout_check(&layout, &err));
    assert_non_null(strstr(err.text, "total_bytes"));
    begin(&layout, "criteo_text", 1, 0);
    layout.total_bytes = 1000;
    assert_false(dataset_layout_check(&layout, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_that_are_written),
        cmocka_unit_test(the_total_is_what_was_asked_for),
        cmocka_unit_test(dlrm_is_as_large_as_asked),
        cmocka_unit_test(text_is_shared_out_exactly),
        cmocka_unit_test(names_are_those_of_the_study),
        cmocka_unit_test(what_is_expected_is_found),
        cmocka_unit_test(voxels_are_in_their_range),
        cmocka_unit_test(rows_are_in_their_ranges),
        cmocka_unit_test(text_has_forty_columns),
        cmocka_unit_test(bytes_do_not_depend_on_pieces),
        cmocka_unit_test(counts_are_the_studys),
        cmocka_unit_test(files_of_the_study_are_read),
        cmocka_unit_test(sets_are_resumed_and_one_byte_is_found),
        cmocka_unit_test(pictures_and_hdf5_are_resumed_and_one_byte_is_found),
        cmocka_unit_test(threads_make_the_bytes_of_one),
        cmocka_unit_test(a_total_is_for_the_study_alone),
    };
    return cmocka_run_group_tests_name("dataset study", tests, NULL, NULL);
}
