/* The reference's divide and conquer: its recorded results, and where it stops. */
#include "support/golden.h"
#include "support/random_problem.h"
#include "support/sanitizer.h"

#include "plan/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool search_divide(const struct plan_problem *problem, struct pipeline *plan, struct error *err)
{
    struct plan_search_options options = {.method = SEARCH_DIVIDE};
    return plan_search_divide(problem, &options, plan, err);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static bool is_same(const struct pipeline *plan, const struct golden_plan *expected)
{
    return near(plan->iteration_time, expected->iteration_time) && near(plan->t1, expected->t1) &&
           near(plan->t2, expected->t2) && near(plan->t3, expected->t3) &&
           plan->stage_count == expected->stage_count && plan->bottleneck == expected->bottleneck;
}

static void check_plan(const struct golden *golden, int index)
{
    const struct golden_plan *expected = &golden->plans[index];
    struct plan_problem problem;
    struct pipeline plan;
    struct error err;
    bool found = golden_problem(golden, index, OBJECTIVE_OOBLECK, &problem, &err);
    if (!found && expected->found)
        fail_msg("%s: %s", golden->name, err.text);
    assert_int_equal(found,
                     expected->found); /* where the profile lacks an all-reduce time the reference throws */
    if (!found)
        return;
    if (!search_divide(&problem, &plan, &err))
        fail_msg("%s, %d nodes: %s", golden->name, expected->nodes, err.text);
    if (!is_same(&plan, expected))
        fail_msg("%s, %d nodes: %.9f s in %d stages, expected %.9f s in %d", golden->name, expected->nodes,
                 plan.iteration_time, plan.stage_count, expected->iteration_time, expected->stage_count);
    if (!pipeline_check(&problem, &plan, &err))
        fail_msg("%s: %s", golden->name, err.text);
    pipeline_release(&plan);
    plan_problem_release(&problem);
}

static void check_file(const char *name)
{
    struct golden golden;
    struct error err;
    if (!golden_load(&golden, name, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < golden.plan_count; i++)
        check_plan(&golden, i);
    golden_release(&golden);
}

static bool contains(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* Every golden file from `start` to `end` but those whose name holds `without`. */
static void check_files(const char *start, const char *end, const char *without)
{
    struct arena arena = {0};
    int count = 0;
    if (!golden_folder())
        skip();
    const char **names = golden_list(&arena, start, end, &count);
    assert_non_null(names);
    for (int i = 0; i < count; i += GOLDEN_STEP)
        if (!without || !contains(names[i], without))
            check_file(names[i]);
    arena_release(&arena);
}

static void homogeneous_plans_are_the_reference(void **state)
{
    (void)state;
    check_files("homo_", ".json", "_trueopt");
}

static void mixed_plans_are_the_reference(void **state)
{
    (void)state;
    check_files("exp1_", "_dnc.json", NULL);
    check_files("exp2_", "_dnc.json", NULL);
    check_files("exp1_", "_exact.json", "_dp_");
}

static void eleven_nodes_of_four_kinds_are_the_reference(void **state)
{
    (void)state;
    check_files("exp3_", "_dnc.json", NULL);
}

/* Three layers on two nodes of one device; times in seconds. */
static const double three_layers[] = {1, 2, 4}, no_seconds[] = {0, 0, 0};
static const int64_t three_sizes[] = {1 << 20, 1 << 20, 1 << 20}, no_bytes[] = {0, 0, 0};

static struct plan_problem small_problem(void)
{
    struct plan_problem problem = {
        .layer_count = 3,
        .parameter_bytes = three_sizes,
        .activation_bytes = no_bytes,
        .group_count = 1,
        .microbatches = 8,
        .objective = OBJECTIVE_PIPELINE,
    };
    problem.groups[0] = (struct plan_group){
        .device = "gpu",
        .nodes = {2, 1, 0},
        .splits = 1,
        .forward = three_layers,
        .backward = no_seconds,
    };
    return problem;
}

static void assert_infeasible(const struct plan_problem *problem, const char *reason)
{
    struct pipeline plan;
    struct error err;
    assert_false(search_divide(problem, &plan, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    if (strncmp(err.text, "no plan: ", 9) != 0 || !contains(err.text, reason))
        fail_msg("'%s' does not say '%s'", err.text, reason);
}

static void pipeline_objective_weighs_the_slowest_stage(void **state)
{
    (void)state;
    struct plan_problem problem = small_problem();
    struct pipeline plan;
    struct error err;
    assert_true(search_divide(&problem, &plan, &err));
    assert_int_equal(plan.stage_count, 2);
    assert_int_equal(plan.stages[0].layers.last, 1);
    assert_true(near(plan.iteration_time, 7 + 7 * 4));
    pipeline_release(&plan);
}

static void nodes_are_counted_along_the_pipeline(void **state)
{
    (void)state;
    struct plan_problem problem = small_problem();
    struct pipeline plan;
    struct error err;
    assert_true(search_divide(&problem, &plan, &err));
    assert_int_equal(plan.stages[0].node, 0);
    assert_int_equal(plan.stages[1].node, 1);
    pipeline_release(&plan);
}

static void lone_stage_takes_four_times_its_time(void **state)
{
    (void)state;
    struct plan_problem problem = small_problem();
    struct pipeline plan;
    struct error err;
    problem.objective = OBJECTIVE_OOBLECK;
    problem.groups[0].nodes.count = 1;
    assert_true(search_divide(&problem, &plan, &err));
    assert_int_equal(plan.stage_count, 1);
    assert_true(near(plan.iteration_time, 4 * 7));
    pipeline_release(&plan);
}

/* Two stages of layers 0-1 and 2 need 12 MiB at most; three layers on one device need 18. */
static void stages_keep_to_the_memory(void **state)
{
    (void)state;
    struct plan_problem problem = small_problem();
    struct pipeline plan;
    struct error err;
    problem.groups[0].nodes.memory = 12 << 20;
    assert_true(search_divide(&problem, &plan, &err));
    pipeline_release(&plan);
    problem.groups[0].nodes.memory = (12 << 20) - 1;
    assert_infeasible(&problem, "memory");
}

/* 2 MiB of parameters in all, 1 MiB of activations a layer: the first of two stages holds those of two micro-batches. */
static void plans_that_do_not_hold_what_is_in_flight_are_passed_over(void **state)
{
    (void)state;
    static const int64_t one_each[] = {1 << 20, 1 << 20, 1 << 20};
    struct plan_problem problem = small_problem();
    struct pipeline plan;
    struct error err;
    problem.activation_bytes = one_each;
    problem.groups[0].nodes.memory = (12 + 4) << 20;
    assert_true(search_divide(&problem, &plan, &err));
    assert_int_equal(plan.stages[0].memory, (12 + 4) << 20);
    pipeline_release(&plan);
    problem.groups[0].nodes.memory--;
    assert_infeasible(&problem, "--search exact");
    problem.memory = MEMORY_REFERENCE;
    assert_true(search_divide(&problem, &plan, &err));
    assert_int_equal(plan.stages[0].memory, (12 + 2) << 20);
    pipeline_release(&plan);
}

/* N = 1, two stages of which the first is the slowest: N - S + k + 1 = 0. */
static void reference_stops_at_a_count_of_zero(void **state)
{
    (void)state;
    static const double falling[] = {8, 1, 1};
    struct plan_problem problem = small_problem();
    problem.objective = OBJECTIVE_OOBLECK;
    problem.microbatches = 1;
    problem.groups[0].forward = falling;
    assert_infeasible(&problem, "N - S + k + 1");
}

static void more_nodes_than_layers_have_no_plan(void **state)
{
    (void)state;
    struct plan_problem problem = small_problem();
    problem.groups[0].nodes.count = 4;
    assert_infeasible(&problem, "4 nodes");
}

static void clusters_too_large_for_the_method_say_so(void **state)
{
    (void)state;
    static double forward[1000];
    static int64_t bytes[1000];
    for (int i = 0; i < 1000; i++)
        forward[i] = 1;
    struct plan_problem problem = small_problem();
    problem.layer_count = 1000;
    problem.parameter_bytes = problem.activation_bytes = bytes;
    problem.groups[0].forward = problem.groups[0].backward = forward;
    problem.groups[0].nodes.count = 900;
    assert_infeasible(&problem, "--search exact");
}

/* The same method as the reference has it: recursion from the top, stage lists copied, nothing remembered.
 * Times in milliseconds, N > 0 or 0. */
#define TWIN_MAX_STAGES 8

struct twin {
    const struct plan_problem *problem;
    bool stopped; /* the reference's assertion N - S + k + 1 > 0 */
};

struct twin_part {
    bool found;
    int stages, k;
    double times[TWIN_MAX_STAGES];
    double t1, time;
};

struct twin_share {
    int nodes[PLAN_MAX_GROUPS];
    int node_count;
    int group, devices; /* of one node or a part of it */
};

static struct twin_part twin_stage(const struct twin *twin, const struct twin_share *share, int a, int b)
{
    const struct plan_group *group = &twin->problem->groups[share->group];
    int devices = share->devices, split = 0;
    double forward = 0, backward = 0;
    while (1 << split < devices)
        split++;
    for (int i = a; i < b; i++) {
        forward += group->forward[i] * 1e3 / devices;
        backward += group->backward[i] * 1e3 / devices;
        if (devices > 1) {
            forward += group->allreduce[split][i] * 1e3;
            backward += group->allreduce[split][i] * 1e3;
        }
    }
    int64_t memory = plan_stage_memory(twin->problem, a, b - 1, 1);
    double l = forward + backward;
    return (struct twin_part){
        .found = group->nodes.memory == 0 || (double)memory <= (double)group->nodes.memory * devices,
        .stages = 1,
        .times = {l},
        .t1 = l,
        .time = 4 * l,
    };
}

static struct twin_part twin_join(struct twin *twin, const struct twin_part *left,
                                  const struct twin_part *right)
{
    struct twin_part part = *left;
    memcpy(part.times + left->stages, right->times, (size_t)right->stages * sizeof *right->times);
    part.stages = left->stages + right->stages;
    if (!(left->times[left->k] > right->times[right->k]))
        part.k = left->stages + right->k;
    int n = twin->problem->microbatches;
    int count = n > 0 ? n - part.stages + part.k + 1 : 2 * part.stages + part.k + 1;
    if (count <= 0)
        twin->stopped = true;
    double t3 = 0;
    for (int i = part.k; i < part.stages; i++)
        t3 += part.times[i];
    part.t1 = left->t1 + right->t1;
    part.time = part.t1 + count * part.times[part.k] + t3;
    return part;
}

static struct twin_part twin_best(struct twin *twin, const struct twin_share *share, int stages, int a,
                                  int b);

/* All ways to cut the layers and the stages in two, with the share cut in two like this. */
static void twin_cut_at(struct twin *twin, const struct twin_share *halves, int stages, int a, int cut, int b,
                        struct twin_part *best)
{
    for (int left_stages = 1; left_stages < stages; left_stages++) {
        struct twin_part left = twin_best(twin, &halves[0], left_stages, a, cut);
        struct twin_part right = twin_best(twin, &halves[1], stages - left_stages, cut, b);
        if (!left.found || !right.found)
            continue;
        struct twin_part part = twin_join(twin, &left, &right);
        if (!best->found || part.time < best->time)
            *best = part;
    }
}

static void twin_name_group(const struct twin *twin, struct twin_share *share)
{
    for (int g = 0; g < twin->problem->group_count; g++)
        if (share->node_count == 1 && share->nodes[g] == 1) {
            share->group = g;
            share->devices = twin->problem->groups[g].nodes.devices;
        }
}

static void twin_cut_nodes(struct twin *twin, const struct twin_share *share, struct twin_share left,
                           int from, int stages, int a, int cut, int b, struct twin_part *best)
{
    for (int g = from; g < twin->problem->group_count; g++)
        for (int i = 1; i <= share->nodes[g]; i++) {
            struct twin_share halves[2] = {left, *share};
            halves[0].nodes[g] += i;
            halves[0].node_count += i;
            for (int t = 0; t < twin->problem->group_count; t++)
                halves[1].nodes[t] -= halves[0].nodes[t];
            halves[1].node_count -= halves[0].node_count;
            twin_name_group(twin, &halves[0]);
            twin_name_group(twin, &halves[1]);
            if (halves[1].node_count > 0)
                twin_cut_at(twin, halves, stages, a, cut, b, best);
            twin_cut_nodes(twin, share, halves[0], g + 1, stages, a, cut, b, best);
        }
}

static struct twin_part twin_best(struct twin *twin, const struct twin_share *share, int stages, int a, int b)
{
    struct twin_part best = {0};
    bool power_of_two = (share->devices & (share->devices - 1)) == 0;
    if (stages > b - a || share->node_count > stages)
        return best;
    if (share->node_count == 1 && stages == 1)
        return power_of_two ? twin_stage(twin, share, a, b) : best;
    if (share->node_count == 1 && (share->devices < stages || share->devices % 2))
        return best;
    struct twin_share half = *share;
    half.devices /= 2;
    for (int cut = a + 1; cut < b; cut++)
        if (share->node_count == 1)
            twin_cut_at(twin, (struct twin_share[2]){half, half}, stages, a, cut, b, &best);
        else
            twin_cut_nodes(twin, share, (struct twin_share){0}, 0, stages, a, cut, b, &best);
    return best;
}

static struct twin_part twin_search(struct twin *twin)
{
    struct twin_share all = {0};
    for (int g = 0; g < twin->problem->group_count; g++) {
        all.nodes[g] = twin->problem->groups[g].nodes.count;
        all.node_count += all.nodes[g];
    }
    twin_name_group(twin, &all);
    struct twin_part best = {0};
    for (int stages = all.node_count; stages <= twin->problem->layer_count; stages++) {
        struct twin_part part = twin_best(twin, &all, stages, 0, twin->problem->layer_count);
        if (part.found && (!best.found || part.time < best.time))
            best = part;
    }
    best.found = best.found && !twin->stopped;
    return best;
}

/* Their stages are the same. Their times may differ where several stages are the slowest but for rounding:
 * plan_score takes them as equal, the reference takes one. */
static bool is_twin(const struct pipeline *plan, const struct twin_part *twin)
{
    bool same = plan->stage_count == twin->stages;
    for (int i = 0; same && i < plan->stage_count; i++)
        same = near(plan->stages[i].forward + plan->stages[i].backward, twin->times[i] * 1e-3);
    return same;
}

/* Stages and all; and it stops where the plain recursion does, though it looks at nothing twice. */
static void plans_are_those_of_a_plain_recursion(void **state)
{
    (void)state;
    const struct random_shape shape = {
        .least_layers = 1, .most_layers = 5, .most_groups = 3, .most_nodes = 4};
    int cases = random_cases(1000);
    for (int seed = 0; seed < cases; seed++) {
        struct plan_problem problem;
        struct pipeline plan;
        struct error err;
        assert_true(random_problem_init(&problem, &shape, (uint64_t)seed));
        problem.objective = OBJECTIVE_OOBLECK;
        problem.microbatches = seed % 6;
        problem.memory = MEMORY_REFERENCE;
        struct twin twin = {.problem = &problem};
        struct twin_part expected = twin_search(&twin);
        bool found = search_divide(&problem, &plan, &err);
        if (found != expected.found)
            fail_msg("seed %d: %s", seed, found ? "a plan where the recursion stops" : err.text);
        if (found && !is_twin(&plan, &expected))
            fail_msg("seed %d: %.17g s, expected %.17g s", seed, plan.iteration_time, expected.time * 1e-3);
        if (found)
            pipeline_release(&plan);
        plan_problem_release(&problem);
    }
}

/* A plan of the same kind as the exact search's can only be worse. */
static void never_better_than_the_exact_search(void **state)
{
    (void)state;
    int cases = random_cases(1000);
    for (int i = 0; i < 2 * cases; i++) {
        struct plan_problem problem;
        struct pipeline divide, exact;
        struct error err;
        assert_true(random_problem_init(&problem, &random_tiny, (uint64_t)i / 2));
        problem.objective = i % 2 ? OBJECTIVE_OOBLECK : OBJECTIVE_PIPELINE;
        struct plan_search_options options = {.method = SEARCH_EXACT};
        if (search_divide(&problem, &divide, &err)) {
            if (!plan_search_exact(&problem, &options, &exact, &err))
                fail_msg("seed %d: exact finds none: %s", i / 2, err.text);
            if (!pipeline_check(&problem, &divide, &err))
                fail_msg("seed %d: %s", i / 2, err.text);
            if (divide.iteration_time < exact.iteration_time * (1 - 1e-9))
                fail_msg("seed %d: %.12g s is less than %.12g s", i / 2, divide.iteration_time,
                         exact.iteration_time);
            pipeline_release(&exact);
            pipeline_release(&divide);
        } else {
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
        }
        plan_problem_release(&problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(homogeneous_plans_are_the_reference),
        cmocka_unit_test(mixed_plans_are_the_reference),
        cmocka_unit_test(eleven_nodes_of_four_kinds_are_the_reference),
        cmocka_unit_test(pipeline_objective_weighs_the_slowest_stage),
        cmocka_unit_test(nodes_are_counted_along_the_pipeline),
        cmocka_unit_test(lone_stage_takes_four_times_its_time),
        cmocka_unit_test(stages_keep_to_the_memory),
        cmocka_unit_test(plans_that_do_not_hold_what_is_in_flight_are_passed_over),
        cmocka_unit_test(reference_stops_at_a_count_of_zero),
        cmocka_unit_test(more_nodes_than_layers_have_no_plan),
        cmocka_unit_test(clusters_too_large_for_the_method_say_so),
        cmocka_unit_test(plans_are_those_of_a_plain_recursion),
        cmocka_unit_test(never_better_than_the_exact_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
