#include "feed/loader/emulate.h"

#include "core/clock.h"
#include "feed/loader/internal.h"

#include "feed/set.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct loader_options emulated(int accelerators)
{
    struct loader_options options = set_loader_options(accelerators);
    options.emulate = WORKLOAD_EMULATE_PYTORCH;
    options.prefetch = 4;
    options.persistent = true;
    return options;
}

/* Takes all batches of two passes; *bytes of the last. */
static void require_each_sample_once(const char *format, int accelerators, int threads, int64_t *bytes)
{
    set_start(format);
    set_make();
    struct loader_options options = emulated(accelerators);
    options.read_threads = threads;
    set_loader(&options);
    set_order(accelerators, 4);
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        set_pass(epoch);
        struct metrics_batch all = set_take_all(accelerators);
        assert_int_equal(all.samples, 48);
        assert_true(all.mark == order_checksum(&set.order, epoch));
        *bytes = all.bytes;
    }
    struct loader_counts counts = set_counts(set.loader);
    assert_int_equal(counts.opened, 2 * 48); /* PyTorch's readers open the file for each sample */
    assert_int_equal(counts.threads, accelerators * threads);
}

static void test_pytorch_reads_each_sample_once(void **state)
{
    static const struct {
        const char *format;
        int64_t bytes; /* of the samples; npy and npz are read whole for each */
    } cases[] = {{"npz", 48 * 4000}, {"npy", 48 * 4000}, {"raw", 48 * 1000}, {"hdf5", 48 * 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes;
        if (dataset_format_find(cases[i].format)->missing)
            continue;
        require_each_sample_once(cases[i].format, 3, 2, &bytes);
        assert_int_equal(bytes, cases[i].bytes);
        set_end(state);
    }
}

static void test_dali_reads_each_sample_once(void **state)
{
    (void)state;
    set_start("npy");
    set_make();
    struct loader_options options = emulated(2);
    options.emulate = WORKLOAD_EMULATE_DALI;
    options.read_threads = 1;
    set_loader(&options);
    set_order(2, 4);
    set_pass(0);
    struct metrics_batch all = set_take_all(2);
    assert_true(all.mark == order_checksum(&set.order, 0));
    assert_int_equal(all.bytes, 48 * 4000);
}

static void test_each_worker_waits_for_its_own_batches(void **state)
{
    (void)state;
    struct loader_options options = emulated(1);
    struct metrics_batch batch;
    struct error err;
    options.read_threads = 3;
    options.prefetch = 2; /* the third worker has none yet */
    set_loader(&options);
    set_order(1, 4);
    set_pass(0);
    for (int64_t step = 0; step < 12; step++)
        assert_true(set_take(0, step, &batch, &err));
    assert_int_equal(set_counts(set.loader).samples, 48);
}

static void test_workers_start_one_after_the_other(void **state)
{
    (void)state;
    struct loader_options options = emulated(1);
    struct metrics_batch batch;
    struct error err;
    options.start = 0.05;
    set_loader(&options);
    set_order(1, 4);
    int64_t begin = clock_nanoseconds();
    set_pass(0);
    for (int64_t step = 0; step < 2; step++) {
        assert_true(set_take(0, step, &batch, &err));
        assert_true(batch.ready - begin >= (step + 1) * CLOCK_SECOND / 20);
    }
}

static void test_preparing_keeps_the_worker_busy(void **state)
{
    (void)state;
    struct loader_options options = emulated(1);
    struct metrics_batch batch;
    struct error err;
    options.preprocess = (struct distribution){.type = DISTRIBUTION_CONSTANT, .first = 0.01};
    set_loader(&options);
    set_order(1, 4);
    int64_t begin = clock_nanoseconds();
    set_pass(0);
    assert_true(set_take(0, 0, &batch, &err));
    assert_true(batch.ready - begin >= 4 * CLOCK_SECOND / 100);
}

static void require_failure(const char *said)
{
    struct loader_options options = emulated(1);
    struct metrics_batch batch;
    struct error err;
    bool took = true;
    set_loader(&options);
    set_order(1, 4);
    set_pass(0);
    for (int64_t step = 0; took && step < set.order.steps; step++)
        took = set_take(0, step, &batch, &err);
    assert_false(took);
    if (!strstr(err.text, said))
        fail_msg("%s", err.text);
}

static void test_what_is_wrong_with_a_file_is_said(void **state)
{
    (void)state;
    char path[512];
    set_path(path, 5);
    assert_int_equal(truncate(path, 700), 0);
    require_failure("truncated: 700 bytes, expected");
    unlink(path);
    require_failure("cannot open: No such file");
    assert_int_equal(mkfifo(path, 0600), 0);
    require_failure("not a regular file");
}

static void test_a_mapped_file_that_is_cut_is_an_error(void **state)
{
    (void)state;
    struct loader_thread thread = {.map_count = 1, .maps = test_calloc(1, sizeof *thread.maps)};
    struct error err;
    char path[512];
    set_path(path, 5);
    int fd = open(path, O_RDWR);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    char *at = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    thread.maps[0] = (struct loader_map){at, 1 << 20, strdup(path)};
    thread.reader = storage_reader_new(set.storage, &err);
    assert_non_null(thread.reader);
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_false(emulate_batch(&thread, &err));
    assert_int_equal(thread.map_count, 0);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "at byte 8192 of 1048576: it was cut while it was read"));
    storage_reader_free(thread.reader);
    test_free(thread.maps);
    close(fd);
}

static void test_other_calls_are_refused(void **state)
{
    (void)state;
    struct error err;
    struct loader_options options = emulated(1);
    options.decode = true;
    assert_null(loader_new(&options, &err));
    assert_non_null(strstr(err.text, "without --method, --direct, --decode and --verify"));
    options = emulated(4);
    options.max_threads = 7;
    assert_null(loader_new(&options, &err));
    assert_non_null(strstr(err.text, "2 workers of 4 accelerators are more than the 7 threads"));
}

static void test_words_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"opens", "read:", "read:x", "pread:8", "seek:size-", "read:8x", "~"};
    struct emulate emulate;
    struct error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (emulate_parse(&emulate, wrong[i], &err))
            fail_msg("%s", wrong[i]);
    assert_true(emulate_parse(&emulate, "open ~1.5 read:rest get:30+ gets:all pread:8@48 close", &err));
    assert_int_equal(emulate.count, 7);
    assert_int_equal(emulate.calls[1].number, 1500);
    assert_true(emulate.calls[3].tells);
    assert_int_equal(emulate.calls[5].at, 48);
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, set_npz, set_end)
#define TEST0(name) cmocka_unit_test_setup_teardown(name, NULL, set_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST0(test_pytorch_reads_each_sample_once),       TEST0(test_dali_reads_each_sample_once),
        TEST(test_each_worker_waits_for_its_own_batches), TEST(test_workers_start_one_after_the_other),
        TEST(test_preparing_keeps_the_worker_busy),       TEST(test_what_is_wrong_with_a_file_is_said),
        TEST(test_a_mapped_file_that_is_cut_is_an_error), TEST(test_other_calls_are_refused),
        TEST0(test_words_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
