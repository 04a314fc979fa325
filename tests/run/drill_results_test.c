/* Results of drills: each time is counted where it is known, and only there; the report and its document say the same; the first drill
 * that ended wrongly is named. */
#include "run/drill/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two changes: a node that was killed, and one that was cut off while the first recovery was under way. */
static struct drill_outcome a_recovery(void)
{
    struct drill_outcome outcome = {.verdict = DRILL_RIGHT,
                                    .iterations = 16,
                                    .views = 2,
                                    .samples = 640,
                                    .cells = 24,
                                    .lost = 2,
                                    .event_count = 2};
    outcome.events[0] = (struct drill_event){.lost = 1,
                                             .simulated = NAN,
                                             .found = 0.010,
                                             .agreement = 0.002,
                                             .agreed = 0.002,
                                             .copied = NAN,
                                             .stepped = NAN};
    outcome.events[1] = (struct drill_event){.lost = 1,
                                             .cut = true,
                                             .simulated = 0.100,
                                             .found = 1.000,
                                             .agreement = 0.004,
                                             .agreed = 0.005,
                                             .copied = 0.035,
                                             .stepped = 0.125};
    return outcome;
}

static struct drill_outcome a_restart(void)
{
    struct drill_outcome outcome = {
        .verdict = DRILL_RIGHT, .samples = 320, .cells = 12, .lost = 3, .restarts = 2, .repeated = 7};
    outcome.times[0] = (struct drill_restart){.iterations = 4, .seconds = 0.5, .load = 0.25};
    outcome.times[1] = (struct drill_restart){.iterations = 3}; /* failed before its first iteration */
    strcpy(outcome.note, "checkpoint 8 is corrupted");
    return outcome;
}

static void add(struct drill_results *results, int number, struct drill_outcome outcome)
{
    struct error err;
    assert_true(drill_results_add(results, number, &outcome, &err));
}

static void expect_text(struct drill_results *results, const char *expected)
{
    struct text text = {0};
    drill_results_sort(results);
    drill_results_print(results, &text);
    assert_false(text.failed);
    assert_string_equal(text.data, expected);
    text_release(&text);
}

static void expect_in_document(struct drill_results *results, const char *const *expected)
{
    struct text text = {0};
    struct json json = {.out = &text};
    drill_results_sort(results);
    drill_results_write_json(results, 7, 1, &json);
    assert_false(text.failed);
    for (; *expected; expected++)
        if (!strstr(text.data, *expected))
            fail_msg("expected %s in\n%s", *expected, text.data);
    text_release(&text);
}

static void times_are_counted_where_they_are_known(void **state)
{
    (void)state;
    struct drill_results results = {.drills = 0};
    add(&results, 0, a_recovery());
    static const int counts[DRILL_TIMES] = {1, 1, 2, 1, 1, 1, 1, 1, 0, 0};
    for (int t = 0; t < DRILL_TIMES; t++)
        assert_int_equal(results.times[t].count, counts[t]);
    add(&results, 1, a_restart());
    assert_int_equal(results.times[DRILL_RESTARTED].count, 1);
    assert_int_equal(results.times[DRILL_LOADED].count, 1);
    drill_results_release(&results);
    assert_null(results.times[DRILL_AGREED].values);
}

static void one_drill_is_told(void **state)
{
    (void)state;
    struct drill_results results = {.drills = 0};
    add(&results, 0, a_restart());
    expect_text(&results, "1 drill, 3 nodes lost, 0 membership changes\n"
                          "\n"
                          "     1  right\n"
                          "        checkpoint 8 is corrupted\n"
                          "\n"
                          "320 samples trained once each, 12 layer shards as in a run without losses\n"
                          "2 restarts from a checkpoint, 7 iterations repeated\n"
                          "\n"
                          "                   median         90 %         99 %\n"
                          "restart            500 ms       500 ms       500 ms\n"
                          "... load           250 ms       250 ms       250 ms\n");
    drill_results_release(&results);
}

static void several_drills_are_told(void **state)
{
    (void)state;
    struct drill_results results = {.drills = 0};
    add(&results, 0, a_recovery());
    add(&results, 1, a_restart());
    expect_text(&results, "2 drills, 5 nodes lost, 2 membership changes\n"
                          "\n"
                          "     2  right\n"
                          "\n"
                          "960 samples trained once each, 36 layer shards as in a run without losses\n"
                          "2 restarts from a checkpoint, 7 iterations repeated\n"
                          "\n"
                          "                   median         90 %         99 %\n"
                          "detection         10.0 ms      10.0 ms      10.0 ms\n"
                          "... of a cut       1.00 s       1.00 s       1.00 s\n"
                          "agreement         3.00 ms      3.80 ms      3.98 ms\n"
                          "copies            30.0 ms      30.0 ms      30.0 ms\n"
                          "first step        90.0 ms      90.0 ms      90.0 ms\n"
                          "recovery           125 ms       125 ms       125 ms\n"
                          "simulated          100 ms       100 ms       100 ms\n"
                          "restart            500 ms       500 ms       500 ms\n"
                          "... load           250 ms       250 ms       250 ms\n"
                          "\n"
                          "recovery takes +25.0 % compared to the simulation (median of 1; p90 +25.0 %)\n");
    expect_in_document(
        &results,
        (const char *const[]){"\"format\": \"rehearse-drills/1\"", "\"drills\": 2", "\"seed\": 7",
                              "\"faults\": 1", "\"lost\": 5", "\"changes\": 2", "\"right\": 2",
                              "\"note\": \"checkpoint 8 is corrupted\"", "\"restarts\": 2",
                              "\"iterations_again\": 7", "\"samples\": 960", "\"layer_parts\": 36",
                              "\"cut_detection\": {\"median\": 1, \"p90\": 1, \"p99\": 1}",
                              "\"agreement\": {\"median\": 0.003, ",
                              "\"recovery_by_simulated\": {\"median\": 1.25, \"p90\": 1.25, \"p99\": 1.25}",
                              "\"load\": {\"median\": 0.25, ", NULL});
    drill_results_release(&results);
}

/* A document of no drills is whole: a reader finds null where there is no time. */
static void no_drill_has_no_times(void **state)
{
    (void)state;
    struct drill_results results = {.drills = 0};
    expect_in_document(&results, (const char *const[]){"\"drills\": 0", "\"restart\": {\"median\": null, ",
                                                       "\"text\": \"\"", NULL});
    drill_results_release(&results);
}

static void expect_error(const struct drill_results *results, enum error_kind kind, const char *expected)
{
    struct error err = {0};
    assert_false(drill_results_judge(results, &err));
    assert_int_equal(err.kind, kind);
    assert_string_equal(err.text, expected);
}

static void the_first_wrong_drill_is_named(void **state)
{
    (void)state;
    struct error err;
    struct drill_results results = {.drills = 0};
    struct drill_outcome wrong = {.verdict = DRILL_WRONG, .text = "layer 3 differs"},
                         hang = {.verdict = DRILL_HANG};
    add(&results, 0, a_recovery());
    assert_true(drill_results_judge(&results, &err));
    add(&results, 4, wrong);
    add(&results, 5, hang);
    assert_int_equal(results.wrong_count, 2);
    expect_error(&results, ERROR_FAILED, "drill 4: wrong: layer 3 differs");
    drill_results_release(&results);
    add(&results, 0, hang); /* number 0 is as good as any */
    expect_error(&results, ERROR_FAILED, "drill 0: hang");
    drill_results_release(&results);
}

/* One drill is asked whether it goes on; of many, some may be too hard. */
static void only_a_single_drill_is_infeasible(void **state)
{
    (void)state;
    struct error err;
    struct drill_results results = {.drills = 0};
    struct drill_outcome needed = {.verdict = DRILL_CHECKPOINT, .text = "layer 2 has no copy left"};
    add(&results, 0, needed);
    expect_error(&results, ERROR_INFEASIBLE, "layer 2 has no copy left");
    add(&results, 1, needed);
    assert_true(drill_results_judge(&results, &err));
    drill_results_release(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_counted_where_they_are_known),
        cmocka_unit_test(one_drill_is_told),
        cmocka_unit_test(several_drills_are_told),
        cmocka_unit_test(no_drill_has_no_times),
        cmocka_unit_test(the_first_wrong_drill_is_named),
        cmocka_unit_test(only_a_single_drill_is_infeasible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
