#include "evidence/rank.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RUNS 12

static struct run run_of(int line, int devices, int tensor, double measured, double predicted)
{
    return (struct run){
        .line = line,
        .source = "ours",
        .gpu = "H100",
        .framework = "NeMo",
        .model_name = "gpt",
        .scored = true,
        .seconds = measured,
        .predicted.seconds = predicted,
        .job = {.devices = devices, .degrees.tensor = tensor, .batch = 64, .sequence = 2048},
    };
}

static struct ranking rank(struct run *runs, int count)
{
    struct validation validation = {.runs = runs, .count = count};
    struct ranking ranking;
    struct error err;
    if (!ranking_make(&ranking, &validation, &err))
        fail_msg("%s", err.text);
    return ranking;
}

static void near(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-12);
}

static void ranks_the_splits_of_a_job(void **state)
{
    (void)state;
    struct run runs[] = {run_of(2, 64, 8, 12.0, 20.0), run_of(3, 64, 4, 10.0, 19.0),
                         run_of(4, 64, 2, 11.0, 18.0), run_of(5, 64, 1, 15.0, 30.0)};
    struct ranking ranking = rank(runs, 4);
    assert_int_equal(ranking.count, 1);
    const struct ranked_job *job = &ranking.jobs[0];
    assert_int_equal(job->count, 4);
    assert_int_equal(job->splits[0].run->line, 3);
    assert_int_equal(job->splits[3].run->line, 5);
    near(job->correlation, 0.8); /* 1 - 6 x 2 / (4 x 15) */
    near(job->regret, 0.1);
    near(job->spread, 0.5);
    near(ranking.correlation, 0.8);
    near(ranking.regret, 0.1);
    assert_int_equal(ranking.repeated, 0);
    ranking_release(&ranking);
}

/* Runs of one split count once, with their median; what cannot be told apart costs the mean. */
static void repeated_and_equal_splits(void **state)
{
    (void)state;
    struct run runs[] = {run_of(2, 64, 8, 10.0, 9.0), run_of(3, 64, 8, 14.0, 9.0),
                         run_of(4, 64, 4, 20.0, 9.0), run_of(5, 64, 2, 30.0, 40.0),
                         run_of(6, 64, 8, 11.0, 9.0)};
    struct ranking ranking = rank(runs, 5);
    assert_int_equal(ranking.count, 1);
    assert_int_equal(ranking.jobs[0].count, 3);
    assert_int_equal(ranking.jobs[0].splits[0].runs, 3);
    near(ranking.jobs[0].splits[0].measured, 11.0);
    near(ranking.jobs[0].regret, 15.5 / 11.0 - 1.0);
    assert_int_equal(ranking.repeated, 1);
    near(ranking.repeat_spread, 0.4);
    ranking_release(&ranking);
}

/* Jobs apart in one thing; runs that are not scored, and jobs of two splits, are none. */
static void jobs_are_kept_apart(void **state)
{
    (void)state;
    struct run runs[RUNS];
    for (int i = 0; i < RUNS; i++)
        runs[i] = run_of(i + 2, i % 2 ? 64 : 128, 1 << i / 2, 10.0 + i, 10.0 + i);
    struct ranking ranking = rank(runs, RUNS);
    assert_int_equal(ranking.count, 2);
    assert_int_equal(ranking.jobs[0].count, RUNS / 2);
    near(ranking.correlation, 1.0);
    near(ranking.regret, 0.0);
    ranking_release(&ranking);
    for (int i = 0; i < 4; i++)
        runs[2 * i].scored = false;
    runs[1].reason = "unknown";
    runs[3].model_name = "bert";
    runs[5].job.batch = 128;
    ranking = rank(runs, RUNS);
    assert_int_equal(ranking.count, 1);
    assert_int_equal(ranking.jobs[0].count, 3);
    ranking_release(&ranking);
    ranking = rank(runs, 0);
    assert_int_equal(ranking.count, 0);
    near(ranking.correlation, 0.0);
    ranking_release(&ranking);
}

/* The same by its definition, on all orders of five splits. */
static void agrees_with_the_definition(void **state)
{
    (void)state;
    for (int order = 0; order < 3125; order++) {
        struct run runs[5];
        double predicted[5], squares = 0.0, best = INFINITY, chosen = 0.0;
        bool distinct = true;
        for (int i = 0, rest = order; i < 5; i++, rest /= 5) {
            predicted[i] = 1.0 + rest % 5;
            for (int j = 0; j < i; j++)
                distinct &= predicted[i] != predicted[j];
            runs[i] = run_of(i + 2, 64, 1 << i, 10.0 * (i + 1), predicted[i]);
            squares += (predicted[i] - i - 1) * (predicted[i] - i - 1);
            if (predicted[i] < best) {
                best = predicted[i];
                chosen = 10.0 * (i + 1);
            }
        }
        if (!distinct)
            continue;
        struct ranking ranking = rank(runs, 5);
        near(ranking.correlation, 1.0 - 6.0 * squares / (5.0 * 24.0));
        near(ranking.regret, chosen / 10.0 - 1.0);
        ranking_release(&ranking);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_the_splits_of_a_job),
        cmocka_unit_test(repeated_and_equal_splits),
        cmocka_unit_test(jobs_are_kept_apart),
        cmocka_unit_test(agrees_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
