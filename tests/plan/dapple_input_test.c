/* The DAPPLE planner on small problems that can be worked out by hand, and on bad ones. */
#include "plan/dapple/dapple.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define GIGA 1e9

static const int two_of_eight[] = {8, 16}, one[] = {1}, sixteen[] = {16};

static struct dapple_cluster cluster_of(const int *ends, int machines)
{
    return (struct dapple_cluster){.machine_count = machines,
                                   .machine_end = ends,
                                   .point_to_point = GIGA,
                                   .collective = 3 * GIGA,
                                   .inside = 25 * GIGA,
                                   .memory = 16 * GIGA};
}

/* `layers` layers of a second each, a third of it forward, 1 MB of parameters and of activations. */
static void make_chain(struct chain *chain, int layers)
{
    struct error err;
    assert_true(chain_init(chain, "chain", layers, &err));
    for (int i = 0; i < layers; i++) {
        chain->until[i] = (struct chain_load){.forward = (i + 1) / 3.0,
                                              .backward = (i + 1) * 2 / 3.0,
                                              .compute = i + 1,
                                              .parameter_bytes = (i + 1) * INT64_C(1000000),
                                              .activation_bytes = (i + 1) * INT64_C(1000000)};
        chain->crossing_bytes[i] = 1000000;
    }
}

static struct dapple_problem problem_of(const struct chain *chain, const struct dapple_cluster *cluster)
{
    return (struct dapple_problem){.chain = chain,
                                   .cluster = cluster,
                                   .profile_batch = 1,
                                   .global_batch = 16,
                                   .microbatch = 1,
                                   .state_factor = 4};
}

/* 1 GB over eight devices of a machine, over eight of two, and between sets of devices: HPGO's own tests. */
static void test_rates(void **state)
{
    (void)state;
    struct chain chain;
    struct error err;
    struct dapple_cluster cluster = cluster_of(two_of_eight, 2);
    struct dapple_split plan;
    make_chain(&chain, 2);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    assert_true(dapple_split_init(&plan, 2, 16, &err));
    plan.stages[0].devices = 8;
    for (int i = 0; i < 8; i++)
        plan.stage_of[i] = 0;
    assert_true(fabs(dapple_allreduce(&problem, &plan, 0, GIGA) - 0.0175) < 1e-12);
    plan.stage_of[0] = -1;
    plan.stage_of[8] = 0;
    assert_true(fabs(dapple_allreduce(&problem, &plan, 0, GIGA) - 0.583333333333) < 1e-9);

    plan.stages[0].devices = plan.stages[1].devices = 4;
    for (int i = 0; i < 16; i++)
        plan.stage_of[i] = (int16_t)(i < 8 ? i / 4 : -1);
    assert_true(fabs(dapple_transfer(&problem, &plan, 0, 1, GIGA) - 0.04) < 1e-12);
    for (int i = 0; i < 16; i++)
        plan.stage_of[i] = (int16_t)(i < 2 || i == 8 || i == 9 ? 0 : i >= 10 && i < 14 ? 1 : -1);
    assert_true(fabs(dapple_transfer(&problem, &plan, 0, 1, GIGA) - 0.5) < 1e-12);
    dapple_split_release(&plan);
    chain_release(&chain);
}

/* Both searches, both rules: the plan, its checks, and its speedup. */
static double plan_all(struct dapple_problem *problem, double min, double max)
{
    double found = 0;
    for (int i = 0; i < 4; i++) {
        struct dapple_options options = {.time_limit = 0};
        struct dapple_split plan;
        struct error err;
        problem->rules = i / 2 ? DAPPLE_FIXED : DAPPLE_ORIGINAL;
        bool done = i % 2 ? dapple_search_exact(problem, &options, &plan, &err)
                          : dapple_search_hpgo(problem, &plan, &err);
        if (!done)
            fail_msg("%s", err.text);
        assert_true(dapple_split_check(problem, &plan, &err));
        assert_true(plan.speedup >= min && plan.speedup <= max);
        found = plan.speedup;
        dapple_split_release(&plan);
    }
    return found;
}

static void test_one_device(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(one, 1);
    make_chain(&chain, 5);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    plan_all(&problem, 1 - 1e-12, 1 + 1e-12);
    chain_release(&chain);
}

static void test_more_devices_than_layers(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(two_of_eight, 2);
    make_chain(&chain, 3);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    plan_all(&problem, 4, 16);
    chain_release(&chain);
}

static void test_one_layer(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(sixteen, 1);
    make_chain(&chain, 1);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    plan_all(&problem, 4, 16);
    chain_release(&chain);
}

/* Both searches say so; the kind and a word of the message. */
static void expect_error(const struct dapple_problem *problem, enum error_kind kind, const char *word)
{
    struct dapple_options options = {.time_limit = 0};
    struct dapple_split plan;
    struct error err;
    assert_false(dapple_search_hpgo(problem, &plan, &err));
    assert_int_equal(err.kind, kind);
    assert_non_null(strstr(err.text, word));
    assert_false(dapple_search_exact(problem, &options, &plan, &err));
    assert_int_equal(err.kind, kind);
    assert_non_null(strstr(err.text, word));
}

static void test_batch_below_microbatch(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(two_of_eight, 2);
    make_chain(&chain, 20);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    problem.microbatch = 32;
    expect_error(&problem, ERROR_INFEASIBLE, "micro-batch");
    chain_release(&chain);
}

static void test_no_batch(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(two_of_eight, 2);
    make_chain(&chain, 20);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    problem.global_batch = 0;
    expect_error(&problem, ERROR_INPUT, "batch");
    problem.global_batch = 16;
    problem.microbatch = 0;
    expect_error(&problem, ERROR_INPUT, "batch");
    chain_release(&chain);
}

static void test_machines_out_of_order(void **state)
{
    (void)state;
    static const int mixed[] = {8, 4, 12}, twice[] = {4, 4, 8};
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(mixed, 3);
    make_chain(&chain, 20);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    expect_error(&problem, ERROR_INPUT, "machine 1");
    cluster.machine_end = twice;
    expect_error(&problem, ERROR_INPUT, "machine 1");
    chain_release(&chain);
}

static void test_times_that_are_no_numbers(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(two_of_eight, 2);
    make_chain(&chain, 4);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    chain.until[2].compute = NAN;
    expect_error(&problem, ERROR_INPUT, "layer 2");
    chain.until[2].compute = -1;
    expect_error(&problem, ERROR_INPUT, "layer 2");
    chain_release(&chain);
}

/* HPGO divides by zero where the weights alone fill a device. */
static void test_model_too_large_for_a_device(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(two_of_eight, 2);
    make_chain(&chain, 4);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    problem.state_factor = 1e6;
    assert_true(isnan(dapple_data_parallel(&problem, false).priority));
    assert_true(dapple_data_parallel(&problem, false).plain > 1);
    problem.rules = DAPPLE_FIXED;
    expect_error(&problem, ERROR_INFEASIBLE, "no plan");
    chain_release(&chain);
}

/* A limit that one stage exceeds and two do not. */
static void test_memory_splits_the_model(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(two_of_eight, 2);
    struct dapple_options options = {.time_limit = 0};
    struct dapple_split plan;
    struct error err;
    make_chain(&chain, 4);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    problem.rules = DAPPLE_FIXED;
    cluster.memory = 14e6;
    assert_true(dapple_search_exact(&problem, &options, &plan, &err));
    assert_true(plan.stage_count > 1 && plan.proven_optimal);
    dapple_split_release(&plan);
    chain_release(&chain);
}

static void test_long_chain(void **state)
{
    (void)state;
    struct chain chain;
    struct dapple_cluster cluster = cluster_of(two_of_eight, 2);
    make_chain(&chain, 1100);
    struct dapple_problem problem = problem_of(&chain, &cluster);
    struct dapple_options options = {.program_limit = 1};
    struct dapple_split plan;
    struct error err;
    assert_true(dapple_search_exact(&problem, &options, &plan, &err));
    assert_true(plan.lower_bound > 0 && plan.lower_bound <= plan.latency);
    dapple_split_release(&plan);
    chain_release(&chain);
}

static void test_cluster_file(void **state)
{
    (void)state;
    struct dapple_cluster cluster;
    struct error err;
    const char *good =
        "machines: [8, 8]\ninside: 25 GB/s\npoint_to_point: 1 GB/s\ncollective: 3 GB/s\nmemory: "
        "16 GB\n";
    assert_true(dapple_cluster_parse(&cluster, "a.yaml", good, strlen(good), &err));
    assert_int_equal(dapple_devices(&cluster), 16);
    assert_true(cluster.inside == 25 * GIGA && cluster.collective == 3 * GIGA && cluster.memory == 16 * GIGA);
    dapple_cluster_release(&cluster);
    static const char *const bad[] = {
        "machines: []\ninside: 1 GB/s\npoint_to_point: 1 GB/s\ncollective: 3 GB/s\nmemory: 16 GB\n",
        "machines: [8, 0]\ninside: 1 GB/s\npoint_to_point: 1 GB/s\ncollective: 3 GB/s\nmemory: 16 GB\n",
        "machines: [400, 400]\ninside: 1 GB/s\npoint_to_point: 1 GB/s\ncollective: 3 GB/s\nmemory: 16 GB\n",
        "machines: [8]\ninside: 0 GB/s\npoint_to_point: 1 GB/s\ncollective: 3 GB/s\nmemory: 16 GB\n",
        "machines: [8]\ninside: 1 GB/s\npoint_to_point: 1 GB/s\nmemory: 16 GB\n",
        "machines: [8]\nspeed: 1\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(dapple_cluster_parse(&cluster, "a.yaml", bad[i], strlen(bad[i]), &err));
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

/* The first devices of a cluster; beyond it, machines like its last. */
static void test_part_of_a_cluster(void **state)
{
    (void)state;
    static const int uneven[] = {8, 12};
    static const struct {
        int devices, machines, ends[5];
    } rows[] = {{1, 1, {1}}, {8, 1, {8}}, {9, 2, {8, 9}}, {12, 2, {8, 12}}, {21, 5, {8, 12, 16, 20, 21}}};
    const struct dapple_cluster whole = cluster_of(uneven, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dapple_cluster part;
        struct error err;
        assert_true(dapple_cluster_take(&whole, rows[i].devices, &part, &err));
        assert_int_equal(part.machine_count, rows[i].machines);
        assert_memory_equal(part.machine_end, rows[i].ends, (size_t)part.machine_count * sizeof(int));
        assert_true(part.inside == whole.inside && part.memory == whole.memory);
        dapple_cluster_release(&part);
    }
}

static void test_no_such_part_of_a_cluster(void **state)
{
    (void)state;
    const struct dapple_cluster whole = cluster_of(two_of_eight, 2);
    struct dapple_cluster part;
    struct error err;
    assert_false(dapple_cluster_take(&whole, 0, &part, &err));
    assert_false(dapple_cluster_take(&whole, DAPPLE_MAX_DEVICES + 1, &part, &err));
}

static void test_example_clusters(void **state)
{
    (void)state;
    static const char *const paths[] = {"examples/dapple/a.yaml", "examples/dapple/b.yaml",
                                        "examples/dapple/c.yaml"};
    for (int i = 0; i < 3; i++) {
        struct dapple_cluster cluster;
        struct error err;
        if (!dapple_cluster_load(&cluster, paths[i], &err))
            fail_msg("%s", err.text);
        assert_int_equal(dapple_devices(&cluster), 16);
        dapple_cluster_release(&cluster);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_one_device),
        cmocka_unit_test(test_more_devices_than_layers),
        cmocka_unit_test(test_one_layer),
        cmocka_unit_test(test_batch_below_microbatch),
        cmocka_unit_test(test_no_batch),
        cmocka_unit_test(test_machines_out_of_order),
        cmocka_unit_test(test_times_that_are_no_numbers),
        cmocka_unit_test(test_model_too_large_for_a_device),
        cmocka_unit_test(test_memory_splits_the_model),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_cluster_file),
        cmocka_unit_test(test_part_of_a_cluster),
        cmocka_unit_test(test_no_such_part_of_a_cluster),
        cmocka_unit_test(test_example_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
