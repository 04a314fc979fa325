/* Sweeps and losses of nodes, as another program asks for them. */
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

/* ---- sweeps ---- */

static struct rh_sweep_request sweep_request(void)
{
    struct rh_sweep_request request = RH_INIT(request);
    request.model = "llama-3-8b";
    request.device = "h100";
    request.devices = "8,16";
    request.global_batch = "64";
    request.schedule = "plan,gpipe";
    return request;
}

static const char *const fast_link[] = {"across=1,4"};

static void models_are_swept(void **state)
{
    (void)state;
    struct rh_sweep_request request = sweep_request();
    struct rh_error error;
    request.link = (struct rh_list){fast_link, 1};
    rh_sweep *sweep = rh_sweep_plans(&request, NULL, &error);
    if (!sweep)
        fail_msg("%s", error.text);
    assert_string_equal(rh_kind(sweep), "sweep");
    assert_true(caller_value(sweep, "devices", 0) == 8.0 && caller_value(sweep, "devices", 7) == 16.0);
    assert_string_equal(caller_word(sweep, "schedule", 2), "gpipe");
    assert_true(caller_value(sweep, "across", 1) == 4.0);
    /* more devices, and a faster link between nodes, take no longer */
    assert_true(caller_value(sweep, "iteration_time", 4) < caller_value(sweep, "iteration_time", 0));
    assert_true(caller_value(sweep, "iteration_time", 5) <= caller_value(sweep, "iteration_time", 4));
    caller_check_forms(sweep, "\"rehearse-simulation-sweep/1\"");
    rh_free(sweep);
}

static void plans_are_swept_from_memory(void **state)
{
    (void)state;
    struct rh_plan_request find = RH_INIT(find);
    struct rh_sweep_request request = RH_INIT(request);
    struct rh_error error;
    find.model = "llama-3-8b";
    find.device = "h100";
    find.devices = "16";
    find.global_batch = "128";
    const char *path = caller_write("swept.json", "");
    find.output = path;
    rh_plan *plan = rh_plan_find(&find, NULL, &error);
    if (!plan)
        fail_msg("%s", error.text);
    request.from = plan;
    request.global_batch = "128..512";
    rh_sweep *sweep = rh_sweep_plans(&request, NULL, &error);
    if (!sweep)
        fail_msg("%s", error.text);
    rh_free(plan);
    request.from = NULL;
    request.plan = path;
    rh_sweep *same = rh_sweep_plans(&request, NULL, &error);
    if (!same)
        fail_msg("%s", error.text);
    for (int i = 0; i < 3; i++)
        assert_true(caller_value(sweep, "iteration_time", i) == caller_value(same, "iteration_time", i));
    request.from = sweep;
    assert_null(rh_sweep_plans(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request.plan = NULL;
    assert_null(rh_sweep_plans(&request, NULL, &error));
    assert_string_equal(error.text, "from: expected a plan, found a sweep");
    rh_free(sweep);
    rh_free(same);
}

static void wrong_sweeps_are_refused(void **state)
{
    (void)state;
    static const char *const slow[] = {"across=0"};
    struct rh_sweep_request request = RH_INIT(request);
    struct rh_error error;
    assert_null(rh_sweep_plans(&request, NULL, &error));
    assert_string_equal(error.text, "sweep: expected a PLAN or --model NAME");
    request = sweep_request();
    request.link = (struct rh_list){slow, 1};
    assert_null(rh_sweep_plans(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request = sweep_request();
    request.schedule = "backwards";
    assert_null(rh_sweep_plans(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request = sweep_request();
    request.model = "llama-3.1-405b";
    request.devices = "1";
    assert_null(rh_sweep_plans(&request, NULL, &error));
    assert_int_equal(error.code, RH_INFEASIBLE);
}

/* ---- losses of nodes ---- */

/* Templates of six equal nodes, and their cluster. */
static const char *templates_of_six(const char **cluster)
{
    struct rh_templates_request request = RH_INIT(request);
    struct rh_error error;
    const char *path = caller_write("templates.json", "");
    request.profile = caller_write("toy.json", caller_profile);
    request.cluster = *cluster =
        caller_write("six.yaml", "groups: [{device: gpu, nodes: 6, devices_per_node: 1}]\n"
                                 "inter_node: {bandwidth: 25 Gb/s, latency: 15 us}\n");
    request.microbatches = 12;
    request.output = path;
    rh_report *report = rh_templates(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    rh_free(report);
    return path;
}

static void lost_nodes_are_answered(void **state)
{
    (void)state;
    const char *cluster, *const files[] = {templates_of_six(&cluster)}, *const lost[] = {"0"},
                                *const back[] = {"0"};
    struct rh_elastic_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array losses;
    request.plans = (struct rh_list){files, 1};
    request.lose = (struct rh_list){lost, 1};
    request.back = (struct rh_list){back, 1};
    request.losses = true;
    request.cluster = cluster;
    rh_report *report = rh_elastic(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(rh_number(report, "proven") == 1.0);
    assert_true(rh_number(report, "lower_bound") == rh_number(report, "iteration_time"));
    assert_string_equal(caller_word(report, "events.what", 1), "return");
    assert_true(caller_value(report, "events.iteration_time", 0) >= rh_number(report, "iteration_time"));
    assert_true(caller_value(report, "events.nodes.ends", 0) == 1.0);
    assert_true(rh_get(report, "losses.alike", &losses));
    double nodes = 0.0;
    for (int64_t i = 0; i < losses.shape[0]; i++)
        nodes += caller_value(report, "losses.alike", i);
    assert_true(nodes == 6.0);
    caller_check_forms(report, "\"rehearse-elastic/1\"");
    rh_free(report);
    request.faults = 6;
    assert_null(rh_elastic(&request, NULL, &error));
    assert_int_equal(error.code, RH_INFEASIBLE);
}

/* Sets of templates and plans need no file in between. */
static void handles_lose_nodes_as_files_do(void **state)
{
    (void)state;
    const char *cluster, *const files[] = {templates_of_six(&cluster)}, *const lost[] = {"0"};
    struct rh_elastic_request request = RH_INIT(request);
    struct rh_templates_request templates = RH_INIT(templates);
    struct rh_error error;
    request.plans = (struct rh_list){files, 1};
    request.lose = (struct rh_list){lost, 1};
    request.cluster = cluster;
    rh_report *by_file = rh_elastic(&request, NULL, &error);
    templates.profile = caller_write("toy.json", caller_profile);
    templates.cluster = cluster;
    templates.microbatches = 12;
    rh_report *set = rh_templates(&templates, NULL, &error);
    assert_true(by_file && set);
    const rh_handle *const handles[] = {set, NULL};
    request.plans.count = 0;
    request.from = (struct rh_handles){handles, 1};
    rh_report *by_handle = rh_elastic(&request, NULL, &error);
    if (!by_handle)
        fail_msg("%s", error.text);
    const char *const values[] = {"iteration_time", "lower_bound", "instances", "nodes_used"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_true(rh_number(by_file, values[i]) == rh_number(by_handle, values[i]));
    assert_true(caller_value(by_file, "events.iteration_time", 0) ==
                caller_value(by_handle, "events.iteration_time", 0));
    rh_free(by_file);
    request.from.count = 2;
    assert_null(rh_elastic(&request, NULL, &error));
    assert_string_equal(error.text, "from: handle 2 of 2 is missing");
    const rh_handle *const wrong[] = {by_handle};
    request.from = (struct rh_handles){wrong, 1};
    assert_null(rh_elastic(&request, NULL, &error)); /* a report of something else */
    assert_int_equal(error.code, RH_INPUT);
    rh_free(set);
    rh_free(by_handle);
}

static void a_plan_loses_nodes(void **state)
{
    (void)state;
    const char *const lost[] = {"3"};
    struct rh_plan_request find = RH_INIT(find);
    struct rh_elastic_request request = RH_INIT(request);
    struct rh_error error;
    find.model = "gpt2-xl";
    find.device = "h100";
    find.devices = "32";
    find.global_batch = "128";
    rh_plan *plan = rh_plan_find(&find, NULL, &error);
    assert_non_null(plan);
    const rh_handle *const handles[] = {plan};
    request.from = (struct rh_handles){handles, 1};
    request.lose = (struct rh_list){lost, 1};
    request.optimizer = "replicated"; /* each pipeline has all states */
    rh_report *report = rh_elastic(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(caller_value(report, "events.nodes.ends", 0) == 1.0);
    rh_free(report);
    request.lose.count = 0; /* no events: their lists are empty */
    report = rh_elastic(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    struct rh_array downtimes;
    assert_true(rh_get(report, "events.downtime", &downtimes) && downtimes.shape[0] == 0);
    rh_free(report);
    request.from = (struct rh_handles){NULL, 1};
    assert_null(rh_elastic(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    rh_free(plan);
}

static void failures_are_played(void **state)
{
    (void)state;
    const char *const names[] = {"restart,oobleck"};
    struct rh_elastic_request request = RH_INIT(request);
    struct rh_error error;
    request.rate = "rsc-1";
    request.nodes = 64;
    request.stages = 4;
    request.repair = 6 * 3600;
    request.seeds = 2;
    request.policies = (struct rh_list){names, 1};
    rh_report *report = rh_elastic(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_string_equal(caller_word(report, "policies.name", 0), "restart");
    assert_true(caller_value(report, "policies.goodput", 1) > caller_value(report, "policies.goodput", 0));
    assert_true(caller_value(report, "policies.low", 0) <= caller_value(report, "policies.high", 0));
    double sum = 0.0;
    for (int i = 0; rh_name(report, i); i++)
        if (strncmp(rh_name(report, i), "policies.share_", 15) == 0)
            sum += caller_value(report, rh_name(report, i), 0);
    assert_true(fabs(sum - 1.0) < 1e-9);
    caller_check_forms(report, "\"rehearse-goodput/1\"");
    rh_free(report);
}

static void wrong_failures_are_refused(void **state)
{
    (void)state;
    static const char *const lost[] = {"0"};
    struct rh_elastic_request request = RH_INIT(request);
    struct rh_error error;
    assert_null(rh_elastic(&request, NULL, &error));
    assert_string_equal(error.text, "elastic: expected a plan, or one of --failures, --rate and --mtbf");
    request.seeds = 3;
    assert_null(rh_elastic(&request, NULL, &error));
    assert_string_equal(error.text, "--seeds needs --failures FILE or --rate R or --mtbf TIME");
    request.rate = "rsc-1";
    request.lose = (struct rh_list){lost, 1};
    assert_null(rh_elastic(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request = (struct rh_elastic_request){.size = sizeof request, .rate = "often", .nodes = 4};
    assert_null(rh_elastic(&request, NULL, &error));
    assert_non_null(strstr(error.text, "--rate: expected losses per 1000 node-days"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_swept),
        cmocka_unit_test(plans_are_swept_from_memory),
        cmocka_unit_test(wrong_sweeps_are_refused),
        cmocka_unit_test(lost_nodes_are_answered),
        cmocka_unit_test(handles_lose_nodes_as_files_do),
        cmocka_unit_test(a_plan_loses_nodes),
        cmocka_unit_test(failures_are_played),
        cmocka_unit_test(wrong_failures_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
