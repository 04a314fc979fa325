/* A run of the user's own: what it says of jobs like it, and that the promise of one half of the labs holds on the other. */
#include "devices/tables.h"
#include "evidence/own_run.h"
#include "evidence/own_run_score.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct own_score score(enum own_labs labs, double share)
{
    struct own_score score;
    struct error err;
    if (!own_run_score(&score, labs, share, OWN_REACH, &err))
        fail_msg("%s", err.text);
    return score;
}

/* Two halves that share no lab: with what is printed for one, the other is predicted. */
static void the_promise_holds_on_the_other_half(void **state)
{
    (void)state;
    const struct own_score all = score(OWN_LABS_ALL, OWN_SHARE), even = score(OWN_LABS_EVEN, OWN_SHARE),
                           odd = score(OWN_LABS_ODD, OWN_SHARE);
    assert_int_equal(even.labs + odd.labs, all.labs);
    assert_true(even.labs >= 10 && odd.labs >= 10);
    const struct own_score *const halves[] = {&even, &odd};
    for (int i = 0; i < 2; i++) {
        print_message("# half %d: %.1f %%, without the run %.1f %%\n", i, 100.0 * halves[i]->after,
                      100.0 * halves[i]->before);
        assert_true(halves[i]->after < 0.98 * halves[i]->before);          /* it helps, */
        assert_true(fabs(halves[i]->after / all.after - 1.0) < 0.25);      /* as much as is printed, */
        assert_true(halves[i]->inside > 0.75 && halves[i]->inside < 0.97); /* within 80 % intervals */
    }
}

/* The share was chosen so; a constant of the lab, which others assume, is worse. */
static void no_other_share_is_better(void **state)
{
    (void)state;
    double here = score(OWN_LABS_ALL, OWN_SHARE).after;
    for (int i = 0; i <= 5; i++)
        assert_true(score(OWN_LABS_ALL, 0.2 * i).after > 0.99 * here);
}

static struct job some_job(void)
{
    struct job job = job_example();
    job.degrees.tensor = 2;
    job.batch = 128;
    job.sequence = 8192;
    job_spread(&job, 64);
    return job;
}

/* The same job takes what was measured, one that differs a little moves in that direction, an unlike one stays. */
static void jobs_like_it_are_corrected(void **state)
{
    (void)state;
    struct job job = some_job();
    struct job_time time = job_time(&job);
    struct estimate known = own_run_estimate(&job, &time);
    struct calibration calibration = *job.calibration;
    calibration.own = own_run_of(&job, &time, 1.3 * known.factor * time.seconds, known.factor * time.seconds);
    job.calibration = &calibration;
    struct estimate same = own_run_estimate(&job, &time);
    assert_true(fabs(same.factor / known.factor - 1.3) < 1e-9);
    assert_true(fabs(same.own - 1.3) < 1e-9);
    assert_true(fabs(same.shares.high / known.shares.high - 1.3) < 1e-9);

    job.batch = 256;
    time = job_time(&job);
    double near = own_run_estimate(&job, &time).own;
    job.degrees.tensor = 8;
    job.degrees.pipeline = 4;
    job.degrees.data = 2;
    time = job_time(&job);
    double far = own_run_estimate(&job, &time).own;
    assert_true(near > 1.1 && near < 1.3);
    assert_true(far > 1.0 && far < 1.0 + 0.3 * (near - 1.0));
}

/* A file keeps the known parameters, and what it says of a job is what was said before it was written. */
static void a_file_says_the_same(void **state)
{
    (void)state;
    struct job job = some_job();
    struct job_time time = job_time(&job);
    struct calibration calibration = *job.calibration;
    calibration.own = own_run_of(&job, &time, 0.9, 1.0);
    struct text text = {0};
    struct error err;
    struct table table;
    text_add(&text, "format: rehearse-calibration/1\ngenerations:\n");
    calibration_write(&calibration, &text);
    if (!tables_parse(&table, TABLE_CALIBRATIONS, "lab.yaml", text.data, text.length, &err))
        fail_msg("%s", err.text);
    assert_true(table.generations[0].gemm == job.calibration->gemm);
    assert_true(tables_is_known(&table.generations[0], job.device));
    job.calibration = &table.generations[0];
    assert_true(fabs(own_run_estimate(&job, &time).own - 0.9) < 1e-5);
    table_release(&table);
    text_release(&text);
}

static void a_run_with_parameters_is_refused(void **state)
{
    (void)state;
    static const char text[] =
        "generations:\n  - name: hopper\n    gemm: 0.9\n    run: {title: a, device: h100-sxm}\n";
    struct error err;
    struct table table;
    assert_false(tables_parse(&table, TABLE_CALIBRATIONS, "lab.yaml", text, strlen(text), &err));
    assert_string_equal(err.text, "lab.yaml:3:11: generations[0].gemm: an entry with 'run' or 'lab' has no "
                                  "parameters: it keeps the known "
                                  "ones");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_promise_holds_on_the_other_half), cmocka_unit_test(no_other_share_is_better),
        cmocka_unit_test(jobs_like_it_are_corrected),          cmocka_unit_test(a_file_says_the_same),
        cmocka_unit_test(a_run_with_parameters_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
