#include "core/clock.h"
#include "feed/loader/loader.h"

#include "feed/set.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

/* Without taking anything: until nothing more is read. */
static void let_it_read(void)
{
    while (loader_depth(set.loader).queue > 0)
        sched_yield();
}

/* ---- What is read ---- */

static void require_each_sample_once(int accelerators, int threads)
{
    struct loader_options options = set_loader_options(accelerators);
    options.max_threads = threads;
    set_loader(&options);
    set_order(accelerators, 4);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        set_pass(epoch);
        struct metrics_batch all = set_take_all(accelerators);
        assert_int_equal(all.samples, 48);
        assert_true(all.mark == order_checksum(&set.order, epoch));
    }
    assert_int_equal(set_counts(set.loader).samples, 3 * 48);
}

static void test_one_thread_reads_each_sample_once(void **state)
{
    (void)state;
    require_each_sample_once(3, 1);
}

static void test_many_threads_read_each_sample_once(void **state)
{
    (void)state;
    require_each_sample_once(3, 4);
    assert_int_equal(set_counts(set.loader).threads, 4);
}

static void test_threads_are_as_many_as_accelerators_have(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(3);
    set_loader(&options);
    assert_int_equal(set_counts(set.loader).threads, 6);
}

static void test_a_batch_is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    uint64_t marks[2];
    for (int i = 0; i < 2; i++) {
        struct error err;
        struct metrics_batch batch;
        struct loader_options options = set_loader_options(1);
        options.max_threads = i == 0 ? 1 : 4;
        set_loader(&options);
        set_order(1, 8);
        set_pass(0);
        assert_true(set_take(0, 0, &batch, &err));
        marks[i] = batch.mark;
    }
    assert_true(marks[0] == marks[1]);
}

static void test_evaluation_reads_its_own_files(void **state)
{
    (void)state;
    char path[512];
    struct loader_options options = set_loader_options(1);
    struct error err;
    for (int64_t number = 0; number < set.layout.files_train; number++) {
        set_path(path, number);
        unlink(path);
    }
    set_loader(&options);
    set_order(1, 4);
    set.order.options.files = 3;
    set.order.samples = 12;
    set.order.steps = 3;
    const struct loader_pass pass = {.order = &set.order, .eval = true, .steps = 3};
    assert_true(loader_start(set.loader, &pass, &err));
    assert_int_equal(set_take_all(1).samples, 12);
}

/* ---- How it is read ---- */

static void test_whole_files_are_read_for_every_sample_by_readers_that_reopen(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(1);
    options.reopen = true;
    set_loader(&options);
    set_order(1, 4);
    set_pass(0);
    struct metrics_batch all = set_take_all(1);
    assert_int_equal(set_counts(set.loader).opened, 48);
    assert_true(all.bytes >= 48 * 4000);
}

static void test_an_open_file_is_read_once_for_all_its_samples(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(1);
    options.max_threads = 1;
    set_loader(&options);
    set_order(1, 4);
    set.order.options.sample_shuffle = ORDER_OFF;
    set_pass(0);
    struct metrics_batch all = set_take_all(1);
    assert_int_equal(set_counts(set.loader).opened, 12);
    assert_true(all.bytes >= 12 * 4000 && all.bytes < 12 * 6000);
}

static void test_of_records_only_those_asked_for_are_read(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(1);
    struct error err;
    struct metrics_batch batch;
    set_loader(&options);
    set_order(1, 2);
    set_pass(0);
    assert_true(set_take(0, 0, &batch, &err));
    assert_true(batch.bytes >= 2000 && batch.bytes < 2400);
}

static void test_what_is_kept_in_memory_is_read_once(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(2);
    options.once = true;
    set_loader(&options);
    set_order(2, 4);
    set_pass(0);
    assert_true(set_take_all(2).bytes >= 48 * 1000);
    set_pass(1);
    struct metrics_batch again = set_take_all(2);
    assert_int_equal(again.bytes, 0);
    assert_int_equal(again.samples, 48);
}

/* ---- The window ---- */

static void test_no_more_than_the_window_is_read_ahead(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(3);
    set_loader(&options);
    set_order(3, 4);
    set_pass(0);
    let_it_read();
    assert_int_equal(loader_depth(set.loader).ready, 6);
    assert_int_equal(set_counts(set.loader).samples, 6 * 4);
}

static void test_a_batch_that_is_taken_makes_room_for_one(void **state)
{
    (void)state;
    struct error err;
    struct metrics_batch batch;
    struct loader_options options = set_loader_options(1);
    set_loader(&options);
    set_order(1, 4);
    set_pass(0);
    let_it_read();
    assert_true(set_take(0, 0, &batch, &err));
    let_it_read();
    assert_int_equal(set_counts(set.loader).samples, 3 * 4);
}

static void test_without_a_window_nothing_is_read_before_it_is_asked_for(void **state)
{
    (void)state;
    struct error err;
    struct metrics_batch batch;
    struct loader_options options = set_loader_options(1);
    options.prefetch = 0;
    set_loader(&options);
    set_order(1, 4);
    set_pass(0);
    let_it_read();
    assert_int_equal(set_counts(set.loader).samples, 0);
    assert_true(set_take(0, 0, &batch, &err));
    assert_true(set_take(0, 1, &batch, &err));
    let_it_read();
    assert_int_equal(set_counts(set.loader).samples, 8);
}

/* Sequence of the samples as they are read, by the offsets in files without a header. */
struct log {
    pthread_mutex_t lock;
    pthread_cond_t go;
    bool open;
    int count;
    char names[64][16];
};

static ssize_t log_pread(void *context, int fd, void *to, size_t length, off_t offset)
{
    struct log *log = context;
    char link[64], path[512] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    pthread_mutex_lock(&log->lock);
    while (!log->open)
        pthread_cond_wait(&log->go, &log->lock);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = 0;
    const char *name = strrchr(path, '_') - 6; /* img_00_of_12.npz */
    if (log->count < 64)
        snprintf(log->names[log->count++], sizeof log->names[0], "%.2s", name + 1);
    pthread_mutex_unlock(&log->lock);
    return pread(fd, to, length, offset);
}

/* One sample per file, one thread, reads held back until all are queued: step 0 of every accelerator, then step 1. */
static void test_the_batch_needed_first_is_read_first(void **state)
{
    (void)state;
    static struct log log = {.lock = PTHREAD_MUTEX_INITIALIZER, .go = PTHREAD_COND_INITIALIZER};
    set_start("npz");
    set.layout.samples_per_file = 1;
    set.calls = (struct storage_calls){.context = &log, .pread = log_pread};
    set_make();
    struct loader_options options = set_loader_options(3);
    options.max_threads = 1;
    set_loader(&options);
    set_order(3, 1);
    set.order.options.file_shuffle = set.order.options.sample_shuffle = ORDER_OFF;
    set_pass(0);
    pthread_mutex_lock(&log.lock);
    log.open = true;
    pthread_cond_broadcast(&log.go);
    pthread_mutex_unlock(&log.lock);
    let_it_read();
    static const char *const expected[] = {"00", "04", "08", "01", "05", "09"};
    assert_int_equal(log.count, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(log.names[i], expected[i]);
}

static void test_a_pass_may_be_given_up(void **state)
{
    (void)state;
    struct error err;
    struct metrics_batch batch;
    struct loader_options options = set_loader_options(2);
    set_loader(&options);
    set_order(2, 4);
    set_pass(0);
    assert_true(set_take(0, 0, &batch, &err));
    set_pass(1);
    struct metrics_batch all = set_take_all(2);
    assert_true(all.mark == order_checksum(&set.order, 1));
}

/* ---- Preprocessing: times so long that those of reading do not matter ---- */

static void test_preprocessing_takes_turns_on_its_workers(void **state)
{
    (void)state;
    struct error err;
    struct metrics_batch batch;
    struct loader_options options = set_loader_options(1);
    options.preprocess = distribution_constant(1000);
    set_loader(&options);
    set_order(1, 5);
    set_pass(0);
    int64_t now = clock_nanoseconds(), second = 1000000000;
    assert_true(set_take(0, 0, &batch, &err));
    /* 5 samples on 2 workers: 3 after one another */
    assert_true(batch.ready >= now + 2900 * second && batch.ready < now + 3900 * second);
}

static void test_preprocessing_may_have_workers_of_its_own(void **state)
{
    (void)state;
    struct error err;
    struct metrics_batch batch;
    struct loader_options options = set_loader_options(1);
    options.preprocess = distribution_constant(1000);
    options.workers = 5;
    set_loader(&options);
    set_order(1, 5);
    set_pass(0);
    int64_t now = clock_nanoseconds(), second = 1000000000;
    assert_true(set_take(0, 0, &batch, &err));
    assert_true(batch.ready >= now + 900 * second && batch.ready < now + 1900 * second);
}

static void test_without_preprocessing_a_batch_is_ready_once_read(void **state)
{
    (void)state;
    struct error err;
    struct metrics_batch batch;
    struct loader_options options = set_loader_options(1);
    set_loader(&options);
    set_order(1, 5);
    set_pass(0);
    assert_true(set_take(0, 0, &batch, &err));
    assert_true(batch.ready <= clock_nanoseconds());
}

/* ---- For a long time ---- */

static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void test_memory_does_not_grow(void **state)
{
    (void)state;
    struct loader_options options = set_loader_options(4);
    options.reopen = true;
    set_loader(&options);
    set_order(4, 3);
    size_t early = 0;
    for (int64_t epoch = 0; epoch < 200; epoch++) {
        set_pass(epoch);
        struct metrics_batch all = set_take_all(4);
        assert_true(all.mark == order_checksum(&set.order, epoch));
        if (epoch == 20)
            early = memory_in_use();
    }
    assert_true(memory_in_use() <= early + 16384);
}

static void test_waiting_ends_with_its_time(void **state)
{
    (void)state;
    struct error err;
    int told[4];
    struct loader_options options = set_loader_options(1);
    set_loader(&options);
    int64_t until = clock_nanoseconds() + 1000000;
    assert_int_equal(loader_wait(set.loader, until, told, 4, &err), 0);
    assert_true(clock_nanoseconds() >= until);
}

static atomic_int at_the_gate;
static atomic_bool gate_open;

static ssize_t gated_pread(void *context, int fd, void *to, size_t length, off_t offset)
{
    (void)context;
    atomic_fetch_add(&at_the_gate, 1);
    while (!atomic_load(&gate_open))
        usleep(1000);
    return pread(fd, to, length, offset);
}

/* Two threads, of which one reads for a step that is measured while the first is waited for. Returns the wait; nothing is
 * measured but that the one is part of the other. */
static int64_t wait_at_the_gate(int64_t excluded, struct metrics_batch *batch)
{
    struct error err;
    struct loader_options options = set_loader_options(1);
    set_start("tfrecord");
    set.calls = (struct storage_calls){.pread = gated_pread};
    set_make();
    atomic_store(&at_the_gate, 0);
    atomic_store(&gate_open, false);
    options.storage = set.storage;
    set_loader(&options);
    set_order(1, 1);
    const struct loader_pass pass = {.order = &set.order, .steps = 2, .excluded = excluded};
    assert_true(loader_start(set.loader, &pass, &err));
    int64_t begun = clock_nanoseconds();
    assert_false(loader_take(set.loader, 0, 0, batch));
    while (atomic_load(&at_the_gate) < 2)
        usleep(1000);
    usleep(5000);
    atomic_store(&gate_open, true);
    assert_true(set_take(0, 0, batch, &err));
    return clock_nanoseconds() - begun;
}

static void test_the_first_wait_knows_what_is_read_ahead_in_it(void **state)
{
    struct metrics_batch batch;
    set_end(state);
    int64_t waited = wait_at_the_gate(1, &batch);
    assert_true(batch.ahead > 0 && batch.ahead < waited);
    set_end(state);
    wait_at_the_gate(0, &batch); /* every step is measured: there is nothing to be paid for */
    assert_int_equal(batch.ahead, 0);
}

static void test_a_batch_knows_that_all_ahead_is_read(void **state)
{
    (void)state;
    struct error err;
    struct metrics_batch batch;
    struct loader_options options = set_loader_options(1);
    set_loader(&options);
    set_order(1, 4);
    set_pass(0);
    while (loader_depth(set.loader).ready < 2)
        usleep(1000);
    assert_true(set_take(0, 0, &batch, &err));
    assert_true(batch.caught_up);
    options.prefetch = 1;
    set_loader(&options);
    set_pass(0);
    assert_true(set_take(0, 0, &batch, &err));
    assert_true(batch.caught_up); /* nothing may be read ahead of it */
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, set_npz, set_end)
#define TESTR(name) cmocka_unit_test_setup_teardown(name, set_tfrecord, set_end)
#define TEST0(name) cmocka_unit_test_setup_teardown(name, NULL, set_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_wait_knows_what_is_read_ahead_in_it),
        TEST(test_a_batch_knows_that_all_ahead_is_read),
        TEST(test_one_thread_reads_each_sample_once),
        TEST(test_many_threads_read_each_sample_once),
        TEST(test_threads_are_as_many_as_accelerators_have),
        TEST(test_a_batch_is_the_same_for_any_number_of_threads),
        TEST(test_evaluation_reads_its_own_files),
        TEST(test_whole_files_are_read_for_every_sample_by_readers_that_reopen),
        TEST(test_an_open_file_is_read_once_for_all_its_samples),
        TESTR(test_of_records_only_those_asked_for_are_read),
        TEST(test_what_is_kept_in_memory_is_read_once),
        TEST(test_no_more_than_the_window_is_read_ahead),
        TEST(test_a_batch_that_is_taken_makes_room_for_one),
        TEST(test_without_a_window_nothing_is_read_before_it_is_asked_for),
        TEST0(test_the_batch_needed_first_is_read_first),
        TEST(test_a_pass_may_be_given_up),
        TESTR(test_preprocessing_takes_turns_on_its_workers),
        TESTR(test_preprocessing_may_have_workers_of_its_own),
        TESTR(test_without_preprocessing_a_batch_is_ready_once_read),
        TEST(test_memory_does_not_grow),
        TEST(test_waiting_ends_with_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
