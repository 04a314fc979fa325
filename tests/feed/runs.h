/* Runs of a small workload over the set of set.h. */
#ifndef REHEARSE_TESTS_FEED_RUNS_H
#define REHEARSE_TESTS_FEED_RUNS_H

#include "feed/run.h"

#include "feed/set.h"

/* A workload of short steps over the set of set.h. */
#define BASE                                                                                                 \
    "framework: pytorch\n"                                                                                   \
    "workflow: {train: true}\n"                                                                              \
    "dataset: {format: npz, num_files_train: 12, num_files_eval: 3, num_samples_per_file: 4,"                \
    " record_length_bytes: 1000}\n"                                                                          \
    "reader: {batch_size: 4, batch_size_eval: 2, read_threads: 2, file_shuffle: seed, sample_shuffle: "      \
    "seed}\n"                                                                                                \
    "train: {epochs: 2, computation_time: 0.001}\n"                                                          \
    "metric: {au: 0}\n"

static struct workload workload;
static struct comm *comm;
static struct run_options options;
static struct run_result result;

static inline void configure(const char *const *overrides, int count)
{
    struct error err;
    const struct workload_options given = {.overrides = overrides, .override_count = count, .strict = true};
    if (!workload_parse(&workload, "test.yaml", BASE, strlen(BASE), &given, &err))
        fail_msg("%s", err.text);
}

#define CONFIGURE(...)                                                                                       \
    configure((const char *const[]){__VA_ARGS__},                                                            \
              (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))

static inline int start(void **state)
{
    (void)state;
    struct error err;
    set_start("npz");
    set_make();
    comm = comm_open(0, &err);
    assert_non_null(comm);
    options = (struct run_options){.workload = &workload,
                                   .loader = {.layout = &set.layout, .storage = set.storage, .exact = true},
                                   .comm = comm,
                                   .accelerators = 3};
    return 0;
}

static inline int end(void **state)
{
    run_release(&result);
    result = (struct run_result){0};
    workload_release(&workload);
    comm_close(comm);
    return set_end(state);
}

static inline void require_run(void)
{
    struct error err;
    if (!run_workload(&options, &result, &err))
        fail_msg("%s", err.text);
}

static inline void require_samples(void)
{
    struct error err;
    if (!run_check_samples(&result, &err))
        fail_msg("%s", err.text);
}

static inline int64_t steps_of(int accelerator, int epoch, enum metrics_phase phase)
{
    return metrics_row(&result.whole, accelerator, epoch, phase)->all.steps;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

#endif
