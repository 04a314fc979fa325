#include "dataset/format/numpy.h"
#include "dataset/io.h"
#include "dataset/layout.h"
#include "dataset/pack.h"

#include <math.h>

static const char *path_of(const struct dataset_layout *layout, int64_t number, int part, struct text *text)
{
    struct dataset_file file;
    dataset_file_init(&file, layout, number);
    assert_true(dataset_file_path(&file, part, text));
    return text->data;
}

static void evaluation_files_may_have_other_samples(void **state)
{
    struct dataset_layout layout, back;
    struct dataset_file train, eval;
    struct text text = {0};
    struct error err;
    (void)state;
    dataset_layout_init(&layout);
    layout.format = dataset_format_find("raw");
    layout.files_train = layout.files_eval = 2;
    layout.samples_per_file = 5;
    layout.eval_samples_per_file = 3;
    layout.record_bytes = 100;
    assert_true(dataset_layout_check(&layout, &err));
    assert_int_equal(dataset_layout_bytes(&layout), 2 * 500 + 2 * 300);
    assert_true(dataset_layout_write(&layout, &text, &err));
    assert_true(dataset_layout_read(&back, "dataset.json", text.data, text.length, &err));
    dataset_file_init(&train, &back, 1);
    dataset_file_init(&eval, &back, 2);
    assert_int_equal(train.samples, 5);
    assert_int_equal(eval.samples, 3);
    text_release(&text);
    dataset_layout_release(&layout);
    dataset_layout_release(&back);
}

static void names_are_those_of_dlio(void **state)
{
    struct dataset_layout layout;
    struct text text = {0};
    (void)state;
    layout_make(&layout, "npz", 100, 1);
    layout.files_train = 168;
    layout.files_eval = 3;
    assert_string_equal(path_of(&layout, 7, 0, &text), "train/img_007_of_168.npz");
    assert_string_equal(path_of(&layout, 168, 0, &text), "valid/img_0_of_3.npz");
    layout.subfolders_train = 12;
    assert_string_equal(path_of(&layout, 15, 0, &text), "train/03/img_015_of_168.npz");
    text_release(&text);
}

static void indexes_lie_where_readers_look(void **state)
{
    struct dataset_layout layout;
    struct text text = {0};
    (void)state;
    layout_make(&layout, "indexed_binary", 100, 4);
    assert_string_equal(path_of(&layout, 1, 1, &text), "train/img_1_of_8.indexed_binary.off.idx");
    assert_string_equal(path_of(&layout, 1, 2, &text), "train/img_1_of_8.indexed_binary.sz.idx");
    layout_make(&layout, "tfrecord", 100, 4);
    layout.subfolders_train = 4;
    assert_string_equal(path_of(&layout, 5, 0, &text), "train/1/img_5_of_8.tfrecord");
    assert_string_equal(path_of(&layout, 5, 1, &text), "index/train/img_5_of_8.tfrecord.idx");
    text_release(&text);
}

static void samples_have_exactly_the_bytes_asked_for(void **state)
{
    const double asked[] = {1, 2, 655360, 114660, 146600628, 2828486, 1000003, 671088640};
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct dataset_layout layout;
        struct dataset_file file;
        layout_make(&layout, "raw", asked[i], 1);
        dataset_file_init(&file, &layout, 0);
        assert_int_equal(file.record_bytes, (int64_t)asked[i]);
        assert_int_equal(file.dims[0] * file.dims[1], (int64_t)asked[i]);
    }
}

static void sides_are_nearly_equal(void **state)
{
    int64_t a, b;
    (void)state;
    dataset_square(16384, &a, &b);
    assert_true(a == 128 && b == 128);
    dataset_square(655360, &a, &b);
    assert_true(a == 640 && b == 1024);
    dataset_square(13, &a, &b);
    assert_true(a == 1 && b == 13);
}

static void deviation_is_drawn_per_file(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    double sum = 0, squares = 0;
    (void)state;
    layout_make(&layout, "raw", 1e6, 1);
    layout.files_train = 4000;
    layout.record_bytes_stdev = 4.7e5; /* of the length as UNET3D's */
    for (int64_t i = 0; i < 4000; i++) {
        dataset_file_init(&file, &layout, i);
        assert_int_equal(file.dims[0] * file.dims[1], file.record_bytes);
        assert_true(file.record_bytes > 1000);
        sum += (double)file.record_bytes;
        squares += pow((double)file.record_bytes - 1e6, 2);
    }
    assert_true(fabs(sum / 4000 - 1e6) < 3e4);
    assert_true(fabs(sqrt(squares / 4000) - 4.7e5) < 2.5e4);
}

/* numpy.random.RandomState(10).normal(size=6) */
static void numpy_draws_are_numpys(void **state)
{
    const double expected[] = {1.331586504129518,     0.7152789743984055, -1.5454002921112682,
                               -0.008383849928522256, 0.6213359738904805, -0.7200855607188968};
    struct numpy_random random;
    (void)state;
    numpy_random_init(&random, 10);
    for (int i = 0; i < 6; i++)
        assert_true(fabs(numpy_random_normal(&random, 0, 1) - expected[i]) < 1e-15);
}

/* Sizes that a run of DLIO with 16384 ± 4000 bytes gave. */
static void sizes_of_dlio_can_be_had(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct error err;
    (void)state;
    dataset_layout_init(&layout);
    layout.format = dataset_format_find("npz");
    layout.record_bytes = 16384;
    layout.record_bytes_stdev = 4000;
    layout.dlio_sizes = true;
    assert_true(dataset_layout_check(&layout, &err));
    dataset_file_init(&file, &layout, 0);
    assert_int_equal(dataset_file_bytes(&file, 0), 21070);
    dataset_file_init(&file, &layout, 1);
    assert_int_equal(dataset_file_bytes(&file, 0), 13579);
    dataset_layout_release(&layout);
    layout.record_bytes = 655360;
    layout.record_bytes_stdev = 0;
    assert_true(dataset_layout_check(&layout, &err));
    dataset_file_init(&file, &layout, 0);
    assert_int_equal(file.record_bytes, 654481);
    dataset_layout_release(&layout);
}

static void dims_and_elements_are_kept(void **state)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct error err;
    (void)state;
    dataset_layout_init(&layout);
    layout.format = dataset_format_find("npy");
    layout.dims_count = 3;
    layout.dims[0] = 4;
    layout.dims[1] = 5;
    layout.dims[2] = 6;
    layout.element = DATASET_FLOAT32;
    assert_true(dataset_layout_check(&layout, &err));
    dataset_file_init(&file, &layout, 0);
    assert_int_equal(file.record_bytes, 480);
    assert_int_equal(dataset_file_bytes(&file, 0), 128 + 480);
}

static void all_bytes_are_the_sum(void **state)
{
    const char *const names[] = {"npz", "npy", "csv", "tfrecord", "indexed_binary", "raw", "synthetic"};
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct dataset_layout layout;
        struct dataset_file file;
        int64_t sum = 0;
        layout_make(&layout, names[n], 1000, 13);
        layout.files_train = 9;
        layout.files_eval = 4;
        for (int64_t i = 0; i < 13; i++) {
            dataset_file_init(&file, &layout, i);
            for (int part = 0; part < dataset_file_parts(&file); part++)
                sum += dataset_file_bytes(&file, part);
        }
        assert_int_equal(dataset_layout_bytes(&layout), sum);
    }
}

/* ResNet-50 as shipped: 1024 files of 1251 samples of 114,660 bytes. */
static void the_size_of_a_large_set_is_known(void **state)
{
    struct dataset_layout layout;
    (void)state;
    layout_make(&layout, "tfrecord", 114660.07, 1251);
    layout.files_train = 1024;
    int64_t bytes = dataset_layout_bytes(&layout), payload = (int64_t)1024 * 1251 * 114660;
    assert_true(bytes > payload && bytes < payload + payload / 1000);
}

static void refused(const char *what, void (*change)(struct dataset_layout *))
{
    struct dataset_layout layout;
    struct error err = {0};
    dataset_layout_init(&layout);
    layout.format = dataset_format_find("npz");
    change(&layout);
    assert_false(dataset_layout_check(&layout, &err));
    assert_non_null(strstr(err.text, what));
}

static void no_samples(struct dataset_layout *layout)
{
    layout->samples_per_file = 0;
}

static void no_bytes(struct dataset_layout *layout)
{
    layout->record_bytes = NAN;
}

static void too_many(struct dataset_layout *layout)
{
    layout->samples_per_file = (int64_t)1 << 40;
}

static void odd_bytes(struct dataset_layout *layout)
{
    layout->record_bytes = 1001;
    layout->element = DATASET_FLOAT32;
}

static void wrong_compression(struct dataset_layout *layout)
{
    layout->compression = DATASET_XZ;
}

static void folder_as_prefix(struct dataset_layout *layout)
{
    strcpy(layout->prefix, "../x");
}

static void dims_overflow(struct dataset_layout *layout)
{
    layout->dims_count = 3;
    layout->dims[0] = layout->dims[1] = layout->dims[2] = (int64_t)1 << 31;
}

static void what_cannot_be_made_is_refused(void **state)
{
    (void)state;
    refused("dataset.num_samples_per_file", no_samples);
    refused("dataset.record_length_bytes", no_bytes);
    refused("a file would have more", too_many);
    refused("not a multiple of the 4 bytes of float32", odd_bytes);
    refused("dataset.compression", wrong_compression);
    refused("dataset.file_prefix", folder_as_prefix);
    refused("dataset.record_dims", dims_overflow);
}

static void a_manifest_reads_back(void **state)
{
    struct dataset_layout layout, back;
    struct text text = {0}, again = {0};
    struct error err = {0};
    (void)state;
    layout_make(&layout, "npz", 16384, 3);
    layout.record_bytes_stdev = 12.5;
    layout.compressibility = 0.25;
    layout.seed = 987654321;
    layout.dlio_sizes = true;
    layout.compression = dataset_pack_missing() ? DATASET_NONE : DATASET_ZIP;
    layout.chunk_dims_count = 1;
    layout.chunk_dims[0] = 9;
    assert_true(dataset_layout_write(&layout, &text, &err));
    assert_true(dataset_layout_read(&back, "dataset.json", text.data, text.length, &err));
    assert_true(dataset_layout_write(&back, &again, &err));
    assert_string_equal(text.data, again.data);
    assert_true(back.seed == 987654321 && back.dlio_sizes && back.dlio_dims);
    dataset_layout_release(&back);
    text_release(&text);
    text_release(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_dlio),
        cmocka_unit_test(evaluation_files_may_have_other_samples),
        cmocka_unit_test(indexes_lie_where_readers_look),
        cmocka_unit_test(samples_have_exactly_the_bytes_asked_for),
        cmocka_unit_test(sides_are_nearly_equal),
        cmocka_unit_test(deviation_is_drawn_per_file),
        cmocka_unit_test(numpy_draws_are_numpys),
        cmocka_unit_test(sizes_of_dlio_can_be_had),
        cmocka_unit_test(dims_and_elements_are_kept),
        cmocka_unit_test(all_bytes_are_the_sum),
        cmocka_unit_test(the_size_of_a_large_set_is_known),
        cmocka_unit_test(what_cannot_be_made_is_refused),
        cmocka_unit_test(a_manifest_reads_back),
    };
    return cmocka_run_group_tests_name("dataset layout", tests, NULL, NULL);
}
