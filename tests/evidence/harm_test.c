/* Corrections by known runs make no group of runs worse than the formula alone, when the group is left out. */
#include "evidence/judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/statistics.h"

#define RUNS  2000
#define LEAST 5     /* runs of a group, whose median else is one run */
#define NOISE 0.021 /* of the difference of two measurements */

static bool same_size(const struct residual *row, const void *of)
{
    return judge_size(&row->likeness) == judge_size(&((const struct residual *)of)->likeness);
}

static bool same_model(const struct residual *row, const void *of)
{
    const double *a = row->likeness.sizes, *b = ((const struct residual *)of)->likeness.sizes;
    return fabs(a[LIKENESS_PARAMETERS] - b[LIKENESS_PARAMETERS]) < 1e-3;
}

static bool same_software(const struct residual *row, const void *of)
{
    return strcmp(row->likeness.software, ((const struct residual *)of)->likeness.software) == 0;
}

static const struct {
    const char *name;
    residual_filter *same;
} ways[] = {
    {"source", residual_same_source},
    {"software", same_software},
    {"gpu", residual_same_device},
    {"model", same_model},
    {"size", same_size},
};

static double error_of(double factor, const struct residual *row)
{
    return fabs(factor / exp(row->log_ratio) - 1.0);
}

/* Returns by how much the median of a group's errors grows, beyond two standard errors of the mean difference. */
static double harm(const struct residual *of, residual_filter *same, int *count)
{
    static double formula[RUNS], corrected[RUNS];
    double sum = 0.0, squares = 0.0;
    *count = 0;
    for (int i = 0; i < residuals_known.count; i++) {
        const struct residual *row = &residuals_known.rows[i];
        if (!same(row, of))
            continue;
        formula[*count] = error_of(1.0, row);
        corrected[*count] =
            error_of(neighbours_estimate(&residuals_known, &row->likeness, same, of).factor, row);
        double more = corrected[*count] - formula[*count];
        sum += more;
        squares += more * more;
        ++*count;
    }
    double mean = sum / *count, variance = fmax(squares / *count - mean * mean, 0.0);
    sort_doubles(formula, *count);
    sort_doubles(corrected, *count);
    return quantile_of(corrected, *count, 0.5) - quantile_of(formula, *count, 0.5) -
           2.0 * sqrt(variance / fmax(*count - 1.0, 1.0));
}

static bool is_first(int index, residual_filter *same)
{
    for (int i = 0; i < index; i++)
        if (same(&residuals_known.rows[i], &residuals_known.rows[index]))
            return false;
    return true;
}

static void no_group_is_worse_for_its_neighbours(void **state)
{
    (void)state;
    assert_in_range(residuals_known.count, 100, RUNS);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (int i = 0; i < residuals_known.count; i++) {
            int count;
            const struct residual *row = &residuals_known.rows[i];
            double more = is_first(i, ways[w].same) ? harm(row, ways[w].same, &count) : 0.0;
            if (more > NOISE && count >= LEAST)
                fail_msg("without %s of %s (%s, %s, %d runs): %.1f points worse", ways[w].name, row->id,
                         row->source, row->model, count, 100.0 * more);
        }
}

/* By another way: from a table that the group is not in. */
static void leaving_out_is_not_being_there(void **state)
{
    (void)state;
    static struct residual rest[RUNS];
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (int i = 0; i < residuals_known.count; i += 97) {
            const struct residual *row = &residuals_known.rows[i];
            struct residuals others = residuals_known;
            others.rows = rest;
            others.count = 0;
            for (int j = 0; j < residuals_known.count; j++)
                if (!ways[w].same(&residuals_known.rows[j], row))
                    rest[others.count++] = residuals_known.rows[j];
            struct estimate a = neighbours_estimate(&residuals_known, &row->likeness, ways[w].same, row),
                            b = neighbours_estimate(&others, &row->likeness, NULL, NULL);
            assert_true(a.factor == b.factor && a.distance == b.distance);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_group_is_worse_for_its_neighbours),
        cmocka_unit_test(leaving_out_is_not_being_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
