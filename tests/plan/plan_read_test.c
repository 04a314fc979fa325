/* Plans read, checked, written and read again: tests/data/plans holds one file of each planner. */
#include "plan/plan.h"
#include "plan/plan_digest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void load(struct plan *plan, const char *name)
{
    char path[512];
    struct error err;
    snprintf(path, sizeof path, "tests/data/plans/%s.json", name);
    if (!plan_load(plan, path, &err))
        fail_msg("%s", err.text);
    plan->path = NULL; /* it lies on this stack */
    if (!plan_check(plan, &err))
        fail_msg("%s: %s", name, err.text);
}

static bool parse(struct plan *plan, const char *text, struct error *err)
{
    return plan_parse(plan, "plan.json", text, strlen(text), err);
}

static void fails(const char *text, const char *message)
{
    struct plan plan;
    struct error err = {0};
    if (parse(&plan, text, &err) && plan_check(&plan, &err))
        fail_msg("read: %s", text);
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INPUT);
    plan_release(&plan);
}

static double part(const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->part_count; i++)
        if (strcmp(plan->parts[i].name, name) == 0)
            return plan->parts[i].value;
    return NAN;
}

/* ---- of each planner ---- */

static void a_pipeline_is_read(void **state)
{
    (void)state;
    struct plan plan;
    load(&plan, "pipeline");
    assert_string_equal(plan.objective, "pipeline");
    assert_string_equal(plan.search, "exact");
    assert_true(plan.iteration_time == 0.1197 && plan.lower_bound == 0.1197 && plan.proven_optimal);
    assert_true(part(&plan, "t1") == 0.024);
    assert_int_equal(plan.asked_microbatches, 12);
    assert_int_equal(plan.pipeline_count, 1);
    assert_int_equal(plan.pipelines[0].copies, 1);
    assert_int_equal(plan.pipelines[0].microbatches, 12);
    assert_int_equal(plan.pipelines[0].stage_count, 3);
    const struct plan_stage *stage = &plan.pipelines[0].stages[1];
    assert_int_equal(stage->layers.first, 3);
    assert_int_equal(stage->layers.last, 3);
    assert_string_equal(plan.types[stage->type].name, "slow");
    assert_int_equal(stage->degrees.tensor, 2);
    assert_true(stage->seconds.forward == 0.002);
    assert_true(stage->bytes.total == 9000000.0);
    assert_int_equal(stage->run_count, 1);
    assert_int_equal(stage->runs[0].node, 0);
    assert_int_equal(plan.layer_count, 6);
    plan_release(&plan);
}

static void a_dapple_plan_is_read(void **state)
{
    (void)state;
    struct plan plan;
    load(&plan, "dapple");
    assert_string_equal(plan.objective, "dapple");
    assert_string_equal(plan.rules, "dapple");
    assert_int_equal(plan.global_batch, 256);
    assert_int_equal(plan.microbatch, 4);
    assert_int_equal(plan.pipelines[0].copies, 8);
    assert_int_equal(plan.pipelines[0].microbatches, 8);
    assert_int_equal(plan.pipelines[0].stage_count, 2);
    assert_int_equal(plan.pipelines[0].stages[1].degrees.data, 1);
    assert_int_equal(plan_devices_used(&plan), 16);
    assert_true(plan_figure(&plan, "pivot_factor") >= 1);
    assert_int_equal(plan.bottleneck_stage, 0);
    assert_false(plan.bottleneck_sends);
    double sum = 0;
    for (int i = 0; i < plan.part_count; i++)
        sum += plan.parts[i].value;
    assert_true(fabs(sum / plan.iteration_time - 1) < 1e-9);
    plan_release(&plan);
}

static void a_job_is_read(void **state)
{
    (void)state;
    struct plan plan;
    load(&plan, "job");
    assert_string_equal(plan.objective, "iteration");
    assert_string_equal(plan.model, "llama-3-8b");
    assert_string_equal(plan.types[0].name, "h100-sxm");
    assert_int_equal(plan_devices(&plan), 16);
    assert_int_equal(plan.global_batch, 64);
    assert_int_equal(plan.alternative_count, 2);
    assert_true(plan.interval.low < plan.iteration_time && plan.iteration_time < plan.interval.high);
    assert_int_equal(plan.layer_count, 34);
    assert_int_equal(plan.pipelines[0].copies * plan_stage_devices(&plan.pipelines[0].stages[0]), 16);
    assert_true(plan.pipelines[0].stages[0].run_count > 0);
    assert_true(part(&plan, "compute") > 0);
    plan_release(&plan);
}

static void chunks_are_read(void **state)
{
    (void)state;
    struct plan plan;
    load(&plan, "interleaved");
    assert_int_equal(plan.chunks, 2);
    assert_string_equal(plan.schedule, "interleaved-1f1b");
    assert_int_equal(plan.pipelines[0].stage_count, 8);
    assert_int_equal(plan.layer_count, 82);
    for (int s = 0; s < 8; s++) {
        const struct plan_stage *stage = &plan.pipelines[0].stages[s];
        assert_int_equal(stage->chunk, s / 4);
        assert_int_equal(stage->run_count, 1);
        assert_int_equal(stage->runs[0].node, 2 * (s % 4)); /* of two nodes each, for both chunks */
    }
    assert_int_equal(plan_devices_used(&plan), 64);
    plan_release(&plan);
}

static void unlike_pipelines_are_read(void **state)
{
    (void)state;
    struct plan plan;
    load(&plan, "fleet");
    assert_string_equal(plan.objective, "iteration");
    assert_int_equal(plan.type_count, 2);
    assert_int_equal(plan.microbatch, 2);
    assert_int_equal(plan_devices_used(&plan), 4);
    int64_t microbatches = 0;
    for (int p = 0; p < plan.pipeline_count; p++)
        microbatches += plan.pipelines[p].copies * plan.pipelines[p].microbatches;
    assert_int_equal(microbatches, 16);
    assert_true(part(&plan, "pipelines") > 0);
    plan_release(&plan);
}

static void a_template_of_oobleck_is_read(void **state)
{
    (void)state;
    struct plan plan;
    load(&plan, "emitted");
    assert_int_equal(plan.pipelines[0].stage_count, 2);
    assert_int_equal(plan.pipelines[0].microbatches, 16);
    assert_null(plan.objective);
    plan_release(&plan);
}

/* ---- writing ---- */

static struct text written(const struct plan *plan)
{
    struct text text = {0};
    struct json json = {.out = &text};
    plan_write_json(plan, &json, NULL);
    assert_false(text.failed);
    return text;
}

static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"pipeline",    "oobleck", "dapple", "job",
                                        "interleaved", "fleet",   "emitted"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct plan plan, again;
        struct error err;
        load(&plan, names[i]);
        struct text once = written(&plan);
        if (!parse(&again, once.data, &err))
            fail_msg("%s: %s", names[i], err.text);
        struct text twice = written(&again);
        assert_string_equal(once.data, twice.data);
        assert_true(plan_check(&again, &err));
        text_release(&once);
        text_release(&twice);
        plan_release(&plan);
        plan_release(&again);
    }
}

/* ---- by hand ---- */

#define STAGE(first, last, more) "{\"layers\": [" #first ", " #last "], \"device_type\": \"a\"" more "}"
#define PLAN(stages)             "{\"format\": \"rehearse-plan/2\", \"pipelines\": [{\"stages\": [" stages "]}]}"

/* A stage of an interleaved pipeline with fewer blocks than chunks. */
static void an_empty_chunk_reads_back_the_same(void **state)
{
    (void)state;
    struct plan plan, again;
    struct error err;
    load(&plan, "interleaved");
    struct plan_stage *stages = plan.pipelines[0].stages;
    stages[4].layers.last = stages[5].layers.last;
    stages[5].layers.first = stages[5].layers.last + 1;
    assert_true(plan_check(&plan, &err));
    struct text text = written(&plan);
    if (!parse(&again, text.data, &err))
        fail_msg("%s", err.text);
    assert_true(plan_check(&again, &err));
    assert_int_equal(again.pipelines[0].stages[5].layers.last, again.pipelines[0].stages[5].layers.first - 1);
    plan_release(&again);
    text_release(&text);
    plan_release(&plan);
}

static void little_is_needed(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    assert_true(parse(&plan, PLAN(STAGE(0, 3, "") ", " STAGE(4, 4, ", \"tensor\": 4, \"data\": 2")), &err));
    assert_true(plan_check(&plan, &err));
    assert_int_equal(plan_stage_devices(&plan.pipelines[0].stages[1]), 8);
    assert_int_equal(plan_devices_used(&plan), 9);
    assert_string_equal(plan.types[0].name, "a");
    assert_true(isnan(plan.pipelines[0].stages[0].seconds.forward));
    plan_release(&plan);
}

#define TRANSFER(more)   "{\"kind\": \"all_reduce\", \"purpose\": \"tensor\", \"when\": \"backward\"" more "}"
#define MOVES(transfers) PLAN(STAGE(0, 3, ", \"transfers\": [" transfers "]"))

static void transfers_read_back_the_same(void **state)
{
    (void)state;
    struct plan plan, again;
    struct error err;
    if (!parse(&plan, MOVES(TRANSFER(", \"group\": 4, \"count\": 2.5, \"seconds\": 0.25") ", " TRANSFER("")),
               &err))
        fail_msg("%s", err.text);
    const struct plan_stage *stage = &plan.pipelines[0].stages[0];
    assert_int_equal(stage->transfer_count, 2);
    assert_int_equal(stage->transfers[0].kind, COLLECTIVE_ALL_REDUCE);
    assert_int_equal(stage->transfers[0].purpose, PURPOSE_TENSOR);
    assert_int_equal(stage->transfers[0].when, WHEN_BACKWARD);
    assert_int_equal(stage->transfers[0].group, 4);
    assert_true(stage->transfers[0].count == 2.5 && stage->transfers[0].seconds == 0.25);
    assert_true(isnan(stage->transfers[1].seconds) && stage->transfers[1].shown == 1);
    struct text once = written(&plan);
    if (!parse(&again, once.data, &err))
        fail_msg("%s", err.text);
    struct text twice = written(&again);
    assert_string_equal(once.data, twice.data);
    text_release(&once);
    text_release(&twice);
    plan_release(&plan);
    plan_release(&again);
    fails(MOVES("{\"kind\": \"send\"}"),
          "plan.json:1:110: pipelines[0].stages[0].transfers[0]: 'purpose' is missing");
    fails(
        MOVES(TRANSFER(", \"link\": 0")),
        "plan.json:1:182: pipelines[0].stages[0].transfers[0].link: expected -1 or one of 0 links, found 0");
    fails(MOVES(TRANSFER(", \"seconds\": -1")),
          "plan.json:1:185: pipelines[0].stages[0].transfers[0].seconds: "
          "expected a number of at least 0, found '-1'");
    fails(MOVES("{\"kind\": \"send\", \"purpose\": \"stages\", \"when\": \"after\"}"),
          "plan.json:1:138: pipelines[0].stages[0].transfers[0].purpose: unknown 'stages', did you mean "
          "'stage'?");
}

static void techniques_read_back_the_same(void **state)
{
    (void)state;
    struct plan plan, again;
    struct error err;
    load(&plan, "job");
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        technique_set(&plan.technique, (enum technique_kind)k, technique_max((enum technique_kind)k));
    struct text once = written(&plan);
    if (!parse(&again, once.data, &err))
        fail_msg("%s", err.text);
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        assert_int_equal(technique_get(&again.technique, (enum technique_kind)k),
                         technique_max((enum technique_kind)k));
    text_release(&once);
    plan_release(&again);
    plan_release(&plan);
    fails("{\"format\": \"rehearse-plan/2\", \"training\": {\"technique\": {\"grads\": \"bf\"}}}",
          "plan.json:1:67: training.technique.grads: expected fp32, fp16, bf16, fp8 or fp4");
}

/* Switches and shared cards are the cluster's: written where they are known, with another digest. */
static void the_network_reads_back_the_same(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\": \"rehearse-plan/2\", \"cluster\": {\"device_types\": [{\"name\": \"a\", \"nodes\": 8, "
        "\"per_node\": 2, \"inside\": -1, \"across\": 0}], \"network\": [{\"nodes\": 2, "
        "\"oversubscription\": 1.5}, {\"nodes\": 8, \"oversubscription\": 3}]}, \"links\": [{\"name\": "
        "\"b\", \"bandwidth\": 1e9, \"latency\": 0, \"shared_by\": 2}], \"pipelines\": [{\"stages\": "
        "[{\"layers\": [0, 1], \"device_type\": \"a\"}]}]}";
    struct plan plan, again;
    struct error err;
    struct text first = {0}, second = {0};
    if (!parse(&plan, text, &err))
        fail_msg("%s", err.text);
    assert_int_equal(plan.network.level_count, 2);
    assert_int_equal(plan.network.levels[1].nodes, 8);
    assert_true(plan.network.levels[1].oversubscription == 3);
    assert_int_equal(plan.links[0].shared_by, 2);
    plan_write_json(&plan, &(struct json){.out = &first}, NULL);
    assert_non_null(strstr(first.data, "\"network\""));
    assert_true(parse(&again, first.data, &err));
    plan_write_json(&again, &(struct json){.out = &second}, NULL);
    assert_string_equal(first.data, second.data);
    plan_release(&again);
    assert_true(plan_set_digests(&plan, 1, &err));
    const char *digest = plan.cluster_digest;
    plan.network.levels[1].oversubscription = 4;
    assert_true(plan_set_digests(&plan, 1, &err));
    assert_string_not_equal(plan.cluster_digest, digest);
    plan_release(&plan);
    text_release(&first);
    text_release(&second);
}

static void faults_are_told_with_their_place(void **state)
{
    (void)state;
    fails("{}", "plan.json:1:1: 'pipelines' is missing");
    fails("{\"format\": \"rehearse-plan/1\", \"stages\": []}",
          "plan.json:1:12: format: 'rehearse-plan/1' is no longer read: make the plan again with 'rehearse "
          "plan' or 'rehearse templates'");
    fails("[]", "plan.json:1:1: expected a map, found a list");
    fails("{\"format\": \"rehearse-plan/3\"}",
          "plan.json:1:12: format: expected 'rehearse-plan/2', found 'rehearse-plan/3'");
    fails("{\"format\": \"rehearse-plan/2\"}", "plan.json:1:1: 'pipelines' is missing");
    fails(PLAN(""), "plan.json:1:56: pipelines[0].stages: expected 1 to 100000 entries, found 0");
    fails(PLAN("{\"layers\": [0, 1]}"), "plan.json:1:57: pipelines[0].stages[0]: 'device_type' is missing");
    fails(PLAN("{\"layers\": [0], \"device_type\": \"a\"}"),
          "plan.json:1:68: pipelines[0].stages[0].layers: expected the first and the last layer, found 1 "
          "numbers");
    fails(PLAN(STAGE(0, 1, "") ", " STAGE(2, 0, "")),
          "plan.json:1: pipelines[0].stages[1].layers: expected an end of at least 2, found 0");
    fails(PLAN(STAGE(0, 1, ", \"tenser\": 2")),
          "plan.json:1:106: pipelines[0].stages[0].tenser: unknown key, did you mean 'tensor'?");
    fails(PLAN(STAGE(0, 1, ", \"tensor\": 0")),
          "plan.json:1:106: pipelines[0].stages[0].tensor: expected a whole number "
          "from 1 to 16777216, found '0'");
    fails(PLAN(STAGE(1, 2, "")),
          "plan.json:1: pipelines[0].stages[0].layers: expected to begin with 0, the first layer, found 1");
    fails(PLAN(STAGE(0, 1, "") ", " STAGE(3, 4, "")),
          "plan.json:1: pipelines[0].stages[1].layers: expected to begin with 2, the layer after the stage "
          "before, found 3");
    fails(PLAN(STAGE(0, 1, ", \"tensor\": 16777216, \"data\": 2")),
          "plan.json:1:1: pipelines[0].stages[0]: expected at most 16777216 devices, found 33554432");
}

#define CLUSTER                                                                                              \
    "\"cluster\": {\"device_types\": [{\"name\": \"a\", \"nodes\": 2, \"per_node\": 4, \"memory\": "         \
    "1000}]}, "
#define ON_CLUSTER(stages)                                                                                   \
    "{\"format\": \"rehearse-plan/2\", " CLUSTER "\"pipelines\": [{\"stages\": [" stages "]}]}"
#define RUN(node, first, count)                                                                              \
    ", \"tensor\": " #count ", \"devices\": [{\"node\": " #node ", \"first\": " #first                       \
    ", \"count\": " #count "}]"

static void devices_must_be_there_once(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    assert_true(parse(&plan, ON_CLUSTER(STAGE(0, 0, RUN(0, 0, 4)) ", " STAGE(1, 1, RUN(1, 2, 2))), &err));
    assert_true(plan_check(&plan, &err));
    plan_release(&plan);
    fails(ON_CLUSTER(STAGE(0, 0, RUN(2, 0, 1))),
          "plan.json:1: pipelines[0].stages[0].devices: node 2 is no 'a'");
    fails(ON_CLUSTER(STAGE(0, 0, RUN(0, 3, 2))),
          "plan.json:1: pipelines[0].stages[0].devices: a 'a' node has 4 devices, found 4");
    fails(ON_CLUSTER(STAGE(0, 0, RUN(0, 0, 2)) ", " STAGE(1, 1, RUN(0, 1, 1))),
          "plan.json:1: pipelines[0].stages[1].devices: device 1 of node 0 has a stage already");
    fails(ON_CLUSTER(STAGE(0, 0, ", \"tensor\": 9")),
          "plan.json: the plan uses 9 devices of type 'a', the cluster has 8");
    fails(ON_CLUSTER(STAGE(0, 0, ", \"data\": 2, \"devices\": [{\"node\": 0, \"count\": 1}]")),
          "plan.json:1: pipelines[0].stages[0].devices: expected 2, found 1");
    fails(ON_CLUSTER(STAGE(0, 0, ", \"bytes\": {\"total\": 1001}")),
          "plan.json:1: pipelines[0].stages[0]: needs 1001 B per device, a 'a' has 1000 B");
}

/* Stages get consecutive devices, none across nodes unless it has to be. */
static void stages_are_placed(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    assert_true(
        parse(&plan, ON_CLUSTER(STAGE(0, 0, ", \"tensor\": 1") ", " STAGE(1, 1, ", \"tensor\": 4")), &err));
    const struct plan_stage *stages = plan.pipelines[0].stages;
    assert_int_equal(stages[1].run_count, 1); /* the large one first: a whole node */
    assert_int_equal(stages[1].runs[0].node, 0);
    assert_int_equal(stages[1].runs[0].count, 4);
    assert_int_equal(stages[0].runs[0].node, 1);
    plan_release(&plan);
    assert_true(parse(&plan, ON_CLUSTER(STAGE(0, 0, ", \"tensor\": 8")), &err));
    assert_int_equal(plan.pipelines[0].stages[0].run_count, 1);
    assert_int_equal(plan.pipelines[0].stages[0].runs[0].nodes, 2);
    assert_true(plan_check(&plan, &err));
    plan_release(&plan);
    assert_true(
        parse(&plan,
              "{\"format\": \"rehearse-plan/2\", \"cluster\": {\"device_types\": [{\"name\": \"a\", "
              "\"nodes\": 2, \"per_node\": 0}]}, \"pipelines\": [{\"stages\": [" STAGE(0, 0, "") "]}]}",
              &err)); /* nodes without devices: the stage stays where it was, nowhere */
    assert_int_equal(plan.pipelines[0].stages[0].run_count, 0);
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_is_read),
        cmocka_unit_test(a_dapple_plan_is_read),
        cmocka_unit_test(a_job_is_read),
        cmocka_unit_test(chunks_are_read),
        cmocka_unit_test(unlike_pipelines_are_read),
        cmocka_unit_test(a_template_of_oobleck_is_read),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(an_empty_chunk_reads_back_the_same),
        cmocka_unit_test(little_is_needed),
        cmocka_unit_test(transfers_read_back_the_same),
        cmocka_unit_test(techniques_read_back_the_same),
        cmocka_unit_test(the_network_reads_back_the_same),
        cmocka_unit_test(faults_are_told_with_their_place),
        cmocka_unit_test(devices_must_be_there_once),
        cmocka_unit_test(stages_are_placed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
