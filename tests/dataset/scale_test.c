/* Data sets of real files that grow by copies. */
#include "dataset/scale.h"

#include "dataset/fixture.h"

#include <sys/stat.h>

static void copies_go_round(void **state)
{
    struct fixture from, to;
    struct dataset_layout layout;
    struct dataset_scaled scaled;
    struct error err = {0};
    const struct dataset_item items[] = {{2, {"train/img_0_of_3.npy", "train/img_1_of_3.npy"}},
                                         {1, {"train/img_2_of_3.npy"}}};
    (void)state;
    fixture_init(&from, 2);
    fixture_init(&to, 2);
    layout_make(&layout, "npy", 9872, 1); /* 10,000 bytes a file */
    layout.files_train = 3;
    generate(&from, &layout);
    assert_true(dataset_scale(&from.place, items, 2, &to.place, 75000, &to.work, &scaled, &err));
    assert_int_equal(scaled.items, 5); /* 20 + 10 + 20 + 10 + 20 kB */
    assert_int_equal(scaled.bytes, 80000);
    assert_int_equal(scaled.bytes_kept, 0);
    char *last = path_in(&to, "train/img_7_of_3.npy"), *origin = path_in(&from, "train/img_1_of_3.npy");
    struct blob a = blob_load(last), b = blob_load(origin);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.bytes, b.bytes, a.length);
    assert_true(dataset_scale(&from.place, items, 2, &to.place, 75000, &to.work, &scaled, &err));
    assert_int_equal(scaled.bytes_kept, 80000);
    free(a.bytes);
    free(b.bytes);
    free(last);
    free(origin);
    fixture_release(&from);
    fixture_release(&to);
}

static void files_that_belong_together_are_listed_as_one(void **state)
{
    struct fixture f;
    struct dataset_layout layout;
    struct dataset_item *items;
    struct arena arena = {0};
    struct error err = {0};
    int64_t count;
    (void)state;
    fixture_init(&f, 1);
    layout_some(&layout, "indexed_binary");
    generate(&f, &layout);
    assert_true(dataset_items_list(f.root, &arena, &items, &count, &err));
    assert_int_equal(count, 8);
    assert_int_equal(items[3].count, 3);
    assert_string_equal(items[3].paths[0], "train/1/img_1_of_6.indexed_binary");
    assert_string_equal(items[3].paths[1], "train/1/img_1_of_6.indexed_binary.off.idx");
    assert_false(dataset_items_list("/nowhere", &arena, &items, &count, &err));
    assert_string_equal(err.text, "cannot open '/nowhere': No such file or directory");
    arena_release(&arena);
    fixture_release(&f);
}

static void copies_are_numbered_on(void **state)
{
    struct text text = {0};
    (void)state;
    dataset_scale_path("a1/case_00209_x.npy", 1, 210, &text);
    assert_string_equal(text.data, "a1/case_00419_x.npy");
    text.length = 0;
    dataset_scale_path("part-00027-of-00500", 2, 500, &text);
    assert_string_equal(text.data, "part-01027-of-00500");
    text.length = 0;
    dataset_scale_path("d2/train.txt", 3, 1, &text);
    assert_string_equal(text.data, "d2/train.copy3.txt");
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_go_round),
        cmocka_unit_test(copies_are_numbered_on),
        cmocka_unit_test(files_that_belong_together_are_listed_as_one),
    };
    return cmocka_run_group_tests_name("dataset scale", tests, NULL, NULL);
}
