/* Collectives that lean on measured ones: near a measured one its time, far from all the formula's, and on links that were not
 * measured, or are a user's own, nothing but the formula. */
#include "cost/collective_near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices/tables.h"
#include "support/sanitizer.h"

static const struct cost_link *find(const char *name)
{
    const struct cost_link *link = tables_link(NULL, name);
    assert_non_null(link);
    return link;
}

static double ratio_of(const struct cost_link *link, enum collective_kind kind, int devices, double bytes,
                       struct collective_near *near)
{
    struct collective_group group = {devices, devices, link, NULL};
    double seconds = collective_time_near(kind, &group, bytes, near).seconds;
    return seconds / collective_time(kind, &group, bytes).seconds;
}

/* ---- the table ---- */

static void every_link_is_known_and_its_rows_are_sane(void **state)
{
    const struct known_collectives *known;
    int rows = 0, links = 0;
    (void)state;
    for (; (known = collectives_known(links)); links++) {
        assert_ptr_equal(collectives_of(known->link), known);
        assert_ptr_equal(find(known->link->name), known->link);
        assert_true(known->variants >= 1 && known->count >= 40);
        for (int i = 0; i < known->count; i++) {
            const struct known_collective *row = &known->rows[i];
            struct collective_group group = {row->devices, row->devices, known->link, NULL};
            assert_true(row->variant >= 0 && row->variant < known->variants);
            assert_true(row->devices >= 2 && row->bytes >= 128 && row->seconds > 1e-7);
            double formula = collective_time(row->kind, &group, row->bytes).seconds;
            assert_true(fabs(formula * exp((double)row->log_ratio) / row->seconds - 1) < 1e-5);
        }
        rows += known->count;
    }
    assert_int_equal(links, 18);
    assert_int_equal(rows, 15644);
}

static void kin_are_kin_of_each_other(void **state)
{
    const struct known_collectives *known;
    int kin = 0;
    (void)state;
    for (int i = 0; (known = collectives_known(i)); i++)
        if (known->kin) {
            assert_ptr_equal(collectives_of(known->kin)->kin, known->link);
            kin++;
        }
    assert_int_equal(kin, 8);
}

/* ---- neighbours ---- */

static double worst_of(double left, double right)
{
    return left > right ? left : right;
}

/* Where several rows have one shape, the corrected time is between them, or near. */
static void a_measured_collective_has_its_measured_time(void **state)
{
    static const char *const names[] = {"nvlink3", "nvlink4", "nvlink5-gb200-xla"};
    int close = 0, rows = 0;
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const struct known_collectives *known = collectives_of(find(names[n]));
        for (int i = 0; i < known->count; i += 7) {
            const struct known_collective *row = &known->rows[i];
            struct collective_near near;
            if (row->variant != 0)
                continue;
            ratio_of(known->link, row->kind, row->devices, row->bytes, &near);
            double off = fabs(near.log_ratio - (double)row->log_ratio);
            close += off < worst_of(0.04, 0.5 * fabs((double)row->log_ratio));
            rows++;
        }
    }
    if (!(rows >= 15 && 10 * close >= 8 * rows))
        fail_msg("%d of %d", close, rows);
}

/* The slow and obvious search: nothing that is left out is nearer than the farthest neighbour. */
static void the_nearest_are_found(void **state)
{
    const struct cost_link *link = find("pcie5"); /* without kin, in one version but for int8 */
    const struct known_collectives *known = collectives_of(link);
    struct collective_near near;
    double farthest = 0, nearer = 0;
    (void)state;
    ratio_of(link, COLLECTIVE_ALL_GATHER, 4, 3e6, &near);
    assert_int_equal(near.count, KRIGING_MAX);
    for (int i = 0; i < near.count; i++) {
        assert_int_equal(near.nearest[i].of->kind,
                         COLLECTIVE_ALL_GATHER); /* others are three doublings away */
        assert_true(i == 0 || fabs(near.nearest[i].weight) <= fabs(near.nearest[i - 1].weight));
        double far =
            fabs(log2(near.nearest[i].of->bytes / 3e6)) + 2 * fabs(log2(near.nearest[i].of->devices / 4.0));
        farthest = fmax(farthest, far);
    }
    for (int i = 0; i < known->count; i++) {
        const struct known_collective *row = &known->rows[i];
        if (row->kind == COLLECTIVE_ALL_GATHER)
            nearer += fabs(log2(row->bytes / 3e6)) + 2 * fabs(log2(row->devices / 4.0)) < farthest - 1e-6;
    }
    assert_true(nearer < KRIGING_MAX);
}

static void far_from_all_the_formula_counts(void **state)
{
    (void)state;
    assert_true(fabs(ratio_of(find("nvlink4"), COLLECTIVE_ALL_REDUCE, 8, 0x1p60, NULL) - 1) < 0.01);
    assert_true(fabs(ratio_of(find("nvlink4"), COLLECTIVE_ALL_GATHER, 1 << 20, 0x1p28, NULL) - 1) < 0.01);
    struct collective_near near;
    assert_true(ratio_of(find("nvlink4-h800"), COLLECTIVE_ALL_REDUCE, 8, 1e6, &near) == 1);
    assert_int_equal(near.count, 0);
}

static void a_link_of_a_user_leans_on_nothing(void **state)
{
    struct cost_link mine = *find("nvlink4");
    struct collective_near near;
    (void)state;
    assert_true(ratio_of(&mine, COLLECTIVE_ALL_REDUCE, 8, 1e6, &near) == 1);
    assert_int_equal(near.count, 0);
    assert_null(collectives_of(&mine));
    assert_null(collectives_of(NULL));
}

static void between_nodes_the_formula_counts(void **state)
{
    struct collective_group group = {16, 8, find("nvlink4"), find("ib-400g")};
    struct collective_near near;
    (void)state;
    struct collective_time time = collective_time_near(COLLECTIVE_ALL_REDUCE, &group, 1e8, &near);
    assert_true(time.seconds == collective_time(COLLECTIVE_ALL_REDUCE, &group, 1e8).seconds);
    assert_int_equal(near.count, 0);
    group = (struct collective_group){1, 1, find("nvlink4"), NULL};
    assert_true(collective_time_near(COLLECTIVE_ALL_REDUCE, &group, 1e8, &near).seconds == 0);
}

static void nothing_is_faster_than_its_link(void **state)
{
    const struct known_collectives *known;
    (void)state;
    for (int i = 0; (known = collectives_known(i)); i++)
        for (int row = 0; row < known->count; row += 11 * SEARCH_STEP) {
            const struct known_collective *of = &known->rows[row];
            struct collective_group group = {of->devices, of->devices, known->link, NULL};
            double formula = collective_time(of->kind, &group, of->bytes).seconds;
            struct collective_time time = collective_time_near(of->kind, &group, of->bytes, NULL);
            double sent = of->bytes * (of->devices - 1) / of->devices;
            assert_true(time.seconds > 0 && time.latency_seconds <= time.seconds * (1 + 1e-12));
            assert_true(time.seconds >= fmin(formula, sent / known->link->bandwidth) * (1 - 1e-12));
        }
}

/* ---- errors of what was left out ---- */

static void rows_left_out_are_known_from_the_others(void **state)
{
    static const struct {
        const char *link;
        double rows, sizes;
    } bars[] = {{"nvlink3", 0.025, 0.027},          {"nvlink4", 0.026, 0.028},
                {"nvlink5", 0.024, 0.025},          {"nvlink5-gb200", 0.018, 0.017},
                {"nvlink2-ndv2", 0.012, 0.017},     {"nvlink5-gb200-xla", 0.027, 0.029},
                {"nvlink5-gb300-xla", 0.028, 0.03}, {"infinity-fabric4-mi350", 0.036, 0.036}};
    (void)state;
    for (size_t i = 0; i<sizeof bars / sizeof *bars; i += SEARCH_STEP> 1 ? 3 : 1) {
        const struct known_collectives *known = collectives_of(find(bars[i].link));
        double *physics = malloc(2 * (size_t)known->count * sizeof *physics), *near = physics + known->count;
        assert_non_null(physics);
        collective_near_errors(known, COLLECTIVE_LEAVE_ROWS, physics, near);
        struct error_score rows = error_score_of(near, known->count),
                           alone = error_score_of(physics, known->count);
        collective_near_errors(known, COLLECTIVE_LEAVE_SIZES, physics, near);
        struct error_score sizes = error_score_of(near, known->count);
        free(physics);
        if (!(rows.median <= bars[i].rows && sizes.median <= bars[i].sizes && rows.median < alone.median))
            fail_msg("%s: rows %.4f, sizes %.4f, alone %.4f", bars[i].link, rows.median, sizes.median,
                     alone.median);
    }
}

/* Rows that have to do with the one in question say nothing: with all rows of a link's size taken away, what is left of a link
 * with one size is the formula. */
static void what_is_left_out_does_not_count(void **state)
{
    const struct known_collectives *all = collectives_of(find("pcie5"));
    struct known_collective rows[2] = {all->rows[0], all->rows[0]};
    struct known_collectives few = *all;
    double physics[2], near[2];
    (void)state;
    rows[0].log_ratio = rows[1].log_ratio = 0.5F;
    rows[1].devices = 8;
    rows[1].log_devices = 3;
    few.kin = NULL;
    few.rows = rows;
    few.count = 2;
    collective_near_errors(&few, COLLECTIVE_LEAVE_SIZES, physics, near);
    for (int i = 0; i < 2; i++)
        assert_true(near[i] == physics[i] && fabs(physics[i] - expm1(-0.5)) < 1e-6);
    collective_near_errors(&few, COLLECTIVE_LEAVE_GROUPS, physics, near);
    assert_true(rows[0].devices != 8 && fabs(near[0]) < fabs(physics[0]));
    rows[1] = rows[0];
    collective_near_errors(&few, COLLECTIVE_LEAVE_ROWS, physics, near);
    assert_true(near[0] == physics[0] && near[1] == physics[1]);
}

/* ---- the linear system ---- */

static void a_median_has_its_prior(void **state)
{
    const double values[] = {0.3, 0.1, 0.2}, weights[] = {1, 1, 1};
    (void)state;
    assert_true(kriging_median(values, weights, 3, 0) == 0.2);
    assert_true(kriging_median(values, weights, 3, 2) == 0.1);
    assert_true(kriging_median(values, weights, 3, 4) == 0);
    assert_true(kriging_median(values, weights, 0, 0.3) == 0);
    assert_true(kriging_diagonal(0.1, 1.5, 1.5, 0.1) == 1.1);
    assert_true(fabs(kriging_diagonal(0.1, 1.7, 1.5, 0.1) - 1.5) < 1e-12);
}

static void the_system_is_solved(void **state)
{
    double a[KRIGING_MAX][KRIGING_MAX] = {{4}, {2, 5}, {1, 3, 6}};
    double x[] = {9, 17, 25};
    (void)state;
    kriging_solve(a, x, 3);
    assert_true(fabs(4 * x[0] + 2 * x[1] + x[2] - 9) < 1e-12);
    assert_true(fabs(2 * x[0] + 5 * x[1] + 3 * x[2] - 17) < 1e-12);
    assert_true(fabs(x[0] + 3 * x[1] + 6 * x[2] - 25) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_link_is_known_and_its_rows_are_sane),
        cmocka_unit_test(kin_are_kin_of_each_other),
        cmocka_unit_test(a_measured_collective_has_its_measured_time),
        cmocka_unit_test(the_nearest_are_found),
        cmocka_unit_test(far_from_all_the_formula_counts),
        cmocka_unit_test(a_link_of_a_user_leans_on_nothing),
        cmocka_unit_test(between_nodes_the_formula_counts),
        cmocka_unit_test(nothing_is_faster_than_its_link),
        cmocka_unit_test(rows_left_out_are_known_from_the_others),
        cmocka_unit_test(what_is_left_out_does_not_count),
        cmocka_unit_test(a_median_has_its_prior),
        cmocka_unit_test(the_system_is_solved),
    };
    return cmocka_run_group_tests_name("collective_near", tests, NULL, NULL);
}
