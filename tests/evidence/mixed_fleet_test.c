#include "evidence/mixed_read.h"
#include "support/mixed_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const struct mixed_table *table, const char *cluster, double mean, double rank)
{
    struct mixed_score score;
    struct error err;
    assert_true(mixed_table_score(table, cluster, MIXED_PLANNER, false, &score, &err));
    assert_true(score.errors.rows > 0);
    if (score.errors.mean > mean || score.rank < rank)
        fail_msg("%s: mean error %.3f, rank correlation %.3f", cluster, score.errors.mean, score.rank);
}

/* Nothing of the formula is fitted to them. */
static void measured_plans_are_near(void **state)
{
    (void)state;
    struct mixed_table table;
    struct error err;
    mixed_reference_amp(&table);
    assert_true(fleet_score_measured(&table, &err));
    expect(&table, "homogeneous", 0.05, 0.97);
    expect(&table, "het_cluster", 0.10, 0.95);
    mixed_table_release(&table);
    mixed_reference_sailor(&table);
    assert_true(fleet_score_measured(&table, &err));
    expect(&table, "GH200 Clariden", 0.08, 0.93);
    expect(&table, "MIT heterogeneous", 0.06, 0.93);
    mixed_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_plans_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
