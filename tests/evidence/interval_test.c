#include "evidence/interval.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void make(struct residuals *residuals, int count, double spread)
{
    uint64_t seed = 1;
    *residuals = (struct residuals){0};
    residuals->rows = ARENA_ARRAY(&residuals->arena, (size_t)count, struct residual);
    assert_non_null(residuals->rows);
    for (int i = 0; i < count; i++) {
        struct residual *row = &residuals->rows[residuals->count++];
        row->likeness = (struct likeness){.generation = "hopper", .software = "fsdp", .bits = 16};
        for (int s = 0; s < INTERVAL_SIZES; s++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            row->likeness.sizes[s] = 10.0 + (double)(seed >> 40) / (1 << 24);
        }
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        row->log_ratio = spread * ((double)(seed >> 40) / (1 << 24) - 0.5);
    }
}

/* Each from the others: close to eight in ten lie inside. */
static void covers_what_it_says(void **state)
{
    (void)state;
    struct residuals residuals;
    make(&residuals, 400, 0.3);
    int inside = 0;
    for (int i = 0; i < residuals.count; i++) {
        double measured = exp(residuals.rows[i].log_ratio);
        struct interval interval = interval_of(&residuals, &residuals.rows[i].likeness, 1.0, true);
        assert_false(interval.extrapolates);
        inside += measured >= interval.low && measured <= interval.high;
    }
    if (inside < 300 || inside > 360)
        fail_msg("%d of 400 inside", inside);
    residuals_release(&residuals);
}

static void says_when_it_extrapolates(void **state)
{
    (void)state;
    struct residuals residuals;
    make(&residuals, 50, 0.1);
    struct likeness likeness = residuals.rows[0].likeness;
    likeness.generation = "blackwell";
    assert_true(interval_of(&residuals, &likeness, 1.0, false).extrapolates);
    likeness = residuals.rows[0].likeness;
    likeness.sizes[0] += 8.0;
    assert_true(interval_of(&residuals, &likeness, 1.0, false).extrapolates);
    residuals_release(&residuals);
    struct residuals none = {0};
    assert_true(interval_of(&none, &likeness, 1.0, false).extrapolates);
}

static void reads_what_it_writes(void **state)
{
    (void)state;
    struct residuals residuals, again;
    struct text text = {0};
    struct error err;
    make(&residuals, 20, 0.2);
    /* as a user's device and table may call them */
    residuals.rows[3].likeness.generation = "mine, ]\r\n: # true";
    residuals.rows[4].likeness.software = "true";
    residuals_write(&residuals, "a\ntest: [", &text);
    if (!residuals_parse(&again, "r.yaml", text.data, text.length, &err))
        fail_msg("%s", err.text);
    assert_int_equal(again.count, 20);
    assert_string_equal(again.rows[3].likeness.generation, "mine, ]\r\n: # true");
    assert_string_equal(again.rows[4].likeness.software, "true");
    assert_string_equal(again.rows[7].likeness.software, "fsdp");
    assert_true(fabs(again.rows[7].log_ratio - residuals.rows[7].log_ratio) < 1e-4);
    text_release(&text);
    residuals_release(&residuals);
    residuals_release(&again);
}

static void refuses_what_is_no_residual(void **state)
{
    (void)state;
    static const char text[] = "format: rehearse-residuals/1\nruns:\n  - [hopper, fsdp, 16, false, 1]\n";
    struct residuals residuals;
    struct error err;
    assert_false(residuals_parse(&residuals, "r.yaml", text, sizeof text - 1, &err));
    assert_string_equal(err.text, "r.yaml:3:5: runs[0]: expected 10 values, found 5");
}

static void knows_published_runs(void **state)
{
    (void)state;
    struct error unread;
    const struct residuals *known = residuals_known(&unread);
    assert_non_null(known);
    assert_true(known->count > 100);
    struct job job = job_example();
    struct likeness likeness = likeness_of(&job);
    struct interval interval = interval_of(known, &likeness, 10.0, false);
    assert_false(interval.extrapolates);
    assert_true(interval.low > 5.0 && interval.low < 10.0 * 1.05);
    assert_true(interval.high < 20.0 && interval.high > 10.0 / 1.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covers_what_it_says),  cmocka_unit_test(says_when_it_extrapolates),
        cmocka_unit_test(reads_what_it_writes), cmocka_unit_test(refuses_what_is_no_residual),
        cmocka_unit_test(knows_published_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
