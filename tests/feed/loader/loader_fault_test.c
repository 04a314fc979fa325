/* Decoding and verifying what is read, and what goes wrong with it. */
#include "feed/loader/loader.h"

#include "feed/set.h"

#include <errno.h>
#include <stdatomic.h>

static void begin(const struct loader_options *options)
{
    set_loader(options);
    set_order(1, 4);
    set_pass(0);
}

/* The first pass of one accelerator ends with an error that says so. */
static struct error require_failure(const char *says)
{
    struct error err = {0};
    struct metrics_batch batch;
    bool ok = true;
    for (int64_t step = 0; step < set.order.steps && ok; step++)
        ok = set_take(0, step, &batch, &err);
    assert_false(ok);
    if (!strstr(err.text, says))
        fail_msg("'%s' is not in '%s'", says, err.text);
    return err;
}

/* From the end where `offset` is negative. */
static void change_byte(int64_t number, long offset)
{
    char path[512];
    set_path(path, number);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET), 0);
    int byte = getc(file);
    assert_int_equal(fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET), 0);
    putc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

static void remove_file(int64_t number)
{
    char path[512];
    set_path(path, number);
    assert_int_equal(unlink(path), 0);
}

/* ---- Decoding and verifying ---- */

static void test_verifying_finds_nothing_in_what_was_generated(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(2);
    options.verify = true;
    set_loader(&options);
    set_order(2, 4);
    set_pass(0);
    set_take_all(2);
    struct loader_counts counts = set_counts(set.loader);
    assert_true(counts.decode_cpu > 0 && counts.verify_cpu > 0);
}

/* JPEG: pixels are not those that were generated, only near them. */
static void test_verifying_allows_for_the_loss_of_pictures(void **state)
{
    (void)state;
    set_start("jpeg");
    if (set.layout.format->missing) {
        print_message("built without %s\n", set.layout.format->missing);
        skip();
    }
    set.layout.samples_per_file = 1;
    set.layout.record_bytes = 20000;
    set_make();
    struct loader_options options = set_loader_options(2);
    options.verify = true;
    set_loader(&options);
    set_order(2, 3);
    set_pass(0);
    assert_int_equal(set_take_all(2).samples, 12);
}

static void test_verifying_names_a_wrong_byte(void **state)
{
    (void)state;
    set_start("npy");
    set_make();
    struct loader_options options = set_loader_options(1);
    options.verify = true;
    change_byte(5, 2000);
    begin(&options);
    struct error err = require_failure("img_05_of_12.npy: sample ");
    assert_non_null(strstr(err.text, "expected"));
    assert_int_equal(err.kind, ERROR_INPUT);
}

/* Neither is of a sample: the first bytes of a file, and its last ones, in which the archive has its directory. */
static void test_decoding_reads_the_container(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(1);
    begin(&options);
    change_byte(5, 0);
    assert_int_equal(set_take_all(1).samples, 48); /* nobody looks */
    options.decode = true;
    begin(&options);
    require_failure("img_05_of_12.npz: not an npz file: it does not begin with PK\\3\\4");
    change_byte(5, 0);
    options.decode = false;
    options.verify = true;
    change_byte(5, -1);
    begin(&options);
    require_failure("img_05_of_12.npz: not a readable zip archive: ");
}

static void test_a_sample_that_cannot_be_decoded_is_named(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(1);
    options.decode = true;
    change_byte(5, 2000);
    begin(&options);
    require_failure("img_05_of_12.tfrecord: sample 1: ");
}

/* ---- What goes wrong ---- */

static void test_a_truncated_file_is_named(void **state)
{
    (void)state;
    char path[512];
    struct loader_options options = set_loader_options(1);
    set_path(path, 7);
    assert_int_equal(truncate(path, 1500), 0);
    begin(&options);
    require_failure("img_07_of_12.npz: truncated: 1500 bytes, expected");
}

static void test_a_missing_file_is_named(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(1);
    remove_file(3);
    begin(&options);
    require_failure("img_03_of_12.npz: cannot open");
}

static ssize_t eio_pread(void *context, int fd, void *to, size_t length, off_t offset)
{
    atomic_int *left = context;
    if (atomic_fetch_sub(left, 1) <= 0) {
        errno = EIO;
        return -1;
    }
    return pread(fd, to, length, offset);
}

static void test_a_device_that_fails_ends_the_pass(void **state)
{
    (void)state;
    static atomic_int left; /* threads read until the teardown */
    atomic_store(&left, 9);
    set_start("tfrecord");
    set.calls = (struct storage_calls){.context = &left, .pread = eio_pread};
    set_make();
    struct loader_options options = set_loader_options(1);
    begin(&options);
    require_failure("Input/output error");
}

static void test_after_a_failure_no_pass_begins(void **state)
{
    (void)state;
    struct error err;
    struct loader_options options = set_loader_options(1);
    remove_file(3);
    begin(&options);
    require_failure("img_03");
    const struct loader_pass pass = {.order = &set.order, .steps = set.order.steps};
    assert_false(loader_start(set.loader, &pass, &err));
    assert_non_null(strstr(err.text, "img_03"));
}

static void test_too_large_a_window_is_refused(void **state)
{
    (void)state;
    struct error err;
    struct loader_options options = set_loader_options(1);
    options.prefetch = 100000;
    assert_null(loader_new(&options, &err));
    assert_non_null(strstr(err.text, "reader.prefetch_size"));
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, set_npz, set_end)
#define TESTR(name) cmocka_unit_test_setup_teardown(name, set_tfrecord, set_end)
#define TEST0(name) cmocka_unit_test_setup_teardown(name, NULL, set_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_verifying_finds_nothing_in_what_was_generated),
        TEST0(test_verifying_allows_for_the_loss_of_pictures),
        TEST0(test_verifying_names_a_wrong_byte),
        TEST(test_decoding_reads_the_container),
        TESTR(test_a_sample_that_cannot_be_decoded_is_named),
        TEST(test_a_truncated_file_is_named),
        TEST(test_a_missing_file_is_named),
        TEST0(test_a_device_that_fails_ends_the_pass),
        TEST(test_after_a_failure_no_pass_begins),
        TEST(test_too_large_a_window_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
