/* How calls are done: what their caller hears, from where, and what is printed, which is nothing. */
#include "rehearse.h"

#include "caller.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct heard {
    pthread_t thread;
    int began, told, ended, elsewhere, warnings;
    bool in_order;
    char what[64], detail[256], warning[512];
    rh_stop *stop; /* requested when something is told */
};

static void hear(void *user, const char *what, const char *detail)
{
    struct heard *heard = user;
    heard->elsewhere += !pthread_equal(heard->thread, pthread_self());
    heard->began += detail && !*detail;
    heard->told += detail && *detail;
    heard->ended += !detail;
    heard->in_order = heard->in_order && heard->began == heard->ended + (detail ? 1 : 0);
    snprintf(heard->what, sizeof heard->what, "%s", what);
    if (detail && *detail) {
        snprintf(heard->detail, sizeof heard->detail, "%s", detail);
        rh_stop_request(heard->stop);
    }
}

static void hear_warning(void *user, const char *text)
{
    struct heard *heard = user;
    heard->elsewhere += !pthread_equal(heard->thread, pthread_self());
    heard->warnings++;
    snprintf(heard->warning, sizeof heard->warning, "%s", text);
}

/* A single thread tells of all its work; where several do it, the caller's may find nothing left to do. */
static struct rh_call listen(struct heard *heard, int threads)
{
    *heard = (struct heard){.thread = pthread_self(), .in_order = true};
    return (struct rh_call){.size = sizeof(struct rh_call),
                            .threads = threads,
                            .progress = hear,
                            .warning = hear_warning,
                            .user = heard};
}

static struct rh_sweep_request sweep_request(void)
{
    struct rh_sweep_request request = RH_INIT(request);
    request.model = "llama-3-8b";
    request.device = "h100";
    request.devices = "8..64+8";
    request.global_batch = "128";
    return request;
}

static void assert_heard(const struct heard *heard, const char *what)
{
    assert_true(heard->began > 0 && heard->told > 0);
    assert_int_equal(heard->ended, heard->began);
    assert_int_equal(heard->elsewhere, 0);
    assert_true(heard->in_order);
    assert_string_equal(heard->what, what);
    assert_int_equal(heard->warnings, 0);
}

static void long_calls_tell_how_far_they_are(void **state)
{
    (void)state;
    struct heard heard;
    struct rh_error error;
    struct rh_call call = listen(&heard, 1);
    struct rh_sweep_request sweep = sweep_request();
    rh_handle *made = rh_sweep_plans(&sweep, &call, &error);
    if (!made)
        fail_msg("%s", error.text);
    rh_free(made);
    assert_heard(&heard, "simulating");
    assert_non_null(strstr(heard.detail, " of 8"));
    call = listen(&heard, 4); /* the others say nothing */
    rh_free(rh_sweep_plans(&sweep, &call, NULL));
    assert_int_equal(heard.began, 1);
    assert_int_equal(heard.ended, 1);
    assert_int_equal(heard.elsewhere, 0);

    struct rh_plan_request plan = RH_INIT(plan);
    plan.model = "llama-3-8b";
    plan.device = "h100";
    plan.devices = "64";
    plan.global_batch = "128";
    call = listen(&heard, 1);
    made = rh_plan_find(&plan, &call, &error);
    if (!made)
        fail_msg("%s", error.text);
    rh_free(made);
    assert_heard(&heard, "planning");

    struct rh_elastic_request elastic = RH_INIT(elastic);
    elastic.nodes = 64;
    elastic.rate = "rsc-1";
    elastic.seeds = 2;
    call = listen(&heard, 1);
    made = rh_elastic(&elastic, &call, &error);
    if (!made)
        fail_msg("%s", error.text);
    rh_free(made);
    assert_heard(&heard, "playing failures");
}

/* How far one part is, the rooms tell that work on it. */
static void simulations_and_prices_tell_how_far_they_are(void **state)
{
    (void)state;
    struct heard heard;
    struct rh_error error;
    struct rh_plan_request plan = RH_INIT(plan);
    struct rh_simulate_request simulate = RH_INIT(simulate);
    struct rh_cost_request cost = RH_INIT(cost);
    plan.model = "llama-3-8b";
    plan.device = "h100";
    plan.devices = "32";
    plan.global_batch = "128";
    rh_plan *found = rh_plan_find(&plan, NULL, NULL);
    simulate.from = found;
    simulate.no_symmetry = true;
    struct rh_call call = listen(&heard, 1);
    rh_handle *made = rh_simulate(&simulate, &call, &error);
    if (!made)
        fail_msg("%s", error.text);
    rh_free(made);
    rh_free(found);
    assert_heard(&heard, "simulating");
    assert_non_null(strstr(heard.detail, " tasks"));

    simulate = (struct rh_simulate_request){.size = sizeof simulate, .compare = true};
    simulate.stages = 4;
    simulate.microbatches = 8;
    call = listen(&heard, 4);
    made = rh_simulate(&simulate, &call, &error);
    if (!made)
        fail_msg("%s", error.text);
    rh_free(made);
    assert_int_equal(heard.began, 1);
    assert_int_equal(heard.ended, 1);
    assert_int_equal(heard.elsewhere, 0);

    const char *const files[] = {caller_file("examples/gpt-block.mlir")};
    cost.files = (struct rh_list){files, 1};
    cost.devices = "h100";
    call = listen(&heard, 1);
    made = rh_cost(&cost, &call, &error);
    if (!made)
        fail_msg("%s", error.text);
    rh_free(made);
    assert_heard(&heard, "pricing");
}

/* A callback may end its own call. */
static void a_listener_can_stop_what_it_hears(void **state)
{
    (void)state;
    struct heard heard;
    struct rh_error error;
    struct rh_call call = listen(&heard, 1);
    struct rh_sweep_request request = sweep_request();
    request.devices = "8..512+8";
    call.stop = heard.stop = rh_stop_new();
    assert_null(rh_sweep_plans(&request, &call, &error));
    assert_int_equal(error.code, RH_STOPPED);
    assert_int_equal(heard.began, heard.ended);
    rh_stop_free(heard.stop);
}

static void warnings_go_to_the_caller(void **state)
{
    (void)state;
    struct heard heard;
    struct rh_error error;
    struct rh_call call = listen(&heard, 1);
    struct rh_sweep_request request = sweep_request();
    const char *file = caller_write("points.json", "");
    caller_write("points.json.sweep", "rehearse sweep, answers of something else\n17 found\n");
    request.output = file;
    rh_sweep *sweep = rh_sweep_plans(&request, &call, &error);
    if (!sweep)
        fail_msg("%s", error.text);
    rh_free(sweep);
    assert_int_equal(heard.warnings, 1);
    assert_int_equal(heard.elsewhere, 0);
    assert_non_null(strstr(heard.warning, "points.json.sweep: results of another sweep are discarded"));
    call.warning = NULL; /* nobody has to listen */
    rh_free(rh_sweep_plans(&request, &call, &error));
    assert_int_equal(heard.warnings, 1);
}

/* Standard output and error are a terminal during the calls, and nothing comes out of it. */
static void nothing_is_printed(void **state)
{
    (void)state;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        skip();
    int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    assert_true(other >= 0 && out >= 0 && err >= 0);
    fflush(NULL);
    dup2(other, STDOUT_FILENO);
    dup2(other, STDERR_FILENO);

    struct rh_sweep_request request = sweep_request();
    struct rh_plan_request plan = RH_INIT(plan);
    plan.model = "llama-3.1-405b";
    plan.device = "h100";
    plan.devices = "16384";
    plan.global_batch = "2048";
    plan.top = 100;
    plan.explain = true;
    request.output = caller_write("silent.json", "");
    caller_write("silent.json.sweep", "answers of something else\n");
    rh_handle *swept = rh_sweep_plans(&request, NULL, NULL), *found = rh_plan_find(&plan, NULL, NULL);
    rh_handle *none = rh_plan_find(&(struct rh_plan_request){.size = sizeof plan}, NULL, NULL);

    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    assert_non_null(swept);
    assert_non_null(found);
    assert_null(none);
    rh_free(swept);
    rh_free(found);
    char printed[256] = "";
    assert_int_equal(fcntl(terminal, F_SETFL, O_NONBLOCK), 0);
    if (read(terminal, printed, sizeof printed - 1) > 0)
        fail_msg("printed: %s", printed);
    close(other);
    close(terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_calls_tell_how_far_they_are),
        cmocka_unit_test(simulations_and_prices_tell_how_far_they_are),
        cmocka_unit_test(a_listener_can_stop_what_it_hears),
        cmocka_unit_test(warnings_go_to_the_caller),
        cmocka_unit_test(nothing_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
