/* The exact search against the brute force, on thousands of random tiny problems. */
#include "support/brute.h"
#include "support/random_problem.h"

#include "plan/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES        10000
#define THREAD_CASES 600 /* of the tiny ones: */
#define MEDIUM_CASES 60

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* Says which case failed and all about it. */
static void fail_case(const struct plan_problem *problem, uint64_t seed, const struct brute *brute,
                      const struct pipeline *plan, const char *what)
{
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, what);
    random_problem_print(problem, stderr);
    if (brute && brute->stage_count > 0) {
        fprintf(stderr, "brute force: %.17g s\n", brute->time);
        for (int i = 0; i < brute->stage_count; i++)
            fprintf(stderr, "  layers %d-%d on %d of group %d\n", brute->stages[i].layers.first,
                    brute->stages[i].layers.last, brute->stages[i].devices, brute->stages[i].group);
    }
    if (plan) {
        fprintf(stderr, "search: %.17g s, bound %.17g s\n", plan->iteration_time, plan->lower_bound);
        for (int i = 0; i < plan->stage_count; i++)
            fprintf(stderr, "  layers %d-%d on %d of group %d: %.17g s\n", plan->stages[i].layers.first,
                    plan->stages[i].layers.last, plan->stages[i].devices, plan->stages[i].group,
                    plan->stages[i].forward + plan->stages[i].backward);
    }
    fail_msg("seed %llu: %s", (unsigned long long)seed, what);
}

/* What is wrong with the plan, or NULL. */
static const char *fault_of(const struct plan_problem *problem, const struct brute *brute,
                            struct pipeline *plan)
{
    struct error err;
    double time = plan->iteration_time;
    if (!near(time, brute->time))
        return time > brute->time ? "not optimal" : "better than what is possible";
    if (!plan->proven_optimal)
        return "optimality is not proven";
    if (!near(plan->lower_bound, time))
        return "the lower bound is not the value";
    if (!pipeline_check(problem, plan, &err))
        return "plan_check fails";
    for (int i = 0; i < plan->stage_count; i++)
        if (plan->stages[i].node < 0)
            return "a stage has no node";
    if (!brute_contains(problem, plan))
        return "devices are idle that may not be, or not split by halving";
    if (!pipeline_score(problem, plan, &err) || !near(plan->iteration_time, time))
        return "plan_score gives another time";
    return NULL;
}

/* Returns whether there is a plan. */
static bool compare(const struct plan_problem *problem, uint64_t seed)
{
    struct plan_search_options options = {.method = SEARCH_EXACT};
    struct pipeline plan = {0};
    struct error err;
    struct brute brute = brute_force(problem);
    if (!plan_search_exact(problem, &options, &plan, &err)) {
        if (err.kind != ERROR_INFEASIBLE)
            fail_case(problem, seed, &brute, NULL, err.text);
        if (brute.stage_count > 0)
            fail_case(problem, seed, &brute, NULL, "no plan is found where there is one");
        return false;
    }
    if (brute.stage_count == 0)
        fail_case(problem, seed, &brute, &plan, "a plan is found where there is none");
    const char *fault = fault_of(problem, &brute, &plan);
    if (fault)
        fail_case(problem, seed, &brute, &plan, fault);
    pipeline_release(&plan);
    return true;
}

static void compare_many(const struct random_shape *shape, enum plan_objective objective)
{
    int feasible = 0, count = random_cases(CASES);
    for (int seed = 0; seed < count; seed++) {
        struct plan_problem problem;
        assert_true(random_problem_init(&problem, shape, (uint64_t)seed));
        problem.objective = objective;
        feasible += compare(&problem, (uint64_t)seed);
        plan_problem_release(&problem);
    }
    /* the cases would say little if most had no plan, and nothing about that if all had one */
    assert_in_range(feasible, count / 2, count - 1);
}

static void exact_equals_brute_force_for_pipeline(void **state)
{
    (void)state;
    compare_many(&random_tiny, OBJECTIVE_PIPELINE);
}

static void exact_equals_brute_force_for_oobleck(void **state)
{
    (void)state;
    compare_many(&random_tiny, OBJECTIVE_OOBLECK);
}

static void exact_equals_brute_force_where_memory_binds_for_pipeline(void **state)
{
    (void)state;
    compare_many(&random_tight, OBJECTIVE_PIPELINE);
}

static void exact_equals_brute_force_where_memory_binds_for_oobleck(void **state)
{
    (void)state;
    compare_many(&random_tight, OBJECTIVE_OOBLECK);
}

/* Stages of 8 | 3 | 4 + 4 with every layer divided by 2.94: the two eights differ in their last bits, and are
 * still equally slow. That costs oobleck two periods, and 8 | 3 + 4 | 4 is better. */
static void stages_that_differ_by_rounding_are_ties(void **state)
{
    (void)state;
    static const double work[] = {8, 3, 4, 4};
    static const int64_t no_bytes[4];
    double half[4];
    for (int i = 0; i < 4; i++)
        half[i] = work[i] / 2 / 2.94;
    struct plan_problem problem = {
        .layer_count = 4,
        .parameter_bytes = no_bytes,
        .activation_bytes = no_bytes,
        .group_count = 1,
        .groups = {{.device = "a", .nodes = {3, 1, 0}, .splits = 1, .forward = half, .backward = half}},
        .objective = OBJECTIVE_OOBLECK};
    assert_true(near(brute_force(&problem).time, (19 + 7 * 8 + 19) / 2.94));
    assert_true(compare(&problem, 0));
}

static bool same_bits(double a, double b)
{
    uint64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    return a_bits == b_bits;
}

static bool same_stages(const struct pipeline *a, const struct pipeline *b)
{
    if (a->stage_count != b->stage_count)
        return false;
    for (int i = 0; i < a->stage_count; i++) {
        const struct pipeline_stage *s = &a->stages[i], *t = &b->stages[i];
        if (s->layers.first != t->layers.first || s->layers.last != t->layers.last || s->group != t->group ||
            s->devices != t->devices || s->node != t->node || s->memory != t->memory ||
            !same_bits(s->forward, t->forward) || !same_bits(s->backward, t->backward))
            return false;
    }
    return true;
}

static bool same_plan(const struct pipeline *a, const struct pipeline *b)
{
    return same_stages(a, b) && same_bits(a->iteration_time, b->iteration_time) && same_bits(a->t1, b->t1) &&
           same_bits(a->t2, b->t2) && same_bits(a->t3, b->t3) && same_bits(a->lower_bound, b->lower_bound) &&
           a->bottleneck == b->bottleneck && a->proven_optimal == b->proven_optimal;
}

static void compare_threads(const struct random_shape *shape, int count)
{
    struct parallel *one = parallel_new(1, &(struct error){0}), *two = parallel_new(2, &(struct error){0});
    assert_non_null(one);
    assert_non_null(two);
    for (int seed = 0; seed < count; seed++) {
        struct plan_problem problem;
        struct pipeline plans[2] = {{0}, {0}};
        struct error err;
        assert_true(random_problem_init(&problem, shape, (uint64_t)seed));
        problem.objective = seed % 2 ? OBJECTIVE_OOBLECK : OBJECTIVE_PIPELINE;
        struct plan_search_options alone = {.method = SEARCH_EXACT, .pool = one};
        struct plan_search_options shared = {.method = SEARCH_EXACT, .pool = two};
        bool found = plan_search_exact(&problem, &alone, &plans[0], &err);
        assert_int_equal(plan_search_exact(&problem, &shared, &plans[1], &err), found);
        if (found && !same_plan(&plans[0], &plans[1]))
            fail_case(&problem, (uint64_t)seed, NULL, &plans[1], "two threads make another plan than one");
        if (found) {
            pipeline_release(&plans[0]);
            pipeline_release(&plans[1]);
        }
        plan_problem_release(&problem);
    }
    parallel_free(one);
    parallel_free(two);
}

static void two_threads_make_the_same_tiny_plans(void **state)
{
    (void)state;
    compare_threads(&random_tiny, random_cases(THREAD_CASES));
}

static void two_threads_make_the_same_plans_where_memory_binds(void **state)
{
    (void)state;
    compare_threads(&random_tight, random_cases(THREAD_CASES));
}

static void two_threads_make_the_same_medium_plans(void **state)
{
    (void)state;
    compare_threads(&random_medium, random_cases(MEDIUM_CASES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_equals_brute_force_for_pipeline),
        cmocka_unit_test(exact_equals_brute_force_for_oobleck),
        cmocka_unit_test(exact_equals_brute_force_where_memory_binds_for_pipeline),
        cmocka_unit_test(exact_equals_brute_force_where_memory_binds_for_oobleck),
        cmocka_unit_test(stages_that_differ_by_rounding_are_ties),
        cmocka_unit_test(two_threads_make_the_same_tiny_plans),
        cmocka_unit_test(two_threads_make_the_same_plans_where_memory_binds),
        cmocka_unit_test(two_threads_make_the_same_medium_plans),
    };
    return cmocka_run_group_tests_name("plan/search_random", tests, NULL, NULL);
}
