/* How traces end, and what they hold when something is wrong. */
#include "support/capture_run.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_exit_status_is_passed_on(void **state)
{
    struct capture_run run;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "seven", 7);
    assert_true(run.report.ended);
    capture_remove(&run);
}

static void a_command_that_is_not_there_is_named(void **state)
{
    struct capture_run run;
    struct error err;
    char program[] = "/there/is/no/such";
    char *words[] = {program, NULL};
    (void)state;
    capture_make(&run);
    struct trace_capture_options options = capture_options_of(&run, words);
    options.no_bpf = true;
    assert_false(trace_capture(&options, &run.report, &err));
    assert_non_null(strstr(err.text, "/there/is/no/such"));
    capture_remove(&run);
}

static void stopping_ends_the_command_and_keeps_the_trace(void **state)
{
    struct capture_run run;
    struct error err = {.text = ""};
    char program[] = "sleep", argument[] = "1000";
    char *words[] = {program, argument, NULL};
    const atomic_bool stop = true;
    (void)state;
    capture_make(&run);
    struct trace_capture_options options = capture_options_of(&run, words);
    options.no_bpf = true;
    options.stop = &stop;
    if (!trace_capture(&options, &run.report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(run.report.status, 128 + SIGTERM);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    assert_string_equal(trace_meta(reader, "command"), "sleep 1000");
    trace_reader_free(reader);
    capture_remove(&run);
}

static double last_of(const struct capture_run *run, const char *kind, const char *source)
{
    struct error err;
    struct trace_sample sample;
    double last = -1;
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_samples(reader, &TRACE_ALL, &err);
    while (trace_next_sample(cursor, &sample)) {
        const struct trace_series_info *series = trace_series_info(reader, sample.series);
        if (strcmp(series->kind, kind) == 0 && (!source || strcmp(series->source, source) == 0))
            last = sample.value;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    return last;
}

static void the_machine_is_sampled_without_bpf(void **state)
{
    struct capture_run run;
    struct error err = {.text = ""};
    char program[] = "sh", flag[] = "-c",
         text[] = "end=$(( $(date +%s) + 2 )); while [ $(date +%s) -lt $end ]; do :; done";
    char *words[] = {program, flag, text, NULL};
    (void)state;
    capture_make(&run);
    struct trace_capture_options options = capture_options_of(&run, words);
    options.no_bpf = true;
    if (!trace_capture(&options, &run.report, &err))
        fail_msg("%s", err.text);
    assert_in_range((int)last_of(&run, "cpu.usr", "all"), 0, 100);
    assert_in_range((int)last_of(&run, "cpu.busy", "0"), 0, 100);
    assert_true(last_of(&run, "mem.available", "all") > 0);
    assert_true(last_of(&run, "net.rMB/s", "lo") >= 0);
    assert_true(last_of(&run, "process.rss", NULL) > 0);
    assert_true(last_of(&run, "process.cpu", NULL) >= 0);
    capture_remove(&run);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "act") == 0)
        return acts_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exit_status_is_passed_on),
        cmocka_unit_test(a_command_that_is_not_there_is_named),
        cmocka_unit_test(stopping_ends_the_command_and_keeps_the_trace),
        cmocka_unit_test(the_machine_is_sampled_without_bpf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
