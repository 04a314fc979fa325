/* Traces that cannot be compared, and odd ones that can. */
#include "trace/similarity/similarity.h"

#include "trace/runs.h"

static void test_traces_without_a_common_class_are_an_error(void **state)
{
    (void)state;
    struct error err;
    struct similarity_trace a, b;
    struct similarity result;
    struct run writes = plain, reads = plain;
    writes.writes_only = true;
    writes.reads = 10;
    reads.reads = 10; /* too few for a write among them */
    make_run("a.db", reads);
    make_run("b.db", writes);
    read_run(&a, "a.db");
    read_run(&b, "b.db");
    assert_false(similarity_compare(&a, &b, &options, &result, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "no class of event in common"));
    similarity_trace_release(&a);
    similarity_trace_release(&b);
    similarity_release(&result);
}

static void check_refused(const char *name, const char *words)
{
    struct error err;
    struct similarity_trace trace = {0};
    assert_false(similarity_trace_read(&trace, in_folder(name), &options, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    if (!strstr(err.text, words))
        fail_msg("%s", err.text);
    similarity_trace_release(&trace);
}

static void test_an_empty_trace_is_an_error(void **state)
{
    (void)state;
    finish_trace(make_trace("a.db", TRACE_STORE_KEEP));
    check_refused("a.db", "the trace is empty");
}

static void test_a_trace_of_phases_alone_is_an_error(void **state)
{
    (void)state;
    struct run none = plain;
    none.reads = 0;
    none.phases = true;
    make_run("a.db", none);
    check_refused("a.db", "no event");
}

static void test_a_clock_that_jumps_is_an_error(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    struct trace_event event = {
        .class = TRACE_READ, .cached = -1, .start_ns = TRACE_MIN_TIME, .size = 1, .result = 1};
    add_event(writer, event);
    event.start_ns = TRACE_MAX_TIME;
    add_event(writer, event);
    finish_trace(writer);
    check_refused("a.db", "did a clock jump?");
}

static void test_odd_numbers_are_borne(void **state)
{
    (void)state;
    const int64_t odd[] = {INT64_MIN + 1, -1, 0, INT64_MAX};
    const int64_t results[] = {INT64_MIN + 1, -1, 0, TRACE_MAX_BYTES / 16};
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    for (int i = 0; i < 64; i++)
        add_event(writer, (struct trace_event){.class = TRACE_READ,
                                               .cached = -1,
                                               .start_ns = i,
                                               .latency_ns = i % 2 ? -1 : 1,
                                               .process = odd[i % 4],
                                               .file = 1 + odd[i / 4 % 4] % 3,
                                               .offset = odd[i / 16],
                                               .size = odd[i % 4],
                                               .result = results[i / 4 % 4]});
    trace_process(writer, -1, TRACE_MAX_PID, "a", 1);
    trace_process(writer, TRACE_NONE, -TRACE_MAX_PID, "b", 1);
    trace_file(writer, TRACE_NONE, TRACE_NONE, "/a", 2);
    finish_trace(writer);
    assert_true(value_of("a.db", "a.db") == 1);
}

static void test_another_file_is_an_error(void **state)
{
    (void)state;
    write_file("a.db", "not a database at all, but text that goes on for a while\n");
    check_refused("a.db", "a.db");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_traces_without_a_common_class_are_an_error),
        TEST(test_an_empty_trace_is_an_error),
        TEST(test_a_trace_of_phases_alone_is_an_error),
        TEST(test_a_clock_that_jumps_is_an_error),
        TEST(test_odd_numbers_are_borne),
        TEST(test_another_file_is_an_error),
    };
    return cmocka_run_group_tests_name("similarity", tests, NULL, NULL);
}
