#include "feed/loader/accelerator.h"

#include "feed/set.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>

#define ACCELERATORS 3

static struct comm *comm;
static struct metrics metrics;
static struct accelerators *all;

/* Tests change these before they begin. */
static struct accelerators_options options;
static struct accelerators_block block;

static int start(void **state)
{
    (void)state;
    struct error err;
    set_start("tfrecord");
    set_make();
    struct loader_options loader = set_loader_options(ACCELERATORS);
    set_loader(&loader);
    set_order(ACCELERATORS, 4); /* 4 steps */
    set_pass(0);
    comm = comm_open(0, &err);
    assert_non_null(comm);
    const struct metrics_options measured = {
        .accelerators = ACCELERATORS, .epochs = 1, .steps = {4, 4}, .batch = {4, 4}, .record_length = 1000};
    assert_true(metrics_init(&metrics, &measured, 0, ACCELERATORS, &err));
    options = (struct accelerators_options){.loader = set.loader,
                                            .comm = comm,
                                            .metrics = &metrics,
                                            .count = ACCELERATORS,
                                            .seed = 5,
                                            .epochs = 1};
    block = (struct accelerators_block){
        .block = 1, .last = 4, .steps = 4, .compute = distribution_constant(0.001)};
    return 0;
}

static int end(void **state)
{
    accelerators_free(all);
    all = NULL;
    metrics_release(&metrics);
    comm_close(comm);
    return set_end(state);
}

static bool run(struct error *err)
{
    bool stopped;
    if (!all)
        all = accelerators_new(&options, err);
    assert_non_null(all);
    bool ok = accelerators_run(all, &block, &stopped, err);
    return ok && !stopped;
}

static void require_run(void)
{
    struct error err = {0};
    if (!run(&err))
        fail_msg("%s", err.text);
}

static const struct metrics_sums *sums(int accelerator)
{
    return &metrics_row(&metrics, accelerator, 0, METRICS_TRAIN)->all;
}

static void test_each_accelerator_runs_each_step(void **state)
{
    (void)state;
    uint64_t mark = 0;
    require_run();
    for (int i = 0; i < ACCELERATORS; i++) {
        assert_int_equal(sums(i)->steps, 4);
        assert_int_equal(sums(i)->samples, 16);
        mark += metrics_row(&metrics, i, 0, METRICS_TRAIN)->mark;
    }
    assert_true(mark == order_checksum(&set.order, 0));
}

static void test_time_is_load_copy_compute_and_barrier(void **state)
{
    (void)state;
    require_run();
    for (int i = 0; i < ACCELERATORS; i++) {
        const struct metrics_sums *s = sums(i);
        assert_int_equal(s->time, s->load + s->copy + s->compute + s->barrier);
        assert_true(s->load >= 0 && s->barrier >= 0 && s->compute >= s->compute_asked);
    }
}

static void test_a_barrier_ends_steps_for_all_at_once(void **state)
{
    (void)state;
    require_run();
    for (int i = 1; i < ACCELERATORS; i++)
        assert_int_equal(sums(i)->time, sums(0)->time);
}

static void test_one_comes_last_to_each_barrier(void **state)
{
    (void)state;
    int64_t last = 0;
    require_run();
    for (int i = 0; i < ACCELERATORS; i++)
        last += metrics_row(&metrics, i, 0, METRICS_TRAIN)->last;
    assert_int_equal(last, 4);
}

static void test_without_barriers_nobody_waits_in_one(void **state)
{
    (void)state;
    options.no_barrier = true;
    require_run();
    for (int i = 0; i < ACCELERATORS; i++) {
        assert_int_equal(sums(i)->steps, 4);
        assert_int_equal(sums(i)->barrier, 0);
        assert_int_equal(sums(i)->time, sums(i)->load + sums(i)->compute);
    }
}

static void test_compute_is_what_the_distribution_says(void **state)
{
    (void)state;
    block.compute = distribution_normal(0.002, 0.001);
    require_run();
    for (int i = 0; i < ACCELERATORS; i++) {
        int64_t asked = 0;
        for (uint64_t step = 0; step < 4; step++)
            asked += (int64_t)(1e9 * distribution_sample(&block.compute,
                                                         (struct distribution_draw){5, (uint32_t)i, step}));
        assert_int_equal(sums(i)->compute_asked, asked);
    }
}

static void test_copies_take_bytes_over_rate(void **state)
{
    (void)state;
    options.copy_rate = 1e9;
    require_run();
    for (int i = 0; i < ACCELERATORS; i++)
        assert_true(llabs(sums(i)->copy - sums(i)->bytes) <= 4); /* rounded once in each step */
}

static void test_copies_are_of_the_samples_after_preprocessing(void **state)
{
    (void)state;
    options.copy_rate = 1e9;
    options.copy_sample = 250;
    require_run();
    for (int i = 0; i < ACCELERATORS; i++)
        assert_int_equal(sums(i)->copy, 16 * 250);
}

static void test_blocks_go_on_where_the_one_before_ended(void **state)
{
    (void)state;
    uint64_t mark = 0;
    block.last = 1;
    require_run();
    block.first = 1;
    block.last = 4;
    block.block = 2;
    require_run();
    for (int i = 0; i < ACCELERATORS; i++) {
        mark += metrics_row(&metrics, i, 0, METRICS_TRAIN)->mark;
        assert_int_equal(metrics_row(&metrics, i, 0, METRICS_TRAIN)->blocks, 2);
    }
    assert_true(mark == order_checksum(&set.order, 0));
}

static void require_stop_of(int64_t steps)
{
    struct error err;
    bool stopped;
    all = accelerators_new(&options, &err);
    assert_non_null(all);
    assert_true(accelerators_run(all, &block, &stopped, &err));
    assert_true(stopped);
    for (int i = 0; i < ACCELERATORS; i++)
        assert_int_equal(sums(i)->steps, steps);
}

static void require_stop(void)
{
    require_stop_of(0);
}

static void test_a_stop_ends_it_at_once(void **state)
{
    (void)state;
    atomic_bool stop = true;
    options.stop = &stop;
    require_stop();
}

static void test_a_stop_ends_it_without_barriers_too(void **state)
{
    (void)state;
    atomic_bool stop = true;
    options.stop = &stop;
    options.no_barrier = true;
    require_stop();
}

static atomic_bool asked_to_stop;

/* Stops it when the first batches have been taken: a step has begun. */
static void *stop_when_it_computes(void *argument)
{
    (void)argument;
    while (set_counts(set.loader).samples < (int64_t)3 * ACCELERATORS * 4) /* two are read ahead */
        usleep(1000);
    atomic_store(&asked_to_stop, true);
    return NULL;
}

static void require_stop_within_a_step(void)
{
    pthread_t other;
    asked_to_stop = false;
    options.stop = &asked_to_stop;
    assert_int_equal(pthread_create(&other, NULL, stop_when_it_computes, NULL), 0);
    require_stop_of(0);
    pthread_join(other, NULL);
}

/* It would take years. */
static void test_a_stop_ends_a_long_step(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        set_pass(0);
        accelerators_free(all);
        all = NULL;
        options.no_barrier = i == 1;
        block.compute = distribution_constant(1e9);
        require_stop_within_a_step();
    }
}

/* The time of a copy at so low a rate is no number of nanoseconds. */
static void test_a_copy_that_takes_for_ever_can_be_stopped(void **state)
{
    (void)state;
    options.copy_rate = 1e-320;
    require_stop_within_a_step();
}

static void test_a_file_that_is_gone_ends_it(void **state)
{
    (void)state;
    struct error err;
    char path[512];
    for (int64_t number = 0; number < 12; number++) {
        set_path(path, number);
        assert_int_equal(truncate(path, 10), 0);
    }
    assert_false(run(&err)); /* two of four steps may have been read by now */
    assert_non_null(strstr(err.text, "truncated"));
}

static void test_every_step_can_be_kept(void **state)
{
    (void)state;
    struct result_steps steps;
    struct result_step each[4];
    struct error err;
    assert_true(result_steps_init(&steps, set.folder.path, 0, ACCELERATORS, &err));
    options.each = &steps;
    require_run();
    int64_t load = 0;
    assert_true(result_steps_read(&steps, 1, 0, 4, each, &err));
    for (int i = 0; i < 4; i++)
        load += each[i].load;
    assert_int_equal(load, sums(1)->load);
    result_steps_release(&steps);
}

static void test_lateness_of_every_step_is_counted(void **state)
{
    (void)state;
    require_run();
    assert_int_equal(accelerators_late(all)->count, 4 * ACCELERATORS);
}

static void test_evaluations_are_counted_apart(void **state)
{
    (void)state;
    block.phase = METRICS_EVAL;
    block.block = 0;
    require_run();
    assert_int_equal(metrics_row(&metrics, 0, 0, METRICS_EVAL)->all.steps, 4);
    assert_int_equal(sums(0)->steps, 0);
}

static void keep_view(void *context, const struct watch_view *view)
{
    *(struct watch_view *)context = *view;
}

static void test_a_run_can_be_watched(void **state)
{
    (void)state;
    struct watch_view view = {.epoch = 0};
    struct watch watch = {keep_view, &view};
    options.watch = &watch;
    block.compute = distribution_constant(0.15); /* the view is renewed each 0.2 s */
    require_run();
    assert_int_equal(view.epoch, 1);
    assert_int_equal(view.steps, 4);
    assert_true(view.step >= 1 && view.samples == view.step * 4 * ACCELERATORS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_accelerator_runs_each_step),
        TEST(test_time_is_load_copy_compute_and_barrier),
        TEST(test_a_barrier_ends_steps_for_all_at_once),
        TEST(test_one_comes_last_to_each_barrier),
        TEST(test_without_barriers_nobody_waits_in_one),
        TEST(test_compute_is_what_the_distribution_says),
        TEST(test_copies_take_bytes_over_rate),
        TEST(test_copies_are_of_the_samples_after_preprocessing),
        TEST(test_blocks_go_on_where_the_one_before_ended),
        TEST(test_a_stop_ends_it_at_once),
        TEST(test_a_stop_ends_a_long_step),
        TEST(test_a_copy_that_takes_for_ever_can_be_stopped),
        TEST(test_a_stop_ends_it_without_barriers_too),
        TEST(test_a_file_that_is_gone_ends_it),
        TEST(test_every_step_can_be_kept),
        TEST(test_lateness_of_every_step_is_counted),
        TEST(test_evaluations_are_counted_apart),
        TEST(test_a_run_can_be_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
