/* JSON out, read back by the reader of documents. */
#include "core/doc.h"
#include "core/json.h"

#include "support/comma.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void read_back(struct doc *doc, const struct text *text)
{
    struct error err;
    assert_false(text->failed);
    if (!doc_parse(doc, DOC_JSON, "out.json", text->data, text->length, &err))
        fail_msg("%s: %s", text->data, err.text);
}

static void keys_are_left_out_with_all_that_is_in_them(void **state)
{
    static const char *const without[] = {"large", "also", NULL};
    struct text text = {0};
    struct json json = {.out = &text, .without = without};
    (void)state;
    json_open_flat(&json, NULL, '{');
    json_open(&json, "large", '[');
    json_open(&json, NULL, '{');
    json_string(&json, "text", "x");
    json_close(&json);
    json_number(&json, NULL, 1);
    json_integer(&json, NULL, 2);
    json_bool(&json, NULL, true);
    json_null(&json, NULL);
    json_close(&json);
    json_integer(&json, "kept", 3);
    json_integer(&json, "also", 4);
    json_close(&json);
    assert_string_equal(text.data, "{\"kept\": 3}\n");
    text_release(&text);
}

static void maps_and_lists_are_laid_out(void **state)
{
    struct text text = {0};
    struct json json = {.out = &text};
    (void)state;
    json_open(&json, NULL, '{');
    json_number(&json, "number", 1.5);
    json_integer(&json, "whole", -7);
    json_bool(&json, "yes", true);
    json_null(&json, "none");
    json_open(&json, "list", '[');
    json_open_flat(&json, NULL, '{');
    json_string(&json, "a", "x");
    json_open(&json, "b", '['); /* flat, too */
    json_integer(&json, NULL, 1);
    json_integer(&json, NULL, 2);
    json_close(&json);
    json_close(&json);
    json_string(&json, NULL, NULL);
    json_close(&json);
    json_open(&json, "empty", '[');
    json_close(&json);
    json_open_flat(&json, "nothing", '{');
    json_close(&json);
    json_close(&json);
    assert_string_equal(text.data, "{\n"
                                   "  \"number\": 1.5,\n"
                                   "  \"whole\": -7,\n"
                                   "  \"yes\": true,\n"
                                   "  \"none\": null,\n"
                                   "  \"list\": [\n"
                                   "    {\"a\": \"x\", \"b\": [1, 2]},\n"
                                   "    null\n"
                                   "  ],\n"
                                   "  \"empty\": [],\n"
                                   "  \"nothing\": {}\n"
                                   "}\n");
    text_release(&text);
}

static void write_number(struct text *text, double value)
{
    struct json json = {.out = text};
    text->length = 0;
    json_number(&json, NULL, value);
}

static void require_read_back(double value)
{
    struct text text = {0};
    struct doc doc;
    write_number(&text, value);
    read_back(&doc, &text);
    assert_int_equal(doc.root->type, DOC_NUMBER);
    if (memcmp(&doc.root->number, &value, sizeof value) != 0)
        fail_msg("%a is written as %s", value, text.data);
    doc_release(&doc);
    text_release(&text);
}

static void every_double_is_read_back(void **state)
{
    static const double special[] = {0.0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.1,
                                     1.0 / 3,
                                     5e-324,
                                     DBL_MIN,
                                     DBL_MAX,
                                     DBL_EPSILON,
                                     1e22,
                                     1e23,
                                     0x1p53,
                                     0x1p53 + 2,
                                     123456789012345680.0,
                                     2.2250738585072009e-308};
    uint64_t random = 42;
    (void)state;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        require_read_back(special[i]);
        require_read_back(-special[i]);
    }
    for (int i = 0; i < 50000; i++) {
        double value;
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = random ^ random >> 29;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            require_read_back(value);
    }
}

static void numbers_have_no_more_digits_than_needed(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},           {-0.0, "-0"},       {1, "1"},           {0.1, "0.1"},
        {1e-5, "1e-05"},    {1e15, "1e+15"},    {100000, "100000"}, {0.1 + 0.2, "0.30000000000000004"},
        {5e-324, "5e-324"}, {1e-310, "1e-310"}, {2.5, "2.5"},       {DBL_MAX, "1.7976931348623157e+308"},
    };
    struct text text = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_number(&text, cases[i].value);
        assert_string_equal(text.data, cases[i].text);
    }
    text_release(&text);
}

static void what_is_not_finite_is_null(void **state)
{
    struct text text = {0};
    (void)state;
    write_number(&text, NAN);
    assert_string_equal(text.data, "null");
    write_number(&text, INFINITY);
    assert_string_equal(text.data, "null");
    write_number(&text, -INFINITY);
    assert_string_equal(text.data, "null");
    text_release(&text);
}

static void a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    if (!comma_take()) {
        print_message("no locale with a decimal comma can be had (localedef, locales)\n");
        skip();
    }
    require_read_back(1.5);
    require_read_back(1.0 / 3);
    require_read_back(1e-300 / 3);
    setlocale(LC_ALL, "C");
}

static void whole_numbers_are_written_in_full(void **state)
{
    struct text text = {0};
    struct json json = {.out = &text};
    (void)state;
    json_open_flat(&json, NULL, '[');
    json_integer(&json, NULL, INT64_MAX);
    json_integer(&json, NULL, INT64_MIN);
    json_close(&json);
    assert_string_equal(text.data, "[9223372036854775807, -9223372036854775808]\n");
    text_release(&text);
}

static void require_text_back(const char *value, const char *expected)
{
    struct text text = {0};
    struct json json = {.out = &text};
    struct doc doc;
    json_open(&json, NULL, '{');
    json_string(&json, value, value);
    json_close(&json);
    read_back(&doc, &text);
    assert_string_equal(doc.root->first_child->text, expected);
    assert_string_equal(doc.root->first_child->key, expected);
    doc_release(&doc);
    text_release(&text);
}

static void every_text_is_read_back(void **state)
{
    char all[256];
    (void)state;
    for (int c = 1; c < 128; c++) {
        all[c - 1] = (char)c;
        char one[4] = {(char)c, 'x', (char)c, 0};
        require_text_back(one, one);
    }
    all[127] = 0;
    require_text_back(all, all);
    require_text_back("", "");
    require_text_back("\"\\\n\t\r", "\"\\\n\t\r");
    require_text_back("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void bytes_that_are_not_utf8_are_escaped(void **state)
{
    (void)state;
    require_text_back("\xff", "\\xff");
    require_text_back("a\xe9\"b", "a\\xe9\"b");
    require_text_back("\xc3\xa9\xc3", "\xc3\xa9\\xc3");
    require_text_back("\xed\xa0\x80", "\\xed\\xa0\\x80");
}

static void escapes_are_the_usual_ones(void **state)
{
    struct text text = {0};
    struct json json = {.out = &text};
    (void)state;
    json_string(&json, NULL, "a\"b\\c\nd\te\x01\x1f/\x7f\xc2\x80\xc2\x9f\xc2\xa0");
    assert_string_equal(text.data, "\"a\\\"b\\\\c\\nd\\te\\u0001\\u001f/\\u007f\\u0080\\u009f\xc2\xa0\"");
    text_release(&text);
}

static void lines_are_a_list_of_texts(void **state)
{
    struct text text = {0}, lines = {0};
    struct json json = {.out = &text};
    (void)state;
    for (int i = 0; i < 600; i++)
        text_add(&lines, "x"); /* a long one is whole */
    text_add(&lines, "\n\nlast");
    json_open_flat(&json, NULL, '{');
    json_lines(&json, "none", "");
    json_lines(&json, "some", lines.data);
    json_close(&json);
    char *at = strchr(text.data, 'x');
    assert_int_equal(strspn(at, "x"), 600);
    assert_string_equal(at + 600, "\", \"\", \"last\"]}\n");
    *at = '\0';
    assert_string_equal(text.data, "{\"none\": [], \"some\": [\"");
    text_release(&text);
    text_release(&lines);
}

static void nesting_has_a_limit(void **state)
{
    struct text text = {0};
    struct json json = {.out = &text};
    struct doc doc;
    (void)state;
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        json_open(&json, NULL, '[');
    assert_false(text.failed);
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        json_close(&json);
    read_back(&doc, &text);
    doc_release(&doc);
    text_release(&text);
    json = (struct json){.out = &text};
    for (int i = 0; i <= JSON_MAX_DEPTH; i++)
        json_open(&json, NULL, '[');
    assert_true(text.failed);
    for (int i = 0; i < 2 * JSON_MAX_DEPTH; i++)
        json_close(&json);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_and_lists_are_laid_out),
        cmocka_unit_test(every_double_is_read_back),
        cmocka_unit_test(numbers_have_no_more_digits_than_needed),
        cmocka_unit_test(what_is_not_finite_is_null),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
        cmocka_unit_test(whole_numbers_are_written_in_full),
        cmocka_unit_test(every_text_is_read_back),
        cmocka_unit_test(bytes_that_are_not_utf8_are_escaped),
        cmocka_unit_test(escapes_are_the_usual_ones),
        cmocka_unit_test(lines_are_a_list_of_texts),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(keys_are_left_out_with_all_that_is_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
