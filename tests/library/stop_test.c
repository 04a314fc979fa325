/* Long calls that are asked to stop after some time: each ends as stopped, or was done before. Says how long it took to obey; no
 * timing decides. */
#include "rehearse.h"

#include "caller.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

/* Of this process: others may keep the machine busy. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct alarm {
    rh_stop *stop;
    double after, rung;
};

static void *ring(void *context)
{
    struct alarm *alarm = context;
    struct timespec wait = {(time_t)alarm->after,
                            (long)(1e9 * (alarm->after - (double)(time_t)alarm->after))};
    nanosleep(&wait, NULL);
    alarm->rung = now();
    rh_stop_request(alarm->stop);
    return NULL;
}

/* Returns the seconds of processors from the wish to the end; -1: it was done before. */
static double stop_after(const struct rh_plan_request *request, double seconds)
{
    struct rh_call call = RH_INIT(call);
    struct rh_error error = {0};
    struct alarm alarm = {rh_stop_new(), seconds, 0.0};
    pthread_t thread;
    call.stop = alarm.stop;
    assert_non_null(alarm.stop);
    assert_int_equal(pthread_create(&thread, NULL, ring, &alarm), 0);
    rh_plan *plan = rh_plan_find(request, &call, &error);
    double ended = now();
    pthread_join(thread, NULL);
    rh_stop_free(alarm.stop);
    if (!plan && error.code != RH_STOPPED)
        fail_msg("after %g s: code %d, %s", seconds, error.code, error.text);
    bool was_stopped = !plan;
    rh_free(plan);
    return was_stopped ? ended - alarm.rung : -1.0;
}

static void stop_at_times(const char *what, const struct rh_plan_request *request)
{
    static const double times[] = {0.001, 0.01, 0.05, 0.2};
    double longest = 0.0;
    int stopped = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        double took = stop_after(request, times[i]);
        stopped += took >= 0.0;
        longest = took > longest ? took : longest;
    }
    print_message("# %s: %d of 4 stopped, the longest took %.1f ms of processors to obey\n", what, stopped,
                  1e3 * longest);
}

static void training_jobs(void **state)
{
    (void)state;
    struct rh_plan_request request = RH_INIT(request);
    request.model = "llama-3.1-405b";
    request.device = "h100";
    request.devices = "16384";
    request.global_batch = "2048";
    request.top = 100;
    request.explain = true;
    stop_at_times("a job", &request);
    request.explain = false;
    request.top = 0;
    request.devices = "64..16384";
    stop_at_times("a sweep", &request);
}

static void fleets(void **state)
{
    (void)state;
    struct rh_plan_request request = RH_INIT(request);
    request.model = "llama-3-8b";
    request.global_batch = "256";
    request.cluster = caller_file("examples/mixed.yaml");
    request.explain = true;
    stop_at_times("a fleet", &request);
}

/* Sixty layers that differ, on three types of devices. */
static const char *large_profile(void)
{
    static char text[65536];
    int used = snprintf(text, sizeof text, "{\"format\": \"rehearse-profile/1\", \"layers\": [");
    for (int i = 0; i < 60; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "%s{\"parameter_bytes\": %d, \"activation_bytes\": 1}", i ? ", " : "", 10 + i % 7);
    used += snprintf(text + used, sizeof text - (size_t)used, "], \"devices\": [");
    for (int d = 0; d < 3; d++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s{\"name\": \"type%d\", \"layers\": [",
                         d ? ", " : "", d);
        for (int i = 0; i < 60; i++)
            used +=
                snprintf(text + used, sizeof text - (size_t)used,
                         "%s{\"forward\": %d.%d, \"backward\": %d.%d}", i ? ", " : "", 1 + (i * 7 + d) % 11,
                         1 + (i * 31 + d * 17) % 97, 2 + (i * 5 + d) % 13, 1 + (i * 29) % 89);
        used += snprintf(text + used, sizeof text - (size_t)used, "]}");
    }
    snprintf(text + used, sizeof text - (size_t)used, "]}");
    return caller_write("large.json", text);
}

static void pipelines(void **state)
{
    (void)state;
    struct rh_plan_request request = RH_INIT(request);
    request.profile = large_profile();
    request.cluster = caller_write("large.yaml", "groups:\n"
                                                 "  - {device: type0, nodes: 16, devices_per_node: 1}\n"
                                                 "  - {device: type1, nodes: 16, devices_per_node: 1}\n"
                                                 "  - {device: type2, nodes: 16, devices_per_node: 1}\n");
    request.microbatches = 64;
    request.allreduce = "none";
    stop_at_times("a pipeline", &request);
    request.objective = "oobleck";
    stop_at_times("a pipeline by Oobleck's objective", &request);
    request.search = "divide";
    request.cluster =
        caller_write("alike.yaml", "groups: [{device: type0, nodes: 16, devices_per_node: 1}]\n");
    stop_at_times("divide and conquer", &request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_jobs),
        cmocka_unit_test(fleets),
        cmocka_unit_test(pipelines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
