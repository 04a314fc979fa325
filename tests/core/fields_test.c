#include "core/fields.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct record {
    char before;
    int count;
    int64_t bytes;
    bool tied;
    double rate;
    char after;
};

static const struct field fields[] = {
    FIELD(struct record, count, FIELD_INT, 1, 100),
    FIELD(struct record, bytes, FIELD_INT64, 0, 0x1p53),
    FIELD(struct record, tied, FIELD_FLAG, 0, 1),
    FIELD(struct record, rate, FIELD_DOUBLE, 0.5, 2),
};
#define COUNT (sizeof fields / sizeof *fields)

static bool read_all(struct record *record, const char *text, struct error *err)
{
    struct doc doc;
    assert_true(doc_parse(&doc, DOC_YAML, "t.yaml", text, strlen(text), err));
    bool done = fields_read(record, fields, COUNT, &doc, doc.root, err);
    doc_release(&doc);
    return done;
}

static void a_value_is_got_as_it_was_set(void **state)
{
    struct record record = {.before = 'b', .after = 'a'};
    (void)state;
    for (int value = 0; value <= 1; value++)
        for (size_t i = 0; i < COUNT; i++) {
            field_set(&record, &fields[i], value);
            assert_true(field_get(&record, &fields[i]) == value);
        }
    field_set(&record, &fields[1], 0x1p53);
    assert_true(record.bytes == INT64_C(1) << 53);
    assert_true(record.count == 1 && record.tied && record.rate == 1);
    assert_true(record.before == 'b' && record.after == 'a');
}

static void keys_that_are_there_are_read(void **state)
{
    struct record record = {.rate = 1.5, .bytes = 7};
    struct error err;
    (void)state;
    assert_true(read_all(&record, "{count: 3, tied: true}", &err));
    assert_true(record.count == 3 && record.tied && record.rate == 1.5 && record.bytes == 7);
    assert_true(read_all(&record, "{rate: 0.5, bytes: 9007199254740992, tied: false}", &err));
    assert_true(record.count == 3 && !record.tied && record.rate == 0.5 &&
                record.bytes == INT64_C(9007199254740992));
}

static void a_key_with_a_minimum_is_needed_where_the_record_holds_0(void **state)
{
    struct record record = {.count = 1};
    struct error err;
    (void)state;
    assert_false(read_all(&record, "{count: 5}", &err));
    assert_non_null(strstr(err.text, "rate"));
    assert_int_equal(record.count, 5);
    record.rate = 1;
    assert_true(read_all(&record, "{}", &err));
}

static void what_is_out_of_range_or_of_another_type_is_refused(void **state)
{
    static const char *const texts[] = {"{count: 0}",   "{count: 101}", "{count: 1.5}", "{bytes: -1}",
                                        "{rate: 0.49}", "{rate: 2.01}", "{rate: x}",    "{tied: 1}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct record record = {.count = 2, .rate = 1}, before = record;
        struct error err;
        assert_false(read_all(&record, texts[i], &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_int_equal(strncmp(err.text, "t.yaml:1:", 9), 0);
        assert_true(record.count == before.count && record.bytes == 0 && record.rate == 1 && !record.tied);
    }
}

struct part {
    const char *name, *title;
    int64_t memory;
    double bandwidth, launch;
    int other;
};

static const struct field part_fields[] = {
    FIELD(struct part, name, FIELD_TEXT, 1, 0),
    FIELD(struct part, title, FIELD_TEXT, 0, 0),
    FIELD(struct part, memory, FIELD_SIZE, 1, 0x1p53),
    FIELD_AT(struct part, "rate", bandwidth, FIELD_RATE, 1e3, 1e15),
    FIELD(struct part, launch, FIELD_TIME, 0, 10),
    {.key = "list", .type = FIELD_OTHER, .min = 1},
};
#define PART_COUNT (sizeof part_fields / sizeof *part_fields)

static bool read_part(const char *text, struct error *err, struct text *json)
{
    struct part part = {.other = 7};
    struct json out = {.out = json};
    struct doc doc;
    assert_true(doc_parse(&doc, DOC_YAML, "p.yaml", text, strlen(text), err));
    bool done = fields_read(&part, part_fields, PART_COUNT, &doc, doc.root, err);
    assert_int_equal(part.other, 7);
    if (done) {
        json_open_flat(&out, NULL, '{');
        fields_write(&part, part_fields, PART_COUNT, &out);
        json_close(&out);
    }
    doc_release(&doc);
    return done;
}

static void texts_and_quantities_are_read_and_written(void **state)
{
    struct text json = {0};
    struct error err;
    (void)state;
    assert_true(read_part("{name: a, memory: 2 KiB, rate: 8 kb/s, launch: 250 ms, list: []}", &err, &json));
    assert_string_equal(json.data, "{\"name\": \"a\", \"title\": null, \"memory\": 2048, \"rate\": 1000, "
                                   "\"launch\": 0.25}\n");
    text_release(&json);
}

static void a_wrong_text_quantity_or_key_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{memory: 1, rate: 1e3, list: 1}", "'name' is missing"},
        {"{name: a, memory: 1, rate: 1e3}", "'list' is missing"},
        {"{name: a, memory: 1, rate: 1e3, list: 1, lost: 1}", "lost"},
        {"{name: a, memory: 1, rate: 1 B/s, list: 1}", "expected from 1000 to 1e+15 bytes per second"},
        {"{name: a, memory: 1, rate: 0, list: 1}", "more than 0"},
        {"{name: a, memory: 1, rate: 1e3, list: 1, launch: 11}", "expected from 0 to 10 seconds"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err;
        assert_false(read_part(cases[i].text, &err, NULL));
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_non_null(strstr(err.text, cases[i].message));
    }
}

static void a_list_has_a_map_for_each_struct_and_whole_numbers_to_the_last_digit(void **state)
{
    static const struct moment {
        const char *name;
        int64_t ns;
    } moments[] = {{"a", INT64_C(1795000000123456789)}, {NULL, -INT64_C(9007199254740993)}, {"c", INT64_MIN}};
    static const struct field moment_fields[] = {
        FIELD_OUT(struct moment, "name", name, FIELD_TEXT),
        FIELD_OUT(struct moment, "ns", ns, FIELD_INT64),
    };
    struct text text = {0};
    struct json json = {.out = &text};
    (void)state;
    json_open_flat(&json, NULL, '{');
    FIELDS_LIST(moments, 3, moment_fields, &json, "moments");
    FIELDS_LIST(moments, 0, moment_fields, &json, "none");
    json_close(&json);
    assert_string_equal(text.data, "{\"moments\": [{\"name\": \"a\", \"ns\": 1795000000123456789}, "
                                   "{\"name\": null, \"ns\": -9007199254740993}, "
                                   "{\"name\": \"c\", \"ns\": null}], \"none\": []}\n");
    text_release(&text);
}

static void an_unknown_number_is_null_and_an_empty_text_is_null_or_left_out(void **state)
{
    struct known {
        double rate;
        int64_t bytes;
        char name[8], why[8];
        enum { NONE, SOME } kind;
    };
    static const char *const words[] = {NULL, "some"};
    static const struct field known_fields[] = {
        FIELD_WORDS(struct known, "kind", kind, words),
        FIELD_OUT(struct known, "rate", rate, FIELD_KNOWN),
        FIELD_OUT(struct known, "bytes", bytes, FIELD_KNOWN_INT64),
        FIELD_OUT(struct known, "name", name, FIELD_KNOWN_CHARS),
        FIELD_OUT(struct known, "why", why, FIELD_SOME_CHARS),
    };
    static const struct known cases[] = {{0, 0, "a", "b", SOME}, {-1, -1, "", "", NONE}};
    struct text text = {0};
    struct json json = {.out = &text};
    (void)state;
    json_open_flat(&json, NULL, '{');
    FIELDS_MAP(&cases[0], known_fields, &json, "there");
    FIELDS_MAP(&cases[1], known_fields, &json, "none");
    json_close(&json);
    assert_string_equal(
        text.data,
        "{\"there\": {\"kind\": \"some\", \"rate\": 0, \"bytes\": 0, \"name\": \"a\", \"why\": \"b\"}, "
        "\"none\": {\"kind\": null, \"rate\": null, \"bytes\": null, \"name\": null}}\n");
    text_release(&text);
}

static void maps_and_arrays_of_chars_are_written(void **state)
{
    struct pair {
        char name[8];
        struct {
            double low, high;
        } range;
    };
    static const struct field pair_fields[] = {
        FIELD(struct pair, name, FIELD_CHARS, 0, 0),
        FIELD_OPEN("outer", FIELD_MAP),
        FIELD_OPEN("range", FIELD_FLAT_MAP),
        FIELD_OUT(struct pair, "least", range.low, FIELD_DOUBLE),
        FIELD_OUT(struct pair, "most", range.high, FIELD_DOUBLE),
        FIELD_CLOSE,
        FIELD_CLOSE,
    };
    const struct pair pair = {"", {0.5, 2}};
    struct text text = {0};
    struct json json = {.out = &text};
    (void)state;
    json_open(&json, NULL, '{');
    FIELDS_WRITE(&pair, pair_fields, &json);
    json_close(&json);
    assert_string_equal(text.data, "{\n  \"name\": \"\",\n  \"outer\": {\n    "
                                   "\"range\": {\"least\": 0.5, \"most\": 2}\n  }\n}\n");
    text_release(&text);
}

struct leg {
    int from;
    double share;
};

static const struct field leg_fields[] = {
    FIELD(struct leg, from, FIELD_INT, 0, 0),
    FIELD(struct leg, share, FIELD_SOME_DOUBLE, 0.5, 0),
};

enum pace { PACE_SLOW, PACE_FAST };
static const char *const paces[] = {"slow", "fast"};

struct way {
    struct leg whole;
    const struct leg *legs, *best;
    int leg_count;
    const int64_t *ids;
    size_t id_count;
    enum pace pace;
    int top;
    int64_t code;
};

static const struct field way_fields[] = {
    FIELD_PART(struct way, "whole", whole, leg_fields, FIELD_STRUCT),
    FIELD_ROWS(struct way, "legs", legs, leg_count, leg_fields, FIELD_LIST),
    FIELD_PART(struct way, "best", best, leg_fields, FIELD_POINTER),
    FIELD_VALUES(struct way, "ids", ids, id_count, FIELD_INT64),
    FIELD_WORDS(struct way, "pace", pace, paces),
    FIELD(struct way, top, FIELD_SOME_INT, 1, 0),
    FIELD(struct way, code, FIELD_SOME_INT64, -1, 0),
};

static void expect_way(const struct way *way, const char *expected)
{
    struct text text = {0};
    struct json json = {.out = &text};
    FIELDS_MAP(way, way_fields, &json, NULL);
    assert_string_equal(text.data, expected);
    text_release(&text);
}

static void structs_lists_and_words_are_written_and_values_below_their_minimum_are_not(void **state)
{
    static const struct leg legs[] = {{1, 0.5}, {2, 0.25}, {3, NAN}};
    static const int64_t ids[] = {7, INT64_MIN};
    const struct way none = {.top = 0, .code = -2};
    const struct way way = {{4, 1}, legs, &legs[1], 3, ids, 2, PACE_FAST, 1, -1};
    (void)state;
    expect_way(&none, "{\"whole\": {\"from\": 0}, \"legs\": [], \"best\": null, \"ids\": [], "
                      "\"pace\": \"slow\"}\n");
    expect_way(&way, "{\"whole\": {\"from\": 4, \"share\": 1}, \"legs\": [{\"from\": 1, \"share\": 0.5}, "
                     "{\"from\": 2}, {\"from\": 3}], \"best\": {\"from\": 2}, \"ids\": [7, null], "
                     "\"pace\": \"fast\", \"top\": 1, \"code\": -1}\n");
}

#define TRIP_FIELDS(X, of) X(of, TEXT, name) X(of, INT, stops) X(of, FLAG, far) X(of, SOME_TEXT, note)
FIELDS_RECORD(trip, TRIP_FIELDS);

static void a_record_has_a_member_and_a_key_for_each_field(void **state)
{
    const struct trip trip = {"a", 3, true, NULL};
    struct text text = {0};
    struct json json = {.out = &text};
    (void)state;
    FIELDS_LONG_MAP(&trip, trip_fields, &json, NULL);
    assert_string_equal(text.data, "{\n  \"name\": \"a\",\n  \"stops\": 3,\n  \"far\": true\n}\n");
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_got_as_it_was_set),
        cmocka_unit_test(keys_that_are_there_are_read),
        cmocka_unit_test(a_key_with_a_minimum_is_needed_where_the_record_holds_0),
        cmocka_unit_test(texts_and_quantities_are_read_and_written),
        cmocka_unit_test(a_wrong_text_quantity_or_key_is_refused_with_its_place),
        cmocka_unit_test(what_is_out_of_range_or_of_another_type_is_refused),
        cmocka_unit_test(a_list_has_a_map_for_each_struct_and_whole_numbers_to_the_last_digit),
        cmocka_unit_test(an_unknown_number_is_null_and_an_empty_text_is_null_or_left_out),
        cmocka_unit_test(maps_and_arrays_of_chars_are_written),
        cmocka_unit_test(structs_lists_and_words_are_written_and_values_below_their_minimum_are_not),
        cmocka_unit_test(a_record_has_a_member_and_a_key_for_each_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
