/* The data set of a workload. */
#include "feed/workload/layout.h"
#include "feed/workloads.h"

#include "dataset/format.h"

static void the_data_set_has_the_workload_s_sizes(void **state)
{
    struct workload w =
        read_text("dataset: {format: npy, file_prefix: part, num_files_train: 12, num_files_eval: 3, "
                  "num_subfolders_train: 4, num_samples_per_file: 5, record_dims: [3, 7], "
                  "record_element_type: float32, compressibility: 0.5, seed: 9}");
    struct dataset_layout layout;
    struct dataset_file file;
    struct text path = {0};
    struct error err = {0};
    (void)state;
    if (!workload_layout(&w, NULL, &layout, &err))
        fail_msg("%s", err.text);
    assert_int_equal(dataset_files(&layout), 15);
    dataset_file_init(&file, &layout, 6);
    assert_int_equal(file.record_bytes, 3 * 7 * 4);
    assert_int_equal(file.samples, 5);
    assert_true(dataset_file_path(&file, 0, &path));
    assert_string_equal(path.data, "train/2/part_06_of_12.npy");
    assert_true(layout.seed == 9 && layout.compressibility == 0.5);
    text_release(&path);
    dataset_layout_release(&layout);
    workload_release(&w);
}

static void the_element_types_are_those_of_data_sets(void **state)
{
    const char *const *words = workload_key_find("dataset.record_element_type")->words;
    (void)state;
    for (int i = 0; words[i]; i++) {
        enum dataset_element element;
        assert_true(dataset_element_find(words[i], &element));
        assert_int_equal(dataset_element_bytes(element), workload_element_bytes(words[i]));
    }
}

static void parquet_columns_are_the_data_set_s(void **state)
{
    static const struct {
        const char *name;
        int64_t record, columns, groups;
    } cases[] = {{"dlrm_b200", 761, 200, 768}, {"flux_b200", 2164832, 5, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workload w = open_workload(cases[i].name);
        struct dataset_layout layout;
        struct dataset_file file;
        struct dataset_index index;
        struct error err = {0};
        if (!workload_layout(&w, NULL, &layout, &err))
            fail_msg("%s", err.text);
        dataset_file_init(&file, &layout, 0);
        assert_int_equal(file.record_bytes, cases[i].record);
        /* Heads of pages, the footer and the dictionaries take less than 2 %. */
        assert_in_range(dataset_file_bytes(&file, 0), file.payload_bytes,
                        file.payload_bytes + file.payload_bytes / 50);
        assert_true(layout.format->expect(&file, &index));
        assert_int_equal(index.units, cases[i].groups);
        dataset_index_release(&index);
        dataset_layout_release(&layout);
        workload_release(&w);
    }
}

static void dlrm_s_rows_are_raw_files(void **state)
{
    struct workload w = open_workload("vldb_dlrm");
    struct dataset_layout layout;
    struct dataset_file file;
    struct error err = {0};
    (void)state;
    if (!workload_layout(&w, NULL, &layout, &err))
        fail_msg("%s", err.text);
    dataset_file_init(&file, &layout, 0);
    assert_int_equal(dataset_file_bytes(&file, 0), INT64_C(4195198976) * 160);
    dataset_layout_release(&layout);
    workload_release(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_data_set_has_the_workload_s_sizes),
        cmocka_unit_test(the_element_types_are_those_of_data_sets),
        cmocka_unit_test(parquet_columns_are_the_data_set_s),
        cmocka_unit_test(dlrm_s_rows_are_raw_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
