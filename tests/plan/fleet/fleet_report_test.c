/* What people are shown of a fleet that was made by hand: 2 copies of a pipeline of three stages and a lone device. */
#include "plan/fleet/plan.h"
#include "plan/fleet/small.h"

static double fast[] = {0, 1, 2, 3, 4}, slow[] = {0, 2, 4, 6, 8}, kept[] = {0, 1e8, 2e8, 3e8, 4e8};
static double forward[] = {0, 0.25, 0.5, 0.75, 1}, after[] = {0, 1, 2, 3, 4}, updated[] = {0, 0.5, 1, 1.5, 2};
static double held[] = {0, 1e9, 2e9, 3e9, 4e9}, none[5] = {0}, send[] = {0, 0, 0.5, 0, 0};

static struct fleet_pipeline pipelines[2];
static struct fleet_stage three[] = {{0, 0, 1}, {0, 1, 2}, {1, 2, 4}}, lone[] = {{0, 0, 4}};
static struct fleet_answer answer;
static struct plan_device_type types[] = {
    {.name = "big", .nodes = {2, 4, 40000000000}, .inside = -1, .across = -1},
    {.name = "small", .nodes = {1, 4, 0}, .inside = -1, .across = -1}};
static struct plan shown;

static int setup(void **state)
{
    (void)state;
    answer = (struct fleet_answer){
        .problem = {.layer_count = 4,
                    .type_count = 2,
                    .option_count = 2,
                    .types = {{.devices = 8, .memory = 4e10}, {.devices = 4, .memory = 1e10}},
                    .options = {{.type = 0,
                                 .tensor = 2,
                                 .sums.seconds = fast,
                                 .sums.forward = forward,
                                 .sums.kept = kept,
                                 .sums.held = held,
                                 .sums.after = after,
                                 .sums.updated = updated,
                                 .sums.send = none},
                                {.type = 1,
                                 .tensor = 1,
                                 .sums.seconds = slow,
                                 .sums.forward = fast,
                                 .sums.kept = kept,
                                 .sums.held = held,
                                 .sums.after = none,
                                 .sums.updated = none,
                                 .sums.send = send,
                                 .working = 5e8,
                                 .last_working = 6e8}},
                    .microbatches = 10},
        .microbatch = 2,
        .recompute = RECOMPUTE_FULL,
        .pipelines = 3,
        .sharded = true,
        .time = {20.0, 16.0, 3.0, 1.0},
        .lower_bound = 16.0,
        .held = {1, 2, 5},
        .combinations = 9,
    };
    pipelines[0] = (struct fleet_pipeline){.stage_count = 3, .stages = three, .copies = 2, .microbatches = 7};
    pipelines[1] = (struct fleet_pipeline){.stage_count = 1, .stages = lone, .copies = 1, .microbatches = 3};
    static const double near_copies[] = {0.5, 0.5, 0}, alone[] = {1.75};
    pipelines[0].gradients = near_copies;
    pipelines[1].gradients = alone;
    for (int k = 0; k < 2; k++)
        fleet_pipeline_score(&answer.problem, &pipelines[k]);
    answer.plan.pipelines = pipelines;
    answer.plan.pipeline_count = 2;
    shown = (struct plan){.model = "a model",
                          .software = "a software",
                          .type_count = 2,
                          .types = types,
                          .iteration_time = 20,
                          .lower_bound = 16,
                          .global_batch = 20,
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

/* The plan of the answer, as people see it; the caller releases both. */
static void show(struct plan *plan, struct text *out)
{
    struct error err;
    plan_init(plan);
    assert_true(plan_add_types(plan, 2, &err));
    for (int t = 0; t < 2; t++)
        plan->types[t] = types[t];
    plan->model = shown.model;
    plan->software = shown.software;
    plan->global_batch = shown.global_batch;
    plan->sequence = shown.sequence;
    assert_true(plan_of_fleet(plan, &answer, &err));
    plan->idle = shown.idle;
    plan->idle_count = shown.idle_count;
    plan_print(plan, out);
}

static void people_see_time_parts_and_stages(void **state)
{
    (void)state;
    struct plan plan;
    struct text out = {0};
    static struct plan_idle idle = {1, 2, 21.0, "a reason"};
    shown.idle = &idle;
    shown.idle_count = 1;
    show(&plan, &out);
    static const char *const lines[] = {
        "a model on 12 of 12 devices: 8 x big, 4 x small; objective iteration\n",
        "global batch 20 x 1000 tokens, a software\n",
        "micro-batch 2, recomputation: full, ZeRO stage 1\n\n",
        "iteration 20.00 s by formula; no plan takes less than 16.00 s (gap 20 %)\n",
        "until pipelines are done 16.00 s, gradients and optimizer 3.000 s, other 1.000 s\n",
        "1 samples/s, 1000 tokens/s\n",
        "2 of 4 small idle: a reason\n",
        "\n1 pipeline of 3 stages, 4 micro-batches\n",
        "  0-1        0-1  big                   2        1       1     1          1.000 s  1.21 GiB to 1.12 "
        "GiB of 37.3 GiB\n",
        "    2        2-3  small                 1        1       1     1          4.500 s  2.61 GiB\n",
        "\n1 pipeline of 3 stages, 3 micro-batches, stages as above\n",
        "\n1 pipeline of 1 stage, 3 micro-batches\n",
        "    0        0-3  big                   2        1       1     1          4.000 s  4.10 GiB of 37.3 "
        "GiB\n",
    };
    expect_lines(&out, lines, sizeof lines / sizeof *lines);
    assert_null(strstr(out.data, "big idle"));
    text_release(&out);
    plan_release(&plan);
}

/* 6.5 s of the first of 4 micro-batches, and 4.5 s from one to the next: where these are the plan's time, they are said. */
static void the_pace_is_shown_where_it_is_the_time(void **state)
{
    (void)state;
    struct plan plan;
    struct text out = {0};
    answer.time.pipelines = 6.5 + 3 * 4.5;
    show(&plan, &out);
    static const char *const lines[] = {
        "4 micro-batches: the first takes 6.500 s, then one every 4.500 s\n",
        "3 micro-batches, stages as above\n",
        "3 micro-batches: the first takes 4.000 s, then one every 4.000 s\n",
    };
    expect_lines(&out, lines, sizeof lines / sizeof *lines);
    text_release(&out);
    plan_release(&plan);
}

/* Nothing is said of the software, the tokens or a gap where they are not known, or there is none. */
static void unknown_numbers_are_not_shown(void **state)
{
    (void)state;
    struct plan plan;
    struct text out = {0};
    shown.model = shown.software = NULL;
    shown.sequence = 0;
    answer.lower_bound = 20.0;
    answer.sharded = false;
    pipelines[0].microbatches = 6;
    show(&plan, &out);
    static const char *const lines[] = {
        "a model without a name on 12 of 12 devices: ",
        "\nglobal batch 20\nmicro-batch 2, recomputation: full, ZeRO stage 0\n\n",
        "iteration 20.00 s by formula; no plan takes less\n",
        "1 samples/s\n",
        "2 pipelines of 3 stages, 3 micro-batches each\n",
    };
    expect_lines(&out, lines, sizeof lines / sizeof *lines);
    assert_null(strstr(out.data, "tokens"));
    text_release(&out);
    plan_release(&plan);
}

/* Stages that differ in layers, seconds or devices have rows of their own. */
static void stages_that_are_alike_share_a_row(void **state)
{
    (void)state;
    static double uneven[] = {0, 1, 3, 4, 5}, forward_uneven[] = {0, 0.25, 0.75, 1, 1.25};
    struct fleet_stage alike[] = {{0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {0, 3, 4}};
    struct plan plan;
    struct text out = {0};
    pipelines[0].stage_count = 4;
    pipelines[0].stages = alike;
    pipelines[0].copies = 1;
    static const double none_each[4];
    pipelines[0].gradients = none_each;
    answer.plan.pipeline_count = 1;
    fleet_pipeline_score(&answer.problem, &pipelines[0]);
    show(&plan, &out);
    assert_non_null(strstr(out.data, "  0-3        0-3  big"));
    text_release(&out);
    plan_release(&plan);
    out = (struct text){0};
    answer.problem.options[0].sums.seconds = uneven;
    answer.problem.options[0].sums.forward = forward_uneven;
    show(&plan, &out);
    static const char *const lines[] = {"    0        0-0  big", "    1        1-1  big",
                                        "  2-3        2-3  big"};
    expect_lines(&out, lines, 3);
    text_release(&out);
    plan_release(&plan);
}

static bool same(double value, double expected)
{
    if (!SMALL_SAME(value, expected))
        print_error("%.9g, expected %.9g\n", value, expected);
    return SMALL_SAME(value, expected);
}

/* 7 micro-batches of 2 copies are 4 and 3: a plan's copies run as many as each other. */
static void plans_hold_what_the_answer_does(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    plan_init(&plan);
    answer.problem.types[0].devices = 12;
    assert_true(plan_add_types(&plan, 2, &err));
    plan.types[0].nodes.count = plan.types[1].nodes.count = 1;
    plan.types[0].nodes.devices = 12;
    plan.types[1].nodes.devices = 4;
    assert_true(plan_of_fleet(&plan, &answer, &err));
    static const int64_t microbatches[] = {4, 3, 3};
    assert_int_equal(plan.pipeline_count, 3);
    for (int p = 0; p < 3; p++) {
        assert_int_equal(plan.pipelines[p].copies, 1);
        assert_int_equal(plan.pipelines[p].microbatches, microbatches[p]);
        assert_int_equal(plan.pipelines[p].stage_count, p < 2 ? 3 : 1);
    }
    const struct plan_stage *first = &plan.pipelines[0].stages[0], *last = &plan.pipelines[1].stages[2];
    assert_int_equal(first->layers.first, 0);
    assert_int_equal(first->layers.last, 0);
    assert_int_equal(first->degrees.tensor, 2);
    assert_int_equal(first->type, 0);
    assert_true(same(first->seconds.forward, 0.25) && same(first->seconds.backward, 0.75));
    assert_true(same(first->seconds.send, 0.0) && same(first->seconds.optimizer, 0.5));
    assert_true(same(first->seconds.gradients, 0.5)); /* of its own kind of pipeline */
    assert_true(same(plan.pipelines[2].stages[0].seconds.gradients, 1.75));
    assert_true(same(first->bytes.parameters, 1e9 / 8) && same(first->bytes.gradients, 2e9 / 8));
    assert_true(same(first->bytes.optimizer, 5e9 / 8) && same(first->bytes.activations, 1e8));
    assert_true(same(first->bytes.in_flight, 3) && same(first->bytes.working, 0));
    assert_true(same(first->bytes.total, 1.3e9));
    assert_int_equal(last->layers.first, 2);
    assert_int_equal(last->layers.last, 3);
    assert_int_equal(last->type, 1);
    assert_true(same(last->seconds.forward, 2.0) && same(last->seconds.backward, 2.0));
    assert_true(same(last->seconds.send, 0.5) && same(last->bytes.working, 6e8));
    assert_true(same(last->bytes.in_flight, 1) && same(last->bytes.total, 2.8e9));
    assert_true(same(plan.memory, 4.4e9));
    assert_int_equal(plan.bottleneck_pipeline, 0);
    assert_int_equal(plan.bottleneck_stage, 2);
    assert_true(same(plan.iteration_time, 20.0) && same(plan.lower_bound, 16.0));
    assert_false(plan.proven_optimal);
    assert_int_equal(plan.layer_count, 4);
    assert_int_equal(plan.microbatch, 2);
    assert_int_equal(plan.sharding, 1);
    assert_string_equal(plan.recompute, "full");
    assert_int_equal(plan.part_count, 3);
    assert_true(same(plan.parts[0].value + plan.parts[1].value + plan.parts[2].value, 20.0));
    assert_true(same(plan_figure(&plan, "combinations"), 9));
    plan_release(&plan);
}

/* Two copies that run 2 and 1 micro-batches: their first of three stages never holds three. */
static void stages_hold_at_most_the_micro_batches_of_their_pipeline(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    struct text out = {0};
    plan_init(&plan);
    assert_true(plan_add_types(&plan, 2, &err));
    plan.types[0].nodes.count = plan.types[1].nodes.count = 4;
    plan.types[0].nodes.devices = plan.types[1].nodes.devices = 4;
    pipelines[0].microbatches = 3;
    assert_true(plan_of_fleet(&plan, &answer, &err));
    for (int p = 0; p < 2; p++)
        for (int s = 0; s < 3; s++) {
            const struct plan_stage *stage = &plan.pipelines[p].stages[s];
            int in_flight = p == 0 && s < 2 ? 2 : 1;
            assert_true(same(stage->bytes.in_flight, in_flight));
            if (s < 2)
                assert_true(same(stage->bytes.total, 1e9 + in_flight * 1e8));
        }
    for (int t = 0; t < 2; t++)
        plan.types[t].name = types[t].name;
    plan_print(&plan, &out);
    assert_non_null(strstr(out.data, "1.000 s  1.12 GiB"));
    text_release(&out);
    plan_release(&plan);
}

static void plans_at_their_bound_are_proven(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    plan_init(&plan);
    assert_true(plan_add_types(&plan, 2, &err));
    plan.types[0].nodes.count = plan.types[1].nodes.count = 4;
    plan.types[0].nodes.devices = plan.types[1].nodes.devices = 4;
    answer.lower_bound = 20.0;
    pipelines[0].microbatches = 8; /* 4 each: one entry of two copies */
    assert_true(plan_of_fleet(&plan, &answer, &err));
    assert_true(plan.proven_optimal);
    assert_int_equal(plan.pipeline_count, 2);
    assert_int_equal(plan.pipelines[0].copies, 2);
    assert_int_equal(plan.pipelines[0].microbatches, 4);
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(devices_that_no_pipeline_uses_are_idle, setup),
        cmocka_unit_test_setup(people_see_time_parts_and_stages, setup),
        cmocka_unit_test_setup(the_pace_is_shown_where_it_is_the_time, setup),
        cmocka_unit_test_setup(unknown_numbers_are_not_shown, setup),
        cmocka_unit_test_setup(stages_that_are_alike_share_a_row, setup),
        cmocka_unit_test_setup(plans_hold_what_the_answer_does, setup),
        cmocka_unit_test_setup(stages_hold_at_most_the_micro_batches_of_their_pipeline, setup),
        cmocka_unit_test_setup(plans_at_their_bound_are_proven, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
