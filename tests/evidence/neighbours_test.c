#include "evidence/neighbours.h"
#include "evidence/own_run.h"

#include "devices/tables.h"
#include "evidence/interval.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- known runs that are made up ---- */

static uint64_t seed;

static double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 40) / (1 << 24);
}

static const char *one_of(const char *const *words, int count)
{
    return words[(int)(draw() * count)];
}

static struct likeness random_likeness(void)
{
    static const char *const devices[] = {"h100", "h200", "a100"},
                             *const generations[] = {"hopper", "ampere"},
                             *const softwares[] = {"megatron-core", "megatron-2021", "fsdp"},
                             *const frameworks[] = {"NeMo 24.07", "NeMo", "PyTorch FSDP"};
    struct likeness likeness = {
        .generation = one_of(generations, 2),
        .device = one_of(devices, 3),
        .software = one_of(softwares, 3),
        .framework = one_of(frameworks, 3),
        .released = 2023.0 + 2.0 * draw(),
        .bits = draw() < 0.5 ? 8 : 16,
        .frozen = draw() < 0.2,
        .recompute = draw() < 0.5 ? RECOMPUTE_NONE : RECOMPUTE_FULL,
        .recipe = draw() < 0.5 ? RECIPE_USUAL : RECIPE_MXFP8,
    };
    likeness.devices = 8;
    likeness.generation = likeness.device[0] == 'h' ? "hopper" : "ampere";
    for (int i = 0; i < LIKENESS_SIZES; i++)
        likeness.sizes[i] = draw();
    return likeness;
}

static struct residuals random_runs(struct residual *rows, int count)
{
    static const char *const models[] = {"a", "b"}, *const sources[] = {"x", "y", "z"};
    struct residuals residuals = {.count = count};
    struct error err;
    for (int i = 0; i < count; i++)
        rows[i] = (struct residual){
            .likeness = random_likeness(),
            .id = "run",
            .source = one_of(sources, 3),
            .model = one_of(models, 2),
            .seconds = 1.0,
            .rate = 1.0,
            .log_ratio = 0.6 * (draw() - 0.5),
        };
    assert_true(residuals_leave_out(&residuals, rows, &err));
    return residuals;
}

/* ---- a twin: all runs at once, by elimination ---- */

static double correlation(const struct likeness *a, const struct likeness *b)
{
    return exp(-likeness_distance(a, b, INFINITY));
}

/* Solves A x = b by Gauss' elimination with pivots; A and b are overwritten, x is left in b. */
static void eliminate(double *a, double *b, int count)
{
    for (int i = 0; i < count; i++) {
        int pivot = i;
        for (int k = i + 1; k < count; k++)
            pivot = fabs(a[k * count + i]) > fabs(a[pivot * count + i]) ? k : pivot;
        for (int j = 0; j < count; j++) {
            double kept = a[i * count + j];
            a[i * count + j] = a[pivot * count + j];
            a[pivot * count + j] = kept;
        }
        double kept = b[i];
        b[i] = b[pivot];
        b[pivot] = kept;
        for (int k = i + 1; k < count; k++) {
            double times = a[k * count + i] / a[i * count + i];
            for (int j = i; j < count; j++)
                a[k * count + j] -= times * a[i * count + j];
            b[k] -= times * b[i];
        }
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int j = i + 1; j < count; j++)
            b[i] -= a[i * count + j] * b[j];
        b[i] /= a[i * count + i];
    }
}

/* A measurement is uncertain by 1.5 %, the formula by 10 % and, the nearer they are, by what the runs say. */
static double twin_noise(const struct residuals *known, const struct likeness *likeness)
{
    double near = 1.0, variance = 0.01;
    for (int i = 0; i < known->count; i++) {
        double share = correlation(likeness, &known->rows[i].likeness);
        near += share;
        variance += share * known->rows[i].log_ratio * known->rows[i].log_ratio;
    }
    double noise = 0.015 * 0.015 / (variance / near);
    return noise < 0.002 ? 0.002 : noise > 0.5 ? 0.5 : noise;
}

static double twin_error(const struct residuals *known, const struct likeness *likeness, double *unexplained)
{
    int count = known->count;
    double *a = calloc((size_t)(count * count), sizeof *a), *w = calloc((size_t)count, sizeof *w),
           error = 0.0, noise = twin_noise(known, likeness);
    assert_non_null(a);
    assert_non_null(w);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++)
            a[i * count + j] =
                correlation(&known->rows[i].likeness, &known->rows[j].likeness) + (i == j ? noise : 0.0);
        w[i] = correlation(likeness, &known->rows[i].likeness);
    }
    eliminate(a, w, count);
    *unexplained = 1.0;
    for (int i = 0; i < count; i++) {
        error += w[i] * known->rows[i].log_ratio;
        *unexplained -= w[i] * correlation(likeness, &known->rows[i].likeness);
    }
    free(a);
    free(w);
    return error * fmin((1.0 - *unexplained) / 0.8, 1.0);
}

static void equals_its_twin(void **state)
{
    (void)state;
    struct residual rows[NEIGHBOURS_MAX];
    for (seed = 1; seed < 60; seed += 2) {
        uint64_t start = seed;
        struct residuals known = random_runs(rows, 2 + (int)(start / 2) % (NEIGHBOURS_MAX - 1));
        struct likeness likeness = random_likeness();
        double unexplained, error = twin_error(&known, &likeness, &unexplained);
        struct estimate estimate = neighbours_estimate(&known, &likeness, NULL, NULL);
        /* rows further away than FAR count for the twin alone, with a weight of exp(-5) at most */
        if (estimate.count == known.count) {
            assert_true(fabs(log(estimate.factor) - error) < 1e-12);
            assert_true(fabs(estimate.unexplained - unexplained) < 1e-12);
        } else {
            assert_true(fabs(log(estimate.factor) - error) < 0.02);
        }
        seed = start;
    }
}

/* ---- limits ---- */

static void nothing_near_is_the_formula(void **state)
{
    (void)state;
    struct residual rows[20];
    seed = 5;
    struct residuals known = random_runs(rows, 20),
                     none = {.unseen = {{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}, {0.0}}};
    struct likeness far = random_likeness();
    for (int i = 0; i < LIKENESS_SIZES; i++)
        far.sizes[i] = 40.0;
    struct estimate estimate = neighbours_estimate(&known, &far, NULL, NULL);
    assert_int_equal(estimate.count, 0);
    assert_true(estimate.factor == 1.0 && estimate.unexplained == 1.0);
    assert_true(estimate.extrapolates);
    assert_true(estimate.shares.low < 1.0 && estimate.shares.high > 1.0);
    estimate = neighbours_estimate(&none, &far, NULL, NULL);
    assert_true(estimate.factor == 1.0 && estimate.extrapolates);
    assert_true(estimate.shares.like_high > exp(0.5) && estimate.shares.like_high < exp(0.8));
}

static void the_same_run_is_believed(void **state)
{
    (void)state;
    struct residual rows[2] = {{.likeness = {.generation = "hopper",
                                             .device = "h100",
                                             .software = "fsdp",
                                             .framework = "",
                                             .released = 2024.0,
                                             .bits = 16},
                                .id = "a",
                                .source = "x",
                                .model = "m",
                                .log_ratio = 0.2}};
    struct residuals one = {.count = 1, .rows = rows}, two = {.count = 2, .rows = rows};
    rows[1] = rows[0];
    struct estimate estimate = neighbours_estimate(&one, &rows[0].likeness, NULL, NULL);
    assert_true(fabs(log(estimate.factor) - 0.2 / (1.0 + twin_noise(&one, &rows[0].likeness))) < 1e-12);
    assert_false(estimate.extrapolates);
    /* a twin hardly adds to it, and takes half of the weight */
    struct estimate twins = neighbours_estimate(&two, &rows[0].likeness, NULL, NULL);
    assert_true(log(twins.factor) > log(estimate.factor) && log(twins.factor) < 0.2);
    assert_true(fabs(twins.neighbours[0].moved - twins.neighbours[1].moved) < 1e-12);
    /* an odd run is not believed further than a factor of exp(0.8) */
    rows[0].log_ratio = 3.0;
    estimate = neighbours_estimate(&one, &rows[0].likeness, NULL, NULL);
    assert_true(log(estimate.factor) < 0.8);
}

static void a_job_without_a_date_is_of_the_newest_release(void **state)
{
    (void)state;
    struct residual rows[2] = {
        {.likeness = {.generation = "g", .device = "d", .software = "s", .framework = "", .released = 2022.0},
         .log_ratio = 0.3},
        {.likeness = {.generation = "g", .device = "d", .software = "s", .framework = "", .released = 2026.0},
         .log_ratio = -0.1}};
    struct residuals known = {.count = 2, .rows = rows};
    struct likeness likeness = rows[1].likeness;
    double newest = neighbours_estimate(&known, &likeness, NULL, NULL).factor;
    likeness.released = 0.0;
    assert_true(neighbours_estimate(&known, &likeness, NULL, NULL).factor == newest);
    assert_true(newest < 1.0);
}

static bool is_third(const struct residual *row, const void *context)
{
    return (row - (const struct residual *)context) % 3 == 0;
}

/* A run that is left out is as if it were not there. */
static void what_is_left_out_does_not_count(void **state)
{
    (void)state;
    struct residual rows[60], rest[60];
    int count = 0;
    seed = 9;
    struct residuals known = random_runs(rows, 60), others = known;
    for (int i = 0; i < known.count; i++)
        if (i % 3 != 0)
            rest[count++] = rows[i];
    others.count = count;
    others.rows = rest;
    for (int i = 0; i < 20; i++) {
        struct likeness likeness = random_likeness();
        struct estimate a = neighbours_estimate(&known, &likeness, is_third, rows),
                        b = neighbours_estimate(&others, &likeness, NULL, NULL);
        assert_int_equal(a.count, b.count);
        assert_true(a.factor == b.factor && a.distance == b.distance && a.unexplained == b.unexplained);
    }
}

/* The kernel is positive definite: no correlations explain more than there is. */
static void variance_is_between_none_and_all(void **state)
{
    (void)state;
    struct residual rows[80];
    seed = 11;
    struct residuals known = random_runs(rows, 80);
    for (int i = 0; i < 200; i++) {
        struct likeness likeness = random_likeness();
        if (i % 2)
            likeness.framework = "";
        double left = neighbours_estimate(&known, &likeness, NULL, NULL).unexplained;
        assert_true(left > 0.0 && left <= 1.0);
    }
}

static void the_nearest_are_kept_in_order(void **state)
{
    (void)state;
    struct residual rows[100];
    seed = 13;
    struct residuals known = random_runs(rows, 100);
    struct likeness likeness = random_likeness();
    struct estimate estimate = neighbours_estimate(&known, &likeness, NULL, NULL);
    int nearer = 0;
    assert_int_equal(estimate.count, NEIGHBOURS_MAX);
    double last = estimate.neighbours[NEIGHBOURS_MAX - 1].correlation;
    for (int i = 0; i < 100; i++)
        nearer += correlation(&likeness, &rows[i].likeness) > last;
    assert_int_equal(nearer, NEIGHBOURS_MAX - 1);
    for (int i = 1; i < estimate.count; i++)
        assert_true(estimate.neighbours[i].correlation <= estimate.neighbours[i - 1].correlation);
}

/* ---- dates ---- */

static void reads_dates(void **state)
{
    (void)state;
    assert_true(likeness_date("2024") == 2024.5);
    assert_true(fabs(likeness_date("2024-01-20") - (2024.0 + 0.5 / 12.0)) < 1e-12);
    assert_true(fabs(likeness_date("Megatron-Bridge 26.04.01 NeMo Container") - (2026.0 + 3.5 / 12.0)) <
                1e-12);
    assert_true(likeness_date("2024-13") == 2024.5);
    assert_true(likeness_date("Megatron-Core r0.8.0") == 0.0);
    assert_true(likeness_date("") == 0.0);
}

/* ---- the published runs ---- */

static char half[1000];

static bool in_half(const struct residual *row, const void *which)
{
    return half[row - residuals_known.rows] == *(const char *)which;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Judges each published run without some. Returns the share inside the intervals; *median: error relative to the formula's;
 * *experts: the share of those with experts. */
static double judge(residual_filter *without, double *median, double *experts)
{
    double corrected[1000], formula[1000];
    int inside = 0, count = residuals_known.count, of[2] = {0, 0};
    assert_in_range(count, 100, 1000);
    for (int i = 0; i < count; i++) {
        const struct residual *row = &residuals_known.rows[i];
        const void *context = without == in_half ? (const void *)&half[i] : row;
        struct estimate estimate = neighbours_estimate(&residuals_known, &row->likeness, without, context);
        double measured = exp(row->log_ratio);
        bool holds = measured >= estimate.shares.low && measured <= estimate.shares.high;
        inside += holds;
        if (row->likeness.kind == LIKENESS_EXPERTS)
            of[holds]++;
        corrected[i] = fabs(estimate.factor / measured - 1.0);
        formula[i] = fabs(1.0 / measured - 1.0);
    }
    qsort(corrected, (size_t)count, sizeof *corrected, by_size);
    qsort(formula, (size_t)count, sizeof *formula, by_size);
    *median = corrected[count / 2] / formula[count / 2];
    *experts = (double)of[1] / (of[0] + of[1]);
    return (double)inside / count;
}

/* Half of the runs tells of the other half. */
static void helps_runs_that_were_kept_back(void **state)
{
    (void)state;
    double median, experts;
    seed = 17;
    for (int i = 0; i < residuals_known.count; i++)
        half[i] = draw() < 0.5;
    double inside = judge(in_half, &median, &experts);
    print_message("# halves: %.1f %% inside, median error x %.2f\n", 100.0 * inside, median);
    assert_true(inside > 0.75 && inside < 0.90);
    assert_true(median < 0.85);
}

/* Where the formula's numbers stay as they are, its errors are those of something known, and more lie inside. */
static void covers_what_it_never_saw(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        residual_filter *without;
    } ways[] = {{"jobs", residual_same_job},
                {"sources", residual_same_source},
                {"families", residual_same_family},
                {"devices", residual_same_device}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        double median, experts, inside = judge(ways[i].without, &median, &experts);
        print_message("# %s: %.1f %% inside, %.1f %% of those with experts, median error x %.2f\n",
                      ways[i].what, 100.0 * inside, 100.0 * experts, median);
        assert_true(experts > 0.75);
        assert_true(inside > 0.75 && inside < 0.90);
        assert_true(ways[i].without == residual_same_family || median < 1.02);
    }
}

/* The farther from all known runs, the wider. */
static void what_is_unlike_has_wide_intervals(void **state)
{
    (void)state;
    struct likeness job = residuals_known.rows[0].likeness;
    struct estimate near = neighbours_estimate(&residuals_known, &job, NULL, NULL);
    double width = near.shares.high / near.shares.low;
    job.called = "Megatron-LM";
    struct estimate named = neighbours_estimate(&residuals_known, &job, NULL, NULL);
    assert_true(named.shares.high / named.shares.low == width);
    job.called = "homebrew 1.2";
    struct estimate unnamed = neighbours_estimate(&residuals_known, &job, NULL, NULL);
    assert_true(unnamed.factor == near.factor && unnamed.shares.high / unnamed.shares.low > 1.2 * width);
    job.software = "homebrew";
    job.sizes[LIKENESS_BLOCK] = log2(0.5);
    job.step = log2(0.05);
    struct estimate unlike = neighbours_estimate(&residuals_known, &job, NULL, NULL);
    assert_true(unlike.distance > 2.0);
    assert_true(unlike.shares.high / unlike.shares.low > 1.2 * unnamed.shares.high / unnamed.shares.low);
    for (int i = 0; i < LIKENESS_OTHERS; i++)
        job.others[i] = (i - 2) * 0.5;
    struct estimate spread = neighbours_estimate(&residuals_known, &job, NULL, NULL);
    assert_true(spread.shares.high / spread.shares.low > 2.0 * unlike.shares.high / unlike.shares.low);
}

static void a_calibration_of_ones_own_is_not_corrected(void **state)
{
    (void)state;
    struct job job = job_example();
    struct job_time time = job_time(&job);
    struct estimate known = own_run_estimate(&job, &time);
    assert_true(known.count > 0 && known.factor != 1.0);
    struct calibration own = *job.calibration;
    job.calibration = &own;
    struct estimate estimate = own_run_estimate(&job, &time);
    assert_int_equal(estimate.count, 0);
    assert_true(estimate.factor == 1.0);
}

/* ---- for people ---- */

static void names_the_runs_that_moved_it(void **state)
{
    (void)state;
    struct residual rows[12];
    struct text text = {0};
    seed = 19;
    struct residuals known = random_runs(rows, 12);
    for (int i = 0; i < known.count; i++)
        rows[i].likeness = rows[0].likeness;
    rows[7].id = "largest";
    rows[7].log_ratio = 0.5;
    struct estimate estimate = neighbours_estimate(&known, &rows[0].likeness, NULL, NULL);
    estimate_print(&estimate, &text);
    const char *largest = strstr(text.data, "largest"), *first = strstr(text.data, "\n  run  ");
    assert_non_null(largest);
    assert_non_null(first);
    assert_true(largest < strstr(first + 10, "\n  run  "));
    assert_non_null(strstr(text.data, "and 4 others"));
    text_release(&text);
    text = (struct text){0};
    estimate.count = 0;
    estimate_print(&estimate, &text);
    assert_non_null(strstr(text.data, "not corrected"));
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_its_twin),
        cmocka_unit_test(nothing_near_is_the_formula),
        cmocka_unit_test(the_same_run_is_believed),
        cmocka_unit_test(a_job_without_a_date_is_of_the_newest_release),
        cmocka_unit_test(what_is_left_out_does_not_count),
        cmocka_unit_test(variance_is_between_none_and_all),
        cmocka_unit_test(the_nearest_are_kept_in_order),
        cmocka_unit_test(reads_dates),
        cmocka_unit_test(helps_runs_that_were_kept_back),
        cmocka_unit_test(covers_what_it_never_saw),
        cmocka_unit_test(what_is_unlike_has_wide_intervals),
        cmocka_unit_test(a_calibration_of_ones_own_is_not_corrected),
        cmocka_unit_test(names_the_runs_that_moved_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
