/* Logs of runs: iterations, the steady part, and the job in them. */
#include "core/text.h"
#include "launch/log/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct run_log parses(const char *text)
{
    struct run_log log;
    struct error err;
    if (!run_log_parse(&log, "run.log", text, strlen(text), &err))
        fail_msg("%s", err.text);
    return log;
}

static void refuses(const char *text, const char *message)
{
    struct run_log log;
    struct error err;
    assert_false(run_log_parse(&log, "run.log", text, strlen(text), &err));
    if (!strstr(err.text, message))
        fail_msg("expected '%s' in '%s'", message, err.text);
    assert_null(log.steps);
}

static struct run_pace paces(const struct run_log *log, double tokens, int64_t batch)
{
    struct run_pace pace;
    struct error err;
    if (!run_log_pace(log, tokens, batch, &pace, &err))
        fail_msg("%s", err.text);
    return pace;
}

static struct run_log loads(const char *path)
{
    struct run_log log;
    struct error err;
    if (!run_log_load(&log, path, &err))
        fail_msg("%s", err.text);
    return log;
}

static struct launch_options reads_job(const struct run_log *log)
{
    struct launch_options options = {.has_run = true};
    struct error err;
    const struct launch_input input = {.path = log->path,
                                       .syntax = log->job_syntax,
                                       .data = log->job,
                                       .length = log->job_length,
                                       .is_alone = true};
    assert_non_null(log->job);
    if (!launch_read(&options, &input, &err))
        fail_msg("%s", err.text);
    return options;
}

/* The first line holds a compilation, the next two are slow, one is a checkpoint's, and one iteration was skipped. */
static void megatron_is_read(void **state)
{
    (void)state;
    struct run_log log = loads("tests/data/logs/megatron.log");
    assert_string_equal(log.software, "Megatron-LM");
    assert_int_equal(log.measure, RUN_SECONDS);
    assert_int_equal(log.count, 39);
    assert_int_equal(log.skipped, 1);
    assert_int_equal(log.devices, 64);
    assert_int_equal(log.steps[0].batch, 512);
    struct run_pace pace = paces(&log, 0, 0);
    assert_int_equal(pace.warmup, 3);
    assert_int_equal(pace.lines, 36);
    assert_true(pace.low < pace.seconds && pace.seconds < pace.high);
    assert_true(pace.low > 10.8 && pace.high < 11.0);
    run_log_release(&log);
}

static void arguments_of_megatron_are_a_job(void **state)
{
    (void)state;
    struct run_log log = loads("tests/data/logs/megatron.log");
    struct launch_options job = reads_job(&log);
    assert_int_equal(job.layers.value, 32);
    assert_int_equal(job.layers.line, 37); /* that of the log */
    assert_int_equal(job.tensor.value, 4);
    assert_int_equal(job.pipeline.value, 2);
    assert_int_equal(job.vocabulary.value, 128256);
    assert_int_equal(job.kv_heads.value, 8);
    assert_int_equal(job.biased.value, 0);
    assert_int_equal(job.recompute.value, RECOMPUTE_FULL);
    assert_false(job.experts.given);
    launch_options_release(&job);
    run_log_release(&log);
}

/* Two ranks write each line, in colours; a line of 10 steps with an evaluation does not move the median. */
static void torchtitan_is_read(void **state)
{
    (void)state;
    struct run_log log = loads("tests/data/logs/torchtitan.log");
    assert_string_equal(log.software, "torchtitan");
    assert_int_equal(log.count, 21);
    assert_int_equal(log.repeats, 21);
    assert_int_equal(log.devices, 8);
    assert_string_equal(log.gpu, "NVIDIA H100 80GB HBM3");
    struct run_pace pace = paces(&log, 16384, 0);
    assert_true(pace.seconds > 16384 / 5850.0 && pace.seconds < 16384 / 5750.0);
    struct launch_options job = reads_job(&log);
    assert_int_equal(job.rank_batch.value, 2);
    assert_int_equal(job.sequence.value, 8192);
    assert_string_equal(job.model_name, "llama-3-8b");
    launch_options_release(&job);
    run_log_release(&log);
}

/* Until 2025 the configuration was a map as Python prints it, in one line. */
static void older_torchtitan_is_read(void **state)
{
    (void)state;
    struct run_log log = loads("tests/data/logs/torchtitan-args.log");
    assert_int_equal(log.job_syntax, LAUNCH_YAML);
    struct launch_options job = reads_job(&log);
    assert_int_equal(job.rank_batch.value, 2);
    assert_int_equal(log.count, 11);
    launch_options_release(&job);
    run_log_release(&log);
}

static void deepspeed_is_read(void **state)
{
    (void)state;
    struct run_log log = loads("tests/data/logs/deepspeed.log");
    assert_string_equal(log.software, "DeepSpeed");
    assert_int_equal(log.measure, RUN_SAMPLES);
    assert_int_equal(log.devices, 8);
    struct run_pace pace = paces(&log, 0, 128);
    assert_true(pace.seconds > 128 / 7.5 && pace.seconds < 128 / 7.3);
    struct launch_options job = reads_job(&log);
    assert_int_equal(job.batch.value, 128);
    assert_int_equal(job.sharding.value, 3);
    launch_options_release(&job);
    run_log_release(&log);
}

/* SamplesPerSec is the mean since the start: 10 steps of a second each, then 10 of two. */
static void means_are_taken_apart(void **state)
{
    (void)state;
    struct run_log log = parses("[INFO] 0/10, SamplesPerSec=8.0, MemAllocated=1GB\n"
                                "[INFO] 0/20, SamplesPerSec=5.333333333333333, MemAllocated=1GB\n"
                                "[INFO] 0/30, SamplesPerSec=4.8, MemAllocated=1GB\n");
    assert_int_equal(log.count, 2);
    assert_true(log.steps[0].value > 3.999 && log.steps[0].value < 4.001);
    assert_true(log.steps[1].value > 3.999 && log.steps[1].value < 4.001);
    run_log_release(&log);
}

/* A breakdown alone is a time; beside a throughput it is not. */
static void the_best_measure_counts(void **state)
{
    (void)state;
    static const char parts[] =
        "time (ms) | forward: 100.5 | backward: 200.0 | backward_inner: 150 | step: 50.0\n";
    struct run_log log = parses(parts);
    assert_int_equal(log.count, 1);
    assert_true(log.steps[0].value > 0.35049 && log.steps[0].value < 0.35051);
    run_log_release(&log);
    char both[512];
    snprintf(both, sizeof both, "%ssteps: 1 loss: 8.1 iter time (s): 0.512 samples/sec: 62.5\n%s", parts,
             parts);
    log = parses(both);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.measure, RUN_SECONDS);
    assert_true(log.steps[0].value == 0.512);
    run_log_release(&log);
}

static void add_iteration(struct text *out, int number, double ms, int batch)
{
    text_format(out, " iteration %d/ 100 | elapsed time per iteration (ms): %.1f | global batch size: %d |\n",
                number, ms, batch);
}

static void only_the_last_batch_counts(void **state)
{
    (void)state;
    struct text text = {0};
    for (int i = 1; i <= 20; i++)
        add_iteration(&text, i, i <= 10 ? 100 : 400, i <= 10 ? 16 : 64);
    struct run_log log = parses(text.data);
    struct run_pace pace = paces(&log, 0, 0);
    assert_int_equal(pace.other_batch, 10);
    assert_true(pace.seconds == 0.4);
    run_log_release(&log);
    text_release(&text);
}

static void few_lines_are_refused(void **state)
{
    (void)state;
    struct text text = {0};
    struct run_pace pace;
    struct error err;
    for (int i = 1; i <= RUN_LOG_MIN_LINES; i++) /* one of them is the warm-up */
        add_iteration(&text, i, 100, 16);
    struct run_log log = parses(text.data);
    assert_false(run_log_pace(&log, 0, 0, &pace, &err));
    assert_non_null(
        strstr(err.text, "4 lines about iterations of Megatron-LM after the warm-up, expected at least 5"));
    run_log_release(&log);
    text_release(&text);
}

static void bad_lines_are_named(void **state)
{
    (void)state;
    refuses("hello\n", "run.log: no iteration with its time");
    refuses("\n iteration 1/ 9 | elapsed time per iteration (ms): quick |\n",
            "run.log:2: the time of an iteration is not a positive number: 'iteration 1/ 9");
    refuses(" iteration 1/ 9 | elapsed time per iteration (ms): -3 |\n", "run.log:1: ");
    refuses("step: 1 loss: 2 tps: 0\n", "run.log:1: ");
    refuses("step: 1 loss: 2 tps: nan\n", "run.log:1: ");
}

/* Launchers put the same before each line, and the arguments' columns behind it. */
static void tags_of_launchers_are_passed_over(void **state)
{
    (void)state;
    static const char *const tags[] = {"", "[default3]:", "[1,0]<stdout>:", "[1,12]<stderr>:", " 0:"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        char text[400];
        const char *t = tags[i];
        snprintf(text, sizeof text,
                 "%s ------------------------ arguments ------------------------\n"
                 "%s   hidden_size ..................................... 4096\n"
                 "%s -------------------- end of arguments ---------------------\n"
                 "%s iteration 1/ 9 | elapsed time per iteration (ms): 500.0 |\n",
                 t, t, t, t);
        struct run_log log = parses(text);
        assert_int_equal(log.count, 1);
        assert_non_null(log.job);
        assert_non_null(strstr(log.job, "--hidden_size '4096' "));
        run_log_release(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron_is_read),
        cmocka_unit_test(arguments_of_megatron_are_a_job),
        cmocka_unit_test(torchtitan_is_read),
        cmocka_unit_test(older_torchtitan_is_read),
        cmocka_unit_test(deepspeed_is_read),
        cmocka_unit_test(means_are_taken_apart),
        cmocka_unit_test(the_best_measure_counts),
        cmocka_unit_test(only_the_last_batch_counts),
        cmocka_unit_test(few_lines_are_refused),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(tags_of_launchers_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
