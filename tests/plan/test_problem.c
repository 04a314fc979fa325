/* From profile and cluster to a planning problem: what is scaled, modelled, copied, and what is refused. */
#include "support/golden.h"

#include "cluster/cluster.h"
#include "plan/search.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Two layers on two types; all-reduce times for two devices of 'slow', none for 'fast'. */
static const char two_types[] =
    "{\"format\": \"rehearse-profile/1\",\n"
    " \"layers\": [{\"parameter_bytes\": 12000, \"activation_bytes\": 5},\n"
    "            {\"parameter_bytes\": 24000, \"activation_bytes\": 7}],\n"
    " \"devices\": [\n"
    "  {\"name\": \"slow\", \"layers\": [\n"
    "    {\"forward\": 2, \"backward\": 4, \"allreduce_in_node\": {\"2\": 0.5}},\n"
    "    {\"forward\": 3, \"backward\": 6, \"allreduce_in_node\": {\"2\": 0.25}}]},\n"
    "  {\"name\": \"fast\", \"layers\": [\n"
    "    {\"forward\": 1, \"backward\": 2},\n"
    "    {\"forward\": 1.5, \"backward\": 3}]}]}\n";

static const char no_name[] = "{\"format\": \"rehearse-profile/1\",\n"
                              " \"layers\": [{\"parameter_bytes\": 1, \"activation_bytes\": 1}],\n"
                              " \"devices\": [{\"layers\": [{\"forward\": 2, \"backward\": 4}]}]}\n";

static bool make(struct plan_problem *problem, const char *profile_text, const char *cluster_text,
                 enum plan_allreduce allreduce, struct error *err)
{
    struct profile profile;
    struct cluster cluster;
    if (!profile_parse(&profile, "p.json", profile_text, strlen(profile_text), err) ||
        !cluster_parse(&cluster, "c.yaml", cluster_text, strlen(cluster_text), err))
        fail_msg("%s", err->text);
    bool made = plan_problem_init(problem, &profile, &cluster, OBJECTIVE_PIPELINE, allreduce, 4, err);
    cluster_release(&cluster);
    profile_release(&profile);
    return made;
}

static void make_good(struct plan_problem *problem, const char *profile, const char *cluster,
                      enum plan_allreduce allreduce)
{
    struct error err;
    if (!make(problem, profile, cluster, allreduce, &err))
        fail_msg("%s", err.text);
}

static void expect_error(const char *profile, const char *cluster, enum plan_allreduce allreduce,
                         enum error_kind kind, const char *text)
{
    struct plan_problem problem;
    struct error err;
    if (make(&problem, profile, cluster, allreduce, &err)) {
        plan_problem_release(&problem);
        fail_msg("no error, expected: %s", text);
    }
    assert_string_equal(err.text, text);
    assert_int_equal(err.kind, kind);
}

static void groups_are_copied_and_outlive_their_files(void **state)
{
    struct plan_problem problem;
    (void)state;
    make_good(&problem, two_types,
              "groups:\n"
              "  - {device: fast, nodes: 3, devices_per_node: 1, memory: 1 KiB}\n"
              "  - {device: slow, nodes: 2, devices_per_node: 2}\n",
              ALLREDUCE_PROFILE);
    assert_int_equal(problem.layer_count, 2);
    assert_int_equal(problem.microbatches, 4);
    assert_int_equal(problem.group_count, 2);
    assert_int_equal(plan_problem_nodes(&problem), 5);
    assert_int_equal(plan_problem_devices(&problem), 7);
    assert_string_equal(problem.groups[0].device, "fast");
    assert_int_equal(problem.groups[0].nodes.memory, 1024);
    assert_int_equal(problem.groups[0].splits, 1);
    assert_true(problem.groups[0].backward[1] == 3);
    assert_int_equal(problem.groups[1].splits, 2);
    assert_null(problem.groups[1].allreduce[0]);
    assert_true(problem.groups[1].allreduce[1][0] == 0.5);
    assert_true(problem.groups[1].allreduce[1][1] == 0.25);
    assert_int_equal(plan_stage_memory(&problem, 0, 0, 1), 6 * 12000 + 5);
    assert_int_equal(plan_stage_memory(&problem, 0, 1, 1), 6 * 36000 + 12);
    plan_problem_release(&problem);
}

static void a_type_without_times_is_scaled_by_speed(void **state)
{
    struct plan_problem problem;
    (void)state;
    make_good(&problem, two_types,
              "profile: {device: slow, speed: 2}\n"
              "groups: [{device: new, nodes: 1, devices_per_node: 2, speed: 8}]\n",
              ALLREDUCE_PROFILE);
    assert_true(problem.groups[0].forward[0] == 0.5);
    assert_true(problem.groups[0].backward[1] == 1.5);
    assert_true(problem.groups[0].allreduce[1][0] == 0.5); /* a matter of links, not of speed */
    plan_problem_release(&problem);
}

static void a_type_with_times_keeps_them_whatever_its_speed(void **state)
{
    struct plan_problem problem;
    (void)state;
    make_good(&problem, two_types,
              "profile: {device: slow, speed: 2}\n"
              "groups: [{device: fast, nodes: 1, devices_per_node: 1, speed: 8}]\n",
              ALLREDUCE_PROFILE);
    assert_true(problem.groups[0].forward[0] == 1);
    plan_problem_release(&problem);
}

static void a_ring_is_modelled_where_the_profile_has_no_time(void **state)
{
    struct plan_problem problem;
    (void)state;
    make_good(&problem, two_types,
              "groups: [{device: slow, nodes: 1, devices_per_node: 4, "
              "intra_node: {bandwidth: 6000 B/s, latency: 1 s}}]\n",
              ALLREDUCE_MODEL);
    assert_true(problem.groups[0].allreduce[1][0] == 0.5); /* measured */
    /* 2 (4 - 1) / 4 of 12000 bytes, and 6 steps of 1 s */
    assert_true(fabs(problem.groups[0].allreduce[2][0] - (3.0 + 6.0)) < 1e-12);
    plan_problem_release(&problem);
}

static void allreduce_can_be_left_out(void **state)
{
    struct plan_problem problem;
    (void)state;
    make_good(&problem, two_types, "groups: [{device: slow, nodes: 1, devices_per_node: 4}]\n",
              ALLREDUCE_NONE);
    assert_true(problem.groups[0].allreduce[1][0] == 0);
    assert_true(problem.groups[0].allreduce[2][1] == 0);
    plan_problem_release(&problem);
}

static void a_profile_without_a_name_stands_for_the_only_type(void **state)
{
    struct plan_problem problem;
    (void)state;
    make_good(&problem, no_name,
              "groups: [{device: any, nodes: 1, devices_per_node: 1},\n"
              "         {device: any, nodes: 2, devices_per_node: 1}]\n",
              ALLREDUCE_PROFILE);
    assert_true(problem.groups[1].forward[0] == 2);
    plan_problem_release(&problem);
}

static void a_profile_without_a_name_and_several_types(void **state)
{
    (void)state;
    expect_error(no_name,
                 "groups: [{device: a, nodes: 1, devices_per_node: 1},\n"
                 "         {device: b, nodes: 2, devices_per_node: 1}]\n",
                 ALLREDUCE_PROFILE, ERROR_INPUT,
                 "p.json: the measured device is unknown, and c.yaml has several device types: add profile: "
                 "{device: …, speed: …} there");
}

static void unknown_types_are_named(void **state)
{
    (void)state;
    expect_error(two_types, "groups: [{device: slw, nodes: 1, devices_per_node: 1}]\n", ALLREDUCE_PROFILE,
                 ERROR_INPUT,
                 "c.yaml:1:10: groups[0].device: profile 'p.json' has no times for 'slw', did you mean "
                 "'slow'?");
    expect_error(two_types, "groups: [{device: quantum, nodes: 1, devices_per_node: 1}]\n", ALLREDUCE_PROFILE,
                 ERROR_INPUT,
                 "c.yaml:1:10: groups[0].device: profile 'p.json' has no times for 'quantum'; measure it, or "
                 "name under profile: what was measured, with the speeds of both");
    expect_error(two_types,
                 "profile: {device: quantum, speed: 1}\n"
                 "groups: [{device: new, nodes: 1, devices_per_node: 1, speed: 1}]\n",
                 ALLREDUCE_PROFILE, ERROR_INPUT,
                 "c.yaml:1:10: profile.device: profile 'p.json' has no times for 'quantum'");
}

static void missing_speeds_are_told_apart(void **state)
{
    (void)state;
    expect_error(two_types,
                 "profile: {device: slow}\n"
                 "groups: [{device: new, nodes: 1, devices_per_node: 1, speed: 1}]\n",
                 ALLREDUCE_PROFILE, ERROR_INPUT,
                 "c.yaml:1:10: profile: 'speed' is missing, to scale times from 'slow' to 'new'");
    expect_error(two_types,
                 "profile: {device: slow, speed: 1}\n"
                 "groups: [{device: new, nodes: 1, devices_per_node: 1}]\n",
                 ALLREDUCE_PROFILE, ERROR_INPUT,
                 "c.yaml:2:10: groups[0]: 'speed' is missing, to scale times from 'slow' to 'new'");
}

static void missing_allreduce_times_say_what_may_help(void **state)
{
    (void)state;
    expect_error(two_types, "groups: [{device: slow, nodes: 1, devices_per_node: 4}]\n", ALLREDUCE_PROFILE,
                 ERROR_INPUT,
                 "p.json: layers[0]: no all-reduce time for 4 devices in a node, which c.yaml:1:10: "
                 "groups[0] needs; try --allreduce model or --allreduce none");
    expect_error(two_types, "groups: [{device: fast, nodes: 1, devices_per_node: 2}]\n", ALLREDUCE_MODEL,
                 ERROR_INPUT,
                 "c.yaml:1:10: groups[0]: --allreduce model needs intra_node: {bandwidth: …} for an "
                 "all-reduce over 2 devices");
}

static void nodes_that_do_not_halve_have_no_plan(void **state)
{
    (void)state;
    expect_error(
        two_types, "groups: [{device: slow, nodes: 1, devices_per_node: 6}]\n", ALLREDUCE_PROFILE,
        ERROR_INFEASIBLE,
        "no plan: c.yaml:1:10: groups[0]: a 'slow' node has 6 devices, and a node is only ever split "
        "by halving: the number must be a power of two, at most 1024");
}

static void more_bytes_than_can_be_counted(void **state)
{
    struct text profile = {0};
    struct error err;
    struct plan_problem problem;
    const int layers = 200;
    (void)state;
    text_add(&profile, "{\"format\": \"rehearse-profile/1\", \"layers\": [");
    for (int i = 0; i < layers; i++)
        text_format(&profile, "%s{\"parameter_bytes\": 9e15, \"activation_bytes\": 9e15}", i ? "," : "");
    text_add(&profile, "], \"devices\": [{\"name\": \"a\", \"layers\": [");
    for (int i = 0; i < layers; i++)
        text_format(&profile, "%s{\"forward\": 1, \"backward\": 1}", i ? "," : "");
    text_add(&profile, "]}]}");
    assert_false(make(&problem, profile.data, "groups: [{device: a, nodes: 1, devices_per_node: 1}]\n",
                      ALLREDUCE_PROFILE, &err));
    assert_string_equal(err.text, "p.json: the layers need 1.26e+19 bytes in all, more than can be counted");
    text_release(&profile);
}

/* ---- against the reference's profiles ---- */

/* The best iteration time on this cluster with a profile of the reference. */
static double optimum(const char *profile_name, const char *cluster_text, enum plan_allreduce allreduce,
                      enum plan_objective objective)
{
    char path[PATH_MAX];
    struct error err;
    struct profile profile;
    struct cluster cluster;
    struct plan_problem problem;
    struct pipeline plan;
    const struct plan_search_options exact = {.method = SEARCH_EXACT};
    snprintf(path, sizeof path, "%s/profiles/%s", golden_folder(), profile_name);
    if (!profile_load(&profile, path, 1, &err) ||
        !cluster_parse(&cluster, "c.yaml", cluster_text, strlen(cluster_text), &err) ||
        !plan_problem_init(&problem, &profile, &cluster, objective, allreduce, 50, &err) ||
        !plan_search(&problem, &exact, &plan, &err)) {
        fail_msg("%s: %s", profile_name, err.text);
        return 0;
    }
    double time = plan.iteration_time;
    pipeline_release(&plan);
    plan_problem_release(&problem);
    cluster_release(&cluster);
    profile_release(&profile);
    return time;
}

static void expect_near(double found, double expected)
{
    if (!(fabs(found / expected - 1) < 1e-9))
        fail_msg("expected %.17g s, found %.17g s", expected, found);
}

/* The folders of experiment 3 are the one folder times 2.94 / speed. */
static void speeds_stand_for_folders_per_type(void **state)
{
    static const char groups[] = "groups:\n"
                                 "  - {device: v_100_16gb, speed: 1.0, nodes: 4, devices_per_node: 2}\n"
                                 "  - {device: rtx_3090_24gb, speed: 1.8, nodes: 3, devices_per_node: 2}\n"
                                 "  - {device: rtx_a6000, speed: 2.15, nodes: 2, devices_per_node: 2}\n"
                                 "  - {device: rtx_4090_24gb, speed: 2.94, nodes: 2, devices_per_node: 2}\n";
    char scaled[1024];
    (void)state;
    if (!golden_folder())
        skip();
    snprintf(scaled, sizeof scaled, "profile: {device: rtx_4090_24gb, speed: 2.94}\n%s", groups);
    expect_near(optimum("gpt2-xl-ar0", scaled, ALLREDUCE_PROFILE, OBJECTIVE_OOBLECK),
                optimum("exp3-ar0", groups, ALLREDUCE_PROFILE, OBJECTIVE_OOBLECK));
}

/* One folder's all-reduce times were made with a ring of 12 GB/s; the other has none for groups. */
static void a_modelled_ring_equals_the_recorded_one(void **state)
{
    static const char plain[] = "groups: [{device: gpu, nodes: 4, devices_per_node: 8}]\n";
    static const char linked[] = "groups: [{device: gpu, nodes: 4, devices_per_node: 8, "
                                 "intra_node: {bandwidth: 12 GB/s, latency: 0 s}}]\n";
    (void)state;
    if (!golden_folder())
        skip();
    expect_near(optimum("gpt2-xl-raw", linked, ALLREDUCE_MODEL, OBJECTIVE_PIPELINE),
                optimum("gpt2-xl-ring12", plain, ALLREDUCE_PROFILE, OBJECTIVE_PIPELINE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_copied_and_outlive_their_files),
        cmocka_unit_test(a_type_without_times_is_scaled_by_speed),
        cmocka_unit_test(a_type_with_times_keeps_them_whatever_its_speed),
        cmocka_unit_test(a_ring_is_modelled_where_the_profile_has_no_time),
        cmocka_unit_test(allreduce_can_be_left_out),
        cmocka_unit_test(a_profile_without_a_name_stands_for_the_only_type),
        cmocka_unit_test(a_profile_without_a_name_and_several_types),
        cmocka_unit_test(unknown_types_are_named),
        cmocka_unit_test(missing_speeds_are_told_apart),
        cmocka_unit_test(missing_allreduce_times_say_what_may_help),
        cmocka_unit_test(nodes_that_do_not_halve_have_no_plan),
        cmocka_unit_test(more_bytes_than_can_be_counted),
        cmocka_unit_test(speeds_stand_for_folders_per_type),
        cmocka_unit_test(a_modelled_ring_equals_the_recorded_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
