/* What people are shown of a fleet that was made by hand: 2 copies of a pipeline of three stages and a lone device. */
#include "plan/fleet/report.h"
#include "plan/fleet/small.h"

static const double fast[] = {0, 1, 2, 3, 4}, slow[] = {0, 2, 4, 6, 8}, kept[] = {0, 1e8, 2e8, 3e8, 4e8};
static const double held[] = {0, 1e9, 2e9, 3e9, 4e9}, none[5] = {0}, send[] = {0, 0, 0.5, 0, 0};

static struct fleet_pipeline pipelines[2];
static struct fleet_answer answer;
static struct fleet_report report;

static int setup(void **state)
{
    (void)state;
    answer = (struct fleet_answer){
        .problem = {.layer_count = 4,
                    .type_count = 2,
                    .option_count = 2,
                    .types = {{8, 4e10}, {4, 1e10}},
                    .options = {{0, 2, fast, kept, held, none, none, 0.0, 0.0},
                                {1, 1, slow, kept, held, none, send, 5e8, 6e8}},
                    .microbatches = 10},
        .microbatch = 2,
        .recompute = RECOMPUTE_FULL,
        .pipelines = 3,
        .sharded = true,
        .time = {20.0, 16.0, 3.0, 1.0},
        .lower_bound = 16.0,
    };
    pipelines[0] = (struct fleet_pipeline){
        .stage_count = 3, .stages = {{0, 0, 1}, {0, 1, 2}, {1, 2, 4}}, .copies = 2, .microbatches = 7};
    pipelines[1] =
        (struct fleet_pipeline){.stage_count = 1, .stages = {{0, 0, 4}}, .copies = 1, .microbatches = 3};
    for (int k = 0; k < 2; k++)
        fleet_pipeline_score(&answer.problem, &pipelines[k]);
    answer.plan.pipelines = pipelines;
    answer.plan.pipeline_count = 2;
    report = (struct fleet_report){.answer = &answer,
                                   .model = "a model",
                                   .software = "a software",
                                   .types = {"big", "small"},
                                   .memory = {4e10, INFINITY},
                                   .batch = 20,
                                   .sequence = 1000};
    return 0;
}

static void devices_that_no_pipeline_uses_are_idle(void **state)
{
    (void)state;
    assert_int_equal(fleet_idle(&answer, 0), -2); /* 2 x 4 and 2 of 8: more than there are, by hand */
    assert_int_equal(fleet_idle(&answer, 1), 2);
    pipelines[0].copies = 1;
    assert_int_equal(fleet_idle(&answer, 0), 2);
    assert_int_equal(fleet_idle(&answer, 1), 3);
}

static void expect_lines(const struct text *out, const char *const *lines, size_t count)
{
    const char *at = out->data;
    for (size_t i = 0; i < count; i++) {
        const char *found = strstr(at, lines[i]);
        if (!found)
            fail_msg("'%s' is not there, or not in its place, in\n%s", lines[i], out->data);
        at = found + strlen(lines[i]);
    }
}

static void people_see_time_parts_and_stages(void **state)
{
    (void)state;
    struct text out = {0};
    fleet_print(&report, &out);
    static const char *const lines[] = {
        "a model on 12 devices: 8 x big, 4 x small\nglobal batch 20 x 1000 tokens, a software\n\n",
        "iteration 20.00 s; no plan takes less than 16.00 s (gap 25 %)\n",
        "until pipelines are done 16.00 s, gradients and optimizer 3.000 s, other 1.000 s\n",
        "1 samples/s, 1000 tokens/s\n",
        "micro-batch 2; recomputation: full; optimizer states over all pipelines; 3 pipelines\n",
        "2 of 4 small idle\n",
        "\n2 pipelines of 3 stages, 3 or 4 micro-batches each: the first takes 6.500 s, then one every "
        "4.500 s\n",
        "0-1        0-1  big                  2          1.000 s  1.21 GiB to 1.12 GiB of 37.3 GiB\n",
        "        2        2-3  small                1          4.500 s  2.61 GiB\n",
        "\n1 pipeline of 1 stage, 3 micro-batches: the first takes 4.000 s, then one every 4.000 s\n",
        "        0        0-3  big                  2          4.000 s  4.10 GiB of 37.3 GiB\n",
    };
    expect_lines(&out, lines, sizeof lines / sizeof *lines);
    assert_null(strstr(out.data, "big idle"));
    text_release(&out);
}

/* Nothing is said of the software, the tokens or a gap where they are not known, or there is none. */
static void what_is_not_known_is_not_shown(void **state)
{
    (void)state;
    struct text out = {0};
    report.model = report.software = NULL;
    report.sequence = 0;
    answer.lower_bound = 20.0;
    answer.sharded = false;
    answer.pipelines = 1;
    pipelines[0].microbatches = 6;
    fleet_print(&report, &out);
    static const char *const lines[] = {
        "the profile on 12 devices: ",
        "\nglobal batch 20\n\n",
        "iteration 20.00 s; no plan takes less\n",
        "1 samples/s\n",
        "optimizer states in every pipeline; 1 pipeline\n",
        "2 pipelines of 3 stages, 3 micro-batches each",
    };
    expect_lines(&out, lines, sizeof lines / sizeof *lines);
    assert_null(strstr(out.data, "tokens"));
    text_release(&out);
}

/* Stages that differ in layers, seconds or devices have rows of their own. */
static void stages_that_are_alike_share_a_row(void **state)
{
    (void)state;
    static const double uneven[] = {0, 1, 3, 4, 5};
    struct text out = {0};
    pipelines[0] = (struct fleet_pipeline){.stage_count = 4,
                                           .stages = {{0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {0, 3, 4}},
                                           .copies = 1,
                                           .microbatches = 5};
    answer.plan.pipeline_count = 1;
    fleet_pipeline_score(&answer.problem, &pipelines[0]);
    fleet_print(&report, &out);
    assert_non_null(strstr(out.data, "  0-3        0-3  big"));
    text_release(&out);
    out = (struct text){0};
    answer.problem.options[0].seconds = uneven;
    fleet_print(&report, &out);
    static const char *const lines[] = {"    0        0-0  big", "    1        1-1  big",
                                        "  2-3        2-3  big"};
    expect_lines(&out, lines, 3);
    text_release(&out);
}

static void graphs_join_the_stages_of_each_kind(void **state)
{
    (void)state;
    struct text out = {0};
    fleet_write_dot(&report, &out);
    static const char *const lines[] = {
        "digraph plan {",
        "subgraph cluster_0 {\n    label=\"2 x, 7 micro-batches\";",
        "p0_0 [label=\"layers 0-0\\n2 x big\"];",
        "p0_1 [label=\"layers 1-1\\n2 x big\"];",
        "p0_0 -> p0_1;",
        "p0_2 [label=\"layers 2-3\\n1 x small\"];",
        "p0_1 -> p0_2;",
        "subgraph cluster_1 {\n    label=\"1 x, 3 micro-batches\";",
        "p1_0 [label=\"layers 0-3\\n2 x big\"];",
        "  }\n}\n",
    };
    expect_lines(&out, lines, sizeof lines / sizeof *lines);
    assert_null(strstr(out.data, "-> p1_0"));
    text_release(&out);
}

static void documents_hold_the_same_numbers(void **state)
{
    (void)state;
    struct text out = {0};
    struct json json = {.out = &out};
    fleet_write_json(&report, &json, NULL);
    static const char *const lines[] = {
        "\"model\": \"a model\"",
        "\"software\": \"a software\"",
        "\"global_batch\": 20",
        "\"sequence\": 1000",
        "\"mbs\": 2",
        "\"recompute\": \"full\"",
        "\"optimizer_sharded\": true",
        "\"iteration_time\": 20",
        "\"pipelines\": 16",
        "\"after\": 3",
        "\"other\": 1",
        "\"lower_bound\": 16",
        "\"gap\": 0.25",
        "{\"device_type\": \"big\", \"devices\": 8, \"idle\": -2, \"memory\": 40000000000}",
        "{\"device_type\": \"small\", \"devices\": 4, \"idle\": 2, \"memory\": null}",
        "\"copies\": 2",
        "\"microbatches\": 7",
        "\"fill\": 6.5",
        "\"cycle\": 4.5",
        "\"first_layer\": 1, \"last_layer\": 1, \"device_type\": \"big\", \"devices\": 2, \"seconds\": 1, "
        "\"memory\": 1200000000}",
        "\"first_layer\": 2, \"last_layer\": 3, \"device_type\": \"small\", \"devices\": 1, \"seconds\": "
        "4.5, \"memory\": 2800000000}",
        "\"copies\": 1",
        "\"microbatches\": 3",
    };
    expect_lines(&out, lines, sizeof lines / sizeof *lines);
    text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(devices_that_no_pipeline_uses_are_idle, setup),
        cmocka_unit_test_setup(people_see_time_parts_and_stages, setup),
        cmocka_unit_test_setup(what_is_not_known_is_not_shown, setup),
        cmocka_unit_test_setup(stages_that_are_alike_share_a_row, setup),
        cmocka_unit_test_setup(graphs_join_the_stages_of_each_kind, setup),
        cmocka_unit_test_setup(documents_hold_the_same_numbers, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
