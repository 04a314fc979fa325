/* Pictures of plans, sweeps, runs and steps, as gnuplot is told to draw them. */
#include "figure/scripts.h"

#include "devices/tables.h"
#include "figure/plan.h"
#include "figure/scatter.h"
#include "figure/steps/steps.h"
#include "figure/sweep.h"
#include "trace/steps/stats.h"

/* ---- plans ---- */

static const struct figure_plan_options screen = {.style = &figure_screen};

static void set_stage(struct plan_stage *stage, int first, int last, int type, int tensor, double forward,
                      double backward)
{
    stage->layers.first = first;
    stage->layers.last = last;
    stage->type = type;
    stage->degrees.tensor = tensor;
    stage->seconds.forward = forward;
    stage->seconds.backward = backward;
}

/* Stages of 3, 7.5 and 4 ms on devices of two names. */
static void make_plan(struct plan *plan)
{
    struct error err;
    plan_init(plan);
    assert_true(plan_add_types(plan, 3, &err) && plan_add_pipelines(plan, 1, &err));
    plan->types[0].name = plan->types[2].name = "fast";
    plan->types[1].name = "slow";
    assert_true(plan_add_stages(plan, &plan->pipelines[0], 3, &err));
    set_stage(&plan->pipelines[0].stages[0], 0, 2, 0, 2, 0.001, 0.002);
    set_stage(&plan->pipelines[0].stages[1], 3, 3, 1, 1, 0.0025, 0.005);
    set_stage(&plan->pipelines[0].stages[2], 4, 8, 2, 4, 0.003, 0.001);
    plan->iteration_time = 0.5;
    plan->lower_bound = 0.4;
}

static void plans_are_bars_of_stages(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    make_plan(&plan);
    expect_drawn(figure_plan(picture(), &plan, &screen, &err), &err, "plan");
    plan.proven_optimal = true;
    plan.model = "a model";
    plan.pipelines[0].copies = 3;
    expect_drawn(figure_plan(picture(), &plan, &screen, &err), &err, "plan-copies");
    plan.proven_optimal = false;
    plan.lower_bound = 0;
    plan.pipelines[0].copies = 1;
    plan.pipelines[0].stage_count = 1;
    expect_drawn(figure_plan(picture(), &plan, &screen, &err), &err, "plan-unknown");
    plan_release(&plan);
}

/* The parts of a plan of 36 s and of another one of 40 s. */
static void alternatives_are_bars_of_parts(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    struct plan_alternative other = {.degrees.tensor = 2,
                                     .degrees.context = 1,
                                     .degrees.expert = 1,
                                     .degrees.pipeline = 4,
                                     .degrees.data = 1,
                                     .chunks = 3,
                                     .microbatch = 4,
                                     .part_count = 3,
                                     .parts = {{"compute", 20}, {"bubble", 5}, {"tensor", 15}}};
    make_plan(&plan);
    plan.iteration_time = 36;
    plan.microbatch = 2;
    plan_add_part(&plan, "compute", 21);
    plan_add_part(&plan, "bubble", 10);
    plan_add_part(&plan, "tensor", 5);
    plan.alternatives = &other;
    plan.alternative_count = 1;
    expect_drawn(figure_plan(picture(), &plan, &screen, &err), &err, "plan-alternatives");
    plan_release(&plan);
}

static void sweeps_are_lines(void **state)
{
    (void)state;
    const double x[] = {1, 2, 4}, first[] = {1, 1.9, NAN}, second[] = {0.5, 1, 1.75};
    const struct figure_line lines[] = {{.title = "first", .values = first},
                                        {.title = "second", .values = second}};
    struct figure_sweep sweep = {"a title", "an x", "a y", 3, 2, x, lines, false, NULL, NULL};
    struct error err;
    expect_drawn(figure_sweep(picture(), &sweep, &err), &err, "sweep");
    sweep.scaling = true;
    expect_drawn(figure_sweep(picture(), &sweep, &err), &err, "sweep-scaling");
}

static void runs_are_points_by_generation(void **state)
{
    (void)state;
    struct run runs[6] = {
        {.scored = true, .seconds = 1, .expected = 1.1},     {.scored = true, .seconds = 2, .expected = 1.9},
        {.scored = true, .seconds = 3, .expected = 3.5},     {.scored = false, .seconds = 4, .expected = 4},
        {.scored = true, .reason = "unknown", .seconds = 5}, {.scored = true, .seconds = 6, .expected = 6}};
    static const char *const devices[] = {"h100", "a100-80gb", "h100", "v100-32gb", "h100", "a100-40gb"};
    for (int i = 0; i < 6; i++)
        runs[i].job.device = tables_device(NULL, devices[i]);
    struct validation validation = {.count = 6, .runs = runs};
    struct error err;
    expect_drawn(figure_scatter(&validation, picture(), &err), &err, "scatter");
    validation.runs += 3;
    validation.count = 2;
    assert_false(figure_scatter(&validation, picture(), &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
}

/* ---- steps ---- */

static void add_step(struct text *log, int i, double speed)
{
    static const struct {
        const char *name;
        int ms;
    } parts[] = {{"load_batch_mem", 20},     {"load_batch_inner", 15}, {"load_batch_gpu", 3},
                 {"model_forward_pass", 30}, {"loss_tensor_calc", 4},  {"model_backward_pass", 60},
                 {"model_optim_step", 6},    {"cum_loss_fn_calc", 5},  {"all_compute", 110},
                 {"sample_load", 7},         {"sample_preproc", 9},    {"step_end", 135}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        text_format(log, ":::MLLOG {\"key\": \"%s\", \"value\": {\"start\": 5, \"duration\": %lld}}\n",
                    parts[p].name, (long long)((parts[p].ms + (i * 7 + (int)p) % 5) * speed * 1e6));
}

struct logged {
    const char *path;
    double speed;
};

static void read_steps(struct steps *steps, const struct logged *runs, size_t count)
{
    struct error err;
    const struct steps_options options = {.skip_epochs = -1};
    for (size_t run = 0; run < count; run++) {
        struct text log = {0};
        text_add(&log, ":::MLLOG {\"key\": \"epoch_start\", \"metadata\": {\"epoch_num\": 2}}\n");
        for (int i = 0; i < 13; i++)
            add_step(&log, i, runs[run].speed);
        if (!steps_read_text(steps, runs[run].path, log.data, log.length, &options, &err))
            fail_msg("%s", err.text);
        text_release(&log);
    }
    if (!steps_finish(steps, &err))
        fail_msg("%s", err.text);
}

static void steps_are_drawn_in_eight_ways(void **state)
{
    (void)state;
    static const struct logged runs[] = {{"UNET3D_1g_1b/unet3d.log", 1.0},
                                         {"UNET3D_1g_2b/unet3d.log", 1.75},
                                         {"UNET3D_2g_1b/unet3d.log", 1.125},
                                         {"UNET3D_2g_8b/unet3d.log", 6.5}};
    struct steps steps = {0};
    struct steps_model model;
    struct error err;
    read_steps(&steps, runs, 4);
    assert_true(steps_model(&steps, &model, &err));
    for (int kind = 0; figure_steps_kinds[kind]; kind++) {
        char name[64];
        snprintf(name, sizeof name, "steps-%s", figure_steps_kinds[kind]);
        expect_drawn(
            figure_steps(picture(), (enum figure_steps_kind)kind, NULL, &figure_screen, &steps, &model, &err),
            &err, name);
    }
    expect_drawn(figure_steps(picture(), FIGURE_STEPS_STEP, NULL, &figure_paper, &steps, &model, &err), &err,
                 "steps-paper");
    expect_drawn(
        figure_steps(picture(), FIGURE_STEPS_VIOLIN, "sample_load", &figure_paper, &steps, &model, &err),
        &err, "steps-violin-paper");
    assert_false(
        figure_steps(picture(), FIGURE_STEPS_VIOLIN, "nothing", &figure_screen, &steps, &model, &err));
    steps_model_release(&model);
    steps_release(&steps);
}

/* Batches and seconds that reach far are drawn on logarithmic axes. */
static void steps_that_reach_far_are_drawn_by_factors(void **state)
{
    (void)state;
    static const struct logged runs[] = {{"UNET3D_1g_1b/unet3d.log", 0.1},
                                         {"UNET3D_1g_4b/unet3d.log", 5},
                                         {"UNET3D_1g_64b/unet3d.log", 40},
                                         {"UNET3D_16g_4096b/unet3d.log", 900}};
    static const enum figure_steps_kind kinds[] = {FIGURE_STEPS_STEP, FIGURE_STEPS_THROUGHPUT,
                                                   FIGURE_STEPS_LATENCY, FIGURE_STEPS_VIOLIN,
                                                   FIGURE_STEPS_HISTOGRAM};
    struct steps steps = {0};
    struct steps_model model;
    struct error err;
    read_steps(&steps, runs, 4);
    assert_true(steps_model(&steps, &model, &err));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char name[64];
        const char *event =
            kinds[i] == FIGURE_STEPS_VIOLIN || kinds[i] == FIGURE_STEPS_HISTOGRAM ? "step_end" : NULL;
        snprintf(name, sizeof name, "steps-wide-%s", figure_steps_kinds[kinds[i]]);
        expect_drawn(figure_steps(picture(), kinds[i], event, &figure_screen, &steps, &model, &err), &err,
                     name);
    }
    steps_model_release(&model);
    steps_release(&steps);
}

/* Logs that have one event only have nothing for most pictures. */
static void pictures_of_nothing_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        bool drawn[8]; /* breakdown, step, full, throughput, latency, violin, histogram, fit */
    } cases[] = {{"load_batch_mem", {true, true, true, true, true, true, false, false}},
                 {"all_compute", {true, true, true, true, false, true, true, false}},
                 {"sample_preproc", {false, false, false, false, true, false, false, false}},
                 {"unknown", {false, false, false, false, false, false, false, false}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct steps steps = {0};
        struct steps_model model;
        struct text log = {0};
        struct error err;
        const struct steps_options options = {.skip_epochs = -1};
        text_add(&log, ":::MLLOG {\"key\": \"epoch_start\", \"metadata\": {\"epoch_num\": 2}}\n");
        for (int k = 0; k < 9; k++)
            text_format(&log, ":::MLLOG {\"key\": \"%s\", \"value\": {\"start\": 5, \"duration\": %d}}\n",
                        cases[i].event, 1000000 * (k + 5));
        assert_true(steps_read_text(&steps, "UNET3D_1g_1b/unet3d.log", log.data, log.length, &options, &err));
        assert_true(steps_finish(&steps, &err));
        assert_true(steps_model(&steps, &model, &err));
        for (int kind = 0; figure_steps_kinds[kind]; kind++) {
            bool drawn = figure_steps(picture(), (enum figure_steps_kind)kind, NULL, &figure_screen, &steps,
                                      &model, &err);
            if (drawn != cases[i].drawn[kind])
                fail_msg("%s of %s: %s", figure_steps_kinds[kind], cases[i].event,
                         drawn ? "drawn" : err.text);
            if (!drawn)
                assert_int_equal(err.kind, ERROR_INFEASIBLE);
        }
        steps_model_release(&model);
        steps_release(&steps);
        text_release(&log);
    }
    remove(picture());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plans_are_bars_of_stages, setup, teardown),
        cmocka_unit_test_setup_teardown(alternatives_are_bars_of_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(sweeps_are_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(runs_are_points_by_generation, setup, teardown),
        cmocka_unit_test_setup_teardown(steps_are_drawn_in_eight_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(steps_that_reach_far_are_drawn_by_factors, setup, teardown),
        cmocka_unit_test_setup_teardown(pictures_of_nothing_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests_name("scripts", tests, NULL, NULL);
}
