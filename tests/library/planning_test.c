/* Plans, checks and simulations, as another program asks for them. */
#include "rehearse.h"

#include "caller.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static rh_profile *priced(void)
{
    struct rh_cost_request request = RH_INIT(request);
    request.model = "gpt2-xl";
    request.devices = "h100";
    return rh_cost(&request, NULL, NULL);
}

static const char cluster_text[] = "groups: [{device: gpu, nodes: 2, devices_per_node: 1}]\n";

static struct rh_plan_request toy_request(void)
{
    struct rh_plan_request request = RH_INIT(request);
    request.profile = caller_write("toy.json", caller_profile);
    request.cluster = caller_write("toy.yaml", cluster_text);
    request.microbatches = 4;
    return request;
}

static int64_t whole(const rh_handle *handle, const char *name, int64_t at)
{
    struct rh_array array;
    if (!rh_get(handle, name, &array) || array.dimensions != 1 || at >= array.shape[0])
        fail_msg("no %s[%d]", name, (int)at);
    const char *data = (const char *)array.data + at * array.stride[0];
    return array.type == 'i' ? *(const int *)data : *(const int64_t *)(const void *)data;
}

static void a_pipeline_is_found_and_read(void **state)
{
    (void)state;
    struct rh_plan_request request = toy_request();
    struct rh_error error;
    struct rh_text json;
    rh_plan *plan = rh_plan_find(&request, NULL, &error);
    if (!plan)
        fail_msg("%s", error.text);
    /* stages of 6 and 6 seconds: 12 + 3 x 6 */
    assert_true(fabs(rh_number(plan, "iteration_time") - 30.0) < 1e-9);
    assert_true(rh_number(plan, "proven") == 1.0);
    assert_true(rh_number(plan, "gap") < 1e-12);
    assert_string_equal(rh_string(plan, "objective"), "pipeline");
    assert_int_equal(whole(plan, "pipelines.stages", 0), 2);
    assert_int_equal(whole(plan, "stages.last_layer", 0), 1);
    assert_int_equal(whole(plan, "stages.first_layer", 1), 2);
    assert_true(rh_write(plan, "json", &json, NULL));
    assert_non_null(strstr(json.data, "\"format\": \"rehearse-plan/2\""));
    rh_text_free(&json);
    assert_false(rh_write(plan, "emit", &json, &error));
    rh_free(plan);
    request.microbatches = RH_ZERO; /* three for each stage */
    plan = rh_plan_find(&request, NULL, &error);
    assert_non_null(plan);
    rh_free(plan);
}

static struct rh_plan_request job_request(void)
{
    struct rh_plan_request request = RH_INIT(request);
    request.model = "llama-3-8b";
    request.device = "h100";
    request.devices = "16";
    request.global_batch = "128";
    return request;
}

static void a_job_is_found_and_emitted(void **state)
{
    (void)state;
    struct rh_plan_request request = job_request(), again = RH_INIT(again);
    struct rh_error error;
    struct rh_text first, second;
    request.emit = "megatron";
    rh_plan *plan = rh_plan_find(&request, NULL, &error);
    if (!plan)
        fail_msg("%s", error.text);
    assert_string_equal(rh_string(plan, "model"), "llama-3-8b");
    assert_true(rh_number(plan, "global_batch") == 128.0);
    assert_true(rh_number(plan, "low") < rh_number(plan, "high"));
    assert_true(rh_write(plan, "emit", &first, &error));
    /* the same from the plan alone */
    again.from = plan;
    again.emit = "megatron";
    rh_plan *copy = rh_plan_find(&again, NULL, &error);
    if (!copy)
        fail_msg("%s", error.text);
    rh_free(plan);
    assert_true(rh_write(copy, "emit", &second, &error));
    assert_string_equal(first.data, second.data);
    rh_text_free(&first);
    rh_text_free(&second);
    again.top = 3;
    again.from = copy;
    assert_null(rh_plan_find(&again, NULL, &error));
    assert_string_equal(error.text, "plan: '--top' is for searching and cannot be combined with --plan");
    rh_free(copy);
    rh_profile *profile = priced();
    again = (struct rh_plan_request){.size = sizeof again, .from = profile};
    assert_null(rh_plan_find(&again, NULL, &error));
    assert_string_equal(error.text, "from: expected a plan, found a profile");
    rh_free(profile);
}

static void ranges_are_sweeps(void **state)
{
    (void)state;
    struct rh_plan_request request = job_request();
    struct rh_error error;
    struct rh_text csv;
    struct rh_array times;
    request.devices = "8,16";
    request.form = "csv";
    rh_sweep *sweep = rh_plan_find(&request, NULL, &error);
    if (!sweep)
        fail_msg("%s", error.text);
    assert_string_equal(rh_kind(sweep), "sweep");
    assert_int_equal(whole(sweep, "devices", 1), 16);
    assert_true(rh_get(sweep, "iteration_time", &times));
    assert_int_equal(times.shape[0], 2);
    assert_true(((const double *)times.data)[0] > ((const double *)times.data)[1]);
    assert_true(rh_write(sweep, "csv", &csv, &error));
    assert_non_null(strstr(csv.data, "iteration_time"));
    rh_text_free(&csv);
    rh_free(sweep);
    request.devices = "16";
    assert_null(rh_plan_find(&request, NULL, &error)); /* a single plan is no table */
    assert_int_equal(error.code, RH_USAGE);
}

static void plans_are_checked(void **state)
{
    (void)state;
    struct rh_plan_request request = job_request();
    struct rh_check_request check = RH_INIT(check);
    struct rh_error error;
    struct rh_array values;
    const char *files[] = {caller_write("found.json", ""), caller_write("again.json", "")};
    request.output = files[0];
    rh_free(rh_plan_find(&request, NULL, &error));
    request.output = files[1];
    rh_free(rh_plan_find(&request, NULL, &error));
    check.plans = (struct rh_list){files, 2};
    rh_report *report = rh_check_plan(&check, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(rh_get(report, "excess", &values));
    assert_int_equal(values.shape[0], 2);
    assert_true(fabs(*(const double *)((const char *)values.data + values.stride[0])) < 1e-9);
    assert_true(rh_get(report, "file", &values));
    assert_string_equal(*(const char *const *)values.data, files[0]);
    rh_free(report);
    check.plans.count = 0;
    assert_null(rh_check_plan(&check, NULL, &error));
    assert_string_equal(error.text, "'plan' is missing");
}

static void plans_that_cannot_be_are_infeasible(void **state)
{
    (void)state;
    struct rh_plan_request request = job_request();
    struct rh_error error;
    request.model = "llama-3.1-405b";
    request.devices = "1";
    assert_null(rh_plan_find(&request, NULL, &error));
    assert_int_equal(error.code, RH_INFEASIBLE);
    request = toy_request();
    request.global_batch = "x";
    assert_null(rh_plan_find(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
}

static void templates_are_found(void **state)
{
    (void)state;
    struct rh_plan_request toy = toy_request();
    struct rh_templates_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array times;
    request.profile = toy.profile;
    request.cluster = toy.cluster;
    request.microbatches = 4;
    rh_report *report = rh_templates(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_int_equal(whole(report, "nodes", 1), 2);
    assert_true(rh_get(report, "iteration_time", &times));
    assert_true(fabs(((const double *)times.data)[0] - 4 * 12.0) < 1e-9);
    assert_true(fabs(((const double *)times.data)[1] - 30.0) < 1e-9);
    rh_free(report);
    request.nodes = "2..1";
    assert_null(rh_templates(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request.nodes = "1..3";
    assert_null(rh_templates(&request, NULL, &error));
    assert_string_equal(error.text, "--nodes: the cluster has 2 nodes, found 3");
}

/* ---- simulation ---- */

static void a_plan_is_played(void **state)
{
    (void)state;
    struct rh_plan_request request = job_request();
    struct rh_simulate_request play = RH_INIT(play);
    struct rh_error error;
    struct rh_array begins, ends, kinds;
    rh_plan *plan = rh_plan_find(&request, NULL, &error);
    play.from = plan;
    play.keep_tasks = true;
    rh_report *run = rh_simulate(&play, NULL, &error);
    if (!run)
        fail_msg("%s", error.text);
    double seconds = rh_number(run, "iteration_time");
    assert_true(fabs(seconds / rh_number(plan, "iteration_time") - 1.0) < 0.2);
    assert_true(rh_get(run, "tasks.begin", &begins));
    assert_true(rh_get(run, "tasks.end", &ends));
    assert_true(rh_get(run, "tasks.kind", &kinds));
    assert_true(begins.shape[0] > 10);
    double last = 0.0;
    for (int64_t i = 0; i < begins.shape[0]; i++) {
        double begin = *(const double *)(const void *)((const char *)begins.data + i * begins.stride[0]);
        double end = *(const double *)(const void *)((const char *)ends.data + i * ends.stride[0]);
        assert_true(0.0 <= begin && begin <= end);
        last = fmax(last, end);
    }
    assert_true(last <= rh_number(run, "makespan") * (1.0 + 1e-9));
    assert_non_null(*(const char *const *)kinds.data);
    assert_true(rh_get(run, "devices.peak", &ends));
    rh_free(run);
    play.keep_tasks = false;
    run = rh_simulate(&play, NULL, &error);
    assert_non_null(run);
    assert_false(rh_get(run, "tasks.begin", NULL));
    rh_free(run);
    play.stages = 4;
    assert_null(rh_simulate(&play, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    rh_free(plan);
}

static void two_plans_are_refused(void **state)
{
    (void)state;
    struct rh_plan_request request = job_request();
    struct rh_simulate_request play = RH_INIT(play);
    struct rh_sweep_request sweep = RH_INIT(sweep);
    struct rh_feed_request feed = RH_INIT(feed);
    struct rh_error error;
    rh_plan *plan = rh_plan_find(&request, NULL, &error);
    assert_non_null(plan);
    request.from = play.from = sweep.from = feed.from = plan;
    request.plan = play.plan = sweep.plan = feed.plan = "no-file.json";
    assert_null(rh_plan_find(&request, NULL, &error));
    assert_string_equal(error.text, "plan: `from` and 'no-file.json' both give a plan: choose one");
    assert_null(rh_simulate(&play, NULL, &error));
    assert_string_equal(error.text, "simulate: `from` and 'no-file.json' both give a plan: choose one");
    assert_null(rh_sweep_plans(&sweep, NULL, &error));
    assert_string_equal(error.text, "sweep: `from` and 'no-file.json' both give a plan: choose one");
    assert_null(rh_feed(&feed, NULL, &error));
    assert_string_equal(error.text, "feed: `from` and 'no-file.json' both give a plan: choose one");
    rh_free(plan);
}

static void a_schedule_is_played(void **state)
{
    (void)state;
    struct rh_simulate_request play = RH_INIT(play);
    struct rh_error error;
    assert_null(rh_simulate(&play, NULL, &error));
    assert_string_equal(error.text, "simulate: a plan is missing, or --schedule NAME, or --compare");
    play.schedule = "gpipe";
    play.stages = 4;
    play.microbatches = 8;
    rh_report *run = rh_simulate(&play, NULL, &error);
    if (!run)
        fail_msg("%s", error.text);
    /* (4 - 1) / (8 + 4 - 1) of the time */
    assert_true(fabs(rh_number(run, "bubble") - 3.0 / 11.0) < 1e-9);
    rh_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_is_found_and_read),
        cmocka_unit_test(a_job_is_found_and_emitted),
        cmocka_unit_test(ranges_are_sweeps),
        cmocka_unit_test(plans_are_checked),
        cmocka_unit_test(plans_that_cannot_be_are_infeasible),
        cmocka_unit_test(templates_are_found),
        cmocka_unit_test(a_plan_is_played),
        cmocka_unit_test(two_plans_are_refused),
        cmocka_unit_test(a_schedule_is_played),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
