/* A session, from a workload's text to its figures: what is asked for happens. */
#include "core/clock.h"
#include "feed/result/result.h"

#include "dataset/format.h"

#include "model/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* Instead of the C library's: what is really synced? */
static atomic_int files_synced, folders_synced;

int fsync(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    atomic_fetch_add(S_ISDIR(status.st_mode) ? &folders_synced : &files_synced, 1);
    return (int)syscall(SYS_fsync, fd);
}

/* Instead of feed/host.c: a host on which this process never waits for a processor, or never has one. */
static bool starved;

int64_t host_thread_delay(int tid)
{
    (void)tid;
    return 0;
}

int64_t host_throttled(void)
{
    return starved ? clock_nanoseconds() : 0;
}

#define BASE                                                                                                 \
    "framework: pytorch\n"                                                                                   \
    "model: {name: small, type: cnn, model_size: 300000}\n"                                                  \
    "workflow: {generate_data: true, train: true}\n"                                                         \
    "dataset: {data_folder: %s/data, format: npz, num_files_train: 24, record_length_bytes: 1048576, "       \
    "record_length_bytes_stdev: 100000, record_length_bytes_resize: 4096}\n"                                 \
    "reader: {batch_size: 3, read_threads: 2, file_shuffle: seed, sample_shuffle: seed}\n"                   \
    "train: {epochs: 2, computation_time: 0.0001}\n"                                                         \
    "checkpoint: {checkpoint_folder: %s/saved}\n"                                                            \
    "metric: {au: 0}\n"

static double copy_rate;
static bool verifies;
static bool warm = true; /* tests that are not about the page cache take bytes from where they are */
static enum run_drop drop;
static enum session_verdict verdict;

static struct folder folder;
static struct workload workload;
static struct comm *comm;
static struct session session;

static int start(void **state)
{
    struct error err;
    (void)state;
    folder_make(&folder);
    warm = true;
    starved = false;
    drop = RUN_DROP_NOTHING;
    verdict = SESSION_OK;
    comm = comm_open(0, &err);
    return comm ? 0 : -1;
}

static void close_session(void)
{
    session_close(&session);
    workload_release(&workload);
}

static int end(void **state)
{
    (void)state;
    close_session();
    comm_close(comm);
    folder_remove(&folder);
    return 0;
}

/* Of two accelerators. */
static void open_session(const char *const *overrides, int count)
{
    struct error err;
    char text[4096];
    const struct workload_options given = {.overrides = overrides, .override_count = count, .strict = true};
    struct session_options options = {
        .run = {.workload = &workload,
                .comm = comm,
                .accelerators = 2,
                .step.copy_rate = copy_rate,
                .loader.verify = verifies,
                .drop = drop},
        .version = "test",
        .warm = warm,
    };
    close_session();
    snprintf(text, sizeof text, BASE, folder.path, folder.path);
    if (!workload_parse(&workload, "test.yaml", text, strlen(text), &given, &err) ||
        !session_open(&session, &options, &err))
        fail_msg("%s", err.text);
}

static void run(const char *const *overrides, int count)
{
    struct error err;
    open_session(overrides, count);
    if (!session_run(&session, &err) || !session_judge(&session, &err))
        fail_msg("%s", err.text);
    if (session_passed(&session, &err) != (verdict == SESSION_OK) || session.verdict != verdict)
        fail_msg("%s: %s", session_verdict_words[session.verdict], session.verdict_text);
}

#define LIST(...)                                                                                            \
    (const char *const[]){__VA_ARGS__},                                                                      \
        (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
#define RUN(...) run(LIST(__VA_ARGS__))

static struct metrics_figures figures(void)
{
    struct metrics_figures f;
    struct error err;
    if (!metrics_figures(&session.run.whole, METRICS_TRAIN, METRICS_RUN, &f, &err))
        fail_msg("%s", err.text);
    return f;
}

#define SAVE_ONLY                                                                                            \
    "workflow.generate_data=false", "workflow.train=false", "workflow.checkpoint=true",                      \
        "checkpoint.num_checkpoints_write=2"

/* In DLIO checkpoint.fsync has no effect. A checkpoint has three files here: a note that it is unfinished, the model's, and the
 * manifest; each is followed by its folder. */
static void fsync_is_called_where_it_is_asked_for(void **state)
{
    (void)state;
    files_synced = folders_synced = 0;
    RUN(SAVE_ONLY, "checkpoint.fsync=false");
    assert_int_equal(files_synced, 0);
    assert_int_equal(folders_synced, 0);
    folder_remove(&folder);
    folder_make(&folder);
    RUN(SAVE_ONLY, "checkpoint.fsync=true");
    assert_int_equal(files_synced, 2 * 3);
    assert_int_equal(folders_synced, 2 * 3);
}

/* In DLIO samples have a byte after data were made in the same run. */
static void making_data_first_changes_nothing(void **state)
{
    (void)state;
    RUN("train.epochs=1");
    const struct metrics_figures first = figures();
    assert_int_equal(first.all.samples, 24);
    assert_in_range(first.all.bytes, 24 * 900000, 24 * 1200000);
    assert_true(workload.dataset.record_length_bytes == 1048576);
    assert_true(workload.dataset.record_length_bytes_resize == 4096);
    RUN("train.epochs=1", "workflow.generate_data=false");
    const struct metrics_figures second = figures();
    assert_int_equal(first.all.samples, second.all.samples);
    assert_int_equal(first.all.bytes, second.all.bytes);
}

/* DLIO reads past `model_size`, and saves 10 KiB. */
static void a_checkpoint_is_as_large_as_the_model(void **state)
{
    (void)state;
    struct metrics_checkpoints saved;
    struct error err;
    RUN("workflow.checkpoint=true");
    if (!metrics_checkpoints(&session.run.whole, METRICS_SAVE, &saved, &err))
        fail_msg("%s", err.text);
    assert_int_equal(saved.bytes, 300000);
    assert_true(saved.count >= 1);
}

/* The sum of what an accelerator read in each of two epochs. */
static void marks(uint64_t marks[2])
{
    for (int epoch = 0; epoch < 2; epoch++)
        marks[epoch] = metrics_row(&session.run.whole, 0, epoch, METRICS_TRAIN)->mark;
}

/* With DLIO's loader for PyTorch every accelerator reads the same files in every epoch, whatever is asked for. */
static void accelerators_read_other_samples_in_each_epoch(void **state)
{
    uint64_t shuffled[2], again[2], seeded[2], plain[2];
    (void)state;
    RUN("train.seed=5");
    marks(shuffled);
    assert_true(shuffled[0] != shuffled[1]);
    RUN("train.seed=5", "workflow.generate_data=false");
    marks(again);
    assert_memory_equal(again, shuffled, sizeof again);
    RUN("train.seed=6", "workflow.generate_data=false");
    marks(seeded);
    assert_true(seeded[0] != shuffled[0] && seeded[1] != shuffled[1]);
    RUN("reader.file_shuffle=off", "reader.sample_shuffle=off", "workflow.generate_data=false");
    marks(plain);
    assert_true(plain[0] == plain[1]);
}

/* DLIO trims this to no file, runs no step and ends well. */
static void one_file_of_many_samples_is_read(void **state)
{
    (void)state;
    RUN("dataset.format=indexed_binary", "dataset.num_files_train=1", "dataset.num_samples_per_file=100",
        "dataset.record_length_bytes=640", "dataset.record_length_bytes_stdev=0", "reader.batch_size=1");
    const struct metrics_figures f = figures();
    assert_int_equal(session.run.train.steps, 50);
    assert_int_equal(f.all.samples, 2 * 100);
    assert_true(f.samples_per_second > 0);
}

static void requests_are_of_the_transfer_size(void **state)
{
    (void)state;
    RUN("reader.transfer_size=65536", "workflow.checkpoint=true");
    assert_int_equal(storage_options(session.storage)->request, 65536);
    assert_int_equal(storage_options(session.saves)->request, 0);
    RUN("reader.transfer_size=1");
    assert_int_equal(storage_options(session.storage)->request, STORAGE_MIN_REQUEST);
}

/* At 1 GB/s a byte takes a nanosecond. */
static void copies_are_of_transformed_samples(void **state)
{
    (void)state;
    copy_rate = 1e9;
    RUN("train.epochs=1", "reader.transformed_record_dims=[10, 25]",
        "reader.transformed_record_element_type=float32");
    for (int a = 0; a < 2; a++)
        assert_int_equal(metrics_row(&session.run.whole, a, 0, METRICS_TRAIN)->all.copy, 12 * 10 * 25 * 4);
    RUN("train.epochs=1", "workflow.generate_data=false");
    assert_int_equal(metrics_row(&session.run.whole, 0, 0, METRICS_TRAIN)->all.copy, 12 * 4096);
    copy_rate = 0;
}

/* What is read is compared with what was made, whatever the format. */
static void samples_of_every_format_are_verified(void **state)
{
    static const char *const formats[] = {
        "npz",  "npy",      "csv", "tfrecord",      "indexed_binary", "mmap_indexed_binary",
        "hdf5", "png",      "raw", "bert_tfrecord", "dlrm_binary",    "criteo_text",
        "jpeg", "synthetic"};
    (void)state;
    verifies = true;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char format[64], folder_of[512];
        if (dataset_format_find(formats[i])->missing)
            continue;
        snprintf(format, sizeof format, "dataset.format=%s", formats[i]);
        snprintf(folder_of, sizeof folder_of, "dataset.data_folder=%s/%s", folder.path, formats[i]);
        bool rows = strcmp(formats[i], "dlrm_binary") == 0; /* has one file */
        RUN(format, folder_of, "train.epochs=1", "dataset.record_length_bytes=5000",
            "dataset.record_length_bytes_stdev=0",
            rows ? "dataset.num_files_train=1" : "dataset.num_files_train=12",
            rows ? "dataset.num_samples_per_file=12" : "dataset.num_samples_per_file=1");
        assert_int_equal(figures().all.samples, 12);
    }
    verifies = false;
}

static const struct session_check *check(const char *name)
{
    for (int i = 0; i < session.check_count; i++)
        if (strcmp(session.checks[i].name, name) == 0)
            return &session.checks[i];
    fail_msg("there is no check '%s'", name);
    return NULL;
}

static bool on_a_disk(void)
{
    struct storage_facts facts;
    struct error err;
    int64_t bytes;
    return storage_facts(folder.path, &facts, &err) && facts.backing == STORAGE_BACKING_DEVICE &&
           storage_process_read(&bytes);
}

/* Three epochs of files that were just made, as a user would run them: AU is met, and says nothing. */
static void memory_is_no_storage(void **state)
{
    (void)state;
    if (!on_a_disk())
        skip();
    warm = false;
    verdict = SESSION_FROM_MEMORY;
    RUN("train.epochs=3");
    assert_int_equal(check("read from the storage")->state, SESSION_FAILED);
    assert_int_equal(check("AU")->state, SESSION_OPEN);
    assert_non_null(strstr(session.verdict_text, "no verdict, from memory"));
    drop = RUN_DROP_FILES;
    verdict = SESSION_OK;
    RUN("train.epochs=3", "workflow.generate_data=false");
    assert_string_equal(session.verdict_text, "ok");
    drop = RUN_DROP_NOTHING;
    warm = true;
    RUN("train.epochs=3", "workflow.generate_data=false");
    assert_string_equal(session.verdict_text, "ok with warm caches");
    assert_non_null(strstr(check("read from the storage")->text, "warm caches requested"));
}

static void restored_from_memory_is_no_storage_either(void **state)
{
    (void)state;
    if (!on_a_disk())
        skip();
    warm = false;
    verdict = SESSION_FROM_MEMORY;
    RUN(SAVE_ONLY, "checkpoint.num_checkpoints_read=2");
    assert_int_equal(check("restored from the storage")->state, SESSION_FAILED);
    drop = RUN_DROP_FILES;
    verdict = SESSION_OK;
    RUN(SAVE_ONLY, "checkpoint.num_checkpoints_read=2");
    assert_int_equal(check("restored from the storage")->state, SESSION_PASSED);
}

/* What is too slow even with the help of memory is too slow. */
static void too_slow_from_memory_is_too_slow(void **state)
{
    (void)state;
    warm = false;
    verdict = SESSION_TOO_SLOW;
    RUN("metric.au=1", "train.computation_time=0");
    assert_int_equal(check("AU")->state, SESSION_FAILED);
    assert_non_null(strstr(session.verdict_text, "AU 0.0 % is below"));
}

/* The same run, as if deadlines had been noticed late: 23 % of the time, as in a control group with too small a quota. */
static void a_host_that_is_late_leaves_no_verdict(void **state)
{
    struct error err;
    struct metrics *whole = &session.run.whole;
    (void)state;
    RUN("train.epochs=1", "train.computation_time=0.001");
    whole->options.au_target = 0.9;
    for (int step = 0; step < 2; step++) {
        for (int a = 0; a < 2; a++) {
            struct metrics_sums *sums = &metrics_row(whole, a, 0, METRICS_TRAIN)->counted;
            *sums = (struct metrics_sums){.steps = 3, .samples = 9, .time = 1000000};
            sums->compute_asked = step == 0 ? 770000 : 600000;
            sums->compute = sums->compute_asked + 230000;
            sums->lost = 230000;
            sums->load = sums->time - sums->compute;
        }
        session.run.counts.busy = session.run.counts.delayed = session.run.throttled = 0;
        assert_true(session_judge(&session, &err));
        /* without, AU would be 100 %; then 78 %: that is the storage */
        assert_int_equal(session.verdict, step == 0 ? SESSION_HOST : SESSION_TOO_SLOW);
        assert_int_equal(check("the host kept up")->state, step == 0 ? SESSION_FAILED : SESSION_PASSED);
        assert_int_equal(check("AU")->state, step == 0 ? SESSION_OPEN : SESSION_FAILED);
        assert_true((strstr(session.verdict_text, "no verdict: the host could not keep up") != NULL) ==
                    (step == 0));
    }
    /* Readers that wait for a processor and not for storage: half of what was waited for data is the host's. */
    session.run.counts.busy = 8;
    session.run.counts.delayed = 6;
    for (int a = 0; a < 2; a++)
        *(&metrics_row(whole, a, 0, METRICS_TRAIN)->counted) = (struct metrics_sums){.steps = 3,
                                                                                     .samples = 9,
                                                                                     .time = 1000000,
                                                                                     .compute_asked = 700000,
                                                                                     .compute = 700000,
                                                                                     .load = 100000,
                                                                                     .barrier = 200000};
    assert_true(session_judge(&session, &err));
    assert_int_equal(session.verdict, SESSION_HOST); /* 0.7 / (1 - 0.3 * 0.75) = 0.903 */
    session.run.counts.delayed = 5;
    assert_true(session_judge(&session, &err));
    assert_int_equal(session.verdict, SESSION_TOO_SLOW);
}

/* ---- How many accelerators ---- */

/* Files that one thread reads, each in 10 ms where there are more than five accelerators: that is 60 ms of reading per step
 * of 5 ms, and AU below a tenth, however quick or slow the machine is. */
static ssize_t slow_for_six(void *context, int fd, void *to, size_t length, off_t offset)
{
    (void)context;
    if (session.run.metrics.count > 5)
        usleep(10000);
    return pread(fd, to, length, offset);
}

static bool find(int limit, struct session_max *found, struct error *err)
{
    static const struct storage_calls calls = {.pread = slow_for_six};
    open_session(LIST("reader.batch_size=1", "train.computation_time=0.005", "metric.au=0.5",
                      "dataset.num_files_train=36", "dataset.record_length_bytes=4096",
                      "dataset.record_length_bytes_stdev=0"));
    const struct storage_options *used = storage_options(session.storage);
    struct storage *slow = storage_new(&(struct storage_options){.root = used->root, .calls = &calls}, err);
    assert_non_null(slow);
    storage_free(session.storage);
    session.storage = session.options.run.loader.storage = slow;
    session.options.run.loader.max_threads = 1;
    return session_find_max(&session, limit, found, err);
}

static void the_maximum_lies_next_to_the_first_that_fails(void **state)
{
    struct session_max found;
    struct error err;
    (void)state;
    if (!find(12, &found, &err)) {
        if (!strstr(err.text, "no verdict: the host could not keep up"))
            fail_msg("%s", err.text);
        skip(); /* this machine is too busy for deadlines of 5 ms */
    }
    assert_true(found.bounded);
    assert_in_range(found.fails_at, 1, 6);
    assert_int_equal(found.fails_at, found.accelerators + 1);
    assert_in_range(found.probe_count, 3, SESSION_MAX_PROBES);
    for (int i = 0; i < found.probe_count; i++) {
        assert_true(found.probes[i].met == (found.probes[i].au >= 0.5));
        assert_true(found.probes[i].accelerators < 6 || !found.probes[i].met);
    }
}

static void a_maximum_that_is_met_is_not_bounded(void **state)
{
    struct session_max found;
    struct error err;
    (void)state;
    open_session(LIST("reader.batch_size=1"));
    if (!session_find_max(&session, 3, &found, &err))
        fail_msg("%s", err.text);
    assert_false(found.bounded);
    assert_int_equal(found.accelerators, 3);
}

/* The same search: the probe that misses its target may have missed it for want of a processor. */
static void a_search_on_a_starved_host_has_no_verdict(void **state)
{
    struct session_max found;
    struct error err;
    (void)state;
    starved = true;
    bool some = find(12, &found, &err);
    assert_true(some == (found.probe_count > 0)); /* the first may have missed it, too */
    assert_false(found.certain);
    assert_true(!some || found.accelerators > 0);
    assert_in_range(found.unjudged_at, found.accelerators + 1, 12);
    assert_non_null(strstr(found.unjudged, "no verdict: the host could not keep up; give the run more CPUs"));
    for (int i = 0; i < found.probe_count; i++)
        assert_true(found.probes[i].met);
}

static void a_search_in_memory_has_no_verdict(void **state)
{
    struct session_max found;
    struct error err;
    (void)state;
    if (!on_a_disk())
        skip();
    warm = false;
    open_session(LIST("train.epochs=3"));
    assert_false(session_find_max(&session, 3, &found, &err));
    assert_int_equal(found.probe_count, 0);
    assert_non_null(strstr(err.text, "with 1 accelerator: no verdict, from memory: "));
}

/* 24 files, 10 on each of two accelerators: four are read by nobody. */
static void samples_left_out_are_said(void **state)
{
    (void)state;
    RUN("reader.batch_size=10", "output.metric.exclude_start_steps=0");
    const struct session_check *once = check("every sample once");
    assert_int_equal(once->state, SESSION_PASSED);
    assert_int_equal(once->left_out, 4);
    assert_non_null(
        strstr(once->text, "4 of 24 samples (16.7 %) skipped per epoch, different ones each time"));
    RUN("reader.batch_size=10", "reader.file_shuffle=off", "reader.sample_shuffle=off",
        "output.metric.exclude_start_steps=0");
    assert_non_null(strstr(check("every sample once")->text, "always the same ones"));
    RUN("train.total_training_steps=3");
    once = check("every sample once");
    assert_int_equal(once->left_out, 6);
    assert_non_null(strstr(once->text, "ends after 3 of 4 steps"));
    RUN("train.epochs=1");
    assert_string_equal(check("every sample once")->text, "");
    assert_int_equal(check("every sample once")->left_out, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fsync_is_called_where_it_is_asked_for),
        TEST(making_data_first_changes_nothing),
        TEST(a_checkpoint_is_as_large_as_the_model),
        TEST(accelerators_read_other_samples_in_each_epoch),
        TEST(one_file_of_many_samples_is_read),
        TEST(requests_are_of_the_transfer_size),
        TEST(memory_is_no_storage),
        TEST(restored_from_memory_is_no_storage_either),
        TEST(too_slow_from_memory_is_too_slow),
        TEST(a_host_that_is_late_leaves_no_verdict),
        TEST(the_maximum_lies_next_to_the_first_that_fails),
        TEST(a_maximum_that_is_met_is_not_bounded),
        TEST(a_search_on_a_starved_host_has_no_verdict),
        TEST(a_search_in_memory_has_no_verdict),
        TEST(samples_left_out_are_said),
        TEST(copies_are_of_transformed_samples),
        TEST(samples_of_every_format_are_verified),
    };
    return cmocka_run_group_tests_name("feed: sessions", tests, NULL, NULL);
}
