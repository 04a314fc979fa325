#include "measure/sample.h"

#include "core/random.h"
#include "core/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A machine whose clock stands still but for its runs. */
struct machine {
    double first, settled; /* seconds of the first run and, after `warm` runs, of all others */
    int64_t warm, done;
    double noise, slow; /* share of noise; share of runs that take twice as long */
    int disturbed_every, fails_at;
    uint64_t random;
};

static double machine_time;

static double machine_now(void)
{
    return machine_time;
}

static bool machine_run(void *context, int64_t count, struct sample_batch *batch, struct error *err)
{
    struct machine *machine = context;
    for (int64_t i = 0; i < count; i++, machine->done++) {
        double share = fmin(1.0, (double)machine->done / (double)(machine->warm + 1));
        double seconds = machine->first + share * (machine->settled - machine->first);
        seconds *= 1.0 + machine->noise * random_uniform(&machine->random);
        if (random_uniform(&machine->random) < machine->slow)
            seconds *= 2.0;
        batch->wall += seconds;
        batch->processor += seconds / 2.0;
        machine_time += seconds;
    }
    if (machine->disturbed_every && machine->done % machine->disturbed_every == 0) {
        batch->disturbed = true;
        batch->wall *= 10.0;
    }
    if (machine->fails_at && machine->done >= machine->fails_at)
        return error_set(err, ERROR_FAILED, "run %d failed", machine->fails_at);
    return true;
}

static struct sample_result measured(struct machine machine, struct sample_options options)
{
    struct sample_result result;
    struct error err;
    machine.random = 7;
    options.now = machine_now;
    if (!sample_repeat(&result, &options, machine_run, &machine, &err))
        fail_msg("%s", err.text);
    return result;
}

static void steady_times_end_early(void **state)
{
    (void)state;
    struct sample_result result =
        measured((struct machine){.first = 3e-3, .settled = 1e-3, .warm = 40, .noise = 0.01},
                 (struct sample_options){.precision = 0.02, .limit = 10.0});
    assert_int_equal(result.notes, 0);
    assert_true(result.warm_ups > 40);
    assert_in_range(result.count, 12, 40);
    assert_true(fabs(result.median / 1.005e-3 - 1.0) < 0.01);
    assert_true(result.low <= result.median && result.median <= result.high && result.precision <= 0.02);
    assert_true(fabs(result.processor / result.median - 0.5) < 0.02);
}

static void short_runs_are_batched(void **state)
{
    (void)state;
    struct sample_result result = measured((struct machine){.first = 1e-6, .settled = 1e-6, .noise = 0.1},
                                           (struct sample_options){.precision = 0.02, .limit = 1.0});
    assert_int_equal(result.batch, 256);
    assert_true(fabs(result.median / 1.05e-6 - 1.0) < 0.01);
}

static void limit_ends_and_is_said(void **state)
{
    (void)state;
    struct sample_result result = measured((struct machine){.first = 1.0, .settled = 1.0, .noise = 1.0},
                                           (struct sample_options){.precision = 0.001, .limit = 30.0});
    assert_true(result.notes & SAMPLE_LIMIT);
    assert_true(result.seconds < 33.0 && result.count >= 10);
    struct text text = {0};
    sample_notes_print(&result, &text);
    assert_string_equal(text.data, "time limit");
    text_release(&text);
}

static void modes_are_found(void **state)
{
    (void)state;
    struct sample_result result =
        measured((struct machine){.first = 1e-3, .settled = 1e-3, .noise = 0.02, .slow = 0.4},
                 (struct sample_options){.precision = 1e-4, .limit = 2.0});
    assert_true(result.notes & SAMPLE_BIMODAL);
    assert_true(fabs(result.modes[1] / result.modes[0] - 2.0) < 0.02);
}

static void disturbed_samples_are_left_out(void **state)
{
    (void)state;
    struct sample_result result =
        measured((struct machine){.first = 1e-3, .settled = 1e-3, .noise = 0.01, .disturbed_every = 3},
                 (struct sample_options){.precision = 0.02, .limit = 10.0});
    assert_int_equal(result.notes, SAMPLE_DISTURBED);
    assert_true(result.disturbed > 0 && result.median < 1.1e-3);
    result = measured((struct machine){.first = 1e-3, .settled = 1e-3, .noise = 0.01, .disturbed_every = 1},
                      (struct sample_options){.precision = 0.02, .limit = 10.0});
    assert_int_equal(result.notes, SAMPLE_OTHER_LOAD);
    assert_true(result.median > 9e-3);
}

static void growing_times_are_noticed(void **state)
{
    (void)state;
    double times[90], room[90];
    struct sample_result result = {0};
    for (int i = 0; i < 90; i++)
        times[i] = 1.0 + (i < 45 ? 0.0 : 0.2) + 0.001 * (i % 7);
    sample_judge(&result, times, NULL, 90, 0.02, room);
    assert_true(result.notes & SAMPLE_SLOWING);
    assert_true(result.follow > 5.0);
}

static void a_failing_run_ends_all(void **state)
{
    (void)state;
    struct machine machine = {.first = 1e-3, .settled = 1e-3, .fails_at = 20};
    struct sample_options options = {.precision = 0.02, .limit = 10.0, .now = machine_now};
    struct sample_result result;
    struct error err;
    assert_false(sample_repeat(&result, &options, machine_run, &machine, &err));
    assert_string_equal(err.text, "run 20 failed");
}

/* Times that follow their predecessors with weight `follow`: the interval of one series holds the median of another in
 * about 95 of 100 cases. */
static double held(double follow, int count)
{
    enum { SERIES = 300 };
    double *times = malloc(2 * (size_t)count * sizeof *times);
    struct sample_result last = {0}, result;
    uint64_t random = 11;
    int inside = 0;
    assert_non_null(times);
    for (int s = 0; s <= SERIES; s++) {
        double value = 0.0;
        for (int i = 0; i < count; i++) {
            value = follow * value + sqrt(1.0 - follow * follow) * random_normal(&random);
            times[i] = exp(0.1 * value);
        }
        memset(&result, 0, sizeof result);
        sample_judge(&result, times, NULL, count, 0.02, times + count);
        inside += s > 0 && last.low <= result.median && result.median <= last.high;
        last = result;
    }
    free(times);
    return (double)inside / SERIES;
}

static void intervals_hold_the_next_median(void **state)
{
    (void)state;
    assert_true(held(0.0, 40) > 0.92);
    assert_true(held(0.0, 400) > 0.92);
    assert_true(held(0.7, 400) > 0.85);
    assert_true(held(0.0, 400) < 0.99); /* nor are they wider than needed */
}

/* Times of a machine whose speed changes from round to round, and slowly in between. */
static double held_in_rounds(double follow, int round_count)
{
    enum { SERIES = 300, EACH = 6 };
    int count = round_count * EACH, inside = 0, *rounds = malloc((size_t)count * sizeof *rounds);
    double *times = malloc(2 * (size_t)count * sizeof *times), speed = 0.0;
    struct sample_result last = {0}, result;
    uint64_t random = 5;
    assert_true(times && rounds);
    for (int s = 0; s <= SERIES; s++) {
        for (int i = 0; i < count; i++) {
            rounds[i] = i / EACH;
            if (i % EACH == 0)
                speed = follow * speed + sqrt(1.0 - follow * follow) * random_normal(&random);
            times[i] = exp(0.1 * speed + 0.01 * random_normal(&random));
        }
        memset(&result, 0, sizeof result);
        sample_judge(&result, times, rounds, count, 0.02, times + count);
        inside += s > 0 && last.low <= result.median && result.median <= last.high;
        last = result;
    }
    free(times);
    free(rounds);
    return (double)inside / SERIES;
}

static void intervals_of_rounds_hold_the_next_median(void **state)
{
    (void)state;
    assert_true(held_in_rounds(0.0, 10) > 0.9);
    assert_true(held_in_rounds(0.0, 40) > 0.9);
    assert_true(held_in_rounds(0.5, 40) > 0.9);
    assert_true(held_in_rounds(0.8, 40) > 0.85);
}

/* Drift as large over hours as over seconds: a sum of speeds that change every round, every second one, every fourth one, … */
static double held_in_drift(int round_count)
{
    enum { SERIES = 300, EACH = 6, OCTAVES = 16 };
    int count = round_count * EACH, inside = 0, *rounds = malloc((size_t)count * sizeof *rounds);
    double *times = malloc(2 * (size_t)count * sizeof *times), speeds[OCTAVES] = {0};
    struct sample_result last = {0}, result;
    uint64_t random = 5;
    unsigned round = 0;
    assert_true(times && rounds);
    for (int s = 0; s <= SERIES; s++) {
        double speed = 0.0;
        for (int i = 0; i < count; i++) {
            rounds[i] = i / EACH;
            if (i % EACH == 0) {
                speed = 0.0;
                for (int k = 0; k < OCTAVES; k++) {
                    if (round % (1U << k) == 0)
                        speeds[k] = random_normal(&random);
                    speed += speeds[k];
                }
                round++;
            }
            times[i] = exp(0.01 * speed + 0.01 * random_normal(&random));
        }
        memset(&result, 0, sizeof result);
        sample_judge(&result, times, rounds, count, 0.02, times + count);
        inside += s > 0 && last.low <= result.median && result.median <= last.high;
        last = result;
    }
    free(times);
    free(rounds);
    return (double)inside / SERIES;
}

static void intervals_hold_the_next_median_of_a_machine_that_drifts(void **state)
{
    (void)state;
    assert_true(held_in_drift(12) > 0.82);
    assert_true(held_in_drift(40) > 0.92);
    assert_true(held_in_drift(200) > 0.88);
}

static bool visit_both(void *context, int round, struct error *err)
{
    struct sample_series **series = context;
    return sample_visit(series[0], round, 0.0, err) && sample_visit(series[1], round, 1e-2, err);
}

static void rounds_end_when_all_are_precise(void **state)
{
    (void)state;
    struct machine machines[2] = {{.first = 1e-3, .settled = 1e-3, .noise = 0.01, .random = 1},
                                  {.first = 2e-3, .settled = 2e-3, .noise = 0.01, .random = 2}};
    const struct sample_options options = {.precision = 0.02, .limit = 10.0, .now = machine_now};
    struct sample_series *series[2];
    struct error err;
    machine_time = 0.0;
    for (int i = 0; i < 2; i++)
        series[i] = sample_new(&options, machine_run, &machines[i], &err);
    assert_true(sample_rounds(series, 2, &options, visit_both, series, &err));
    for (int i = 0; i < 2; i++) {
        const struct sample_result *result = sample_sum(series[i], &err);
        assert_true(result->low <= result->median && result->median <= result->high);
        assert_true(fabs(result->median / (i + 1) / 1e-3 - 1.005) < 0.006);
        assert_false(result->notes & SAMPLE_LIMIT);
        assert_true(result->count >= (i == 0 ? 8 : 40));
        sample_free(series[i]);
    }
    assert_true(machine_time < 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_of_rounds_hold_the_next_median),
        cmocka_unit_test(intervals_hold_the_next_median_of_a_machine_that_drifts),
        cmocka_unit_test(rounds_end_when_all_are_precise),
        cmocka_unit_test(steady_times_end_early),
        cmocka_unit_test(short_runs_are_batched),
        cmocka_unit_test(limit_ends_and_is_said),
        cmocka_unit_test(modes_are_found),
        cmocka_unit_test(disturbed_samples_are_left_out),
        cmocka_unit_test(growing_times_are_noticed),
        cmocka_unit_test(a_failing_run_ends_all),
        cmocka_unit_test(intervals_hold_the_next_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
