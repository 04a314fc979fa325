/* Logs of steps: what is read, what is left out, and where it goes. */
#include "trace/steps/steps.h"

#include "core/doc.h"
#include "core/text.h"
#include "support/reference.h"
#include "trace/steps/stats.h"
#include "trace/traces.h"

#include <math.h>

static struct steps steps;
static struct steps_options options;

static int setup(void **state)
{
    steps = (struct steps){0};
    options = (struct steps_options){.skip_epochs = -1};
    return folder_setup(state);
}

static int teardown(void **state)
{
    steps_release(&steps);
    return folder_teardown(state);
}

static void read_text(const char *path, const struct text *text)
{
    struct error err;
    assert_false(text->failed);
    if (!steps_read_text(&steps, path, text->data, text->length, &options, &err))
        fail_msg("%s", err.text);
}

static void finish(void)
{
    struct error err;
    if (!steps_finish(&steps, &err))
        fail_msg("%s", err.text);
}

static void expect_values(int event, size_t count, const double *seconds)
{
    const struct steps_values *values = &steps.groups[0].events[event];
    assert_int_equal(values->count, count);
    for (size_t i = 0; i < count; i++)
        if (fabs(values->items[i] - seconds[i]) > 1e-12)
            fail_msg("event %d, value %zu: %.12g instead of %.12g", event, i, values->items[i], seconds[i]);
}

#define EXPECT(event, ...)                                                                                   \
    expect_values(event, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static void mllog(struct text *text, const char *prefix, const char *key, long long ns)
{
    text_format(
        text,
        "%s:::MLLOG {\"namespace\": \"\", \"time_ms\": 1669000000000, \"event_type\": \"POINT_IN_TIME\", "
        "\"key\": \"%s\", \"value\": {\"start\": 5, \"duration\": %lld}, \"metadata\": {\"file\": "
        "\"a \\\"b\\\".py\", \"lineno\": 3}}\n",
        prefix, key, ns);
}

static void mllog_epoch(struct text *text, int number)
{
    text_format(text,
                ":::MLLOG {\"key\": \"epoch_start\", \"value\": null, \"metadata\": {\"epoch_num\": %d}}\n",
                number);
}

static void unet_step(struct text *text, long long ms)
{
    mllog(text, "", "sample_load", ms * 100000);
    mllog(text, "[0] ", "sample_preproc", ms * 10000);
    mllog(text, "0: ", "load_batch_mem", ms * 200000);
    mllog(text, "", "load_batch_gpu", ms * 50000);
    mllog(text, "", "all_compute", ms * 800000);
    mllog(text, "[1,0]<stdout>: ", "step_end", ms * 1000000);
}

static void first_steps_and_the_first_epoch_of_unet3d_are_left_out(void **state)
{
    (void)state;
    struct text text = {0};
    mllog_epoch(&text, 1);
    unet_step(&text, 900);
    unet_step(&text, 901);
    mllog_epoch(&text, 2);
    unet_step(&text, 500);
    unet_step(&text, 20);
    unet_step(&text, 10);
    mllog(&text, "", "eval_step_end", 7000000);
    mllog_epoch(&text, 3);
    unet_step(&text, 400);
    unet_step(&text, 30);
    read_text("UNET3D_8g_4b/unet3d.log", &text);
    finish();
    assert_string_equal(steps.workload, "UNET3D");
    assert_int_equal(steps.source, STEPS_MLLOG);
    assert_int_equal(steps.groups[0].gpus, 8);
    assert_int_equal(steps.groups[0].batch, 4);
    EXPECT(STEPS_STEP, 0.010, 0.020, 0.030);
    EXPECT(STEPS_LOAD, 0.002, 0.004, 0.006);
    EXPECT(STEPS_COPY, 0.0005, 0.001, 0.0015);
    EXPECT(STEPS_SAMPLE_LOAD, 0.001, 0.002, 0.003);
    EXPECT(steps_event_find(&steps, "eval_step_end"), 0.007);
    assert_int_equal(steps.first_steps, 12);
    assert_int_equal(steps.skipped, 12);
    assert_int_equal(steps.malformed, 0);
    text_release(&text);
}

static void epochs_are_told_by_lines_where_nothing_else_does(void **state)
{
    (void)state;
    struct text text = {0};
    for (int i = 0; i < 9; i++)
        text_format(&text,
                    ":::MLLOG {\"key\": \"step_end\", \"value\": {\"duration\": %d000000}, \"metadata\": "
                    "{\"epoch_num\": %d}}\n",
                    i, i / 3 + 1);
    read_text("UNET3D_8g_4b/unet3d.log", &text);
    finish();
    EXPECT(STEPS_STEP, 0.004, 0.005, 0.007, 0.008);
    text_release(&text);
}

static void lines_of_other_ranks_are_passed_over(void **state)
{
    (void)state;
    static const char *const others[] = {"[1] ", "3: ", "[1,2]<stdout>: ", "rank 5: ", "(7) "};
    struct text text = {0};
    for (int i = 0; i < 3; i++) {
        mllog(&text, "", "step_end", 1000000LL * (i + 1));
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            mllog(&text, others[j], "step_end", 999000000);
        mllog(&text, "12:30:59 ", "all_compute", 500000); /* a time, no rank */
    }
    read_text("BERT_8gb6/app.log", &text);
    finish();
    EXPECT(STEPS_STEP, 0.002, 0.003);
    EXPECT(STEPS_COMPUTE, 0.0005, 0.0005, 0.0005); /* the first one came after the first step's end */
    assert_int_equal(steps.other_ranks, 15);
    text_release(&text);
}

static void every_training_block_has_a_first_step(void **state)
{
    (void)state;
    struct text text = {0};
    for (int block = 0; block < 3; block++) {
        text_add(&text, ":::MLLOG {\"key\": \"training_start\", \"value\": null}\n");
        for (int i = 0; i < 3; i++) {
            mllog(&text, "", "batch_load", 1000000);
            mllog(&text, "", "step_end", i == 0 ? 77000000 : 10000000 + block);
        }
    }
    text_add(&text, ":::MLLOG {\"key\": \"training_start\", \"value\": null}\n"); /* cut off before its end */
    mllog(&text, "", "batch_load", 5000000);
    read_text("DLRM_8G_32kglobal/dlrm_tera.log", &text);
    finish();
    assert_int_equal(steps.groups[0].batch, 32768);
    EXPECT(STEPS_STEP, 0.010, 0.010, 0.010000001, 0.010000001, 0.010000002, 0.010000002);
    assert_int_equal(steps.groups[0].events[STEPS_BATCH_LOAD].count, 6);
    text_release(&text);
}

static void a_list_of_objects_is_the_same_as_lines(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(
        &text,
        "[\n  {\n    \"key\": \"epoch_start\", \"value\": null,\n    \"metadata\": {\"epoch_num\": 2}\n  }");
    for (int i = 1; i < 5; i++)
        text_format(
            &text,
            ",\n {\n \"time_ms\": 1,\n \"key\": \"step_end\",\n \"value\": {\n  \"start\": [1, {\"a\": "
            "\"}\"}],\n  \"duration\": %d000000\n }\n }",
            i);
    text_add(&text, "\n]\n");
    read_text("raw_data/UNET3D_2g_3b_1.log", &text);
    finish();
    EXPECT(STEPS_STEP, 0.002, 0.003, 0.004);
    assert_int_equal(steps.groups[0].gpus, 2);
    text_release(&text);
}

static void dlio_step(struct text *text, int ms)
{
    text_format(text,
                "[INFO] sample_load %d00000\n[INFO] load_batch_inner %d00000\n[INFO] load_batch_mem %d00000\n"
                "[INFO] all_compute %d00000\n[INFO] step_end %d00000\n",
                ms, 2 * ms, 3 * ms, 7 * ms, 10 * ms);
}

static void dlio_log(struct text *text)
{
    text_add(text,
             "[OUTPUT] 2026-11-21T02:42:36.389319 Running DLIO with 2 process(es)\n"
             "[INFO] 2026-11-21T02:42:36.4 Max steps per epoch: 4 = 1 * 32 / 4 / 2 (samples per file * num "
             "files / batch size / comm size)\n"
             "[INFO] load_batch_mem of no kind\n[INFO] step_end\n");
    for (int epoch = 1; epoch <= 2; epoch++) {
        text_format(text, "[INFO] 2026-11-21T02:42:36.904443 Starting epoch %d: 4 steps expected\n", epoch);
        for (int block = 1; block <= 2; block++) {
            text_format(text, "[INFO] 2026-11-21T02:42:36.905072 Starting block %d\n", block);
            dlio_step(text, 900);
            dlio_step(text, 10 * epoch + block);
        }
    }
}

static void dlio_logs_tell_their_configuration(void **state)
{
    (void)state;
    struct text text = {0};
    dlio_log(&text);
    read_text("out/dlio.log", &text);
    finish();
    assert_int_equal(steps.groups[0].gpus, 2);
    assert_int_equal(steps.groups[0].batch, 4);
    EXPECT(STEPS_STEP, 0.011, 0.012, 0.021, 0.022);
    EXPECT(STEPS_INNER, 0.0022, 0.0024, 0.0042, 0.0044);
    assert_int_equal(steps.malformed, 1); /* "load_batch_mem of …" */
    assert_string_equal(steps.places.list[0].file, "dlio.log");
    assert_int_equal(steps.places.list[0].line, 3);
    text_release(&text);
}

/* Any three events, epochs only, and no epoch left out. */
static void the_rules_of_the_study_can_be_asked_for(void **state)
{
    (void)state;
    struct text text = {0};
    options.as_study = true;
    dlio_log(&text);
    read_text("UNET3D_2g_4b/dlio.log", &text);
    finish();
    EXPECT(STEPS_STEP, 0.011, 0.012, 0.021, 0.022, 0.9, 0.9, 0.9, 0.9);
    EXPECT(STEPS_SAMPLE_LOAD, 0.0011, 0.0012, 0.0021, 0.0022, 0.09, 0.09);
    assert_int_equal(steps.skipped, 0);
    text_release(&text);
}

static void the_study_rounds_to_microseconds_and_waits_for_five_events(void **state)
{
    (void)state;
    struct text text = {0};
    options.as_study = true;
    mllog_epoch(&text, 2);
    for (int i = 0; i < 3; i++) {
        mllog(&text, "", "load_batch_mem", 1234567);
        mllog(&text, "", "all_compute", 2345678);
        mllog(&text, "", "step_end", 3456789 + 1000 * i);
        if (i == 0)
            continue; /* samples come late: the second step is a first one, too */
        mllog(&text, "", "sample_load", 499);
        mllog(&text, "", "sample_preproc", 500700);
    }
    read_text("UNET3D_2g_4b/unet3d.log", &text);
    finish();
    EXPECT(STEPS_STEP, 0.003459);
    EXPECT(STEPS_LOAD, 0.001235);
    assert_int_equal(steps.zeros, 1); /* 499 ns */
    text_release(&text);
}

static void a_profile_is_one_step(void **state)
{
    (void)state;
    static const char profile[] =
        "{\"displayTimeUnit\": \"ns\", \"metadata\": {\"a\": [1, 2]}, \"traceEvents\": [\n"
        "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": \"x\"}},\n"
        "{\"ph\": \"X\", \"cat\": \"Op\", \"ts\": 1000, \"dur\": 10, \"name\": \"IteratorV2\"},\n"
        "{\"ph\": \"X\", \"cat\": \"Op\", \"ts\": 1500, \"dur\": 500, \"name\": \"IteratorGetNext\"},\n"
        "{\"ph\": \"X\", \"cat\": \"Op\", \"ts\": 2100, \"dur\": 50, \"name\": \"unknown\", \"args\": "
        "{\"name\": "
        "\"edge_3_IteratorGetNext@@MemcpyHtoD\"}},\n"
        "{\"ph\": \"X\", \"cat\": \"Other\", \"ts\": 1, \"dur\": 99999, \"name\": \"MatMul\"},\n"
        "{\"ph\": \"X\", \"cat\": \"Op\", \"ts\": 901000, \"dur\": 7, \"name\": \"MatMul\"},\n"
        "{}]}";
    struct error err;
    for (int i = 0; i < 2; i++)
        if (!steps_read_text(&steps, "BERT_8g_6b/2022/host.trace.json", profile, strlen(profile), &options,
                             &err))
            fail_msg("%s", err.text);
    finish();
    EXPECT(STEPS_LOAD, 0.001, 0.001);
    EXPECT(STEPS_COMPUTE, 0.8989, 0.8989);
    EXPECT(STEPS_STEP, 0.9, 0.9);
    assert_int_equal(steps_metric_event(&steps, STEPS_RATE_COMPUTE), STEPS_COMPUTE);
    steps.as_study = true;
    assert_int_equal(steps_metric_event(&steps, STEPS_RATE_COMPUTE), STEPS_STEP);
    assert_int_equal(steps.groups[0].files, 2);
}

static void outputs_of_dlio_hold_lists(void **state)
{
    (void)state;
    static const char output[] = "{\"1\": {\"load\": {\"block1\": [9, 0.5, 0], \"eval\": [0.25]}, \"proc\": "
                                 "{\"block1\": [10, 1.5, 1.25],"
                                 " \"eval\": [0.75]}, \"compute\": {\"block1\": [1, 0.875, 1.25], \"eval\": "
                                 "[0.5]}, \"throughput\": NaN, \"au\": [-Infinity,Infinity]}, "
                                 "\"hostname\": \"a \\\"NaN\"}"; /* as Python writes it */
    struct error err;
    if (!steps_read_text(&steps, "X_2g_1b/0_output.json", output, strlen(output), &options, &err))
        fail_msg("%s", err.text);
    finish();
    EXPECT(STEPS_LOAD, 0, 0.5); /* a step that did not wait */
    EXPECT(STEPS_COMPUTE, 1, 1.25);
    EXPECT(STEPS_STEP, 1.25, 1.5);
    EXPECT(steps_event_find(&steps, "eval_all_compute"), 0.5);
    double *values;
    size_t count;
    assert_true(steps_metric_values(&steps, &steps.groups[0], STEPS_RATE_LOAD, &values, &count, &err));
    assert_int_equal(count, 1); /* and so has no rate */
    assert_true(values[0] == 2);
    free(values);
}

static void names_tell_the_configuration(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int64_t gpus, batch;
        const char *workload;
    } names[] = {
        {"UNET3D_8g_4b", 8, 4, "UNET3D"},
        {"UNET3D_8g4b_noinstru/a.log", 8, 4, "UNET3D"},
        {"UNET3D_benchmark_8GPU_4b", 8, 4, "UNET3D"},
        {"BERT_8gb6", 8, 6, "BERT"},
        {"BERT_benchmark_8g_b6/x/y/app.log", 8, 6, "BERT"},
        {"DLRM_8G_32kglobal", 8, 32768, "DLRM"},
        {"DLRM_benchmark_8GPU_b32k", 8, 32768, "DLRM"},
        {"DLRM_16g_2048b_2/dlrm_tera.log", 16, 2048, "DLRM"},
        {"raw_data/unet3d_12gpus_5batch_run2.json", 12, 5, "UNET3D"},
        {"ta_1gpu_Original_16GB_20220830163442", 1, 0, ""},
        {"unet3d_b200", 0, 0, "UNET3D"},
        {"gpus8_batch4", 8, 4, ""},
        {"gpu-4_run", 4, 0, ""},
        {"batch_size=16,gpus=4", 4, 16, ""},
        {"UNET3D_8g_4b/16g_1b", 16, 1, "UNET3D"}, /* the nearest */
        {"DLRM_1M_b1m_g2", 2, 1048576, "DLRM"},
        {"g0_b0", 0, 0, ""},
        {"99999999999999999999g_99999999999999999999b", 0, 0, ""},
        {"", 0, 0, ""},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t gpus, batch;
        char workload[STEPS_NAME];
        steps_path_configuration(names[i].path, &gpus, &batch, workload);
        if (gpus != names[i].gpus || batch != names[i].batch || strcmp(workload, names[i].workload) != 0)
            fail_msg("'%s': %lld GPUs, batch %lld, workload '%s'", names[i].path, (long long)gpus,
                     (long long)batch, workload);
    }
}

static void repeats_are_pooled_and_groups_sorted(void **state)
{
    (void)state;
    static const char *const paths[] = {"UNET3D_8g_1b", "UNET3D_2g_4b", "UNET3D_8g_1b_again", "UNET3D_2g_1b"};
    for (int i = 0; i < 4; i++) {
        struct text text = {0};
        mllog_epoch(&text, 2);
        unet_step(&text, 100);
        unet_step(&text, 10 + i);
        read_text(paths[i], &text);
        text_release(&text);
    }
    finish();
    assert_int_equal(steps.group_count, 3);
    assert_int_equal(steps.groups[0].gpus, 2);
    assert_int_equal(steps.groups[0].batch, 1);
    assert_int_equal(steps.groups[1].batch, 4);
    assert_int_equal(steps.groups[2].files, 2);
    const struct steps_values *values = &steps.groups[2].events[STEPS_STEP];
    assert_int_equal(values->count, 2);
    assert_true(fabs(values->items[0] - 0.010) < 1e-12 && fabs(values->items[1] - 0.012) < 1e-12);
}

static void folders_are_read_as_a_whole(void **state)
{
    (void)state;
    struct text text = {0};
    struct error err;
    mllog_epoch(&text, 2);
    unet_step(&text, 100);
    unet_step(&text, 10);
    assert_int_equal(mkdir(in_folder("UNET3D_2g_1b"), 0700), 0);
    assert_int_equal(mkdir(in_folder("UNET3D_2g_1b/deep"), 0700), 0);
    write_bytes("UNET3D_2g_1b/unet3d.log", text.data, text.length);
    write_bytes("UNET3D_2g_1b/deep/0_output.json", "{ this is no JSON", 17); /* the log tells more */
    write_bytes("UNET3D_2g_1b/deep/summary.json", "{\"a\": [{\"b\": 1}]}", 17);
    write_bytes("UNET3D_2g_1b/deep/cpu.out", "[INFO] step_end 1\n", 18); /* no log's name */
    if (!steps_read(&steps, in_folder("UNET3D_2g_1b"), &options, &err))
        fail_msg("%s", err.text);
    finish();
    assert_int_equal(steps.files, 1);
    EXPECT(STEPS_STEP, 0.010);
    text_release(&text);
}

/* result.json tells the configuration, R_timeline.pfw of the barriers. */
static void results_of_feed_tell_of_copies_and_barriers(void **state)
{
    (void)state;
    static const char output[] =
        "{\"1\": {\"load\": {\"block1\": [1, 0.25, 0.5]}, \"proc\": {\"block1\": [3, 2, 2.5]}, "
        "\"compute\": {\"block1\": [1.5, 1.5, 1.75]}}}";
    static const char result[] =
        "{\"workload\": \"mine\", \"accelerators\": 16, \"configuration\": {\"reader\": "
        "{\"batch_size\": 7}}}";
    static const char timeline[] =
        "[\n{\"name\":\"barrier\",\"cat\":\"comm\",\"ts\":1.5,\"dur\":9000000,\"ph\":\"X\",\"args\":{"
        "\"step\":1}}\n"
        "{\"name\":\"step\",\"cat\":\"compute\",\"ts\":1,\"dur\":5,\"ph\":\"X\",\"args\":{\"step\":2}}\n"
        "{\"name\":\"barrier\",\"cat\":\"comm\",\"ts\":1,\"dur\":125000.000,\"ph\":\"X\",\"args\":{\"step\":"
        "3}}\n";
    struct error err;
    write_bytes("2_output.json", output, strlen(output));
    write_bytes("result.json", result, strlen(result));
    write_bytes("2_timeline.pfw", timeline, strlen(timeline));
    if (!steps_read(&steps, in_folder("2_output.json"), &options, &err))
        fail_msg("%s", err.text);
    finish();
    assert_string_equal(steps.workload, "mine");
    assert_int_equal(steps.groups[0].gpus, 16);
    assert_int_equal(steps.groups[0].batch, 7);
    EXPECT(STEPS_BARRIER, 0, 0.125);
    EXPECT(STEPS_COPY, 0.25, 0.25);
    EXPECT(STEPS_COMPUTE, 1.75, 2);
    EXPECT(STEPS_STEP, 2, 2.625);
    assert_int_equal(steps.malformed, 0);
}

static void a_damaged_result_is_an_error(void **state)
{
    (void)state;
    static const char output[] = "{\"1\": {\"load\": {\"block1\": [1]}, \"proc\": {\"block1\": [3]}}}";
    struct error err;
    write_bytes("5_output.json", output, strlen(output));
    write_bytes("result.json", "{\"accelerators\": ", 17);
    assert_false(steps_read(&steps, in_folder("5_output.json"), &options, &err));
    assert_non_null(strstr(err.text, "result.json:1:"));
}

static void expect_error(const char *path, const char *text, const char *message)
{
    struct error err = {0};
    bool good =
        steps_read_text(&steps, path, text, strlen(text), &options, &err) && steps_finish(&steps, &err);
    assert_false(good);
    assert_int_equal(err.kind, ERROR_INPUT);
    if (!strstr(err.text, message))
        fail_msg("'%s' instead of '%s'", err.text, message);
}

static void what_cannot_be_used_is_said(void **state)
{
    (void)state;
    expect_error("UNET3D_1g_1b", "text\n", "no times of steps were found");
    expect_error("bert", "[INFO] step_end 5\n[INFO] step_end 6\n", "lacks the number of GPUs");
    expect_error("8g", "[INFO] step_end 5\n[INFO] step_end 6\n", "lacks the batch");
    expect_error("DLRM_1g_1b", "[INFO] step_end 5\n", "no durations are left: 1 are of first steps");
    expect_error("UNET3D_1g_1b", "[INFO] step_end 5\n[INFO] step_end 6\n",
                 "of UNET3D, but the files before it are of DLRM");
    expect_error("DLRM_1g_1b", ":::MLLOG {\"key\": \"step_end\", \"value\": {\"duration\": 1}}\n",
                 "is of format MLLOG, but the files before it are of format DLIO log");
}

static void malformed_lines_are_counted_and_passed_over(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, ":::MLLOG {\"key\": \"step_end\", \"value\": {\"duration\": -5}}\n"
                    ":::MLLOG {\"key\": \"step_end\", \"value\": {\"duration\": \"long\"}}\n"
                    ":::MLLOG {\"key\": \"step_end\", \"value\": {\"duration\": 5\n"
                    ":::MLLOG nothing\n"
                    ":::MLLOG {\"value\": 3}\n");
    for (int i = 0; i < 70; i++) { /* names beyond the most there may be */
        char name[16];
        snprintf(name, sizeof name, "part_%d", i);
        mllog(&text, "", name, 1000);
    }
    mllog(&text, "", "step_end", 1000);
    mllog(&text, "", "step_end", 2000);
    size_t before = text.length;
    for (int i = 0; i < 1100000; i++)
        text_add_bytes(&text, "x", 1);
    text_add(&text, "\n");
    read_text("UNET3D_1g_1b", &text);
    finish();
    EXPECT(STEPS_STEP, 0.000002);
    assert_int_equal(steps.malformed, 5 + 70 - (STEPS_MAX_EVENTS - STEPS_KNOWN) + 1);
    assert_int_equal(steps.event_count, STEPS_MAX_EVENTS);
    assert_int_equal(steps.places.count, IMPORT_MAX_PLACES);
    assert_int_equal(steps.places.list[4].line, 5);
    assert_true(before > 0);
    text_release(&text);
}

/* The recorded run of the reference: the numbers of its R_output.json, added up another way. */
static void a_recorded_run_of_dlio(void **state)
{
    (void)state;
    char *path = reference_path("trace/raw/dlio_out"), file[4096];
    struct error err;
    double sum = 0;
    size_t count = 0;
    if (!path)
        skip();
    if (!steps_read(&steps, path, &options, &err))
        fail_msg("%s", err.text);
    finish();
    for (int rank = 0; rank < 2; rank++) {
        struct doc doc;
        snprintf(file, sizeof file, "%s/%d_output.json", path, rank);
        if (!doc_load(&doc, file, &err))
            fail_msg("%s", err.text);
        for (int epoch = 1; epoch <= 2; epoch++) {
            char key[8];
            snprintf(key, sizeof key, "%d", epoch);
            const struct doc_node *list = doc_find(doc_find(doc_find(doc.root, key), "proc"), "block1");
            assert_non_null(list);
            for (const struct doc_node *at = list->first_child->next; at; at = at->next, count++)
                sum += at->number;
        }
        doc_release(&doc);
    }
    const struct steps_values *values = &steps.groups[0].events[STEPS_STEP];
    struct steps_summary summary;
    steps_summarise(values->items, values->count, &summary);
    assert_int_equal(steps.groups[0].gpus, 2);
    assert_int_equal(steps.groups[0].batch, 4); /* from the log beside */
    assert_int_equal(values->count, count);
    assert_true(fabs(summary.mean - sum / (double)count) < 1e-12);
    free(path);
}

#define STEPS_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEPS_TEST(first_steps_and_the_first_epoch_of_unet3d_are_left_out),
        STEPS_TEST(epochs_are_told_by_lines_where_nothing_else_does),
        STEPS_TEST(lines_of_other_ranks_are_passed_over),
        STEPS_TEST(every_training_block_has_a_first_step),
        STEPS_TEST(a_list_of_objects_is_the_same_as_lines),
        STEPS_TEST(dlio_logs_tell_their_configuration),
        STEPS_TEST(the_rules_of_the_study_can_be_asked_for),
        STEPS_TEST(the_study_rounds_to_microseconds_and_waits_for_five_events),
        STEPS_TEST(a_profile_is_one_step),
        STEPS_TEST(outputs_of_dlio_hold_lists),
        STEPS_TEST(names_tell_the_configuration),
        STEPS_TEST(repeats_are_pooled_and_groups_sorted),
        STEPS_TEST(folders_are_read_as_a_whole),
        STEPS_TEST(results_of_feed_tell_of_copies_and_barriers),
        STEPS_TEST(a_damaged_result_is_an_error),
        STEPS_TEST(what_cannot_be_used_is_said),
        STEPS_TEST(malformed_lines_are_counted_and_passed_over),
        STEPS_TEST(a_recorded_run_of_dlio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
