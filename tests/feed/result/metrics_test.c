#include "feed/script.h"

/* Steps of 156, 95, 76 and 85 ms; barriers 0, 29, 0, 19 and 11, 0, 11, 0 ms. */
static const struct scripted uneven[] = {
    {100, 51}, {10, 51}, {20, 51}, {10, 51}, {90, 50}, {40, 50}, {10, 50}, {30, 50},
};

static void figures_are_those_counted_by_hand(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 4, uneven, 7 * MS);
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_int_equal(f.accelerators, 2);
    assert_int_equal(f.counted.steps, 6);
    assert_int_equal(f.counted.samples, 12);
    assert_int_equal(f.counted.bytes, 3 * 1000 + 3 * 1500);
    assert_true(near(f.seconds, 0.256));
    assert_true(near(f.au, 300.0 / 512));
    assert_true(near(f.au_without_barrier, 300.0 / (512 - 59)));
    assert_true(near(f.au_measured, 303.0 / 512));
    assert_true(near(f.samples_per_second, 12 / 0.256));
    assert_true(near(f.bytes_per_second, 7500 / 0.256));
    assert_true(f.met);
    metrics_release(&metrics);
}

static void shares_sum_up_to_one(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 4, uneven, 0);
    ok(metrics_figures(&metrics, METRICS_TRAIN, METRICS_RUN, &f, &err));
    assert_true(near(f.load, 120.0 / 512));
    assert_true(near(f.copy, 30.0 / 512));
    assert_true(near(f.compute, 300.0 / 512));
    assert_true(near(f.late, 3.0 / 512));
    assert_true(near(f.barrier, 59.0 / 512));
    assert_true(f.other == 0);
    metrics_release(&metrics);
}

static void the_whole_of_it_is_kept_too(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 4, uneven, 0);
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_int_equal(f.all.steps, 8);
    assert_int_equal(f.all.samples, 16);
    assert_int_equal(f.all.bytes, 4 * 2500);
    assert_true(near(f.all_seconds, 0.412));
    metrics_release(&metrics);
}

static void who_was_slow_is_named(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 4, uneven, 0);
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_int_equal(f.load_range.max_at, 1); /* 80 ms; the other 40 */
    assert_true(near(f.load_range.max, 0.080));
    assert_true(near(f.load_range.min, 0.040));
    assert_int_equal(f.last_range.max_at, 1);
    assert_true(f.last_range.max == 2 && f.last_range.min == 1);
    assert_true(near(f.au_range.min, 150.0 / 256));
    metrics_release(&metrics);
}

static void percentiles_are_those_of_the_counted_steps(void **state)
{
    struct metrics metrics;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 4, uneven, 0);
    struct metrics_percentiles wait =
        metrics_percentiles(&metrics.wait[METRICS_TRAIN]); /* 10 10 10 20 30 40 */
    assert_true(wait.min == 0.010 && wait.max == 0.040);
    assert_true(fabs(wait.p50 / 0.010 - 1) < 1.0 / 128);
    assert_true(fabs(wait.p90 / 0.040 - 1) < 1.0 / 128);
    struct metrics_percentiles step = metrics_percentiles(&metrics.step[METRICS_TRAIN]);
    assert_true(step.min == 0.076 && step.max == 0.095);
    metrics_release(&metrics);
}

/* 100 in the first, 400 in the second epoch, 3 steps each. */
static void a_run_adds_up_its_epochs(void **state)
{
    static const struct scripted fast[] = {{45, 50}, {45, 50}, {45, 50}},
                                 slow[] = {{345, 50}, {345, 50}, {345, 50}};
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 1, 2, 3, 1, 0);
    int64_t now = play_block(&metrics, METRICS_TRAIN, 0, 1, 1, 3, fast, 0);
    play_block(&metrics, METRICS_TRAIN, 1, 1, 1, 3, slow, now + 1000 * MS);
    ok(metrics_figures(&metrics, METRICS_TRAIN, METRICS_RUN, &f, &err));
    assert_true(near(f.seconds, 1.0)); /* not the second between them */
    assert_true(near(f.au, 0.2));
    assert_true(near(f.samples_per_second, 8));
    assert_false(f.met);
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_true(near(f.au, 0.5));
    assert_true(f.met);
    metrics_release(&metrics);
}

/* A checkpoint lies between two blocks: its time is no step's time, and no step more is excluded for it. */
static void blocks_do_not_change_what_counts(void **state)
{
    static const struct scripted steps[] = {{95, 50}, {45, 50}, {45, 50}};
    struct metrics metrics;
    struct metrics_figures f;
    struct metrics_dlio dlio;
    (void)state;
    init(&metrics, 1, 1, 6, 1, 0);
    int64_t now = play_block(&metrics, METRICS_TRAIN, 0, 1, 1, 3, steps, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 2, 1, 3, steps, now + 5000 * MS);
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_int_equal(f.counted.steps, 5);
    assert_true(near(f.seconds, 0.1 + 0.1 + 0.15 + 0.1 + 0.1));
    assert_true(near(f.au, 0.25 / 0.55));
    ok(metrics_dlio(&metrics, METRICS_TRAIN, &dlio, &err)); /* which leaves out the first of each block */
    assert_true(near(dlio.au_mean, 100 * 0.1 / 0.2));
    metrics_dlio_release(&dlio);
    metrics_release(&metrics);
}

/* Time between two steps is no one's, and counts. */
static void time_between_steps_counts(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 1, 1, 2, 0, 0);
    metrics_block_start(&metrics, 0, METRICS_TRAIN, 0, 1, 0);
    metrics_step(&metrics, 0,
                 &(struct metrics_step){.start = 0, .end = 60, .compute_asked = 60, .compute = 60});
    metrics_step(&metrics, 0,
                 &(struct metrics_step){.start = 100, .end = 160, .compute_asked = 60, .compute = 60});
    ok(metrics_block_end(&metrics, 0, 160, &err));
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_true(near(f.seconds, 160e-9));
    assert_true(near(f.other, 40.0 / 160));
    metrics_release(&metrics);
}

static void the_last_steps_can_be_excluded(void **state)
{
    static const struct scripted steps[] = {{95, 50}, {45, 50}, {45, 50}, {945, 50}};
    struct metrics metrics;
    struct metrics_figures f;
    struct metrics_dlio dlio;
    (void)state;
    init(&metrics, 1, 1, 4, 1, 1);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 1, 4, steps, 0);
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_int_equal(f.counted.steps, 2);
    assert_true(near(f.au, 0.5));
    assert_true(near(f.samples_per_second, 20));
    ok(metrics_dlio(&metrics, METRICS_TRAIN, &dlio, &err));
    assert_true(near(dlio.au_mean, 50));
    assert_true(near(dlio.throughput_mean, 20)); /* n - 2 is right here, and only here */
    metrics_dlio_release(&dlio);
    metrics_release(&metrics);
}

/* (n - 2)·batch over the time of n - 1 steps. */
static void throughput_counts_the_steps_that_the_time_covers(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    struct metrics_dlio dlio;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 4, uneven, 0);
    ok(metrics_dlio(&metrics, METRICS_TRAIN, &dlio, &err));
    assert_int_equal(dlio.count, 1);
    /* T of the second has the 11 ms in it that it spent at the barrier of the excluded step */
    assert_true(near(dlio.throughput[0], 4 / 0.256 + 4 / 0.267));
    assert_true(near(dlio.au[0], 100 * (153.0 / 256 + 150.0 / 267) / 2));
    assert_true(near(dlio.io_mean, dlio.throughput[0] * 500 / 1048576));
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_true(near(f.samples_per_second, 12 / 0.256));
    metrics_dlio_release(&dlio);
    metrics_release(&metrics);
}

static void two_steps_have_a_throughput(void **state)
{
    static const struct scripted steps[] = {{95, 50}, {45, 50}};
    struct metrics metrics;
    struct metrics_figures f;
    struct metrics_dlio dlio;
    (void)state;
    init(&metrics, 1, 1, 2, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 1, 2, steps, 0);
    ok(metrics_dlio(&metrics, METRICS_TRAIN, &dlio, &err));
    assert_true(dlio.throughput_mean == 0);
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_true(near(f.samples_per_second, 20));
    metrics_dlio_release(&dlio);
    metrics_release(&metrics);
}

/* DLIO logs a negative throughput, and ends well. */
static void no_step_is_an_error(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    struct metrics_dlio dlio;
    (void)state;
    init(&metrics, 1, 1, 0, 1, 0);
    metrics_block_start(&metrics, 0, METRICS_TRAIN, 0, 1, 0);
    ok(metrics_block_end(&metrics, 0, 40 * MS, &err));
    assert_true(near(metrics.blocks[0].dlio_throughput, -2 * 2 / 0.040));
    ok(metrics_dlio(&metrics, METRICS_TRAIN, &dlio, &err));
    assert_true(dlio.throughput_mean == 0 && dlio.au_mean == 0);
    assert_false(metrics_figures(&metrics, METRICS_TRAIN, METRICS_RUN, &f, &err));
    assert_string_equal(err.text, "no training step ran");
    metrics_dlio_release(&dlio);
    metrics_release(&metrics);
}

static void a_single_step_is_warm_up(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 2, 1, 1, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 1, uneven, 0);
    assert_false(metrics_figures(&metrics, METRICS_TRAIN, METRICS_RUN, &f, &err));
    assert_string_equal(err.text, "one training step per epoch, dropped as warm-up: use more files");
    metrics_release(&metrics);
}

static void nothing_left_to_count_is_an_error(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 2, 1, 4, 2, 2);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 4, uneven, 0);
    assert_false(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_string_equal(err.text,
                        "all 4 training steps per epoch are dropped, the first 2 as warm-up and the last 2: "
                        "use more files");
    metrics_release(&metrics);
}

/* DLIO sticks the ranks' lists together and divides the AU by their number. */
static void evaluation_is_not_divided_by_the_ranks(void **state)
{
    static const struct scripted steps[] = {{45, 50}, {45, 50}, {45, 50}, {45, 50}, {45, 50}, {45, 50}};
    struct metrics metrics;
    struct metrics_figures f;
    struct metrics_dlio dlio;
    (void)state;
    init(&metrics, 2, 1, 3, 1, 0);
    play_block(&metrics, METRICS_EVAL, 0, 0, 2, 3, steps, 0);
    ok(metrics_dlio(&metrics, METRICS_EVAL, &dlio, &err));
    assert_int_equal(dlio.count, 2);
    assert_true(near(dlio.au_mean, 25));
    assert_true(near(dlio.throughput_mean, 20)); /* of one rank; all steps over all the time */
    ok(metrics_figures(&metrics, METRICS_EVAL, METRICS_RUN, &f, &err));
    assert_true(near(f.au, 0.5));
    assert_true(near(f.samples_per_second, 40));
    metrics_dlio_release(&dlio);
    metrics_release(&metrics);
}

/* DLIO multiplies by the mean length whatever was read. */
static void bytes_are_those_that_were_read(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 1, 1, 2, 0, 0);
    metrics_block_start(&metrics, 0, METRICS_TRAIN, 0, 1, 0);
    metrics_step(&metrics, 0,
                 &(struct metrics_step){.end = 500 * MS, .batch.samples = 2, .batch.bytes = 300});
    metrics_step(
        &metrics, 0,
        &(struct metrics_step){.start = 500 * MS, .end = 1000 * MS, .batch.samples = 1, .batch.bytes = 17});
    ok(metrics_block_end(&metrics, 0, 1000 * MS, &err));
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_true(near(f.bytes_per_second, 317));
    assert_true(near(f.samples_per_second, 3));
    metrics_release(&metrics);
}

/* The host woke the accelerator late: DLIO calls that use. */
static void a_late_sleep_is_not_use(void **state)
{
    static const struct scripted steps[] = {{0, 95}, {0, 95}};
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    init(&metrics, 1, 1, 2, 0, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 1, 2, steps, 0);
    ok(metrics_figures(&metrics, METRICS_TRAIN, 0, &f, &err));
    assert_true(near(f.au, 0.5));
    assert_true(near(f.au_measured, 0.95));
    assert_true(near(f.late, 0.45));
    metrics_release(&metrics);
}

static void lost_samples_are_noticed(void **state)
{
    struct metrics metrics;
    uint64_t mark = 4 + 8;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    play_block(&metrics, METRICS_TRAIN, 0, 1, 2, 4, uneven, 0);
    ok(metrics_complete(&metrics, METRICS_TRAIN, 0, 16, &mark, &err));
    assert_false(metrics_complete(&metrics, METRICS_TRAIN, 0, 18, NULL, &err));
    assert_string_equal(err.text, "epoch 1: 16 samples were read, expected 18");
    mark++;
    assert_false(metrics_complete(&metrics, METRICS_TRAIN, 0, 16, &mark, &err));
    assert_non_null(strstr(err.text, "exactly once"));
    metrics_release(&metrics);
}

static void checkpoint(struct metrics *metrics, enum metrics_kind kind, int rank, int number,
                       int64_t length_ms, int64_t bytes)
{
    struct metrics_checkpoint one = {
        .kind = kind,
        .rank = rank,
        .number = number,
        .start = number * 1000 * MS,
        .end = (number * 1000 + length_ms) * MS,
        .bytes = bytes,
        .sync = length_ms * MS / 4,
    };
    ok(metrics_checkpoint(metrics, &one, &err));
}

/* DLIO takes the time of rank 0, which here saves little. */
static void a_checkpoint_takes_as_long_as_its_slowest_rank(void **state)
{
    struct metrics metrics;
    struct metrics_checkpoints f;
    const int64_t gib = INT64_C(1) << 30;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    checkpoint(&metrics, METRICS_SAVE, 1, 0, 800, 3 * gib);
    checkpoint(&metrics, METRICS_LOAD, 0, 0, 10, 1);
    checkpoint(&metrics, METRICS_SAVE, 1, 1, 400, 3 * gib);
    checkpoint(&metrics, METRICS_SAVE, 0, 0, 100, gib);
    checkpoint(&metrics, METRICS_SAVE, 0, 1, 200, gib);
    ok(metrics_checkpoints(&metrics, METRICS_SAVE, &f, &err));
    assert_int_equal(f.count, 2);
    assert_int_equal(f.bytes, 4 * gib);
    assert_true(near(f.duration_mean, 0.6));
    assert_true(near(f.duration_stdev, 0.2));
    assert_true(near(f.duration_max, 0.8));
    assert_true(near(f.throughput_mean, 8 / 1.2 * (double)gib)); /* not 7.5, the mean of 5 and 10 */
    assert_int_equal(f.all_bytes, 8 * gib);
    assert_true(near(f.throughput_min, 5 * (double)gib));
    assert_true(near(f.rank_min, 3.75 * (double)gib));
    assert_int_equal(f.rank_min_at, 1);
    assert_true(near(f.sync, 0.25));
    assert_true(near(f.dlio_duration_mean, 0.15));
    assert_true(near(f.dlio_throughput_mean, 30));
    assert_true(near(f.dlio_throughput_stdev, 10));
    ok(metrics_checkpoints(&metrics, METRICS_LOAD, &f, &err));
    assert_int_equal(f.count, 1);
    metrics_release(&metrics);
    init(&metrics, 2, 1, 4, 1, 0);
    ok(metrics_checkpoints(&metrics, METRICS_SAVE, &f, &err));
    assert_int_equal(f.count, 0);
    metrics_release(&metrics);
}

/* A rank that does not know leaves the whole unknown. */
static void what_was_restored_from_storage_adds_up(void **state)
{
    struct metrics metrics;
    struct metrics_checkpoints f;
    (void)state;
    init(&metrics, 2, 1, 4, 1, 0);
    struct metrics_checkpoint part = {
        .kind = METRICS_LOAD, .end = 100 * MS, .bytes = 1000, .from_storage = 300};
    ok(metrics_checkpoint(&metrics, &part, &err));
    part.rank = 1;
    part.from_storage = 1000;
    ok(metrics_checkpoint(&metrics, &part, &err));
    ok(metrics_checkpoints(&metrics, METRICS_LOAD, &f, &err));
    assert_int_equal(f.from_storage, 1300);
    assert_int_equal(f.all_bytes, 2000);
    part.number = 1;
    part.from_storage = -1;
    ok(metrics_checkpoint(&metrics, &part, &err));
    ok(metrics_checkpoints(&metrics, METRICS_LOAD, &f, &err));
    assert_int_equal(f.from_storage, -1);
    metrics_release(&metrics);
}

/* One rank after the other, as bytes: the figures are those of one process that has seen it all. */
static void epochs_that_were_not_begun_are_dropped(void **state)
{
    struct metrics metrics;
    struct metrics_figures before[2], after[2];
    (void)state;
    init(&metrics, 2, 1000, 4, 1, 0);
    for (int epoch = 0; epoch < 2; epoch++) {
        play_block(&metrics, METRICS_TRAIN, epoch, 1, 2, 4, uneven, 0);
        ok(metrics_figures(&metrics, METRICS_TRAIN, epoch, &before[epoch], &err));
    }
    metrics_keep_epochs(&metrics, 2);
    assert_int_equal(metrics.options.epochs, 2);
    for (int epoch = 0; epoch < 2; epoch++) {
        ok(metrics_figures(&metrics, METRICS_TRAIN, epoch, &after[epoch], &err));
        assert_memory_equal(&before[epoch], &after[epoch], sizeof *before);
    }
    metrics_release(&metrics);
}

static void ranks_are_put_together(void **state)
{
    struct metrics whole, all;
    struct metrics_figures one, other;
    (void)state;
    init(&whole, 2, 1, 4, 1, 0);
    play_block(&whole, METRICS_TRAIN, 0, 1, 2, 4, uneven, 0);
    init(&all, 2, 1, 4, 1, 0);
    for (int rank = 0; rank < 2; rank++) {
        struct metrics part;
        struct text bytes = {0};
        ok(metrics_init(&part, &all.options, rank, 1, &err));
        memcpy(part.rows, metrics_row(&whole, rank, 0, METRICS_TRAIN), METRICS_PHASES * sizeof *part.rows);
        if (rank == 0)
            part.wait[METRICS_TRAIN] = whole.wait[METRICS_TRAIN];
        checkpoint(&part, METRICS_SAVE, rank, 0, 100, 7);
        metrics_pack(&part, &bytes);
        assert_false(bytes.failed);
        assert_false(metrics_merge(&all, bytes.data, bytes.length - 1, &err) ||
                     metrics_merge(&all, bytes.data, 10, &err));
        ok(metrics_merge(&all, bytes.data, bytes.length, &err));
        assert_false(metrics_merge(&all, bytes.data, bytes.length, &err));
        assert_non_null(strstr(err.text, "measured twice"));
        metrics_release(&part);
        text_release(&bytes);
    }
    ok(metrics_figures(&whole, METRICS_TRAIN, 0, &one, &err));
    ok(metrics_figures(&all, METRICS_TRAIN, 0, &other, &err));
    assert_memory_equal(&one, &other, sizeof one);
    assert_int_equal(all.wait[METRICS_TRAIN].count, 6);
    assert_int_equal(all.checkpoint_count, 2);
    metrics_release(&whole);
    metrics_release(&all);
}

static void metrics_of_another_run_are_refused(void **state)
{
    struct metrics one, other;
    (void)state;
    init(&one, 2, 1, 4, 1, 0);
    init(&other, 3, 1, 4, 1, 0);
    struct text bytes = {0};
    metrics_pack(&other, &bytes);
    assert_false(metrics_merge(&one, bytes.data, bytes.length, &err));
    assert_non_null(strstr(err.text, "do not match"));
    text_release(&bytes);
    metrics_release(&one);
    metrics_release(&other);
    assert_false(metrics_init(&one, &(struct metrics_options){.accelerators = 2, .epochs = 1}, 1, 2, &err));
    assert_false(metrics_init(&one, &(struct metrics_options){.accelerators = 2}, 0, 2, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_counted_by_hand),
        cmocka_unit_test(shares_sum_up_to_one),
        cmocka_unit_test(the_whole_of_it_is_kept_too),
        cmocka_unit_test(who_was_slow_is_named),
        cmocka_unit_test(percentiles_are_those_of_the_counted_steps),
        cmocka_unit_test(a_run_adds_up_its_epochs),
        cmocka_unit_test(blocks_do_not_change_what_counts),
        cmocka_unit_test(time_between_steps_counts),
        cmocka_unit_test(the_last_steps_can_be_excluded),
        cmocka_unit_test(throughput_counts_the_steps_that_the_time_covers),
        cmocka_unit_test(two_steps_have_a_throughput),
        cmocka_unit_test(no_step_is_an_error),
        cmocka_unit_test(a_single_step_is_warm_up),
        cmocka_unit_test(nothing_left_to_count_is_an_error),
        cmocka_unit_test(evaluation_is_not_divided_by_the_ranks),
        cmocka_unit_test(bytes_are_those_that_were_read),
        cmocka_unit_test(a_late_sleep_is_not_use),
        cmocka_unit_test(lost_samples_are_noticed),
        cmocka_unit_test(what_was_restored_from_storage_adds_up),
        cmocka_unit_test(a_checkpoint_takes_as_long_as_its_slowest_rank),
        cmocka_unit_test(epochs_that_were_not_begun_are_dropped),
        cmocka_unit_test(ranks_are_put_together),
        cmocka_unit_test(metrics_of_another_run_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
