#include "support/ranks.h"

#include "feed/runs.h"

#include "feed/result/metrics_figures.h"

#include <dirent.h>
#include <errno.h>

static void test_epochs_read_every_sample_once(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=3");
    require_run();
    assert_true(result.complete);
    assert_int_equal(result.epochs, 3);
    assert_int_equal(result.train.steps, 4);
    for (int epoch = 0; epoch < 3; epoch++)
        assert_int_equal(steps_of(2, epoch, METRICS_TRAIN), 4);
    require_samples();
}

static void test_a_sample_too_few_is_noticed(void **state)
{
    (void)state;
    struct error err;
    CONFIGURE("train.epochs=1");
    require_run();
    metrics_row(&result.whole, 1, 0, METRICS_TRAIN)->mark ^= 1;
    assert_false(run_check_samples(&result, &err));
}

static void test_one_thread_and_four_read_the_same(void **state)
{
    (void)state;
    uint64_t marks[2][3];
    CONFIGURE("train.epochs=1");
    for (int i = 0; i < 2; i++) {
        options.loader.max_threads = i == 0 ? 1 : 4;
        run_release(&result);
        require_run();
        for (int a = 0; a < 3; a++)
            marks[i][a] = metrics_row(&result.whole, a, 0, METRICS_TRAIN)->mark;
    }
    assert_memory_equal(marks[0], marks[1], sizeof marks[0]);
}

static void test_training_ends_after_its_steps(void **state)
{
    (void)state;
    CONFIGURE("train.total_training_steps=3");
    require_run();
    assert_int_equal(steps_of(0, 0, METRICS_TRAIN), 3);
    require_samples();
}

static void test_a_caller_can_ask_for_fewer_epochs(void **state)
{
    (void)state;
    CONFIGURE("train.total_training_steps=2");
    options.epochs = 1;
    require_run();
    assert_int_equal(result.epochs, 1);
    assert_int_equal(steps_of(0, 0, METRICS_TRAIN), 2);
    require_samples();
}

static void test_evaluations_follow_their_epochs(void **state)
{
    (void)state;
    CONFIGURE("workflow.evaluation=true", "train.epochs=4", "evaluation.eval_after_epoch=2",
              "evaluation.epochs_between_evals=2");
    require_run();
    static const int64_t expected[] = {0, 2, 0, 2}; /* 12 samples, 3 accelerators, batches of 2 */
    for (int epoch = 0; epoch < 4; epoch++)
        assert_int_equal(steps_of(0, epoch, METRICS_EVAL), expected[epoch]);
    require_samples();
}

static void test_evaluations_may_lie_within_an_epoch(void **state)
{
    (void)state;
    CONFIGURE("workflow.evaluation=true", "evaluation.steps_between_evals=1",
              "evaluation.total_eval_steps=1");
    require_run();
    assert_int_equal(steps_of(0, 0, METRICS_EVAL), 4);
    assert_int_equal(steps_of(0, 0, METRICS_TRAIN), 4);
    assert_int_equal(metrics_row(&result.whole, 0, 0, METRICS_EVAL)->blocks, 4);
    require_samples();
}

static struct checkpoint *make_checkpoint(struct storage *storage)
{
    struct error err;
    struct checkpoint_options saved = {
        .storage = storage, .folder = "saved", .count = 3, .peers = checkpoint_peers_of(comm)};
    assert_true(checkpoint_shards_init(&saved.shards, &workload, 3, &err));
    struct checkpoint *checkpoint = checkpoint_new(&saved, &err);
    assert_non_null(checkpoint);
    return checkpoint;
}

static void require_checkpoints(int saves, const int *epochs, const int *blocks)
{
    struct checkpoint *checkpoint = options.checkpoint = make_checkpoint(set.storage);
    require_run();
    assert_int_equal(result.whole.checkpoint_count, 3 * (size_t)saves);
    for (size_t i = 0; i < result.whole.checkpoint_count; i++) {
        const struct metrics_checkpoint *c = &result.whole.checkpoints[i];
        assert_int_equal(c->epoch, epochs[c->number]);
        assert_int_equal(c->block, blocks[c->number]);
    }
    checkpoint_free(checkpoint);
    require_samples();
}

static void test_checkpoints_follow_their_epochs(void **state)
{
    (void)state;
    CONFIGURE("workflow.checkpoint=true", "train.epochs=5", "checkpoint.checkpoint_after_epoch=2",
              "checkpoint.epochs_between_checkpoints=2");
    require_checkpoints(2, (const int[]){1, 3}, (const int[]){1, 1});
}

static void test_checkpoints_cut_an_epoch_into_blocks(void **state)
{
    (void)state;
    CONFIGURE("workflow.checkpoint=true", "train.epochs=1", "checkpoint.steps_between_checkpoints=2");
    require_checkpoints(2, (const int[]){0, 0}, (const int[]){1, 2});
    assert_int_equal(metrics_row(&result.whole, 0, 0, METRICS_TRAIN)->blocks, 2);
}

static void test_checkpoints_alone_are_a_run(void **state)
{
    (void)state;
    CONFIGURE("workflow.checkpoint=true", "workflow.train=false", "checkpoint.num_checkpoints_write=2",
              "checkpoint.num_checkpoints_read=1");
    struct checkpoint *checkpoint = options.checkpoint = make_checkpoint(set.storage);
    require_run();
    assert_int_equal(result.whole.checkpoint_count, 9);
    checkpoint_free(checkpoint);
}

static void test_nothing_to_run_is_said(void **state)
{
    (void)state;
    struct error err;
    CONFIGURE("workflow.train=false", "workflow.generate_data=true");
    assert_false(run_workload(&options, &result, &err));
    assert_non_null(strstr(err.text, "nothing to run"));
}

static void test_too_few_samples_for_a_step_are_said(void **state)
{
    (void)state;
    struct error err;
    CONFIGURE("reader.batch_size=40");
    assert_false(run_workload(&options, &result, &err));
    assert_non_null(strstr(err.text, "no step would run"));
}

static void test_a_stop_leaves_a_part(void **state)
{
    (void)state;
    atomic_bool stop = true;
    CONFIGURE("train.epochs=1000000");
    options.step.stop = &stop;
    require_run();
    assert_false(result.complete);
    assert_int_equal(steps_of(0, 0, METRICS_TRAIN), 0);
    assert_int_equal(result.whole.options.epochs,
                     1); /* the others are not looked through: that took seconds */
    require_samples();   /* says nothing of a part */
}

static void test_accelerators_compute_as_long_as_asked(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=1", "train.computation_time=0.002");
    require_run();
    assert_int_equal(metrics_row(&result.whole, 0, 0, METRICS_TRAIN)->all.compute_asked, 4 * 2000000);
}

static void test_excluded_steps_do_not_count(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=1", "output.metric.exclude_start_steps=1", "output.metric.exclude_end_steps=1");
    require_run();
    assert_int_equal(metrics_row(&result.whole, 0, 0, METRICS_TRAIN)->counted.steps, 2);
}

/* ---- Faults ---- */

/* Truncates one file when the other files have been read for a while. */
struct accident {
    atomic_int reads;
    char path[512];
};

static ssize_t truncating_pread(void *context, int fd, void *to, size_t length, off_t offset)
{
    struct accident *accident = context;
    if (atomic_fetch_add(&accident->reads, 1) == 20 && truncate(accident->path, 100) != 0)
        return -1;
    return pread(fd, to, length, offset);
}

static void test_a_file_truncated_meanwhile_ends_the_run(void **state)
{
    (void)state;
    struct error err;
    struct accident accident = {0};
    CONFIGURE("train.epochs=20");
    storage_free(set.storage);
    set.calls = (struct storage_calls){.context = &accident, .pread = truncating_pread};
    set.storage = storage_new(&(struct storage_options){.root = set.folder.path, .calls = &set.calls}, &err);
    assert_non_null(set.storage);
    options.loader.storage = set.storage;
    set_path(accident.path, 4);
    assert_false(run_workload(&options, &result, &err));
    assert_non_null(strstr(err.text, "img_04_of_12.npz"));
    assert_non_null(strstr(err.text, "truncated"));
}

static void test_a_file_that_is_missing_ends_the_run(void **state)
{
    (void)state;
    struct error err;
    char path[512];
    CONFIGURE("train.epochs=1");
    set_path(path, 9);
    assert_int_equal(unlink(path), 0);
    assert_false(run_workload(&options, &result, &err));
    assert_non_null(strstr(err.text, "img_09_of_12.npz"));
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void test_no_file_stays_open(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=2");
    int before = open_files();
    require_run();
    assert_int_equal(open_files(), before);
}

/* ---- Several processes ---- */

/* Of a set that another process has made: its folder is in the environment. */
static int rank_main(const char *mode)
{
    struct error err;
    int status = 1;
    comm = comm_open(20, &err);
    dataset_layout_init(&set.layout);
    set.layout.format = dataset_format_find("npz");
    set.layout.files_train = 12;
    set.layout.files_eval = 3;
    set.layout.samples_per_file = 4;
    set.layout.record_bytes = 1000;
    set.storage = storage_new(&(struct storage_options){.root = getenv("SET_FOLDER")}, &err);
    if (!comm || !set.storage || !dataset_layout_check(&set.layout, &err))
        return 1;
    CONFIGURE("workflow.evaluation=true");
    options = (struct run_options){.workload = &workload,
                                   .loader = {.layout = &set.layout, .storage = set.storage, .exact = true},
                                   .comm = comm,
                                   .accelerators = 1,
                                   .step.no_barrier = strcmp(mode, "free") == 0};
    if (!run_workload(&options, &result, &err)) {
        printf("<%d: %s>\n", comm_rank(comm), err.text);
    } else {
        int64_t last = 0;
        for (int i = 0; comm_rank(comm) == 0 && i < 3; i++)
            last += metrics_row(&result.whole, i, 0, METRICS_TRAIN)->last;
        if (comm_rank(comm) == 0 && run_check_samples(&result, &err))
            printf("<%d accelerators, %d steps; last %d>\n", result.whole.count,
                   (int)steps_of(2, 1, METRICS_TRAIN), (int)last);
        status = 0;
    }
    run_release(&result);
    workload_release(&workload);
    storage_free(set.storage);
    comm_close(comm);
    return status;
}

static void test_three_processes_run_together(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=1");
    setenv("SET_FOLDER", set.folder.path, 1);
    if (!ranks_run(3, "lockstep", ""))
        skip();
    ranks_require("<3 accelerators, 4 steps; last 3>"); /* of four steps the first does not count */
}

static void test_three_processes_run_without_barriers(void **state)
{
    (void)state;
    CONFIGURE("train.epochs=1");
    setenv("SET_FOLDER", set.folder.path, 1);
    if (!ranks_run(3, "free", ""))
        skip();
    ranks_require("<3 accelerators, 4 steps; last ");
}

static void test_what_one_process_cannot_read_ends_all(void **state)
{
    (void)state;
    char path[512];
    CONFIGURE("train.epochs=1");
    set_path(path, 9);
    assert_int_equal(truncate(path, 1), 0);
    setenv("SET_FOLDER", set.folder.path, 1);
    if (!ranks_run(3, "lockstep", ""))
        skip();
    assert_int_equal(ranks_count("img_09_of_12.npz: truncated"), 3);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0)
        return rank_main(argv[2]);
    const struct CMUnitTest tests[] = {
        TEST(test_epochs_read_every_sample_once),
        TEST(test_a_sample_too_few_is_noticed),
        TEST(test_one_thread_and_four_read_the_same),
        TEST(test_training_ends_after_its_steps),
        TEST(test_a_caller_can_ask_for_fewer_epochs),
        TEST(test_evaluations_follow_their_epochs),
        TEST(test_evaluations_may_lie_within_an_epoch),
        TEST(test_checkpoints_follow_their_epochs),
        TEST(test_checkpoints_cut_an_epoch_into_blocks),
        TEST(test_checkpoints_alone_are_a_run),
        TEST(test_nothing_to_run_is_said),
        TEST(test_too_few_samples_for_a_step_are_said),
        TEST(test_a_stop_leaves_a_part),
        TEST(test_accelerators_compute_as_long_as_asked),
        TEST(test_excluded_steps_do_not_count),
        TEST(test_a_file_truncated_meanwhile_ends_the_run),
        TEST(test_a_file_that_is_missing_ends_the_run),
        TEST(test_no_file_stays_open),
        TEST(test_three_processes_run_together),
        TEST(test_three_processes_run_without_barriers),
        TEST(test_what_one_process_cannot_read_ends_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
