/* The first wait of an epoch, in which the storage reads for steps that count as well. */
#include "feed/script.h"

/* Storage that needs 160 ms for a batch, and reads the first three at once; 16 steps of 100 ms. In the long run AU is 62.5 %,
 * and so it is here: two thirds of the first wait are reading for steps that count. */
static void the_first_wait_counts_where_it_reads_ahead(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    int64_t now = 0;
    (void)state;
    for (int blocks = 1; blocks <= 2; blocks++) {
        init(&metrics, 1, 1, 16, 1, 0);
        now = 0;
        metrics_block_start(&metrics, 0, METRICS_TRAIN, 0, 1, now);
        for (int s = 0; s < 16; s++) {
            int64_t ready = (s < 3 ? 480 : 480 + 160 * (s - 2)) * MS, load = ready > now ? ready - now : 0;
            struct metrics_step step = {
                .start = now,
                .end = now + load + 100 * MS,
                .load = load,
                .batch.ahead = s == 0 ? 320 * MS : 0,
                .compute_asked = 100 * MS,
                .compute = 100 * MS,
                .batch.samples = 2,
            };
            if (blocks == 2 && s == 1) { /* a checkpoint after the first step */
                ok(metrics_block_end(&metrics, 0, now, &err));
                metrics_block_start(&metrics, 0, METRICS_TRAIN, 0, 2, now);
            }
            metrics_step(&metrics, 0, &step);
            now = step.end;
        }
        ok(metrics_block_end(&metrics, 0, now, &err));
        ok(metrics_figures(&metrics, METRICS_TRAIN, METRICS_RUN, &f, &err));
        assert_true(near(f.au, 0.625));
        assert_true(near(f.load, 0.375));
        assert_true(near(f.samples_per_second, 15 * 2 / 2.4));
        metrics_release(&metrics);
    }
}

/* Of two steps the second is read with the first, and never waits; three are too few to fall behind. Storage that needs 160 ms
 * for a batch keeps accelerators of 100 ms busy for 62.5 % of their time all the same. */
static void the_first_wait_counts_in_the_shortest_epochs(void **state)
{
    static const struct {
        int steps, ready[3]; /* ms */
    } epochs[] = {{2, {320, 320, 0}}, {3, {320, 320, 480}}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct metrics metrics;
        struct metrics_figures f;
        int64_t now = 0;
        init(&metrics, 1, 1, epochs[i].steps, 1, 0);
        metrics_block_start(&metrics, 0, METRICS_TRAIN, 0, 1, now);
        for (int s = 0; s < epochs[i].steps; s++) {
            int64_t ready = epochs[i].ready[s] * MS, load = ready > now ? ready - now : 0;
            struct metrics_step step = {
                .start = now,
                .end = now + load + 100 * MS,
                .load = load,
                .batch.ahead = s == 0 ? 160 * MS : 0,
                .batch.ready = ready,
                .compute_asked = 100 * MS,
                .compute = 100 * MS,
            };
            metrics_step(&metrics, 0, &step);
            now = step.end;
        }
        ok(metrics_block_end(&metrics, 0, now, &err));
        metrics_epoch(&metrics, 0, 0, 0, now);
        ok(metrics_figures(&metrics, METRICS_TRAIN, METRICS_RUN, &f, &err));
        assert_true(near(f.au, 0.625));
        metrics_release(&metrics);
    }
}

/* Storage that keeps up has read ahead all it may before the second step: a late batch further on is not the first wait's. */
static void the_first_wait_does_not_count_where_storage_keeps_up(void **state)
{
    struct metrics metrics;
    struct metrics_figures f;
    int64_t now = 0;
    (void)state;
    init(&metrics, 1, 1, 16, 1, 0);
    metrics_block_start(&metrics, 0, METRICS_TRAIN, 0, 1, now);
    for (int s = 0; s < 16; s++) {
        int64_t load = s == 0 ? 90 * MS : s == 9 ? 20 * MS : 0;
        struct metrics_step step = {
            .start = now,
            .end = now + load + 100 * MS,
            .load = load,
            .batch.ahead = s == 0 ? 60 * MS : 0,
            .batch.caught_up = s > 0 && s != 9,
            .compute_asked = 100 * MS,
            .compute = 100 * MS,
        };
        metrics_step(&metrics, 0, &step);
        now = step.end;
    }
    ok(metrics_block_end(&metrics, 0, now, &err));
    ok(metrics_figures(&metrics, METRICS_TRAIN, METRICS_RUN, &f, &err));
    assert_true(near(f.au, 1.5 / 1.52));
    metrics_release(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_wait_counts_where_it_reads_ahead),
        cmocka_unit_test(the_first_wait_counts_in_the_shortest_epochs),
        cmocka_unit_test(the_first_wait_does_not_count_where_storage_keeps_up),
    };
    return cmocka_run_group_tests_name("feed: the first wait", tests, NULL, NULL);
}
