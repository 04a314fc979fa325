/* The published runs that come with the program. That data/runs.csv is what scripts/make-runs makes of the tables of origin is
 * a test of its own (make_runs). */
#include "evidence/validate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct validation_defaults none;

static struct validation known(void)
{
    struct validation validation;
    struct error err;
    if (!validation_load_known(&validation, &none, &err))
        fail_msg("%s", err.text);
    return validation;
}

static int rows_of(const struct validation *validation, const char *set, bool scored)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        count += strcmp(run->set, set) == 0 && (!scored || (!run->reason && run->scored));
    }
    return count;
}

static void every_set_is_there(void **state)
{
    (void)state;
    struct validation runs = known();
    int trainers = rows_of(&runs, "trainers", false), simumax = rows_of(&runs, "simumax", false),
        mlperf = rows_of(&runs, "mlperf", false), recipes = rows_of(&runs, "recipes", false),
        reports = rows_of(&runs, "reports", false);
    assert_int_equal(trainers + simumax + mlperf + recipes + reports, runs.count);
    assert_int_equal(reports, 42);
    assert_true(trainers > 400 && mlperf > 60 && recipes > 300);
    assert_int_equal(simumax, 43);
    assert_true(rows_of(&runs, "trainers", true) >= 353);
    assert_true(rows_of(&runs, "mlperf", true) >= 35);
    assert_int_equal(rows_of(&runs, "simumax", true), 43);
    assert_true(rows_of(&runs, "recipes", true) >= 56);
    validation_release(&runs);
}

/* A number without its source is no evidence. */
static void every_row_says_where_it_is_from(void **state)
{
    static const char *const columns[] = {"id",      "set",  "source_repo", "source", "source_date",
                                          "licence", "gpus", "framework",   "model"};
    (void)state;
    struct validation runs = known();
    for (int i = 0; i < runs.count; i++) {
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            if (!*csv_cell(&runs.csv, i, csv_column(&runs.csv, columns[c])))
                fail_msg("line %d: no %s", runs.csv.lines[i], columns[c]);
        const char *date = runs.runs[i].date;
        size_t length = strlen(date);
        assert_true(length == 4 || length == 7 || length == 10);
        assert_true(strcmp(date, "2020") > 0 && strcmp(date, "2027") < 0);
    }
    validation_release(&runs);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void every_row_has_a_name_and_a_measurement(void **state)
{
    (void)state;
    struct validation runs = known();
    const char **ids = calloc((size_t)runs.count, sizeof *ids);
    assert_non_null(ids);
    for (int i = 0; i < runs.count; i++) {
        const struct run *run = &runs.runs[i];
        ids[i] = run->id;
        if (run->seconds <= 0.0 && run->memory <= 0.0 && !run->ran_out)
            fail_msg("line %d: nothing to compare", run->line);
    }
    qsort(ids, (size_t)runs.count, sizeof *ids, by_name);
    for (int i = 1; i < runs.count; i++)
        if (strcmp(ids[i - 1], ids[i]) == 0)
            fail_msg("two runs are called '%s'", ids[i]);
    free(ids);
    validation_release(&runs);
}

/* Its runs are those of the whole table, and predicted alike. */
static void a_set_can_be_taken_alone(void **state)
{
    (void)state;
    const struct validation_defaults only = {.set = "simumax"};
    struct validation all = known(), set;
    struct error err;
    int at = 0;
    if (!validation_load_known(&set, &only, &err))
        fail_msg("%s", err.text);
    assert_int_equal(set.count, 43);
    validation_predict(&all, NULL);
    validation_predict(&set, NULL);
    for (int i = 0; i < all.count; i++) {
        if (strcmp(all.runs[i].set, "simumax") != 0)
            continue;
        assert_string_equal(set.runs[at].id, all.runs[i].id);
        assert_true(set.runs[at].predicted.seconds == all.runs[i].predicted.seconds);
        at++;
    }
    assert_int_equal(at, set.count);
    validation_release(&set);
    validation_release(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_is_there),
        cmocka_unit_test(every_row_says_where_it_is_from),
        cmocka_unit_test(every_row_has_a_name_and_a_measurement),
        cmocka_unit_test(a_set_can_be_taken_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
