/* A run and the page cache, and storage that does not answer. */
#include "feed/runs.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- Page cache ---- */

static void test_files_just_written_are_in_the_page_cache(void **state)
{
    (void)state;
    int64_t size = 0;
    CONFIGURE("train.epochs=1");
    require_run();
    for (int64_t number = 0; number < 12; number++) {
        char path[512];
        struct stat info;
        set_path(path, number);
        assert_int_equal(stat(path, &info), 0);
        size += info.st_size;
    }
    assert_true(result.resident.before.known);
    assert_int_equal(result.resident.before.files, 12);
    assert_int_equal(result.resident.before.bytes, size); /* what is there, not what should be */
    assert_int_equal(result.resident.before.resident, size);
    assert_int_equal(result.resident.after.resident, size);
}

/* Three accelerators read a batch of four each: at most 12 of 48 samples. */
static void test_only_files_that_are_read_are_looked_at(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=1", "reader.batch_size=1", "train.total_training_steps=1");
    require_run();
    assert_in_range(result.resident.before.files, 1, 3);
    assert_int_equal(result.resident.before.resident, result.resident.before.bytes);
}

static bool on_a_disk(void)
{
    struct storage_facts facts;
    struct error err;
    int64_t bytes;
    if (storage_facts(set.folder.path, &facts, &err) && facts.backing == STORAGE_BACKING_DEVICE &&
        storage_process_read(&bytes))
        return true;
    print_message("'%s' does not tell where bytes come from\n", facts.file_system);
    return false;
}

static void test_what_lies_in_memory_does_not_come_from_storage(void **state)
{
    (void)state;
    if (!on_a_disk())
        skip();
    CONFIGURE("train.epochs=3");
    require_run();
    assert_int_equal(result.origin.evidence, ORIGIN_PROCESS);
    assert_true(result.origin.delivered > 0);
    assert_false(origin_is_cold(&result.origin));
    assert_true(origin_share(&result.origin) < 0.1);
}

static void test_what_was_dropped_comes_from_storage(void **state)
{
    (void)state;
    if (!on_a_disk())
        skip();
    CONFIGURE("train.epochs=3");
    options.drop = RUN_DROP_FILES;
    require_run();
    assert_true(origin_is_cold(&result.origin));
    assert_int_equal(result.resident.before.resident, 0);
    assert_true(result.resident.after.resident > 0);
}

/* What the first epoch reads too much does not make up for what the others do not read at all. */
static void test_every_epoch_is_cold_or_none(void **state)
{
    (void)state;
    if (!on_a_disk())
        skip();
    CONFIGURE("train.epochs=1");
    options.drop = RUN_DROP_FILES;
    require_run();
    run_release(&result);
    for (int64_t number = 0; number < 12; number++) { /* the first of three epochs is cold */
        struct storage_cached left;
        struct error err;
        char path[512];
        set_path(path, number);
        assert_true(storage_drop_file(path, NULL, &left, &err));
    }
    workload_release(&workload);
    CONFIGURE("train.epochs=3");
    options.drop = RUN_DROP_NOTHING;
    require_run();
    assert_true(origin_share(&result.origin) > 0.2 && origin_share(&result.origin) < 0.5);
}

static void test_files_can_be_dropped_before(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=2");
    options.drop = RUN_DROP_FILES;
    require_run();
    require_samples();
}

static atomic_bool asked_to_stop;

/* Storage that has stopped to answer; the user has had enough. */
static ssize_t hang(void *context, int fd, void *to, size_t length, off_t offset)
{
    (void)context, (void)fd, (void)to, (void)length, (void)offset;
    atomic_store(&asked_to_stop, true);
    for (;;)
        pause();
    return -1;
}

/* In a process of its own: its threads never come back. */
static void test_a_stop_does_not_wait_for_storage(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=3");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error err;
        const struct storage_calls calls = {.pread = hang};
        options.loader.storage =
            storage_new(&(struct storage_options){.root = set.folder.path, .calls = &calls}, &err);
        options.step.stop = &asked_to_stop;
        bool ok = run_workload(&options, &result, &err);
        _exit(ok && !result.complete && result.abandoned ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_files_just_written_are_in_the_page_cache),
        TEST(test_only_files_that_are_read_are_looked_at),
        TEST(test_what_lies_in_memory_does_not_come_from_storage),
        TEST(test_what_was_dropped_comes_from_storage),
        TEST(test_every_epoch_is_cold_or_none),
        TEST(test_files_can_be_dropped_before),
        TEST(test_a_stop_does_not_wait_for_storage),
    };
    return cmocka_run_group_tests_name("feed: runs and the page cache", tests, NULL, NULL);
}
