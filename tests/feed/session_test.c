/* A session, from a workload's text to its figures: what is asked for happens. */
#include "feed/session.h"

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

static struct folder folder;
static struct workload workload;
static struct comm *comm;
static struct session session;

static int start(void **state)
{
    struct error err;
    (void)state;
    folder_make(&folder);
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

static double copy_rate;
static bool verifies;

/* Runs it on two accelerators. */
static void run(const char *const *overrides, int count)
{
    struct error err;
    char text[4096];
    const struct workload_options given = {.overrides = overrides, .override_count = count, .strict = true};
    struct session_options options = {
        .workload = &workload,
        .version = "test",
        .comm = comm,
        .storage = {.method = -1},
        .accelerators = 2,
        .copy_rate = copy_rate,
        .verify = verifies,
    };
    close_session();
    snprintf(text, sizeof text, BASE, folder.path, folder.path);
    if (!workload_parse(&workload, "test.yaml", text, strlen(text), &given, &err) ||
        !session_open(&session, &options, &err) || !session_run(&session, &err) ||
        !session_judge(&session, &err) || !session_passed(&session, &err))
        fail_msg("%s", err.text);
}

#define RUN(...)                                                                                             \
    run((const char *const[]){__VA_ARGS__},                                                                  \
        (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))

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
    assert_int_equal(first.all_samples, 24);
    assert_in_range(first.all_bytes, 24 * 900000, 24 * 1200000);
    assert_true(workload.dataset.record_length_bytes == 1048576);
    assert_true(workload.dataset.record_length_bytes_resize == 4096);
    RUN("train.epochs=1", "workflow.generate_data=false");
    const struct metrics_figures second = figures();
    assert_int_equal(first.all_samples, second.all_samples);
    assert_int_equal(first.all_bytes, second.all_bytes);
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
    assert_int_equal(f.all_samples, 2 * 100);
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
        assert_int_equal(figures().all_samples, 12);
    }
    verifies = false;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fsync_is_called_where_it_is_asked_for), TEST(making_data_first_changes_nothing),
        TEST(a_checkpoint_is_as_large_as_the_model), TEST(accelerators_read_other_samples_in_each_epoch),
        TEST(one_file_of_many_samples_is_read),      TEST(requests_are_of_the_transfer_size),
        TEST(copies_are_of_transformed_samples),     TEST(samples_of_every_format_are_verified),
    };
    return cmocka_run_group_tests_name("feed: sessions", tests, NULL, NULL);
}
