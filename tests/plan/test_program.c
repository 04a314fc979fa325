/* The programs of the exact search by themselves: steps by tables and by sweeps have the same values, and so does the program
 * that counts, where nothing has to be counted. */
#include "support/random_problem.h"

#include "plan/exact/bound.h"
#include "plan/exact/counted.h"
#include "plan/exact/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define CASES      600
#define MAX_STAGES 256

/* A problem with its programs, and the costs of some interval of the slowest stage. */
struct trial {
    struct plan_problem problem;
    struct ticks ticks;
    struct lattice lattice;
    struct program program;
    struct counted counted;
    struct bound bound;
    struct interval interval;
    struct tile_costs costs;
};

static void trial_init(struct trial *trial, uint64_t seed)
{
    struct error err;
    struct random_source random = {seed};
    assert_true(random_problem_init(&trial->problem, &random_medium, seed));
    trial->problem.objective = random_one_in(&random, 4) ? OBJECTIVE_PIPELINE : OBJECTIVE_OOBLECK;
    for (int g = 0; g < trial->problem.group_count; g++)
        trial->problem.groups[g].nodes.memory = 0;
    assert_true(ticks_init(&trial->ticks, &trial->problem, SPACE_ALL, &err));
    assert_in_range(trial->ticks.max_stages, 1, MAX_STAGES);
    assert_true(lattice_init(&trial->lattice, &trial->ticks, &err));
    assert_true(program_init(&trial->program, &trial->ticks, &trial->lattice, NULL, &err));
    counted_init(&trial->counted, &trial->program);
    trial->bound = bound_init(&trial->ticks, &trial->problem);
    double low = bound_min_slowest(&trial->bound) * (1 + 4 * random_unit(&random));
    int nodes = trial->ticks.node_count, first = random_range(&random, 1, nodes);
    bool anywhere = random_one_in(&random, 2);
    trial->interval = (struct interval){
        .low = ticks_at_least(&trial->ticks, low),
        .high = ticks_at_most(&trial->ticks, low * (1 + 2 * random_unit(&random))),
        .reward = low * random_unit(&random),
        .first = anywhere ? 1 : first,
        .last = anywhere ? nodes : random_range(&random, first, nodes),
    };
    trial->costs = bound_costs(&trial->bound, &trial->interval);
}

static void trial_release(struct trial *trial)
{
    counted_release(&trial->counted);
    program_release(&trial->program);
    lattice_release(&trial->lattice);
    ticks_release(&trial->ticks);
    plan_problem_release(&trial->problem);
}

/* What the stages cost, each as what it is charged. */
static double cost_of(const struct trial *trial, const struct tile_stage *stages, int count)
{
    const struct tile_costs *costs = &trial->costs;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double l =
            ticks_stage(&trial->ticks, stages[i].group, stages[i].split, stages[i].first, stages[i].end);
        assert_true(l <= costs->cap);
        if (stages[i].plane == TILE_BEFORE) {
            sum += l + costs->before_add;
        } else if (stages[i].plane == TILE_AFTER) {
            assert_true(l <= costs->after_most);
            sum += 2 * l + costs->after_add;
        } else {
            assert_true(l >= costs->cross_min);
            sum += costs->cross_scale * (l - costs->cross_min);
        }
    }
    return sum;
}

static void assert_covers(const struct trial *trial, const struct tile_stage *stages, int count)
{
    int next = 0;
    for (int i = 0; i < count; i++) {
        assert_int_equal(stages[i].first, next);
        assert_true(stages[i].end > next);
        next = stages[i].end;
    }
    assert_int_equal(next, trial->ticks.layer_count);
}

/* Returns the value of the program with such steps, INFINITY where there is none, and checks its pipeline. */
static double solve(struct trial *trial, enum program_steps steps)
{
    struct tile_stage stages[MAX_STAGES];
    double value;
    trial->program.steps = steps;
    if (!reach_windows(&trial->program.reach, trial->costs.cap) ||
        program_solve(&trial->program, &trial->costs, &value) != PROGRAM_DONE)
        return INFINITY;
    int count = program_path(&trial->program, stages);
    assert_true(count > 0);
    assert_covers(trial, stages, count);
    double cost = cost_of(trial, stages, count);
    if (fabs(cost - value) > 1e-9 * (fabs(value) + trial->costs.cap))
        fail_msg("a pipeline of %.17g has the value %.17g", cost, value);
    return value;
}

static void assert_equal(double a, double b, double scale, int seed)
{
    if (!(a == b || fabs(a - b) <= 1e-9 * (fabs(a) + scale)))
        fail_msg("seed %d: %.17g and %.17g", seed, a, b);
}

static void tables_and_sweeps_have_the_same_values(void **state)
{
    (void)state;
    int found = 0, count = random_cases(CASES);
    for (int seed = 0; seed < count; seed++) {
        struct trial trial;
        trial_init(&trial, (uint64_t)seed);
        double tables = solve(&trial, PROGRAM_TABLES), sweeps = solve(&trial, PROGRAM_SWEEPS);
        assert_equal(tables, sweeps, trial.costs.cap, seed);
        found += tables < INFINITY;
        trial_release(&trial);
    }
    assert_in_range(found, count / 4, count - 1);
}

/* A program that grants stages after the bottleneck another reward takes the rows of the one before; with another place of the
 * bottleneck, or another cap, it may not. */
static void a_program_after_another_has_the_values_of_its_own(void **state)
{
    (void)state;
    int changed = 0, count = random_cases(CASES);
    for (int seed = 0; seed < count; seed++) {
        struct random_source random = {(uint64_t)seed + 77};
        struct trial trial;
        trial_init(&trial, (uint64_t)seed);
        for (int i = 0; i < 5; i++) {
            double before = trial.costs.after_add, sweeps = solve(&trial, PROGRAM_SWEEPS);
            assert_equal(solve(&trial, PROGRAM_TABLES), sweeps, trial.costs.cap, seed);
            struct interval *interval = &trial.interval;
            interval->reward = interval->low * random_unit(&random);
            if (random_one_in(&random, 4))
                interval->last = interval->first;
            if (random_one_in(&random, 4))
                interval->high = ticks_at_most(&trial.ticks, interval->high * 1.1);
            trial.costs = bound_costs(&trial.bound, interval);
            changed += sweeps < INFINITY && trial.costs.after_add != before;
        }
        trial_release(&trial);
    }
    assert_in_range(changed, count / 4, 5 * count);
}

/* Without limits of memory, and with fewer stages than micro-batches, no count is ever a reason to refuse a stage. */
static void counting_changes_nothing_where_every_count_is_allowed(void **state)
{
    (void)state;
    int found = 0, count = random_cases(CASES);
    for (int seed = 0; seed < count; seed++) {
        struct trial trial;
        trial_init(&trial, (uint64_t)seed);
        if (trial.ticks.microbatches > 0 && trial.ticks.microbatches <= trial.ticks.max_stages) {
            trial_release(&trial);
            continue;
        }
        trial.interval.first = 1;
        trial.interval.last = trial.ticks.node_count;
        trial.costs = bound_costs(&trial.bound, &trial.interval);
        double value = solve(&trial, PROGRAM_FASTER), counted = INFINITY;
        struct counted_limit all = {.below = INFINITY}, less = {.below = value * (1 - 1e-9)};
        if (value < INFINITY) {
            assert_int_equal(counted_solve(&trial.counted, &trial.costs, &all, &counted), PROGRAM_DONE);
            assert_equal(value, counted, trial.costs.cap, seed);
            found++;
            if (value > 0)
                assert_int_equal(counted_solve(&trial.counted, &trial.costs, &less, &counted),
                                 PROGRAM_INFEASIBLE);
        }
        trial_release(&trial);
    }
    assert_in_range(found, 1, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_and_sweeps_have_the_same_values),
        cmocka_unit_test(a_program_after_another_has_the_values_of_its_own),
        cmocka_unit_test(counting_changes_nothing_where_every_count_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
