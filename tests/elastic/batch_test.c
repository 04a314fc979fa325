/* The split of a batch against all splits. */
#include "elastic/batch.h"
#include "support/random_kit.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define CASES     4000
#define MAX_LINES 4

/* The slowest pipeline of the best split: pipeline after pipeline, every number of micro-batches. */
static double best_split(const struct elastic_line *const *pipelines, int count, int64_t batch)
{
    if (count == 0)
        return batch == 0 ? 0 : INFINITY;
    double best = INFINITY;
    for (int64_t m = 1; m <= batch - (count - 1); m++)
        best = fmin(best, fmax(elastic_line_seconds(pipelines[0], m),
                               best_split(pipelines + 1, count - 1, batch - m)));
    return best;
}

static struct elastic_line random_line(uint64_t *state)
{
    return (struct elastic_line){.copies = 1,
                                 .fill = (double)random_between(state, 0, 30) / 7,
                                 .period = (double)random_between(state, 1, 30) / 7,
                                 .step = random_between(state, 0, 3) ? 1 : random_between(state, 2, 4)};
}

static void split_is_the_best_of_all(void **unused)
{
    (void)unused;
    for (int i = 0; i < random_cases(CASES); i++) {
        uint64_t state = (uint64_t)i;
        struct elastic_line lines[MAX_LINES];
        struct elastic_share shares[MAX_LINES];
        const struct elastic_line *pipelines[2 * MAX_LINES];
        int count = (int)random_between(&state, 1, MAX_LINES), all = 0;
        for (int l = 0; l < count; l++) {
            lines[l] = random_line(&state);
            shares[l] = (struct elastic_share){.line = &lines[l], .count = random_between(&state, 1, 2)};
            for (int c = 0; c < shares[l].count; c++)
                pipelines[all++] = &lines[l];
        }
        int64_t batch = random_between(&state, 1, 13 - all), given = 0;
        double expected = best_split(pipelines, all, batch);
        double found = elastic_split(shares, count, batch), slowest = 0;
        if (!isfinite(expected)) {
            assert_false(isfinite(found));
            continue;
        }
        if (found != expected)
            fail_msg("case %d: %.9g s, the best split takes %.9g s", i, found, expected);
        for (int l = 0; l < count; l++) {
            assert_in_range(shares[l].extra, 0, shares[l].count - 1);
            assert_true(shares[l].each >= 1);
            given += shares[l].each * shares[l].count + shares[l].extra;
            slowest = fmax(slowest, elastic_line_seconds(&lines[l], shares[l].each + (shares[l].extra > 0)));
        }
        assert_int_equal(given, batch);
        assert_true(slowest == found);
    }
}

/* Millions of micro-batches: the sum still holds, and no deadline before the answer does the batch. */
static void large_batches_are_split_exactly(void **unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) {
        uint64_t state = (uint64_t)i + 77;
        struct elastic_line lines[MAX_LINES];
        struct elastic_share shares[MAX_LINES];
        int64_t batch = random_between(&state, 1000000, ELASTIC_MAX_BATCH), given = 0;
        for (int l = 0; l < MAX_LINES; l++) {
            lines[l] = random_line(&state);
            shares[l] = (struct elastic_share){.line = &lines[l], .count = random_between(&state, 1, 2000)};
        }
        double found = elastic_split(shares, MAX_LINES, batch);
        for (int l = 0; l < MAX_LINES; l++)
            given += shares[l].each * shares[l].count + shares[l].extra;
        assert_int_equal(given, batch);
        assert_true(elastic_capacity(shares, MAX_LINES, found, batch) == batch);
        assert_true(elastic_capacity(shares, MAX_LINES, nextafter(found, 0), batch) < batch);
    }
}

static void within_is_the_inverse_of_seconds(void **unused)
{
    (void)unused;
    uint64_t state = 3;
    for (int i = 0; i < 20000; i++) {
        struct elastic_line line = random_line(&state);
        int64_t m = random_between(&state, 1, 3000);
        double seconds = elastic_line_seconds(&line, m);
        int64_t whole = (m + line.step - 1) / line.step * line.step;
        assert_int_equal(elastic_line_within(&line, seconds, 1000000), whole);
        assert_int_equal(elastic_line_within(&line, nextafter(seconds, 0), 1000000), whole - line.step);
        assert_int_equal(elastic_line_within(&line, seconds, m), m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_is_the_best_of_all),
        cmocka_unit_test(large_batches_are_split_exactly),
        cmocka_unit_test(within_is_the_inverse_of_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
