/* Closed formulas are exact where they say so, and every schedule with one is there. */
#include "core/random.h"
#include "schedule/trial.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static int number(uint64_t *random, int max)
{
    return 1 + (int)(random_next(random) % (uint64_t)max);
}

/* Plays a shape drawn at random; returns 1 if its formula is exact, and fails if the makespan is another one. */
static int play(const struct schedule *schedule, uint64_t *random)
{
    struct trial trial;
    struct error err;
    bool equal = number(random, 2) == 1;
    double f = number(random, 9), b = equal ? f : number(random, 9), w = equal ? f : number(random, 9),
           send = 0.0;
    const struct trial_options options = {.devices = number(random, 9),
                                          .microbatches = number(random, 40),
                                          .chunks = schedule->chunks == 0 ? 1 + number(random, 3) : 0,
                                          .forward = {&f, 1},
                                          .input = {&b, 1},
                                          .weight = {&w, 1},
                                          .send = {&send, 1}};
    int exact = 0;
    bool played = trial_by_name(schedule, &options, &trial, &err);
    if (played && trial.bound > trial.timing.extent.makespan)
        fail_msg("%s: p %d, m %d: played %.12g, less than its bound %.12g", schedule->name, options.devices,
                 options.microbatches, trial.timing.extent.makespan, trial.bound);
    if (played && trial.formula.text != NULL && trial.formula.exact) {
        exact = 1;
        if (fabs(trial.formula.makespan - trial.timing.extent.makespan) > 1e-9 * trial.timing.extent.makespan)
            fail_msg("%s: p %d, m %d, v %d, times %g %g %g: played %.12g, formula %.12g", schedule->name,
                     options.devices, options.microbatches, trial.chunks, f, b, w,
                     trial.timing.extent.makespan, trial.formula.makespan);
    }
    if (played && trial.formula.memory_exact && fabs(trial.formula.memory - trial.timing.peak) > 1e-9)
        fail_msg("%s: p %d, m %d, v %d: kept %.12g, formula %.12g", schedule->name, options.devices,
                 options.microbatches, trial.chunks, trial.timing.peak, trial.formula.memory);
    trial_release(&trial);
    return exact;
}

static void formulas_are_exact_under_their_conditions(void **state)
{
    (void)state;
    uint64_t random = 15;
    int with_formula = 0;
    for (const struct schedule *schedule = schedules; schedule->name != NULL; schedule++) {
        const struct formula_case numbers = {.p = 2, .m = 8, .v = 2, .f = 1, .b = 1, .w = 1, .x = 3};
        int exact = 0;
        const struct formula formula = schedule_formula(schedule, &numbers);
        if (formula.text == NULL && formula.memory_text == NULL)
            continue;
        for (int i = 0; i < 1000 / GOLDEN_STEP; i++)
            exact += play(schedule, &random);
        printf("# %s: %d of %d shapes\n", schedule->name, exact, 1000 / GOLDEN_STEP);
        if (formula.text == NULL)
            continue;
        assert_true(exact > 20 / GOLDEN_STEP);
        with_formula++;
    }
    assert_true(with_formula >= 12);
}

/* Activations that go to the host change no time, and leave room. */
static void the_host_takes_memory_alone(void **state)
{
    (void)state;
    const double one = 1.0, none = 0.0;
    for (int shape = 0; shape < 48; shape++) {
        struct trial trials[2];
        struct error err;
        int chunks = 0;
        const struct trial_options options = {.devices = 1 + shape % 8,
                                              .microbatches = 1 + shape / 2,
                                              .chunks = 2 + shape % 3,
                                              .forward = {&one, 1},
                                              .input = {&one, 1},
                                              .weight = {&one, 1},
                                              .send = {&none, 1}};
        assert_true(trial_by_name(schedule_find("gis", &chunks, &err), &options, &trials[0], &err));
        assert_true(trial_by_name(schedule_find("pipe-offload", &chunks, &err), &options, &trials[1], &err));
        const struct timing *all = &trials[0].timing, *some = &trials[1].timing;
        assert_true(some->extent.makespan == all->extent.makespan);
        assert_true(some->peak <= all->peak + 1e-9 && some->peak > 0.0);
        if (options.devices >= 4 && options.microbatches >= options.devices)
            assert_true(some->peak < all->peak);
        trial_release(&trials[0]);
        trial_release(&trials[1]);
    }
}

/* Times of each device are shared out to its stages, times of each stage are not. */
static void times_are_shared_by_the_chunks_of_a_device(void **state)
{
    (void)state;
    const double one = 1.0, none = 0.0, devices[] = {1.0, 2.0}, stages[] = {1.0, 2.0, 3.0, 4.0};
    struct trial trial;
    struct error err;
    int chunks = 2;
    struct trial_options options = {.devices = 2,
                                    .microbatches = 4,
                                    .chunks = chunks,
                                    .forward = {devices, 2},
                                    .input = {stages, 4},
                                    .weight = {&one, 1},
                                    .send = {&none, 1}};
    assert_true(trial_by_name(schedule_find("interleaved", &chunks, &err), &options, &trial, &err));
    for (int stage = 0; stage < 4; stage++) {
        assert_true(trial.costs[stage].forward == devices[stage % 2] / 2);
        assert_true(trial.costs[stage].input == stages[stage]);
        assert_true(trial.costs[stage].weight == 0.5);
        assert_true(trial.costs[stage].kept == 0.5);
    }
    assert_true(trial.ideal == 4 * (2.0 + (2.0 + 4.0) + 1.0));
    trial_release(&trial);
    options.forward.count = 3;
    assert_false(trial_by_name(schedule_find("interleaved", &chunks, &err), &options, &trial, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    trial_release(&trial);
}

/* Any list of one time per device needs the places of stages, which are not those of interleaved orders in a V. */
static void times_of_devices_follow_the_stages(void **state)
{
    (void)state;
    const double one[] = {1.0}, devices[] = {1.0, 2.0, 3.0};
    for (int which = 0; which < 4; which++) {
        struct trial_times times[4] = {{one, 1}, {one, 1}, {one, 1}, {one, 1}};
        struct trial trial;
        struct error err;
        int chunks = 0;
        times[which] = (struct trial_times){devices, 3};
        const struct trial_options options = {.devices = 3,
                                              .microbatches = 6,
                                              .forward = times[0],
                                              .input = times[1],
                                              .weight = times[2],
                                              .send = times[3]};
        assert_true(trial_by_name(schedule_find("dualpipev", &chunks, &err), &options, &trial, &err));
        for (int stage = 0; stage < 6; stage++) {
            const struct pass_cost *cost = &trial.costs[stage];
            const double found[] = {2 * cost->forward, 2 * cost->input, 2 * cost->weight, cost->send_forward};
            int device = stage < 3 ? stage : 5 - stage;
            for (int i = 0; i < 4; i++)
                assert_true(found[i] == (i == which ? devices[device] : 1.0));
        }
        assert_null(trial.formula.text);
        trial_release(&trial);
    }
}

/* A schedule that chooses the devices of stages is given their costs on each. */
static void a_search_knows_the_costs_on_other_devices(void **state)
{
    (void)state;
    const double one = 1.0, none = 0.0, forward[] = {4.0, 1.0, 1.0, 2.0};
    struct trial trials[2];
    struct error err;
    for (int i = 0; i < 2; i++) {
        int chunks = 2;
        const struct trial_options options = {.devices = 4,
                                              .microbatches = 8,
                                              .forward = {forward, 4},
                                              .input = {&one, 1},
                                              .weight = {&one, 1},
                                              .send = {&none, 1},
                                              .memory = i == 0 ? 4.0 : 0.0};
        assert_true(trial_by_name(schedule_find(i == 0 ? "best" : "zb-v", &chunks, &err), &options,
                                  &trials[i], &err));
        for (int stage = 0; stage < 8; stage++)
            assert_true(trials[i].costs[stage].forward == forward[trials[i].order.device_of[stage]] / 2);
    }
    assert_true(trials[0].timing.peak <= 4.0 + 1e-9 && trials[1].timing.peak <= 4.0 + 1e-9);
    assert_true(trials[0].timing.extent.makespan <= trials[1].timing.extent.makespan * (1 + 1e-9));
    trial_release(&trials[0]);
    trial_release(&trials[1]);
}

/* Formulas are for sends of no time. */
static void sends_have_no_formula(void **state)
{
    (void)state;
    for (int sends = 0; sends < 2; sends++) {
        double one = 1.0, send = sends * 0.5;
        struct trial trial;
        struct error err;
        int chunks = 0;
        const struct trial_options options = {.devices = 3,
                                              .microbatches = 6,
                                              .forward = {&one, 1},
                                              .input = {&one, 1},
                                              .weight = {&one, 1},
                                              .send = {&send, 1}};
        assert_true(trial_by_name(schedule_find("1f1b", &chunks, &err), &options, &trial, &err));
        assert_true((trial.formula.text == NULL) == (sends == 1));
        assert_true(isnan(trial.formula.makespan) == (sends == 1));
        assert_true(fabs(trial.bubble - (1.0 - 18.0 / trial.timing.extent.makespan)) < 1e-12);
        trial_drop_passes(&trial);
        assert_int_equal(pass_order_count(&trial.order), 36);
        trial_release(&trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_are_exact_under_their_conditions),
        cmocka_unit_test(the_host_takes_memory_alone),
        cmocka_unit_test(times_are_shared_by_the_chunks_of_a_device),
        cmocka_unit_test(times_of_devices_follow_the_stages),
        cmocka_unit_test(a_search_knows_the_costs_on_other_devices),
        cmocka_unit_test(sends_have_no_formula),
    };
    return cmocka_run_group_tests_name("formula", tests, NULL, NULL);
}
