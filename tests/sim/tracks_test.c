/* Chrome's JSON whose categories tell nothing: activities by the names of processes and threads. */
#include "sim/replay/classes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PROCESS(pid, name)                                                                                   \
    "{\"ph\":\"M\",\"pid\":" pid ",\"name\":\"process_name\",\"args\":{\"name\":\"" name "\"}},"
#define THREAD(pid, tid, name)                                                                               \
    "{\"ph\":\"M\",\"pid\":" pid ",\"tid\":" tid ",\"name\":\"thread_name\",\"args\":{\"name\":\"" name      \
    "\"}},"
#define SPAN(pid, tid, ts, dur, name, args)                                                                  \
    "{\"ph\":\"X\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur ",\"name\":\"" name           \
    "\",\"args\":{" args "}},"

static void read_text(struct replay *replay, const char *text)
{
    struct error err;
    if (!replay_parse(replay, "t.json", text, strlen(text), &err))
        fail_msg("%s", err.text);
}

static const char *name_of(const struct replay *replay, size_t i)
{
    return replay->texts[replay->activities[i].name];
}

/* As JAX writes GPUs: streams are threads, launches bear the numbers of their kernels; the list ends in an empty event. */
static void streams_of_jax_are_threads(void **state)
{
    struct replay replay;
    (void)state;
    read_text(&replay, "{\"traceEvents\":[" PROCESS("2", "/device:GPU:1") PROCESS("9", "/host:CPU")
                           THREAD("2", "13", "Stream #13(Compute)") THREAD("2", "1", "XLA Modules")
                               THREAD("9", "77", "python") SPAN("2", "1", "5", "9", "jit_step", "")
                                   SPAN("2", "13", "5", "4", "loop_add_fusion", "\"correlation_id\":\"7\"")
                                       SPAN("9", "77", "1", "2", "cuLaunchKernel", "\"correlation_id\":\"7\"")
                                           SPAN("9", "77", "3", "2", "PjitFunction", "") "{}]}");
    assert_int_equal(replay.count, 1);
    assert_string_equal(name_of(&replay, 0), "loop_add_fusion");
    assert_int_equal(replay.streams[0].device, 1);
    assert_int_equal(replay.streams[0].number, 13);
    assert_int_equal(replay.call_count, 1);
    assert_int_equal(replay.activities[0].call, 0);
    assert_false(replay.host_only);
    replay_release(&replay);
}

static void operations_of_tpus_have_their_category(void **state)
{
    struct replay replay;
    (void)state;
    read_text(&replay,
              "[" PROCESS("3", "/device:TPU:0") THREAD("3", "1", "XLA Modules") THREAD("3", "2", "XLA Ops")
                  SPAN("3", "1", "0", "9", "jit_step", "") SPAN("3", "2", "0", "9", "while.3", "")
                      SPAN("3", "2", "1", "4", "fusion.4", "\"hlo_category\":\"convolution fusion\"") "{}]");
    assert_int_equal(replay.count, 1);
    assert_string_equal(name_of(&replay, 0), "fusion.4 (convolution fusion)");
    assert_int_equal(replay.rules[replay.activities[0].name]->class, CLASS_MATMUL);
    replay_release(&replay);
}

/* Pairs of a beginning and an end; threads of no device that are named streams; text instead of numbers. */
static void spans_may_be_pairs(void **state)
{
    struct replay replay;
    (void)state;
    read_text(&replay,
              "[" THREAD("\"run\"", "4", "stream 4")
                  THREAD("\"run\"", "5",
                         "main") "{\"ph\":\"E\",\"pid\":\"run\",\"tid\":4,\"ts\":1},"
                                 "{\"ph\":\"B\",\"pid\":\"run\",\"tid\":4,\"ts\":2,\"name\":\"first\"},"
                                 "{\"ph\":\"B\",\"pid\":\"run\",\"tid\":5,\"ts\":2,\"name\":\"host\"},"
                                 "{\"ph\":\"E\",\"pid\":\"run\",\"tid\":4,\"ts\":5},"
                                 "{\"ph\":\"B\",\"pid\":\"run\",\"tid\":4,\"ts\":6.5,\"name\":\"second\"},"
                                 "{\"ph\":\"E\",\"pid\":\"run\",\"tid\":4,\"ts\":7}]");
    assert_int_equal(replay.count, 2);
    assert_string_equal(name_of(&replay, 0), "first");
    assert_int_equal(replay.activities[0].duration, 3000);
    assert_int_equal(replay.activities[1].start, 4500);
    assert_int_equal(replay.streams[0].device, 0);
    replay_release(&replay);
}

/* A call within a call takes its time from the outer one, so that sums are those of the thread. */
static void of_a_host_alone_each_span_has_its_own_time(void **state)
{
    struct replay replay;
    int64_t sum = 0;
    (void)state;
    read_text(&replay,
              "[" SPAN("1", "1", "0", "100", "outer", "") SPAN("1", "1", "10", "20", "inner", "")
                  SPAN("1", "1", "30", "5", "inner", "") SPAN("1", "2", "0", "7", "other", "") "{}]");
    assert_true(replay.host_only);
    assert_int_equal(replay.count, 5);
    for (size_t i = 0; i < replay.count; i++) {
        assert_int_equal(replay.streams[replay.activities[i].stream].device, -1);
        sum += strcmp(name_of(&replay, i), "outer") == 0 ? replay.activities[i].duration : 0;
    }
    assert_int_equal(sum, 75000);
    replay_release(&replay);
}

static void faults_of_pairs_are_named(void **state)
{
    static const char text[] =
        "[" THREAD("1", "4", "stream 4") "{\"ph\":\"B\",\"pid\":1,\"tid\":4,\"ts\":2,\"name\":\"a\"},"
                                         "{\"ph\":\"E\",\"pid\":1,\"tid\":4,\"ts\":1}]";
    struct replay replay;
    struct error err;
    (void)state;
    assert_false(replay_parse(&replay, "t.json", text, strlen(text), &err));
    assert_non_null(strstr(err.text, "traceEvents[2]: time goes backwards: a span ends before it begins"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_of_jax_are_threads),
        cmocka_unit_test(operations_of_tpus_have_their_category),
        cmocka_unit_test(spans_may_be_pairs),
        cmocka_unit_test(of_a_host_alone_each_span_has_its_own_time),
        cmocka_unit_test(faults_of_pairs_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
