/* Folding and recovery: the reference's recorded results, its failures, and plans that can be used. */
#include "support/golden.h"
#include "support/random_problem.h"
#include "support/sanitizer.h"

#include "plan/reference/reference_table.h"
#include "plan/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct plan_search_options by_dp = {.method = SEARCH_FOLD_DP};
static const struct plan_search_options greedily = {.method = SEARCH_FOLD_GREEDY};
static const struct plan_search_options greedily_longest = {.method = SEARCH_FOLD_GREEDY,
                                                            .fold_longest_only = true};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void check_found(const struct golden *golden, const struct plan_problem *problem,
                        struct pipeline *plan)
{
    const struct golden_plan *expected = &golden->plans[0];
    struct error err;
    if (!near(plan->iteration_time, expected->iteration_time) || plan->stage_count != expected->stage_count)
        fail_msg("%s: %.9f s in %d stages, expected %.9f s in %d", golden->name, plan->iteration_time,
                 plan->stage_count, expected->iteration_time, expected->stage_count);
    if (!pipeline_check(problem, plan, &err))
        fail_msg("%s: %s", golden->name, err.text);
}

static void check_file(const char *name, const struct plan_search_options *options)
{
    struct golden golden;
    struct plan_problem problem;
    struct pipeline plan;
    struct error err;
    if (!golden_load(&golden, name, &err) || !golden_problem(&golden, 0, OBJECTIVE_OOBLECK, &problem, &err))
        fail_msg("%s", err.text);
    bool found = plan_search_fold(&problem, options, &plan, &err);
    if (found != golden.plans[0].found)
        fail_msg("%s: %s", name, found ? "a plan where the reference fails" : err.text);
    if (found) {
        check_found(&golden, &problem, &plan);
        pipeline_release(&plan);
    } else {
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        assert_memory_equal(err.text, "no plan: ", 9);
    }
    plan_problem_release(&problem);
    golden_release(&golden);
}

static void check_files(const char *end, const struct plan_search_options *options)
{
    struct arena arena = {0};
    int count = 0;
    if (!golden_folder())
        skip();
    const char **names = golden_list(&arena, "exp", end, &count);
    assert_non_null(names);
    for (int i = 0; i < count; i += GOLDEN_STEP)
        check_file(names[i], options);
    arena_release(&arena);
}

static void plans_by_dp_are_the_reference(void **state)
{
    (void)state;
    check_files("_dp.json", &by_dp);
    check_files("_dp_emul.json", &by_dp);
}

static void greedy_plans_are_the_reference(void **state)
{
    (void)state;
    check_files("_greedy_all.json", &greedily);
    check_files("_greedy_all_emul.json", &greedily);
    check_files("_greedy_best.json", &greedily);
}

static void greedy_from_the_longest_fails_like_the_reference(void **state)
{
    (void)state;
    check_files("_greedy_longest.json", &greedily_longest);
    check_files("_greedy_longest_emul.json", &greedily_longest);
}

/* Recorded for exp1: folding gives 6 nodes of 2 devices, planned in 6 to 12 stages. */
static void virtual_plans_are_the_reference(void **state)
{
    (void)state;
    struct golden golden;
    struct plan_problem problem;
    struct reference_table table;
    struct error err;
    if (!golden_folder())
        skip();
    assert_true(golden_load(&golden, "exp1_ar0_greedy_all.json", &err));
    assert_true(golden_problem(&golden, 0, OBJECTIVE_OOBLECK, &problem, &err));
    problem.group_count = 1;
    problem.groups[0].nodes.count = 6;
    assert_true(reference_table_init(&table, &problem, false, NULL, &err));
    assert_int_equal(golden.virtual_count, 7);
    for (int i = 0; i < golden.virtual_count; i++) {
        const struct golden_plan *expected = &golden.virtual_templates[i];
        double milliseconds = reference_table_time(&table, expected->stage_count);
        assert_true(near(milliseconds * 1e-3, expected->iteration_time));
    }
    reference_table_release(&table);
    plan_problem_release(&problem);
    golden_release(&golden);
}

/* Six equal layers; a device of the second group is `speed` times as fast as one of the first. */
static double slow[6], fast[6];
static int64_t bytes[6];

static struct plan_problem two_kinds(int first_nodes, int second_nodes, double speed)
{
    for (int i = 0; i < 6; i++) {
        slow[i] = 1;
        fast[i] = 1 / speed;
        bytes[i] = 1 << 20;
    }
    struct plan_problem problem = {
        .layer_count = 6,
        .parameter_bytes = bytes,
        .activation_bytes = bytes,
        .group_count = 2,
        .microbatches = 32,
        .objective = OBJECTIVE_PIPELINE,
    };
    struct plan_group group = {.nodes = {first_nodes, 1, 0}, .splits = 1};
    problem.groups[0] = problem.groups[1] = group;
    problem.groups[0].device = "slow";
    problem.groups[0].forward = problem.groups[0].backward = slow;
    problem.groups[1].device = "fast";
    problem.groups[1].nodes.count = second_nodes;
    problem.groups[1].forward = problem.groups[1].backward = fast;
    return problem;
}

static void assert_infeasible(const struct plan_problem *problem, const struct plan_search_options *options,
                              const char *reason)
{
    struct pipeline plan;
    struct error err;
    assert_false(plan_search_fold(problem, options, &plan, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    if (strncmp(err.text, "no plan: ", 9) != 0 || !strstr(err.text, reason))
        fail_msg("'%s' does not say '%s'", err.text, reason);
}

static void assert_found(const struct plan_problem *problem, const struct plan_search_options *options)
{
    struct pipeline plan;
    struct error err;
    if (!plan_search_fold(problem, options, &plan, &err) || !pipeline_check(problem, &plan, &err))
        fail_msg("%s", err.text);
    pipeline_release(&plan);
}

/* A device twice as fast takes two of the three virtual stages. */
static void fast_device_takes_neighbouring_stages(void **state)
{
    (void)state;
    struct plan_problem problem = two_kinds(1, 1, 2);
    struct pipeline plan;
    struct error err;
    assert_true(plan_search_fold(&problem, &by_dp, &plan, &err));
    assert_int_equal(plan.stage_count, 2);
    for (int i = 0; i < 2; i++) {
        int layers = plan.stages[i].layers.last - plan.stages[i].layers.first + 1;
        assert_int_equal(layers, plan.stages[i].group == 1 ? 4 : 2);
    }
    pipeline_release(&plan);
}

static void more_virtual_stages_than_layers_have_no_plan(void **state)
{
    (void)state;
    struct plan_problem problem = two_kinds(3, 2, 2);
    assert_infeasible(&problem, &by_dp, "7 virtual stages");
    assert_infeasible(&problem, &greedily, "more than the 6 layers");
}

static void greedy_gives_no_stage_to_most_of_a_device_left_idle(void **state)
{
    (void)state;
    struct plan_problem problem = two_kinds(1, 1, 2);
    assert_infeasible(&problem, &greedily, "0.6 of a device");
}

static void stages_keep_to_the_memory(void **state)
{
    (void)state;
    struct plan_problem problem = two_kinds(1, 1, 2);
    problem.memory = MEMORY_REFERENCE;
    problem.groups[1].nodes.memory = 4 * 7 << 20;
    assert_found(&problem, &by_dp);
    problem.groups[1].nodes.memory--;
    assert_infeasible(&problem, &by_dp, "memory");
    problem.memory = MEMORY_IN_FLIGHT; /* it is the first of two stages */
    problem.groups[1].nodes.memory = 4 * 8 << 20;
    assert_found(&problem, &by_dp);
    problem.groups[1].nodes.memory--;
    assert_infeasible(&problem, &by_dp, "memory");
}

static void check_random(const struct plan_problem *problem, int seed,
                         const struct plan_search_options *options)
{
    struct pipeline plan;
    struct error err;
    if (!plan_search_fold(problem, options, &plan, &err)) {
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        assert_memory_equal(err.text, "no plan: ", 9);
        return;
    }
    if (!pipeline_check(problem, &plan, &err))
        fail_msg("seed %d: %s", seed, err.text);
    for (int i = 0; i < plan.stage_count; i++)
        assert_true(plan.stages[i].node >= 0);
    pipeline_release(&plan);
}

static void plans_fit_the_cluster(void **state)
{
    (void)state;
    const struct plan_search_options *const all[] = {&by_dp, &greedily};
    int cases = random_cases(400);
    for (int seed = 0; seed < cases; seed++)
        for (int i = 0; i < 4; i++) {
            struct plan_problem problem;
            assert_true(
                random_problem_init(&problem, seed % 4 ? &random_tiny : &random_medium, (uint64_t)seed));
            problem.objective = i % 2 ? OBJECTIVE_OOBLECK : OBJECTIVE_PIPELINE;
            check_random(&problem, seed, all[i / 2]);
            plan_problem_release(&problem);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_by_dp_are_the_reference),
        cmocka_unit_test(greedy_plans_are_the_reference),
        cmocka_unit_test(greedy_from_the_longest_fails_like_the_reference),
        cmocka_unit_test(virtual_plans_are_the_reference),
        cmocka_unit_test(fast_device_takes_neighbouring_stages),
        cmocka_unit_test(more_virtual_stages_than_layers_have_no_plan),
        cmocka_unit_test(greedy_gives_no_stage_to_most_of_a_device_left_idle),
        cmocka_unit_test(stages_keep_to_the_memory),
        cmocka_unit_test(plans_fit_the_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
