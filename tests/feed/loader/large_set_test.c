/* DLIO keeps a list of all samples, and makes text of it for each of them. Here nothing is listed: a set of 2^40 files, of which
 * those that are asked for exist, is read with the memory of one of 12. */
#include "dataset/writer.h"
#include "feed/set.h"
#include "support/data_place.h"

#include <malloc.h>

#define STEPS 5
#define BATCH 3
#define MANY  DATASET_MAX_FILES

static void begin(int64_t files)
{
    struct error err;
    set_start("npz");
    set.layout.files_train = files;
    set.layout.files_eval = 0;
    if (!dataset_layout_check(&set.layout, &err))
        fail_msg("%s", err.text);
    set.storage = storage_new(&(struct storage_options){.root = set.folder.path, .calls = &set.calls}, &err);
    assert_non_null(set.storage);
    set_order(2, BATCH);
    set.order.steps = STEPS;
}

static void make_file(int64_t number)
{
    struct error err;
    struct feed_place folder;
    struct dataset_place place = data_place(&folder, set.folder.path);
    struct dataset_sink sink;
    struct dataset_file file;
    struct text name = {0};
    dataset_file_init(&file, &set.layout, number);
    assert_true(dataset_file_path(&file, 0, &name));
    if (!place.create(place.context, name.data, dataset_file_bytes(&file, 0), &sink, &err) ||
        !dataset_write(&file, 0, NULL, &sink, &err) || !place.commit(place.context, &sink, &err))
        fail_msg("%s", err.text);
    storage_free(folder.storage);
    text_release(&name);
}

static int compare(const void *a, const void *b)
{
    const int64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

/* The files of the first steps; how many. */
static int make_files(void)
{
    int64_t files[2 * STEPS * BATCH];
    int count = 0, made = 0;
    for (int a = 0; a < 2; a++)
        for (int64_t step = 0; step < STEPS; step++)
            for (int64_t i = 0; i < BATCH; i++) {
                struct order_place place;
                assert_true(order_at(&set.order, 0, a, step, i, &place));
                assert_in_range(place.file, 0, set.layout.files_train - 1);
                assert_in_range(place.sample, 0, set.layout.samples_per_file - 1);
                files[count++] = place.file;
            }
    qsort(files, (size_t)count, sizeof *files, compare);
    for (int i = 0; i < count; i++)
        if (i == 0 || files[i] != files[i - 1]) {
            make_file(files[i]);
            made++;
        }
    return made;
}

/* Bytes that are in use once the steps were read, and verified. */
static size_t memory_of(int64_t files, int *made)
{
    begin(files);
    *made = make_files();
    struct loader_options options = set_loader_options(2);
    options.verify = true;
    set_loader(&options);
    set_pass(0);
    assert_int_equal(set_take_all(2).samples, 2 * STEPS * BATCH);
    struct mallinfo2 info = mallinfo2();
    set_end(NULL);
    return info.uordblks + info.hblkhd;
}

static void memory_does_not_depend_on_the_number_of_files(void **state)
{
    int made;
    (void)state;
    memory_of(12, &made); /* what the C library keeps for itself from here on */
    size_t few = memory_of(12, &made), many = memory_of(MANY, &made);
    assert_int_equal(made, 2 * STEPS * BATCH); /* all over the set: no two samples of one file */
    assert_true(many <= few + 65536);
}

static void names_and_sizes_are_computed(void **state)
{
    struct dataset_file file;
    struct text name = {0};
    (void)state;
    begin(MANY);
    dataset_file_init(&file, &set.layout, MANY - 1);
    assert_true(dataset_file_path(&file, 0, &name));
    assert_string_equal(name.data, "train/img_1099511627775_of_1099511627776.npz");
    assert_int_equal(dataset_layout_bytes(&set.layout), MANY * dataset_file_bytes(&file, 0));
    text_release(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_does_not_depend_on_the_number_of_files, NULL, NULL),
        cmocka_unit_test_setup_teardown(names_and_sizes_are_computed, NULL, set_end),
    };
    return cmocka_run_group_tests_name("feed: large sets", tests, NULL, NULL);
}
