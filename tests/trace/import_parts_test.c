/* Parts of imports, each on its own: lines, objects of JSON, places of malformed lines, and reports. */
#include "trace/import/import.h"
#include "trace/import/json.h"
#include "trace/import/lines.h"
#include "trace/import/stream.h"
#include "trace/traces.h"

#include <math.h>

/* ---- lines ---- */

static void check_line(struct import_lines *lines, enum import_line_kind kind, const char *expected,
                       int64_t number)
{
    struct error err;
    const char *line, *end;
    assert_int_equal(import_lines_next(lines, &line, &end, &err), kind);
    if (kind == IMPORT_LINE) {
        assert_string_equal(line, expected);
        assert_int_equal(end - line, strlen(expected));
    }
    assert_int_equal(lines->line, number);
}

static void lines_end_in_nul_whatever_ends_them(void **state)
{
    (void)state;
    static const char text[] = "one\r\n\ntwo\rx\nlast";
    struct import_lines lines;
    struct error err;
    assert_true(import_lines_open(&lines, "name", text, sizeof text - 1, &err));
    check_line(&lines, IMPORT_LINE, "one", 1);
    check_line(&lines, IMPORT_LINE, "", 2);
    check_line(&lines, IMPORT_LINE, "two\rx", 3);
    check_line(&lines, IMPORT_LINE, "last", 4);
    check_line(&lines, IMPORT_LINE_END, NULL, 4);
    assert_int_equal(lines.bytes, sizeof text - 1);
    import_lines_close(&lines);
}

static void a_line_as_long_as_the_buffer_is_too_long(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        size_t length = TRACE_IMPORT_LINE_BYTES - 1 + more;
        char *text = malloc(length + 4);
        struct import_lines lines;
        struct error err;
        assert_non_null(text);
        memset(text, 'a', length);
        memcpy(text + length, "\nb\n", 4);
        assert_true(import_lines_open(&lines, "name", text, length + 3, &err));
        const char *line, *end;
        assert_int_equal(import_lines_next(&lines, &line, &end, &err),
                         more ? IMPORT_LINE_TOO_LONG : IMPORT_LINE);
        check_line(&lines, IMPORT_LINE, "b", 2);
        check_line(&lines, IMPORT_LINE_END, NULL, 2);
        import_lines_close(&lines);
        free(text);
    }
}

static void looking_at_the_beginning_takes_nothing(void **state)
{
    (void)state;
    static const char text[] = "one\ntwo";
    struct import_lines lines;
    struct error err;
    const char *bytes;
    size_t length;
    assert_true(import_lines_open(&lines, "name", text, sizeof text - 1, &err));
    assert_true(import_lines_peek(&lines, &bytes, &length, &err));
    assert_int_equal(length, sizeof text - 1);
    assert_string_equal(bytes, text);
    check_line(&lines, IMPORT_LINE, "one", 1);
    assert_true(import_lines_raw(&lines, &bytes, &length, &err));
    assert_int_equal(length, 3);
    assert_memory_equal(bytes, "two", 3);
    assert_true(import_lines_raw(&lines, &bytes, &length, &err));
    assert_int_equal(length, 0);
    import_lines_close(&lines);
}

/* ---- objects ---- */

static const char *member(const struct import_object *object, const char *within, const char *key)
{
    const struct import_member *found = import_object_find(object, within, key);
    return found ? found->value : NULL;
}

static void members_are_those_of_the_object_and_of_objects_in_it(void **state)
{
    (void)state;
    char text[] = " {\"name\" : \"a\\u00e9\\n\\\"\\ud800\", \"n\":-12 ,\"list\":[1,\"]\",{}],"
                  "\"args\":{\"n\":\"34\",\"deep\":{\"n\":5},\"m\":6},\"empty\":{},\"last\":true} behind";
    struct import_object object;
    struct error err;
    int64_t value;
    assert_true(import_object_parse(&object, text, &err));
    assert_string_equal(member(&object, NULL, "name"), "a\xc3\xa9\n\"\xef\xbf\xbd");
    assert_true(import_object_find(&object, NULL, "name")->string);
    assert_false(import_object_find(&object, NULL, "n")->string);
    assert_true(import_object_integer(&object, NULL, "n", &value) && value == -12);
    assert_true(import_object_integer(&object, "args", "n", &value) && value == 34);
    assert_string_equal(member(&object, "args", "m"), "6");
    assert_string_equal(member(&object, NULL, "last"), "true");
    assert_false(import_object_integer(&object, NULL, "last", &value));
    assert_false(import_object_integer(&object, NULL, "m", &value));
    assert_null(member(&object, "deep", "n"));
    assert_null(member(&object, NULL, "list"));
    assert_null(member(&object, "other", "n"));
    assert_int_equal(object.count, 5);
}

static void what_is_no_object_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "1",
        "[]",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":1 \"b\":2}",
        "{a:1}",
        "{\"a\":\"b}",
        "{\"a\":\"\\q\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":[1}",
        "{\"a\":{\"b\":1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64];
        struct import_object object;
        struct error err;
        snprintf(text, sizeof text, "%s", texts[i]);
        if (import_object_parse(&object, text, &err))
            fail_msg("'%s' is taken for an object", texts[i]);
    }
}

static void further_members_are_left_out(void **state)
{
    (void)state;
    struct text text = {0};
    struct import_object object;
    struct error err;
    for (int i = 0; i < IMPORT_MEMBERS + 3; i++)
        text_format(&text, "%s\"k%d\":%d", i ? "," : "{", i, i);
    text_add(&text, "}");
    assert_true(import_object_parse(&object, text.data, &err));
    assert_int_equal(object.count, IMPORT_MEMBERS);
    assert_string_equal(object.members[IMPORT_MEMBERS - 1].key, "k63");
    text_release(&text);
}

static void microseconds_become_nanoseconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t ns;
    } cases[] = {
        {"1.5", true, 1500},
        {"1795219200000000.123", true, INT64_C(1795219200000000123)},
        {"0.0019", true, 2},
        {"-2.5", true, -2500},
        {"1e3", true, 1000000},
        {"\"7\"", true, 7000},
        {"2300000000000001", true, INT64_C(2300000000000001000)},
        {"1e16", false, 0},
        {"true", false, 0},
        {"null", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        int64_t ns = 0;
        struct import_object object;
        struct error err;
        snprintf(text, sizeof text, "{\"ts\":%s}", cases[i].text);
        assert_true(import_object_parse(&object, text, &err));
        assert_int_equal(import_object_micros(&object, "ts", &ns), cases[i].good);
        assert_int_equal(ns, cases[i].ns);
        assert_false(import_object_micros(&object, "dur", &ns));
    }
    static const char *const none[] = {"x", "5x2z", "trueish", "1.5.x"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        char text[64];
        struct import_object object;
        struct error err;
        snprintf(text, sizeof text, "{\"ts\":%s}", none[i]);
        assert_false(import_object_parse(&object, text, &err));
    }
}

static bool note_object(void *context, char *text, const char *problem, struct error *err)
{
    (void)err;
    text_format(context, "%s;", text ? text : problem);
    return true;
}

static void check_stream(const char *text, int64_t line, const char *expected)
{
    struct import_lines lines;
    struct error err;
    struct text found = {0};
    assert_true(import_lines_open(&lines, "name", text, strlen(text), &err));
    assert_true(import_stream(&lines, note_object, &found, &err));
    assert_string_equal(found.data ? found.data : "", expected);
    assert_int_equal(lines.line, line);
    text_release(&found);
    import_lines_close(&lines);
}

static void objects_are_found_in_the_list_of_events(void **state)
{
    (void)state;
    check_stream("[{\"a\":1},\n{\"b\":[{}]}]", 1, "{\"a\":1};{\"b\":[{}]};");
    check_stream("{\"x\":[{\"no\":1}],\"traceEvents\":[{\"a\":\"}\\\"]\"}],\"y\":[{}]}", 0,
                 "{\"a\":\"}\\\"]\"};");
    check_stream("{\"traceEventsAndMore\":[{\"no\":1}]}", 0, "");
    check_stream("{\"traceEvents\":{\"no\":[{}]}}", 0, "");
    check_stream("[\n{\"a\":{\n\n{\"b\":2}\n]", 4, "a truncated object;{\"b\":2};");
    check_stream("[{\"a\":", 0, "a truncated object;");
    check_stream("[1, [{\"a\":1}]]", 0, "{\"a\":1};");
}

static void an_object_has_a_longest_length(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        size_t length = TRACE_IMPORT_LINE_BYTES - 8 + more; /* of the text in {"a":"…"} */
        struct text text = {0};
        struct import_lines lines;
        struct error err;
        struct text found = {0};
        text_add(&text, "[{\"a\":\"");
        for (size_t i = 0; i < length; i++)
            text_add_bytes(&text, "x", 1);
        text_add(&text, "\"}]");
        assert_true(import_lines_open(&lines, "name", text.data, text.length, &err));
        assert_true(import_stream(&lines, note_object, &found, &err));
        if (more)
            assert_string_equal(found.data, "an overlong object;");
        else
            assert_int_equal(found.length, TRACE_IMPORT_LINE_BYTES + 1);
        text_release(&found);
        text_release(&text);
        import_lines_close(&lines);
    }
}

/* ---- reports of imports ---- */

static void places_are_the_first_ones(void **state)
{
    (void)state;
    struct import_places places = {0};
    struct text text = {0}, written = {0};
    struct json json = {.out = &written};
    import_places_add(&places, "/a/b.log", 7, "x\ty\x7fz ~");
    import_places_add(&places, "plain", 0, "second");
    import_places_print(&places, "  ", &text);
    assert_string_equal(text.data, "  b.log:7: x?y?z ~\n  plain:0: second\n");
    import_places_write_json(&places, NULL, &json);
    assert_non_null(strstr(written.data, "{\"file\": \"b.log\", \"line\": 7, \"what\": \"x?y?z ~\"}"));
    for (int i = 0; i < 20; i++)
        import_places_add(&places, "more", 1 + i, "more");
    assert_int_equal(places.count, IMPORT_MAX_PLACES);
    assert_int_equal(places.list[IMPORT_MAX_PLACES - 1].line, IMPORT_MAX_PLACES - 2);
    text_release(&text);
    text_release(&written);
}

static void a_report_counts_what_there_was(void **state)
{
    (void)state;
    struct trace_import_report none = {.files = 1, .lines = 1, .rows = 1};
    struct trace_import_report all = {.files = 2,
                                      .lines = 30,
                                      .rows = 4,
                                      .malformed = 5,
                                      .too_long = 1,
                                      .jumps = 1,
                                      .truncated = 2,
                                      .zone_assumed = true};
    struct text text = {0};
    trace_import_report_print(&none, &text);
    assert_string_equal(text.data, "1 row, 1 file, 1 line\n");
    text_add(&all.formats, "a.out: mpstat; b.out: iostat");
    import_places_add(&all.places, "a.out", 3, "bad");
    text.length = 0;
    trace_import_report_print(&all, &text);
    assert_string_equal(
        text.data, "4 rows, 2 files, 30 lines, 5 malformed lines skipped, 1 of them overlong, "
                   "1 jump of the clock, 2 truncated files\n  a.out: mpstat\n  b.out: iostat\n"
                   "local times are read in this machine's time zone; --zone sets another\na.out:3: bad\n");
    trace_import_report_release(&all);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_end_in_nul_whatever_ends_them),
        TEST(a_line_as_long_as_the_buffer_is_too_long),
        TEST(looking_at_the_beginning_takes_nothing),
        TEST(members_are_those_of_the_object_and_of_objects_in_it),
        TEST(what_is_no_object_is_refused),
        TEST(further_members_are_left_out),
        TEST(microseconds_become_nanoseconds),
        TEST(objects_are_found_in_the_list_of_events),
        TEST(an_object_has_a_longest_length),
        TEST(places_are_the_first_ones),
        TEST(a_report_counts_what_there_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
