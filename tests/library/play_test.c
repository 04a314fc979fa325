/* Plans that are played, and drills, as another program asks for them. Ranks are processes of the program that REHEARSE_PROGRAM names. No time is
 * looked at. */
#include "rehearse.h"

#include "caller.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static bool has_program(void)
{
    const char *program = getenv("REHEARSE_PROGRAM");
    return program && access(program, X_OK) == 0;
}

static void leaves_no_process(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static rh_plan *small_plan(void)
{
    struct rh_plan_request request = RH_INIT(request);
    const char *const fix[] = {"pp=4", "dp=2", "mbs=1", "vp=1"};
    struct rh_error error;
    request.model = "gpt2";
    request.device = "a100-80gb";
    request.devices = "8";
    request.global_batch = "16";
    request.fix = (struct rh_list){fix, 4};
    rh_plan *plan = rh_plan_find(&request, NULL, &error);
    if (!plan)
        fail_msg("%s", error.text);
    return plan;
}

static rh_report *played(const struct rh_play_request *request)
{
    struct rh_error error;
    rh_report *report = rh_play(request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    return report;
}

/* By this process alone, and by processes that are started: the same is done. The caller's limits and children are its own. */
static void a_plan_that_was_found_is_played(void **state)
{
    (void)state;
    rh_plan *plan = small_plan();
    struct rh_play_request request = RH_INIT(request);
    struct rlimit before, after;
    cpu_set_t cores, cores_after;
    request.from = (struct rh_handles){(const rh_handle *const *)&plan, 1};
    request.iterations = 1;
    request.byte_share = 0.001;
    request.pin = true;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(sched_getaffinity(0, sizeof cores, &cores), 0);
    for (int ranks = 1; ranks <= (has_program() ? 4 : 1); ranks += 3) {
        request.ranks = ranks;
        rh_report *report = played(&request);
        caller_check_forms(report, "rehearse-run/1");
        assert_true(rh_number(report, "ranks") == ranks && rh_number(report, "devices") == 8.0);
        assert_true(rh_number(report, "tasks") == 696.0 && rh_number(report, "activations") == 224.0);
        assert_true(rh_number(report, "messages") == 96.0 && rh_number(report, "passed") == 1.0);
        assert_true((rh_number(report, "bytes.between_ranks") > 0.0) == (ranks > 1));
        assert_string_equal(rh_string(report, "schedule"), "1f1b");
        assert_string_equal(rh_string(report, "model"), "gpt2");
        assert_true(caller_value(report, "played_ends", 0) > 0.0);
        rh_free(report);
        leaves_no_process();
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
    assert_true(before.rlim_cur == after.rlim_cur);
    assert_int_equal(sched_getaffinity(0, sizeof cores_after, &cores_after), 0);
    assert_true(CPU_EQUAL(&cores, &cores_after));
    rh_free(plan);
}

/* Their status is gone when they have ended: what they said counts. */
static void a_caller_may_ignore_its_children(void **state)
{
    (void)state;
    rh_plan *plan = small_plan();
    struct rh_play_request request = RH_INIT(request);
    if (!has_program())
        skip();
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    request.from = (struct rh_handles){(const rh_handle *const *)&plan, 1};
    request.iterations = 1;
    request.ranks = 2;
    request.byte_share = 0.001;
    rh_report *report = played(&request);
    assert_true(rh_number(report, "ranks") == 2.0);
    rh_free(report);
    signal(SIGCHLD, before);
    rh_free(plan);
}

static const char seven[] = "groups: [{device: gpu, nodes: 6, devices_per_node: 1}]\n"
                            "inter_node: {bandwidth: 10 GB/s, latency: 10 us}\n";

/* Templates of caller_profile for so many nodes: "2..3". */
static rh_report *templates(const char *cluster, const char *nodes)
{
    struct rh_templates_request request = RH_INIT(request);
    struct rh_error error;
    request.profile = caller_write("layers.json", caller_profile);
    request.cluster = cluster;
    request.microbatches = 12;
    request.nodes = nodes;
    rh_report *report = rh_templates(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    return report;
}

static void a_drill_goes_on(void **state)
{
    (void)state;
    if (!has_program())
        skip();
    const char *cluster = caller_write("six.yaml", seven);
    const char *const kill[] = {"2@0.05s", "4@0.05s"}, *const back[] = {"2@0.1s"};
    rh_report *set = templates(cluster, "1..3");
    struct rh_play_request request = RH_INIT(request);
    request.from = (struct rh_handles){(const rh_handle *const *)&set, 1};
    request.cluster = cluster;
    request.kill = (struct rh_list){kill, 2};
    request.back = (struct rh_list){back, 1};
    request.faults = 2;
    request.iterations = 10;
    request.byte_share = 0.01;
    request.time_share = 0.003;
    request.silence = 2.0;
    rh_report *report = played(&request);
    if (rh_number(report, "passed") != 1.0)
        fail_msg("%s", rh_string(report, "reason"));
    caller_check_forms(report, "rehearse-drills/1");
    assert_true(rh_number(report, "right") == 1.0 && rh_number(report, "drills") == 1.0);
    assert_true(rh_number(report, "layer_parts") > 0.0);
    assert_string_equal(caller_word(report, "seconds.name", 0), "detection");
    rh_free(report);
    leaves_no_process();
    rh_free(set);
}

/* All that have the last layers are lost: new processes load what was saved, and a node that returns is one of them. */
static void a_checkpoint_is_loaded(void **state)
{
    (void)state;
    if (!has_program())
        skip();
    const char *cluster = caller_write("six.yaml", seven);
    const char *const kill[] = {"1@0.3s", "3@0.3s", "5@0.3s"}, *const back[] = {"3@0.35s"};
    char saved[600];
    rh_report *set = templates(cluster, "2..3");
    struct rh_play_request request = RH_INIT(request);
    snprintf(saved, sizeof saved, "%s.saved", caller_write("drill", ""));
    request.from = (struct rh_handles){(const rh_handle *const *)&set, 1};
    request.cluster = cluster;
    request.kill = (struct rh_list){kill, 3};
    request.back = (struct rh_list){back, 1};
    request.iterations = 20;
    request.byte_share = 0.01;
    request.time_share = 0.003;
    request.silence = 2.0;
    request.checkpoints = saved;
    request.save_every = 2;
    rh_report *report = played(&request);
    if (rh_number(report, "passed") != 1.0)
        fail_msg("%s", rh_string(report, "reason"));
    assert_true(rh_number(report, "restarts") == 1.0 && rh_number(report, "iterations_again") <= 20.0);
    rh_free(report);
    leaves_no_process();
    rh_free(set);
}

static void *ask_to_stop(void *stop)
{
    const struct timespec wait = {0, 150000000};
    nanosleep(&wait, NULL);
    rh_stop_request(stop);
    return NULL;
}

static void a_run_is_stopped(void **state)
{
    (void)state;
    rh_plan *plan = small_plan();
    struct rh_play_request request = RH_INIT(request);
    request.from = (struct rh_handles){(const rh_handle *const *)&plan, 1};
    request.iterations = 10000;
    request.byte_share = 0.001;
    for (int ranks = 1; ranks <= (has_program() ? 2 : 1); ranks++) {
        struct rh_call call = RH_INIT(call);
        struct rh_error error = {0};
        pthread_t thread;
        request.ranks = ranks;
        call.stop = rh_stop_new();
        assert_int_equal(pthread_create(&thread, NULL, ask_to_stop, call.stop), 0);
        assert_null(rh_play(&request, &call, &error));
        assert_int_equal(error.code, RH_STOPPED);
        pthread_join(thread, NULL);
        rh_stop_free(call.stop);
        leaves_no_process();
    }
    rh_free(plan);
}

static void refused(struct rh_play_request *request, int code, const char *text)
{
    struct rh_error error;
    assert_null(rh_play(request, NULL, &error));
    assert_string_equal(error.text, text);
    assert_int_equal(error.code, code);
    leaves_no_process();
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    const char *const nothing[] = {"no-such.json"}, *const kill[] = {"9@1s"};
    const char *program = getenv("REHEARSE_PROGRAM");
    struct rh_play_request request = RH_INIT(request);
    refused(&request, RH_USAGE, "'plans' is missing");
    request.plans = (struct rh_list){nothing, 1};
    refused(&request, RH_INPUT, "no-such.json: cannot open: No such file or directory");
    request.save_waits = "writes";
    refused(&request, RH_USAGE, "--save-waits needs --save-every N");
    request.save_waits = NULL;
    request.software = "fsdp";
    refused(&request, RH_USAGE, "--software needs --compute kernels");
    request.software = NULL;
    request.hosts = "a";
    refused(&request, RH_USAGE,
            "hosts: ranks on several hosts are started by mpirun or srun, which call rh_play in each");
    request.hosts = NULL;
    request.kill = (struct rh_list){kill, 1};
    refused(&request, RH_INPUT, "no-such.json: cannot open: No such file or directory");
    request.kill.count = 0;
    if (!has_program())
        skip();
    char *kept = strdup(program);
    request.ranks = 2;
    refused(&request, RH_INPUT, "no-such.json: cannot open: No such file or directory");
    setenv("REHEARSE_PROGRAM", "/no/such", 1);
    refused(&request, RH_FAILED, "REHEARSE_PROGRAM: no program '/no/such'");
    setenv("REHEARSE_PROGRAM", "/bin/true", 1);
    struct rh_error error;
    assert_null(rh_play(&request, NULL, &error));
    assert_int_equal(error.code, RH_FAILED);
    assert_non_null(strstr(error.text, ", a process of '/bin/true', ended with exit code 0 before it was"));
    setenv("REHEARSE_PROGRAM", kept, 1);
    free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_was_found_is_played),
        cmocka_unit_test(a_caller_may_ignore_its_children),
        cmocka_unit_test(a_drill_goes_on),
        cmocka_unit_test(a_checkpoint_is_loaded),
        cmocka_unit_test(a_run_is_stopped),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
