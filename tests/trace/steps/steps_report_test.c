/* What is shown of logs of steps, by known numbers. */
#include "trace/steps/report.h"

#include "trace/traces.h"

static struct steps steps;
static struct steps_model model;
static struct text out;

static int setup(void **state)
{
    (void)state;
    steps = (struct steps){0};
    out = (struct text){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    steps_model_release(&model);
    steps_release(&steps);
    text_release(&out);
    return 0;
}

/* Steps of 9 s (the first, left out), then of 100, 200, … 500 ms, of which `compute` is computed. */
static void read_run(const char *path, double compute)
{
    struct error err;
    struct text log = {0};
    const struct steps_options options = {.skip_epochs = -1};
    text_add(&log, ":::MLLOG {\"key\": \"epoch_start\", \"metadata\": {\"epoch_num\": 2}}\n");
    for (int i = 0; i < 6; i++) {
        double ms = i ? 100 * i : 9000;
        if (compute > 0)
            text_format(
                &log, ":::MLLOG {\"key\": \"all_compute\", \"value\": {\"start\": 5, \"duration\": %.0f}}\n",
                1e6 * ms * compute);
        text_format(&log, ":::MLLOG {\"key\": \"step_end\", \"value\": {\"start\": 5, \"duration\": %.0f}}\n",
                    1e6 * ms);
    }
    if (!steps_read_text(&steps, path, log.data, log.length, &options, &err))
        fail_msg("%s", err.text);
    text_release(&log);
}

static void finish(void)
{
    struct error err;
    assert_true(steps_finish(&steps, &err));
    assert_true(steps_model(&steps, &model, &err));
}

static void expect(const char *const *lines, size_t count)
{
    const char *at = out.data;
    for (size_t i = 0; i < count; i++) {
        const char *found = strstr(at, lines[i]);
        if (!found)
            fail_msg("'%s' is not there, or not in its place, in\n%s", lines[i], at);
        at = found + strlen(lines[i]);
    }
}

static void people_see_summaries_of_each_configuration(void **state)
{
    (void)state;
    struct error err;
    read_run("UNET3D_1g_2b/unet3d.log", 0);
    finish();
    assert_true(steps_print(&steps, &model, &out, &err));
    static const char *const lines[] = {
        "UNET3D: 1 configuration from 1 file (MLLOG), 5 durations\n",
        "dropped: 1 of first steps, 0 of skipped epochs, 0 of length 0\n",
        "   1        2  step_end                      5         0.3     0.15811        0.15         0.3",
        "   1        2  step_throughput               5", /* 20, 10, 20/3, 5 and 4 a second */
        "9.1333",
        "6.6667",
    };
    expect(lines, sizeof lines / sizeof *lines);
    assert_null(strstr(out.data, "compute"));
    assert_null(strstr(out.data, "malformed"));
    assert_null(strstr(out.data, "ranks other"));
}

static void planes_are_fitted_to_compute_times(void **state)
{
    (void)state;
    struct error err;
    read_run("UNET3D_1g_1b/unet3d.log", 0.5);
    read_run("UNET3D_1g_3b/unet3d.log", 1.0);
    finish();
    assert_true(steps_print(&steps, &model, &out, &err));
    static const char *const lines[] = {
        "UNET3D: 2 configurations from 2 files (MLLOG), 20 durations\n",
        "dropped: 4 of first steps,",
        "compute time within p1 to p99, normal (seconds)\n",
        "   1        1         3        0.15 ",
        "   1        3         3         0.3 ",
        "mu    = 0 x GPUs + 0.075 x batch + 0.075; R2 1.0000, off by 0.0 % on average, 0.0 % at most",
        "sigma = 0 x GPUs + 0.0204124 x batch + 0.0204124; R2 1.0000",
    };
    expect(lines, sizeof lines / sizeof *lines);
}

static void documents_hold_the_same_numbers(void **state)
{
    (void)state;
    struct error err;
    read_run("UNET3D_1g_1b/unet3d.log", 0);
    read_run("UNET3D_1g_3b/unet3d.log", 1.0);
    finish();
    assert_true(steps_write_json(&steps, &model, &(struct json){.out = &out}, &err));
    static const char *const lines[] = {
        "\"workload\": \"UNET3D\"",
        "\"files\": 2",
        "\"first_steps\": 3",
        "\"gpus\": 1",
        "\"batch\": 1",
        "\"count\": 5",
        "\"mean\": 0.3",
        "\"q1\": 0.15",
        "\"median\": 0.3",
        "\"q3\": 0.45",
        "\"most\": 0.5",
        "\"compute_fit\": null\n",
        "\"batch\": 3",
        "\"compute_fit\": {",
        "\"count\": 3",
        "\"mu\": 0.3",
    };
    expect(lines, sizeof lines / sizeof *lines);
}

static void documents_hold_planes_too(void **state)
{
    (void)state;
    struct error err;
    read_run("UNET3D_1g_1b/unet3d.log", 0.5);
    read_run("UNET3D_1g_3b/unet3d.log", 1.0);
    finish();
    assert_true(steps_write_json(&steps, &model, &(struct json){.out = &out}, &err));
    static const char *const lines[] = {"\"compute_model\": {",
                                        "\"mu\": {\"per_gpu\": 0, \"per_batch\": 0.07", "\"unique\": true",
                                        "\"sigma\": {\"per_gpu\": 0, \"per_batch\": 0.02"};
    expect(lines, sizeof lines / sizeof *lines);
}

/* Lines of other ranks, a single value, and an output without barriers. */
static void people_are_told_what_is_missing(void **state)
{
    (void)state;
    struct error err;
    static const char log[] =
        "0: [INFO] step_end 1000000\n1: [INFO] step_end 1000000\n[2] [INFO] step_end 5\n"
        "0: [INFO] step_end 2000000\n";
    const struct steps_options options = {.gpus = 2, .batch = 4, .workload = "mine"};
    assert_true(steps_read_text(&steps, "x.log", log, sizeof log - 1, &options, &err));
    finish();
    assert_true(steps_print(&steps, &model, &out, &err));
    static const char *const lines[] = {
        "mine: 1 configuration from 1 file (DLIO log), 1 durations\n",
        "skipped: 2 lines of ranks other than 0\n",
        "   2        4  step_end                      1       0.002           -"};
    expect(lines, sizeof lines / sizeof *lines);
    steps_model_release(&model);
    steps_release(&steps);
    out.length = 0;
    static const char output[] =
        "{\"1\": {\"load\": {\"block1\": [1, 0.25]}, \"proc\": {\"block1\": [3, 2]}}}";
    assert_true(steps_read_text(&steps, "0_output.json", output, sizeof output - 1, &options, &err));
    finish();
    assert_true(steps_print(&steps, &model, &out, &err));
    assert_non_null(strstr(out.data, "steps end before the barrier, which R_output.json does not record\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(people_see_summaries_of_each_configuration, setup, teardown),
        cmocka_unit_test_setup_teardown(planes_are_fitted_to_compute_times, setup, teardown),
        cmocka_unit_test_setup_teardown(documents_hold_planes_too, setup, teardown),
        cmocka_unit_test_setup_teardown(people_are_told_what_is_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(documents_hold_the_same_numbers, setup, teardown),
    };
    return cmocka_run_group_tests_name("steps_report", tests, NULL, NULL);
}
