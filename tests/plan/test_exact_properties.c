/* What must hold of an optimum whatever the problem, on problems too large for a brute force. */
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

#define CASES 150

static struct plan_problem problem; /* of the case at hand */
static uint64_t seed;

static void next_case(enum plan_objective objective)
{
    assert_true(random_problem_init(&problem, &random_medium, seed));
    problem.objective = objective;
}

static enum plan_objective either_objective(void)
{
    return seed % 2 ? OBJECTIVE_OOBLECK : OBJECTIVE_PIPELINE;
}

/* Iteration time of the plan that the method makes; INFINITY when it makes none. With `contained`, INFINITY
 * also when its plan is outside what the exact search ranges over where no device may be idle: folding may leave devices
 * idle or share nodes. */
static double solve(enum plan_search_method method, bool contained)
{
    struct plan_search_options options = {.method = method};
    struct pipeline plan = {0};
    struct error err;
    if (!plan_search(&problem, &options, &plan, &err)) {
        if (err.kind != ERROR_INFEASIBLE)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        return INFINITY;
    }
    double time = plan.iteration_time;
    if (contained && (!brute_contains(&problem, &plan) || !pipeline_check(&problem, &plan, &err)))
        time = INFINITY;
    pipeline_release(&plan);
    return time;
}

static double optimum(void)
{
    return solve(SEARCH_EXACT, false);
}

static bool near(double a, double b)
{
    return (isinf(a) && isinf(b)) || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void check(bool holds, const char *what, double before, double after)
{
    if (holds)
        return;
    fprintf(stderr, "seed %llu: %s: %.17g s, then %.17g s with\n", (unsigned long long)seed, what, before,
            after);
    random_problem_print(&problem, stderr);
    fail_msg("seed %llu: %s", (unsigned long long)seed, what);
}

/* Times and bytes of a problem are its own (random_problem_init made them for nobody else), so that a test
 * may change them. */
static double *own_seconds(const double *seconds)
{
    return (double *)(uintptr_t)seconds;
}

static int64_t *own_bytes(const int64_t *bytes)
{
    return (int64_t *)(uintptr_t)bytes;
}

/* Calls change() with all the times of every group. */
static void change_times(void (*change)(double *seconds, int count))
{
    for (int g = 0; g < problem.group_count; g++) {
        const struct plan_group *group = &problem.groups[g];
        change(own_seconds(group->forward), problem.layer_count);
        change(own_seconds(group->backward), problem.layer_count);
        for (int split = 1; split < group->splits; split++)
            change(own_seconds(group->allreduce[split]), problem.layer_count);
    }
}

static void twice(double *seconds, int count)
{
    for (int i = 0; i < count; i++)
        seconds[i] *= 2;
}

static void reverse(double *seconds, int count)
{
    for (int i = 0, j = count - 1; i < j; i++, j--) {
        double swap = seconds[i];
        seconds[i] = seconds[j];
        seconds[j] = swap;
    }
}

static void reverse_bytes(int64_t *bytes, int count)
{
    for (int i = 0, j = count - 1; i < j; i++, j--) {
        int64_t swap = bytes[i];
        bytes[i] = bytes[j];
        bytes[j] = swap;
    }
}

static void no_other_search_is_better(void **state)
{
    (void)state;
    static const enum plan_search_method others[] = {SEARCH_DIVIDE, SEARCH_FOLD_DP, SEARCH_FOLD_GREEDY};
    int found[3] = {0}, cases = random_cases(CASES);
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(either_objective());
        double best = optimum();
        for (int i = 0; i < 3; i++) {
            double time = solve(others[i], true);
            found[i] += !isinf(time);
            check(best <= time * (1 + 1e-9), "another search is better", best, time);
        }
        plan_problem_release(&problem);
    }
    assert_true(found[0] > 0);
}

static void one_more_node_never_takes_longer(void **state)
{
    (void)state;
    int cases = random_cases(CASES), same = 0;
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(OBJECTIVE_PIPELINE);
        problem.microbatches = problem.microbatches > 0 ? problem.microbatches : 1;
        double before = optimum();
        problem.groups[seed % (uint64_t)problem.group_count].nodes.count++;
        double after = optimum();
        check(after <= before * (1 + 1e-9), "a node more", before, after);
        same += near(after, before);
        plan_problem_release(&problem);
    }
    assert_in_range(same, 1, cases - 1);
}

static void one_more_microbatch_never_takes_less(void **state)
{
    (void)state;
    int cases = random_cases(CASES);
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(OBJECTIVE_PIPELINE);
        problem.microbatches = problem.microbatches > 0 ? problem.microbatches : 1;
        double before = optimum();
        problem.microbatches++;
        double after = optimum();
        check(isinf(before) == isinf(after) && after >= before * (1 - 1e-9), "a micro-batch more", before,
              after);
        plan_problem_release(&problem);
    }
}

static void times_twice_as_long_take_twice_as_long(void **state)
{
    (void)state;
    int cases = random_cases(CASES);
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(either_objective());
        double before = optimum();
        change_times(twice);
        double after = optimum();
        check(near(after, 2 * before), "all times doubled", before, after);
        plan_problem_release(&problem);
    }
}

static void a_group_in_two_halves_is_the_same_group(void **state)
{
    (void)state;
    int cases = random_cases(CASES), halved = 0;
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(either_objective());
        int g = (int)(seed % (uint64_t)problem.group_count);
        if (problem.groups[g].nodes.count > 1) {
            double before = optimum();
            struct plan_group *rest = &problem.groups[problem.group_count++];
            *rest = problem.groups[g];
            problem.groups[g].nodes.count /= 2;
            rest->nodes.count -= problem.groups[g].nodes.count;
            double after = optimum();
            check(near(after, before), "a group in two", before, after);
            halved++;
        }
        plan_problem_release(&problem);
    }
    assert_true(halved > 0);
}

static void the_order_of_the_groups_does_not_matter(void **state)
{
    (void)state;
    int cases = random_cases(CASES);
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(either_objective());
        double before = optimum();
        struct plan_group first = problem.groups[0];
        problem.groups[0] = problem.groups[problem.group_count - 1];
        problem.groups[problem.group_count - 1] = first;
        double after = optimum();
        check(near(after, before), "groups exchanged", before, after);
        plan_problem_release(&problem);
    }
}

/* Not so for oobleck, which counts stages after the slowest differently from those before, nor with all micro-batches
 * in flight, of which the first stage holds the most. */
static void a_pipeline_takes_the_same_time_backwards(void **state)
{
    (void)state;
    int cases = random_cases(CASES);
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(OBJECTIVE_PIPELINE);
        problem.memory = MEMORY_REFERENCE;
        double before = optimum();
        change_times(reverse);
        reverse_bytes(own_bytes(problem.parameter_bytes), problem.layer_count);
        reverse_bytes(own_bytes(problem.activation_bytes), problem.layer_count);
        double after = optimum();
        check(near(after, before), "layers in reverse", before, after);
        plan_problem_release(&problem);
    }
}

static void more_memory_never_takes_longer(void **state)
{
    (void)state;
    int cases = random_cases(CASES), limited = 0;
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(either_objective());
        double before = optimum();
        for (int g = 0; g < problem.group_count; g++) {
            limited += problem.groups[g].nodes.memory > 0;
            problem.groups[g].nodes.memory = 0;
        }
        double after = optimum();
        check(after <= before * (1 + 1e-9), "without limits of memory", before, after);
        plan_problem_release(&problem);
    }
    assert_true(limited > 0);
}

/* A layer that costs less, on every kind of device, cannot make the best pipeline slower. */
/* Each micro-batch in flight needs room, and the reference's formula counts only one. */
static void micro_batches_in_flight_never_take_less(void **state)
{
    (void)state;
    int cases = random_cases(CASES), longer = 0;
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(either_objective());
        double before = optimum();
        problem.memory = MEMORY_REFERENCE;
        double after = optimum();
        check(after <= before * (1 + 1e-9), "with one micro-batch in flight", before, after);
        longer += after < before;
        plan_problem_release(&problem);
    }
    assert_true(cases < CASES || longer > 0);
}

static void a_faster_layer_never_takes_longer(void **state)
{
    (void)state;
    int cases = random_cases(CASES);
    for (seed = 0; seed < (uint64_t)cases; seed++) {
        next_case(OBJECTIVE_PIPELINE);
        double before = optimum();
        int layer = (int)(seed % (uint64_t)problem.layer_count);
        for (int g = 0; g < problem.group_count; g++)
            own_seconds(problem.groups[g].forward)[layer] /= 2;
        double after = optimum();
        check(after <= before * (1 + 1e-9), "a faster layer", before, after);
        plan_problem_release(&problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_search_is_better),
        cmocka_unit_test(one_more_node_never_takes_longer),
        cmocka_unit_test(one_more_microbatch_never_takes_less),
        cmocka_unit_test(times_twice_as_long_take_twice_as_long),
        cmocka_unit_test(a_group_in_two_halves_is_the_same_group),
        cmocka_unit_test(the_order_of_the_groups_does_not_matter),
        cmocka_unit_test(a_pipeline_takes_the_same_time_backwards),
        cmocka_unit_test(more_memory_never_takes_longer),
        cmocka_unit_test(micro_batches_in_flight_never_take_less),
        cmocka_unit_test(a_faster_layer_never_takes_longer),
    };
    return cmocka_run_group_tests_name("plan/exact_properties", tests, NULL, NULL);
}
