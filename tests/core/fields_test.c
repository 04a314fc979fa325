#include "core/fields.h"

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

typedef bool reader(void *record, const struct field *field, const struct doc *doc,
                    const struct doc_node *map, struct error *err);

static bool read_all(struct record *record, const char *text, reader *read, struct error *err)
{
    struct doc doc;
    assert_true(doc_parse(&doc, DOC_YAML, "t.yaml", text, strlen(text), err));
    bool done = true;
    for (size_t i = 0; i < COUNT && done; i++)
        done = read(record, &fields[i], &doc, doc.root, err);
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
    assert_true(read_all(&record, "{count: 3, tied: true}", field_read, &err));
    assert_true(record.count == 3 && record.tied && record.rate == 1.5 && record.bytes == 7);
    assert_true(read_all(&record, "{rate: 0.5, bytes: 9007199254740992, tied: false}", field_read, &err));
    assert_true(record.count == 3 && !record.tied && record.rate == 0.5 &&
                record.bytes == INT64_C(9007199254740992));
}

static void a_key_is_needed_where_the_record_holds_0(void **state)
{
    struct record record = {.count = 1, .bytes = 2, .tied = true};
    struct error err;
    (void)state;
    assert_false(read_all(&record, "{count: 5}", field_need, &err));
    assert_non_null(strstr(err.text, "rate"));
    assert_int_equal(record.count, 5);
    record.rate = 1;
    assert_true(read_all(&record, "{}", field_need, &err));
}

static void what_is_out_of_range_or_of_another_type_is_refused(void **state)
{
    static const char *const texts[] = {"{count: 0}",   "{count: 101}", "{count: 1.5}", "{bytes: -1}",
                                        "{rate: 0.49}", "{rate: 2.01}", "{rate: x}",    "{tied: 1}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct record record = {0}, before = record;
        struct error err;
        assert_false(read_all(&record, texts[i], field_read, &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_int_equal(strncmp(err.text, "t.yaml:1:", 9), 0);
        assert_true(record.count == before.count && record.bytes == 0 && record.rate == 0 && !record.tied);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_got_as_it_was_set),
        cmocka_unit_test(keys_that_are_there_are_read),
        cmocka_unit_test(a_key_is_needed_where_the_record_holds_0),
        cmocka_unit_test(what_is_out_of_range_or_of_another_type_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
