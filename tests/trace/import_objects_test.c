/* JSON: DFTracer's files, and those of Chrome's viewer. */
#include "trace/imports.h"

#include <unistd.h>
#include <zlib.h>

static const char pfw[] =
    "[\n{\"id\":1,\"name\":\"FH\",\"cat\":\"dftracer\",\"pid\":5,\"tid\":6,\"ph\":\"M\","
    "\"args\":{\"name\":\"/data/a\\u00e9\",\"value\":\"ab12\"}}\n"
    "{\"id\":8,\"name\":\"pread64\",\"cat\":\"POSIX\",\"pid\":5,\"tid\":6,\"ts\":1700000000000001,"
    "\"dur\":25,\"ph\":\"X\",\"args\":{\"hhash\":\"x\",\"fhash\":\"ab12\",\"ret\":-1,\"offset\":4096}}\n"
    "{\"id\":9,\"name\":\"rea\n"
    "{\"id\":10,\"name\":\"forward\",\"cat\":\"compute\",\"pid\":5,\"tid\":6,\"ts\":\"7.25\",\"dur\":1,"
    "\"ph\":\"X\",\"args\":{\"step\":[1,{}]}}\n";

static void check_pfw(void)
{
    struct trace_event event = event_at(0);
    assert_int_equal(event.class, TRACE_READ);
    assert_int_equal(event.start_ns, INT64_C(1700000000000001000));
    assert_int_equal(event.latency_ns, 25000);
    assert_int_equal(event.result, -1);
    assert_int_equal(event.offset, 4096);
    assert_string_equal(path_at(0), "/data/a\xc3\xa9");
    assert_string_equal(trace_call_name(reader, event.call), "pread64");
}

static void test_dftracer_with_an_object_cut_off(void **state)
{
    (void)state;
    import_file("a.pfw", pfw);
    check_pfw();
    assert_int_equal(event_at(1).class, TRACE_REGION);
    assert_int_equal(event_at(1).start_ns, 7250);
    assert_string_equal(trace_call_name(reader, event_at(1).call), "compute.forward");
    assert_int_equal(report.malformed, 1);
}

static void test_instants_and_flows_are_passed_over(void **state)
{
    (void)state;
    import_file("a.json",
                "[{\"name\":\"i\",\"ph\":\"i\",\"ts\":1},{\"name\":\"read\",\"cat\":\"POSIX\",\"ph\":\"X\","
                "\"ts\":5,\"dur\":1,\"pid\":1,\"tid\":1},{\"name\":\"s\",\"ph\":\"s\",\"ts\":9}]");
    assert_int_equal(event_at(0).start_ns, 5000);
    assert_int_equal(report.malformed, 0);
    assert_int_equal(report.rows, 1);
}

static void test_dftracer_packed_and_truncated(void **state)
{
    (void)state;
    char noise[20000];
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof noise - 1; i++) {
        seed = seed * 1103515245 + 12345;
        noise[i] = (char)('a' + (seed >> 16) % 26);
    }
    noise[sizeof noise - 1] = '\0';
    gzFile gz = gzopen(in_folder("a.pfw.gz"), "wb");
    assert_int_equal(gzwrite(gz, pfw, sizeof pfw - 1), sizeof pfw - 1);
    assert_int_equal(gzwrite(gz, noise, sizeof noise), sizeof noise);
    assert_int_equal(gzclose(gz), Z_OK);
    assert_int_equal(truncate(in_folder("a.pfw.gz"), 8000), 0);
    import_path(in_folder("a.pfw.gz"), NULL);
    check_pfw();
    assert_int_equal(report.truncated, 1);
}

static void test_chrome_traces_in_one_line(void **state)
{
    (void)state;
    int64_t time_ns;
    import_file("timeline.json", "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [{\"name\": \"F1\", \"ph\": "
                                 "\"X\", \"ts\": 1.5, \"dur\": 2e3, "
                                 "\"pid\": 0, \"tid\": 3, \"args\": {}}, {\"ph\": \"C\", \"name\": "
                                 "\"memory\", \"ts\": 9, \"args\": {\"used\": 7}}"
                                 ", {\"ph\": \"X\", \"name\": \"no time\"}]}");
    assert_int_equal(event_at(0).start_ns, 1500);
    assert_int_equal(event_at(0).latency_ns, 2000000);
    assert_true(first_sample("memory", "used", &time_ns) == 7);
    assert_int_equal(report.malformed, 1);
}

static void test_spans_of_two_objects(void **state)
{
    (void)state;
    import_file("timeline.json", "[{\"ph\": \"B\", \"name\": \"outer\", \"ts\": 1, \"pid\": 1, \"tid\": 1},\n"
                                 "{\"ph\": \"B\", \"name\": \"other\", \"ts\": 2, \"pid\": 1, \"tid\": 2},\n"
                                 "{\"ph\": \"B\", \"name\": \"inner\", \"ts\": 3, \"pid\": 1, \"tid\": 1},\n"
                                 "{\"ph\": \"E\", \"ts\": 5, \"pid\": 1, \"tid\": 1},\n{\"ph\": \"E\", "
                                 "\"ts\": 9, \"pid\": 1, \"tid\": 1},\n"
                                 "{\"ph\": \"E\", \"ts\": 9, \"pid\": 1, \"tid\": 1}]");
    assert_string_equal(trace_call_name(reader, event_at(0).call), "inner");
    assert_int_equal(event_at(0).latency_ns, 2000);
    assert_string_equal(trace_call_name(reader, event_at(1).call), "outer");
    assert_int_equal(event_at(1).latency_ns, 8000);
    assert_int_equal(report.malformed, 1);
}

/* Deeper than anything that is remembered; what comes after is read. */
static void test_deep_brackets_do_no_harm(void **state)
{
    (void)state;
    char text[1000] = "[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1, \"x\": ";
    memset(text + strlen(text), '[', 100);
    memset(text + strlen(text), ']', 100);
    strcat(text, "}, {\"ph\": \"X\", \"name\": \"b\", \"ts\": 2, \"dur\": 1}]");
    import_file("timeline.json", text);
    assert_string_equal(trace_call_name(reader, event_at(0).call), "b");
    assert_int_equal(report.malformed, 1);
}

/* Keys beside the events, in any order; objects in other lists are none. */
static void test_chrome_traces_with_other_keys(void **state)
{
    (void)state;
    import_file("a.json",
                "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [\n{\n\"id\": 0, \"name\": \"A100\"\n},\n{"
                "\"id\": 1, \"more\": [{\"x\": 1}]}\n],\n\"distributedInfo\": {\"ranks\": [{\"a\": 1}]},\n"
                "\"traceEvents\": [\n{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 2, \"pid\": 3, "
                "\"args\": {\"list\": [{\"no\": 1}]}},\n{\"ph\": \"X\", \"name\": \"b\", \"ts\": 2, \"dur\": "
                "2}\n],\n\"stackFrames\": [{\"id\": 5}], \"traceEventsMore\": [{\"id\": 6}]\n}\n");
    assert_int_equal(report.malformed, 0);
    assert_int_equal(report.rows, 2);
    assert_int_equal(event_at(1).start_ns, 2000);
}

/* -9223372036854775808 stands for "not known" inside. */
static void test_processes_with_numbers_that_cannot_be(void **state)
{
    (void)state;
    import_file("a.json",
                "[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 2, \"pid\": -9223372036854775808},\n"
                "{\"ph\": \"X\", \"name\": \"b\", \"ts\": 1, \"dur\": 2, \"pid\": 9223372036854775807},\n"
                "{\"ph\": \"B\", \"name\": \"c\", \"ts\": 1, \"pid\": 1, \"tid\": 9007199254740993},\n"
                "{\"ph\": \"X\", \"name\": \"d\", \"ts\": 1, \"dur\": 9e15, \"pid\": 1},\n"
                "{\"ph\": \"X\", \"name\": \"e\", \"ts\": 1, \"dur\": 2, \"pid\": -1}]\n");
    assert_int_equal(report.rows, 1);
    assert_int_equal(report.malformed, 4);
    assert_string_equal(report.places.list[0].what, "an impossible process number");
    assert_int_equal(trace_process_info(reader, event_at(0).process)->pid, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IMPORT_TEST(test_dftracer_with_an_object_cut_off),
        IMPORT_TEST(test_instants_and_flows_are_passed_over),
        IMPORT_TEST(test_dftracer_packed_and_truncated),
        IMPORT_TEST(test_chrome_traces_in_one_line),
        IMPORT_TEST(test_spans_of_two_objects),
        IMPORT_TEST(test_deep_brackets_do_no_harm),
        IMPORT_TEST(test_chrome_traces_with_other_keys),
        IMPORT_TEST(test_processes_with_numbers_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
