#include "devices/measured/kernels.h"
#include "devices/tables.h"
#include "evidence/left_out.h"

#include <math.h>
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
    validation_predict(&validation, NULL);
    return validation;
}

static struct left_out *make(const struct validation *runs, enum run_part part, int *count)
{
    struct left_out *list;
    struct error err;
    if (!left_out_make(runs, part, false, &list, count, &err))
        fail_msg("%s", err.text);
    return list;
}

static void every_scored_run_is_left_out_once(void **state)
{
    (void)state;
    struct validation runs = known();
    struct error_score all = validation_score(&runs, NULL, NULL);
    for (int part = PART_JOB; part < RUN_PARTS; part++) {
        int count, rows = 0, inside = 0;
        struct left_out *list = make(&runs, (enum run_part)part, &count);
        assert_true(count > 2);
        for (int i = 0; i + 1 < count; i++) {
            assert_true(i == 0 || list[i].errors.rows <= list[i - 1].errors.rows);
            for (int j = 0; j < i; j++)
                assert_string_not_equal(list[i].name, list[j].name);
            rows += list[i].errors.rows;
            inside += list[i].inside;
        }
        assert_null(list[count - 1].name);
        assert_int_equal(list[count - 1].errors.rows, rows);
        assert_int_equal(list[count - 1].inside, inside);
        assert_int_equal(rows, all.rows);
        assert_true(list[count - 1].errors.median > 0.0);
        free(list);
    }
    validation_release(&runs);
}

/* The same from a table of the other runs alone, whose own errors were made without the source, too. */
static void no_run_of_a_part_tells_of_it(void **state)
{
    (void)state;
    struct validation runs = known();
    struct residuals rest = residuals_known;
    struct error err;
    int count, inside = 0;
    const char *source = "MooreThreads/SimuMax";
    struct residual *rows = calloc((size_t)rest.count, sizeof *rows);
    assert_non_null(rows);
    rest.count = 0;
    for (int i = 0; i < residuals_known.count; i++)
        if (strcmp(residuals_known.rows[i].source, source) != 0)
            rows[rest.count++] = residuals_known.rows[i];
    assert_true(residuals_leave_out(&rest, rows, &err));
    for (int i = 0; i < residuals_known.count; i++) {
        const struct residual *row = &residuals_known.rows[i];
        if (strcmp(row->source, source) != 0)
            continue;
        struct estimate alone = neighbours_estimate(&rest, &row->likeness, NULL, NULL),
                        filtered =
                            neighbours_estimate(&residuals_known, &row->likeness, residual_same_source, row);
        assert_true(alone.factor == filtered.factor && alone.distance == filtered.distance);
        double share = exp(row->log_ratio);
        inside += share >= alone.shares.low && share <= alone.shares.high;
    }
    struct left_out *list = make(&runs, PART_SOURCE, &count);
    int at = 0;
    while (at + 1 < count && strcmp(list[at].name, source) != 0)
        at++;
    assert_int_equal(list[at].errors.rows, 43);
    assert_in_range(list[at].inside, inside - 1, inside + 1); /* errors of other groups saw the source */
    free(list);
    free(rows);
    validation_release(&runs);
}

/* A user's own runs are judged by all that are known: the first is put into the middle of their interval, the second far out. */
static void runs_of_another_table_are_judged_by_the_known(void **state)
{
    static const char table[] =
        "id,source_repo,gpu,gpus,framework,model,precision,tp,pp,mbs,gbs,sec_per_iter\n"
        "near,mine,DGX-H100,64,NeMo 24.07,LLAMA3_70B,FP8,4,4,1,128,10\n"
        "never,mine,DGX-H100,64,NeMo 24.07,LLAMA3_70B,FP8,4,4,1,128,1000\n";
    (void)state;
    struct validation runs;
    struct error err;
    int count;
    if (!validation_parse(&runs, "mine.csv", table, sizeof table - 1, &none, &err))
        fail_msg("%s", err.text);
    validation_predict(&runs, NULL);
    struct estimate estimate = run_judge(&runs.runs[0], PART_ITSELF);
    runs.runs[0].seconds = runs.runs[0].predicted.seconds * estimate.factor;
    struct left_out *list = make(&runs, PART_SOURCE, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].name, "mine");
    assert_int_equal(list[0].errors.rows, 2);
    assert_int_equal(list[0].inside, 1);
    free(list);
    validation_release(&runs);
}

/* A known run in a table of the user's is not judged by itself. */
static void no_run_tells_of_itself(void **state)
{
    (void)state;
    struct validation runs = known();
    for (int i = 0, tried = 0; i < runs.count && tried < 40; i++) {
        struct run *run = &runs.runs[i];
        if (run->reason || !run->scored)
            continue;
        tried++;
        struct estimate estimate = run_judge(run, PART_ITSELF);
        for (int n = 0; n < estimate.count; n++)
            assert_string_not_equal(estimate.neighbours[n].row->id, run->id);
        struct run later = *run; /* the same job, measured again */
        later.seconds *= 1.01;
        estimate = run_judge(&later, PART_ITSELF);
        bool found = false;
        for (int n = 0; n < estimate.count; n++)
            found |= strcmp(estimate.neighbours[n].row->id, run->id) == 0;
        assert_true(found);
    }
    validation_release(&runs);
}

/* A device that is known from its data sheet alone is predicted as those of which all runs are left out: marked, and with
 * intervals that hold 80 % of such runs, each device counting once. */
static void devices_without_runs_have_wide_intervals(void **state)
{
    (void)state;
    struct validation runs = known();
    int count, sheets = 0;
    struct left_out *list = make(&runs, PART_JOB, &count);
    double jobs = log(list[count - 1].width); /* of all jobs whose devices others know */
    free(list);
    list = make(&runs, PART_GPU, &count);
    double inside = 0.0;
    for (int i = 0; i + 1 < count; i++) {
        const struct cost_device *device = tables_device(NULL, list[i].name);
        if (!device_is_sheet(device))
            continue;
        sheets++;
        inside += (double)list[i].inside / list[i].errors.rows;
        assert_int_equal(list[i].extrapolated, list[i].errors.rows);
        assert_true(log(list[i].width) > 1.5 * jobs);
    }
    assert_true(sheets >= 6 && inside / sheets > 0.7);
    free(list);
    validation_release(&runs);
    struct likeness job = residuals_known.rows[0].likeness;
    struct estimate known_device = neighbours_estimate(&residuals_known, &job, NULL, NULL);
    job.device = "gaudi9";
    struct estimate like_measured = neighbours_estimate(&residuals_known, &job, NULL, NULL);
    job.sheet = true;
    struct estimate sheet = neighbours_estimate(&residuals_known, &job, NULL, NULL);
    assert_true(sheet.extrapolates && !like_measured.extrapolates && !known_device.extrapolates);
    assert_true(sheet.factor == like_measured.factor);
    assert_true(sheet.shares.high / sheet.shares.low > 1.3 &&
                sheet.shares.high / sheet.shares.low > like_measured.shares.high / like_measured.shares.low);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_without_runs_have_wide_intervals),
        cmocka_unit_test(every_scored_run_is_left_out_once),
        cmocka_unit_test(no_run_of_a_part_tells_of_it),
        cmocka_unit_test(runs_of_another_table_are_judged_by_the_known),
        cmocka_unit_test(no_run_tells_of_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
