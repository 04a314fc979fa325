/* The brute force itself: cases small enough to be counted and computed by hand. */
#include "support/brute.h"
#include "support/golden.h"
#include "support/random_problem.h"

#include "core/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka has only one for floats */
#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

#define MAX_LAYERS BRUTE_MAX_LAYERS

static double forward[MAX_LAYERS], backward[MAX_LAYERS];
static const double no_allreduce[MAX_LAYERS];
static const double allreduce_of_one[MAX_LAYERS] = {1, 1, 1, 1, 1, 1, 1, 1};
static int64_t parameters[MAX_LAYERS], activations[MAX_LAYERS];

/* Layers that take these seconds, a quarter of them forward, on one group of nodes. */
static struct plan_problem one_group(const double *seconds, int layers, int nodes, int devices)
{
    struct plan_problem problem = {.layer_count = layers,
                                   .parameter_bytes = parameters,
                                   .activation_bytes = activations,
                                   .group_count = 1};
    for (int i = 0; i < layers; i++) {
        forward[i] = seconds[i] / 4;
        backward[i] = seconds[i] - forward[i];
        parameters[i] = activations[i] = 1;
    }
    struct plan_group *group = &problem.groups[0];
    *group = (struct plan_group){
        .device = "a", .nodes = {nodes, devices, 0}, .forward = forward, .backward = backward};
    for (group->splits = 1; 1 << group->splits <= devices; group->splits++)
        group->allreduce[group->splits] = no_allreduce;
    return problem;
}

static void one_node_is_halved_in_every_way(void **state)
{
    (void)state;
    const double seconds[] = {1, 2, 3, 4};
    struct plan_problem problem = one_group(seconds, 4, 1, 4);
    /* 4; 2 2; 2 1 1 and 1 1 2; 1 1 1 1, times the ways to cut 4 layers into as many */
    assert_int_equal(brute_force(&problem).plans, 1 + 3 + 2 * 3 + 1);
}

static void nodes_of_one_group_are_alike(void **state)
{
    (void)state;
    const double seconds[] = {1, 2, 3};
    struct plan_problem problem = one_group(seconds, 3, 2, 1);
    assert_int_equal(brute_force(&problem).plans, 2);
}

static void nodes_of_different_groups_come_in_every_order(void **state)
{
    (void)state;
    const double seconds[] = {1, 2, 3, 4};
    struct plan_problem problem = one_group(seconds, 4, 2, 1);
    problem.group_count = 2;
    problem.groups[1] = problem.groups[0];
    problem.groups[1].nodes.count = 1;
    /* aab aba baa, times the ways to cut 4 layers into 3 */
    assert_int_equal(brute_force(&problem).plans, 3 * 3);
}

static void a_single_stage_takes_four_times_its_time_for_oobleck(void **state)
{
    (void)state;
    const double seconds[] = {1, 2, 3};
    struct plan_problem problem = one_group(seconds, 3, 1, 1);
    problem.objective = OBJECTIVE_OOBLECK;
    problem.microbatches = 50;
    assert_near(brute_force(&problem).time, 24, 1e-12);
    problem.microbatches = 0;
    assert_near(brute_force(&problem).time, 24, 1e-12);
}

static void oobleck_by_hand(void **state)
{
    (void)state;
    const double seconds[] = {5, 1, 4};
    struct plan_problem problem = one_group(seconds, 3, 2, 1);
    problem.objective = OBJECTIVE_OOBLECK;
    problem.microbatches = 10;
    /* 5 | 5: equal, so the last is the slowest: 10 + (10 - 2 + 1 + 1) 5 + 5; 6 | 4: 10 + (10 - 2 + 0 + 1) 6 +
     * 10 */
    assert_near(brute_force(&problem).time, 65, 1e-12);
    problem.microbatches = 0;
    /* 10 + (2 * 2 + 1 + 1) 5 + 5 */
    assert_near(brute_force(&problem).time, 45, 1e-12);
}

static void oobleck_without_microbatches_left_is_no_plan(void **state)
{
    (void)state;
    const double seconds[] = {9, 1, 1};
    struct plan_problem problem = one_group(seconds, 3, 3, 1);
    problem.objective = OBJECTIVE_OOBLECK;
    problem.microbatches = 2;
    assert_true(isinf(brute_force(&problem).time));
    problem.microbatches = 3;
    assert_near(brute_force(&problem).time, 11 + 9 + 11, 1e-12);
}

static void pipeline_by_hand(void **state)
{
    (void)state;
    const double seconds[] = {5, 1, 4};
    struct plan_problem problem = one_group(seconds, 3, 2, 1);
    problem.microbatches = 10;
    assert_near(brute_force(&problem).time, 10 + 9 * 5, 1e-12);
    problem.microbatches = 0; /* 3 for each stage */
    assert_near(brute_force(&problem).time, 10 + 5 * 5, 1e-12);
}

static void allreduce_counts_forward_and_backward_of_each_layer(void **state)
{
    (void)state;
    const double seconds[] = {4, 8};
    struct plan_problem problem = one_group(seconds, 2, 1, 2);
    problem.groups[0].allreduce[1] = allreduce_of_one;
    problem.microbatches = 1;
    /* one stage of both: 12 / 2 + 2 * 2; two stages of one: 12 */
    assert_near(brute_force(&problem).time, 10, 1e-12);
}

static void memory_is_shared_by_the_devices_of_a_stage(void **state)
{
    (void)state;
    const double seconds[] = {4, 8};
    struct plan_problem problem = one_group(seconds, 2, 1, 2);
    problem.microbatches = 1;
    problem.groups[0].nodes.memory = 7; /* 6 + 1 bytes a layer: 2 layers fit on 2 devices, exactly */
    assert_int_equal(brute_force(&problem).plans, 2);
    problem.groups[0].nodes.memory = 6;
    assert_true(isinf(brute_force(&problem).time));
}

static void nodes_that_do_not_halve_have_no_plan(void **state)
{
    (void)state;
    const double seconds[] = {1, 1, 1, 1, 1, 1, 1};
    struct plan_problem problem = one_group(seconds, 7, 1, 3);
    assert_int_equal(brute_force(&problem).plans, 0);
    problem = one_group(seconds, 7, 1, 6);
    assert_int_equal(brute_force(&problem).plans, 0);
}

static void more_nodes_than_layers_have_no_plan(void **state)
{
    (void)state;
    const double seconds[] = {1, 1};
    struct plan_problem problem = one_group(seconds, 2, 3, 1);
    assert_int_equal(brute_force(&problem).plans, 0);
    assert_true(isinf(brute_force(&problem).time));
}

static void a_plan_with_an_idle_device_is_not_contained(void **state)
{
    (void)state;
    const double seconds[] = {1, 2, 3, 4};
    struct plan_problem problem = one_group(seconds, 4, 1, 4);
    struct pipeline_stage stages[] = {
        {{0, 1}, 0, 2, -1, 0, 0, 0, 0}, {{2, 2}, 0, 1, -1, 0, 0, 0, 0}, {{3, 3}, 0, 1, -1, 0, 0, 0, 0}};
    struct pipeline plan = {.stage_count = 3, .stages = stages};
    assert_true(brute_contains(&problem, &plan));
    stages[1].layers.last = 3;
    plan.stage_count = 2;
    assert_false(brute_contains(&problem, &plan));
}

static void a_part_that_does_not_come_from_halving_is_not_contained(void **state)
{
    (void)state;
    const double seconds[] = {1, 2, 3, 4};
    struct plan_problem problem = one_group(seconds, 4, 1, 4);
    struct pipeline_stage stages[] = {
        {{0, 1}, 0, 1, -1, 0, 0, 0, 0}, {{2, 2}, 0, 2, -1, 0, 0, 0, 0}, {{3, 3}, 0, 1, -1, 0, 0, 0, 0}};
    struct pipeline plan = {.stage_count = 3, .stages = stages};
    assert_false(brute_contains(&problem, &plan));
}

/* Two pieces of code, one definition. */
static void the_planner_scores_the_best_plan_the_same(void **state)
{
    (void)state;
    int plans = 0;
    for (int i = 0, count = random_cases(2000); i < count; i++) {
        struct plan_problem problem;
        assert_true(random_problem_init(&problem, &random_tiny, (uint64_t)i));
        problem.objective = i % 2 ? OBJECTIVE_OOBLECK : OBJECTIVE_PIPELINE;
        struct brute best = brute_force(&problem);
        if (best.stage_count > 0) {
            struct pipeline plan = {.stage_count = best.stage_count, .stages = best.stages};
            struct error err;
            assert_true(pipeline_check(&problem, &plan, &err));
            assert_true(pipeline_score(&problem, &plan, &err));
            assert_true(fabs(plan.iteration_time - best.time) <= 1e-12 * best.time);
            assert_true(brute_contains(&problem, &plan));
            plans++;
        }
        plan_problem_release(&problem);
    }
    assert_true(plans > 0);
}

/* "Nb=8, lat = 35 4 …, S=6: D&C 459 ; optimum 415 …" or "… ; optimum (52,13,51) T=596 …": S nodes of one
 * device. False when the line is something else. */
static bool check_counter_example(const char *line)
{
    int microbatches;
    const char *list = strstr(line, "lat = "), *stages = strstr(line, ", S="),
               *optimum = strstr(line, "optimum ");
    if (!list || !stages || !optimum || sscanf(line, "Nb=%d,", &microbatches) != 1)
        return false;
    double seconds[MAX_LAYERS];
    int layers = 0;
    char *end;
    for (const char *at = list + strlen("lat = "); at < stages && layers < MAX_LAYERS; at = end)
        seconds[layers++] = strtod(at, &end);
    const char *time = strstr(optimum, "T=");
    struct plan_problem problem =
        one_group(seconds, layers, (int)strtol(stages + strlen(", S="), NULL, 10), 1);
    problem.objective = OBJECTIVE_OOBLECK;
    problem.microbatches = microbatches;
    assert_near(brute_force(&problem).time, strtod(time ? time + 2 : optimum + strlen("optimum "), NULL),
                1e-9);
    return true;
}

/* Cases in which the best halves do not make the best whole (planning/NOTES.md, section 2.5). */
static void the_counter_examples_to_divide_and_conquer(void **state)
{
    (void)state;
    const char *folder = golden_folder();
    if (!folder)
        skip();
    char path[4096], *text, *rest = NULL;
    size_t length;
    struct error err;
    snprintf(path, sizeof path, "%s/NOTES.md", folder);
    assert_true(file_read(path, 1 << 20, &text, &length, &err));
    int found = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        found += check_counter_example(line);
    free(text);
    assert_int_equal(found, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node_is_halved_in_every_way),
        cmocka_unit_test(nodes_of_one_group_are_alike),
        cmocka_unit_test(nodes_of_different_groups_come_in_every_order),
        cmocka_unit_test(a_single_stage_takes_four_times_its_time_for_oobleck),
        cmocka_unit_test(oobleck_by_hand),
        cmocka_unit_test(oobleck_without_microbatches_left_is_no_plan),
        cmocka_unit_test(pipeline_by_hand),
        cmocka_unit_test(allreduce_counts_forward_and_backward_of_each_layer),
        cmocka_unit_test(memory_is_shared_by_the_devices_of_a_stage),
        cmocka_unit_test(nodes_that_do_not_halve_have_no_plan),
        cmocka_unit_test(more_nodes_than_layers_have_no_plan),
        cmocka_unit_test(a_plan_with_an_idle_device_is_not_contained),
        cmocka_unit_test(a_part_that_does_not_come_from_halving_is_not_contained),
        cmocka_unit_test(the_planner_scores_the_best_plan_the_same),
        cmocka_unit_test(the_counter_examples_to_divide_and_conquer),
    };
    return cmocka_run_group_tests_name("plan/brute", tests, NULL, NULL);
}
