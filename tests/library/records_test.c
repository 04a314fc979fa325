/* Recorded runs, pictures and pages, through the library's header alone. */
#include "records.h"

#include "caller.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *fast, *slow; /* traces; NULL: the library is without */

static int make_traces(void **state)
{
    (void)state;
    fast = records_trace("fast.db", 10);
    slow = records_trace("slow.db", 900);
    return 0;
}

static void need_traces(void)
{
    if (!fast || !slow)
        skip();
}

static int64_t whole(const rh_handle *handle, const char *name, int64_t index)
{
    struct rh_array array;
    if (!rh_get(handle, name, &array) || index >= array.shape[0])
        fail_msg("there is no %s", name);
    const void *at = (const char *)array.data + index * array.stride[0];
    return array.type == 'i' ? *(const int *)at : *(const int64_t *)at;
}

static const char *word(const rh_handle *handle, const char *name, int64_t index)
{
    struct rh_array array;
    if (!rh_get(handle, name, &array) || array.type != 's' || index >= array.shape[0])
        fail_msg("there is no %s", name);
    return *(const char *const *)((const char *)array.data + index * array.stride[0]);
}

static int64_t length_of(const rh_handle *handle, const char *name)
{
    struct rh_array array;
    assert_true(rh_get(handle, name, &array));
    return array.shape[0];
}

static void assert_text(const rh_handle *handle, const char *form, const char *part)
{
    struct rh_text text;
    struct rh_error error;
    if (!rh_write(handle, form, &text, &error))
        fail_msg("%s", error.text);
    if (!strstr(text.data, part))
        fail_msg("no '%s' in: %s", part, text.data);
    rh_text_free(&text);
}

/* ---- traces ---- */

static void a_trace_is_shown_with_its_rows(void **state)
{
    (void)state;
    need_traces();
    struct rh_trace_show_request request = RH_INIT(request);
    struct rh_error error;
    request.trace = fast;
    rh_report *report = rh_trace_show(&request, NULL, &error);
    assert_non_null(report);
    assert_false(rh_get(report, "events.start_ns", NULL));
    assert_text(report, "json", "\"rehearse-trace-summary/1\"");
    assert_text(report, "text", "/out/model");
    rh_free(report);
    request.keep_rows = true;
    report = rh_trace_show(&request, NULL, &error);
    assert_int_equal(length_of(report, "events.start_ns"), 51);
    assert_int_equal(whole(report, "events.start_ns", 1) - whole(report, "events.start_ns", 0), 1000000);
    assert_int_equal(whole(report, "events.latency_ns", 3), 10000);
    assert_int_equal(whole(report, "events.result", 50), 65536);
    assert_string_equal(word(report, "class_names", whole(report, "events.class", 50)), "write");
    assert_string_equal(word(report, "file_paths", whole(report, "events.file", 50) - 1), "/out/model");
    assert_int_equal(whole(report, "processes.pid", whole(report, "events.process", 0) - 1), 7);
    assert_int_equal(whole(report, "classes.calls", 0), 50);
    rh_free(report);
    request.path = "/out/*";
    report = rh_trace_show(&request, NULL, &error);
    assert_int_equal(length_of(report, "events.start_ns"), 1);
    rh_free(report);
    request.path = "/nowhere/*";
    assert_null(rh_trace_show(&request, NULL, &error));
    assert_int_equal(error.code, RH_INPUT);
}

static void a_trace_is_written_for_other_tools(void **state)
{
    (void)state;
    need_traces();
    struct rh_trace_export_request request = RH_INIT(request);
    struct rh_error error;
    char line[256] = "";
    request.trace = fast;
    request.format = "csv";
    request.output = records_path("calls.csv");
    rh_report *report = rh_trace_export(&request, NULL, &error);
    assert_non_null(report);
    FILE *file = fopen(request.output, "r");
    assert_non_null(file);
    for (int i = 0; i < 2; i++)
        assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_non_null(strstr(line, "read"));
    rh_free(report);
    request.format = "tape";
    assert_null(rh_trace_export(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request.format = NULL;
    assert_null(rh_trace_export(&request, NULL, &error));
    assert_string_equal(error.text, "'format' is missing");
}

static void phases_are_found(void **state)
{
    (void)state;
    need_traces();
    struct rh_trace_phases_request request = RH_INIT(request);
    struct rh_error error;
    request.trace = fast;
    rh_report *report = rh_trace_phases(&request, NULL, &error);
    assert_non_null(report);
    assert_text(report, "json", "\"rehearse-trace-phases/1\"");
    assert_int_equal(length_of(report, "phases.name"), length_of(report, "phases.start_ns"));
    rh_free(report);
}

static void a_command_is_recorded(void **state)
{
    (void)state;
    need_traces();
    static const char *const words[] = {"sh", "-c", "exit 3"};
    struct rh_trace_request request = RH_INIT(request);
    struct rh_error error;
    request.no_bpf = true;
    request.output = records_path("recorded.db");
    assert_null(rh_trace(&request, NULL, &error)); /* nothing to trace */
    assert_int_equal(error.code, RH_USAGE);
    request.command = (struct rh_list){words, 3};
    rh_report *report = rh_trace(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(rh_number(report, "complete") == 1);
    assert_true(rh_number(report, "status") == 3);
    rh_free(report);
    assert_null(rh_trace(&request, NULL, &error)); /* an existing trace is kept */
}

/* A stop ends what is recorded; the trace is whole, and an answer. */
static void a_stop_ends_a_recording_in_order(void **state)
{
    (void)state;
    need_traces();
    static const char *const words[] = {"sleep", "600"};
    struct rh_trace_request request = RH_INIT(request);
    struct rh_trace_show_request show = RH_INIT(show);
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    request.no_bpf = true;
    request.output = records_path("stopped.db");
    request.command = (struct rh_list){words, 2};
    call.stop = rh_stop_new();
    rh_stop_request(call.stop);
    assert_null(rh_trace(&request, &call, &error)); /* before it began */
    assert_int_equal(error.code, RH_STOPPED);
    rh_stop_free(call.stop);
    assert_int_equal(access(request.output, F_OK), -1);
}

/* ---- comparisons ---- */

static void two_traces_are_compared(void **state)
{
    (void)state;
    need_traces();
    const char *traces[] = {fast, slow};
    struct rh_compare_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array values, weights;
    double sum = 0.0, total = 0.0;
    request.traces = (struct rh_list){traces, 2};
    request.replicates = RH_ZERO;
    rh_report *report = rh_compare(&request, NULL, &error);
    assert_non_null(report);
    assert_true(rh_get(report, "components.similarity", &values));
    assert_true(rh_get(report, "components.weight", &weights));
    for (int64_t i = 0; i < values.shape[0]; i++) {
        double weight = *(const double *)((const char *)weights.data + i * weights.stride[0]);
        sum += weight;
        total += weight * *(const double *)((const char *)values.data + i * values.stride[0]);
    }
    assert_true(fabs(sum - 1.0) < 1e-9);
    assert_true(fabs(total - rh_number(report, "similarity")) < 1e-9);
    assert_true(rh_number(report, "similarity") < 1.0);
    assert_true(isnan(rh_number(report, "low"))); /* no bootstrap was asked for */
    assert_int_equal(length_of(report, "components.kind"), length_of(report, "components.name"));
    assert_text(report, "json", "\"rehearse-comparison/1\"");
    rh_free(report);
    traces[1] = fast;
    report = rh_compare(&request, NULL, &error);
    assert_true(rh_number(report, "similarity") == 1.0);
    rh_free(report);
    request.traces.count = 1;
    assert_null(rh_compare(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request.traces.count = 2;
    request.weights = (struct rh_list){&(const char *){"weather=3"}, 1};
    assert_null(rh_compare(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
}

static void pairs_of_many_are_lists(void **state)
{
    (void)state;
    need_traces();
    const char *const traces[] = {fast, slow, fast};
    struct rh_compare_request request = RH_INIT(request);
    struct rh_array values;
    struct rh_error error;
    request.traces = (struct rh_list){traces, 3};
    request.replicates = RH_ZERO;
    rh_report *report = rh_compare(&request, NULL, &error);
    assert_true(rh_get(report, "pairs.similarity", &values));
    assert_int_equal(values.shape[0], 3);
    assert_true(*(const double *)((const char *)values.data + values.stride[0]) == 1.0); /* fast and fast */
    assert_string_equal(word(report, "pairs.b", 0), "slow");
    rh_free(report);
}

/* ---- pictures and pages ---- */

static bool has_gnuplot(void)
{
    return system("gnuplot --version >/dev/null 2>&1") == 0;
}

static void a_picture_is_an_answer_or_a_file(void **state)
{
    (void)state;
    need_traces();
    struct rh_figure_timeline_request request = RH_INIT(request);
    struct rh_error error;
    struct stat found;
    if (!has_gnuplot())
        skip();
    request.trace = fast;
    rh_handle *figure = rh_figure_timeline(&request, NULL, &error);
    if (!figure)
        fail_msg("%s", error.text);
    assert_string_equal(rh_kind(figure), "figure");
    assert_text(figure, "svg", "<svg");
    rh_free(figure);
    request.output = records_path("timeline.svg");
    figure = rh_figure_timeline(&request, NULL, &error);
    assert_non_null(figure);
    assert_string_equal(rh_string(figure, "output"), request.output);
    rh_free(figure);
    assert_int_equal(stat(request.output, &found), 0);
    assert_true(found.st_size > 1000);
    request.output = "timeline.bmp";
    assert_null(rh_figure_timeline(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
}

static void a_plan_that_was_found_is_drawn(void **state)
{
    (void)state;
    struct rh_plan_request plan = RH_INIT(plan);
    struct rh_figure_plan_request request = RH_INIT(request);
    struct rh_error error;
    assert_null(rh_figure_plan(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    if (!has_gnuplot())
        skip();
    plan.model = "llama-3-8b";
    plan.device = "h100";
    plan.devices = "8";
    plan.global_batch = "64";
    rh_plan *found = rh_plan_find(&plan, NULL, NULL);
    request.from = found;
    rh_handle *figure = rh_figure_plan(&request, NULL, &error);
    if (!figure)
        fail_msg("%s", error.text);
    assert_text(figure, "svg", "llama-3-8b");
    rh_free(figure);
    rh_free(found);
}

static void steps_are_lists(void **state)
{
    (void)state;
    const char *const log = records_log();
    struct rh_figure_steps_request request = RH_INIT(request);
    struct rh_error error;
    request.folders = (struct rh_list){&log, 1};
    request.skip_epochs = RH_ZERO;
    rh_report *report = rh_figure_steps(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_int_equal(whole(report, "gpus", 0), 8);
    assert_int_equal(whole(report, "batch", 0), 4);
    assert_text(report, "json", "\"rehearse-steps/1\"");
    bool found = false;
    for (int i = 0; rh_name(report, i); i++)
        found = found || strcmp(rh_name(report, i), "groups.0.step_end") == 0;
    assert_true(found);
    rh_free(report);
}

static int warnings;

static void count_warning(void *user, const char *text)
{
    (void)user;
    warnings += strstr(text, "not in the report: ") != NULL;
}

static void a_folder_becomes_a_page(void **state)
{
    (void)state;
    struct rh_report_request request = RH_INIT(request);
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    char folder[512];
    const char *plan = caller_write("page.json", caller_profile);
    caller_write("page.yaml", "{");
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(plan, '/') - plan), plan);
    call.warning = count_warning;
    request.folder = folder;
    request.output = records_path("page.html");
    request.title = "A page of a test";
    rh_report *page = rh_report_make(&request, &call, &error);
    if (!page)
        fail_msg("%s", error.text);
    assert_text(page, "html", "A page of a test");
    assert_text(page, "json", "\"rehearse-report/1\"");
    assert_true(length_of(page, "files.path") >= 2);
    assert_true(warnings > 0);
    rh_free(page);
    request.folder = "/no/such/folder";
    assert_null(rh_report_make(&request, NULL, &error));
    assert_int_equal(error.code, RH_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_shown_with_its_rows),
        cmocka_unit_test(a_trace_is_written_for_other_tools),
        cmocka_unit_test(phases_are_found),
        cmocka_unit_test(a_command_is_recorded),
        cmocka_unit_test(a_stop_ends_a_recording_in_order),
        cmocka_unit_test(two_traces_are_compared),
        cmocka_unit_test(pairs_of_many_are_lists),
        cmocka_unit_test(a_picture_is_an_answer_or_a_file),
        cmocka_unit_test(a_plan_that_was_found_is_drawn),
        cmocka_unit_test(steps_are_lists),
        cmocka_unit_test(a_folder_becomes_a_page),
    };
    return cmocka_run_group_tests(tests, make_traces, NULL);
}
