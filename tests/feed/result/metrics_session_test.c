/* A whole session: epochs, blocks, evaluations, excluded steps and barriers of several accelerators at once. */
#include "feed/script.h"

/* Two epochs on three accelerators: blocks of 3, 3 and 1 steps with a checkpoint between them, then an evaluation of 5 steps.
 * The first and last two steps are excluded, across blocks; those that count take
 *
 *     epoch 1    80 | 78, 70 ms    waits 10 | 20, 5    10 | 0, 15    25 | 10, 5    one sleep 3 ms late
 *     epoch 2    155 | 55, 100 ms  waits 0 | 0, 0      100 | 0, 0    0 | 0, 45
 *     each evaluation  60 ms       waits 5             0             0 */
static void play_session(struct metrics *metrics)
{
    static const struct scripted train[2][3][9] = {
        {{{90, 50}, {40, 50}, {10, 50}, {80, 50}, {40, 50}, {10, 50}, {70, 50}, {45, 50}, {25, 50}},
         {{20, 53}, {5, 50}, {0, 50}, {0, 50}, {15, 50}, {0, 50}, {10, 50}, {5, 50}, {30, 50}},
         {{45, 50}, {45, 50}, {45, 50}}},
        {{{0, 50}, {0, 50}, {0, 50}, {0, 50}, {0, 50}, {100, 50}, {0, 50}, {0, 50}, {0, 50}},
         {{0, 50}, {0, 50}, {0, 50}, {0, 50}, {0, 50}, {0, 50}, {0, 50}, {45, 50}, {0, 50}},
         {{0, 50}, {0, 50}, {0, 50}}},
    };
    static const struct scripted eval[15] = {{0, 50}, {0, 50}, {5, 50}, {0, 50}, {0, 50},
                                             {0, 50}, {0, 50}, {0, 50}, {0, 50}, {0, 50},
                                             {0, 50}, {0, 50}, {0, 50}, {0, 50}, {0, 50}};
    static const int steps[3] = {3, 3, 1};
    struct metrics_options options = {
        .accelerators = 3,
        .epochs = 2,
        .exclude_start = 2,
        .exclude_end = 2,
        .steps = {7, 5},
        .batch = {2, 2},
        .record_length = 500,
        .au_target = 0.55,
    };
    int64_t now = 3 * MS;
    ok(metrics_init(metrics, &options, 0, 3, &err));
    for (int epoch = 0; epoch < 2; epoch++) {
        for (int block = 0; block < 3; block++)
            now = 1000 * MS + play_block(metrics, METRICS_TRAIN, epoch, block + 1, 3, steps[block],
                                         train[epoch][block], now);
        now = play_block(metrics, METRICS_EVAL, epoch, 0, 3, 5, eval, now);
    }
}

static void a_whole_session_is_that_counted_by_hand(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    play_session(&metrics);
    ok(metrics_figures(&metrics, METRICS_TRAIN, METRICS_RUN, &f, &err));
    assert_int_equal(f.accelerators, 3);
    assert_int_equal(f.counted.steps, 18);
    assert_int_equal(f.counted.samples, 36);
    assert_int_equal(f.counted.bytes, 6 * (1000 + 1500 + 2000));
    assert_true(near(f.seconds, 0.228 + 0.310));
    assert_true(near(f.au, 900.0 / 1614));
    assert_true(near(f.au_without_barrier, 900.0 / (1614 - 86 - 290)));
    assert_true(near(f.au_measured, 903.0 / 1614));
    assert_true(near(f.load, 245.0 / 1614) && near(f.copy, 90.0 / 1614) && near(f.late, 3.0 / 1614));
    assert_true(near(f.barrier, 376.0 / 1614));
    assert_true(f.other == 0);
    assert_true(near(f.samples_per_second, 36 / 0.538) && near(f.bytes_per_second, 27000 / 0.538));
    assert_true(f.met);
    assert_int_equal(f.all.steps, 42);
    assert_int_equal(f.all.samples, 84);
    assert_true(near(f.all_seconds, 0.658 + 0.530));
    metrics_release(&metrics);
}

static void a_session_s_epochs_are_those_counted_by_hand(void **state)
{
    static const double au[] = {450.0 / 684, 450.0 / 930}, without[] = {450.0 / 598, 450.0 / 640},
                        seconds[] = {0.228, 0.310}, load[] = {100.0 / 684, 145.0 / 930};
    struct metrics metrics;
    struct metrics_figures f;
    (void)state;
    play_session(&metrics);
    for (int epoch = 0; epoch < 2; epoch++) {
        ok(metrics_figures(&metrics, METRICS_TRAIN, epoch, &f, &err));
        assert_int_equal(f.counted.steps, 9);
        assert_true(near(f.au, au[epoch]) && near(f.au_without_barrier, without[epoch]));
        assert_true(near(f.seconds, seconds[epoch]) && near(f.load, load[epoch]));
        assert_true(near(f.samples_per_second, 18 / seconds[epoch]));
        assert_int_equal(f.met, epoch == 0);
    }
    metrics_release(&metrics);
}

/* In nanoseconds, to the last: load, copy, asked, taken and barrier of each accelerator in each epoch. */
static void each_accelerator_s_sums_are_exact(void **state)
{
    static const int64_t load[2][3] = {{35, 25, 40}, {0, 100, 45}},
                         barrier[2][3] = {{25, 38, 23}, {145, 45, 100}}, time[2] = {228, 310};
    static const int64_t last[2][3] = {{1, 1, 1}, {1, 2, 2}};
    struct metrics metrics;
    (void)state;
    play_session(&metrics);
    for (int epoch = 0; epoch < 2; epoch++)
        for (int a = 0; a < 3; a++) {
            const struct metrics_row *row = metrics_row(&metrics, a, epoch, METRICS_TRAIN);
            assert_int_equal(row->counted.load, load[epoch][a] * MS);
            assert_int_equal(row->counted.copy, 15 * MS);
            assert_int_equal(row->counted.compute_asked, 150 * MS);
            assert_int_equal(row->counted.compute, (epoch == 0 && a == 0 ? 153 : 150) * MS);
            assert_int_equal(row->counted.barrier, barrier[epoch][a] * MS);
            assert_int_equal(row->counted.time, time[epoch] * MS);
            assert_int_equal(row->counted.bytes, 3 * (1000 + 500 * a));
            assert_int_equal(row->last, last[epoch][a]);
            assert_int_equal(row->blocks, 3);
        }
    metrics_release(&metrics);
}

static void a_session_s_evaluations_are_counted_apart(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    struct metrics_dlio dlio;
    (void)state;
    play_session(&metrics);
    ok(metrics_figures(&metrics, METRICS_EVAL, METRICS_RUN, &f, &err));
    assert_int_equal(f.counted.steps, 6);
    assert_true(near(f.au, 300.0 / 360) && near(f.au_without_barrier, 300.0 / 340));
    assert_true(near(f.samples_per_second, 100));
    assert_true(near(f.all_seconds, 2 * 0.280));
    ok(metrics_dlio(&metrics, METRICS_EVAL, &dlio, &err));
    assert_int_equal(dlio.count, 6);
    assert_true(near(dlio.au_mean, 100 * (50.0 / 60) / 3));
    assert_true(near(dlio.throughput_mean, 5 * 2 / 0.280));
    metrics_dlio_release(&dlio);
    metrics_release(&metrics);
}

static void percentiles_of_a_session_have_the_counted_steps_only(void **state)
{
    struct metrics metrics;
    (void)state;
    play_session(&metrics);
    assert_int_equal(metrics.wait[METRICS_TRAIN].count, 18);
    assert_int_equal(metrics.wait[METRICS_EVAL].count, 6);
    struct metrics_percentiles wait = metrics_percentiles(&metrics.wait[METRICS_TRAIN]),
                               step = metrics_percentiles(&metrics.step[METRICS_TRAIN]),
                               barrier = metrics_percentiles(&metrics.barrier[METRICS_TRAIN]);
    assert_true(wait.min == 0 && wait.max == 0.100);
    assert_true(step.min == 0.055 && step.max == 0.155);
    assert_true(barrier.min == 0 && barrier.max == 0.100);
    metrics_release(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_session_is_that_counted_by_hand),
        cmocka_unit_test(a_session_s_epochs_are_those_counted_by_hand),
        cmocka_unit_test(each_accelerator_s_sums_are_exact),
        cmocka_unit_test(a_session_s_evaluations_are_counted_apart),
        cmocka_unit_test(percentiles_of_a_session_have_the_counted_steps_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
