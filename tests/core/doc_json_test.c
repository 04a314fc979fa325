/* JSON: what reads, and the message for everything that does not. */
#include "core/doc.h"
#include "core/text.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void read_bytes(struct doc *doc, const char *text, size_t length)
{
    struct error err;
    if (!doc_parse(doc, DOC_JSON, "f.json", text, length, &err))
        fail_msg("%s: %s", text, err.text);
}

static void read(struct doc *doc, const char *text)
{
    read_bytes(doc, text, strlen(text));
}

static void refuse_bytes(const char *text, size_t length, const char *message)
{
    struct doc doc;
    struct error err;
    if (doc_parse(&doc, DOC_JSON, "f.json", text, length, &err))
        fail_msg("'%s' was read; expected: %s", text, message);
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_null(doc.root);
    assert_null(doc.arena.last);
}

static double number_of(const char *text)
{
    struct doc doc;
    read(&doc, text);
    assert_int_equal(doc.root->type, DOC_NUMBER);
    assert_string_equal(doc.root->text, text);
    assert_int_equal(doc.root->length, strlen(text));
    double number = doc.root->number;
    doc_release(&doc);
    return number;
}

static void every_type_is_read(void **state)
{
    struct doc doc;
    (void)state;
    read(
        &doc,
        " {\"a\": null, \"b\": true, \"c\": false, \"d\": -1.5e1, \"e\": \"x\", \"f\": [1, []], \"g\": {}} ");
    static const enum doc_type types[] = {DOC_NULL,   DOC_BOOL, DOC_BOOL, DOC_NUMBER,
                                          DOC_STRING, DOC_LIST, DOC_MAP};
    assert_int_equal(doc.root->type, DOC_MAP);
    assert_int_equal(doc.root->count, 7);
    const struct doc_node *node = doc.root->first_child;
    for (uint32_t i = 0; i < 7; i++, node = node->next) {
        assert_int_equal(node->type, types[i]);
        assert_int_equal(node->index, i);
        assert_int_equal(node->key[0], 'a' + i);
        assert_ptr_equal(node->parent, doc.root);
    }
    assert_null(node);
    assert_true(doc_find(doc.root, "b")->boolean);
    assert_false(doc_find(doc.root, "c")->boolean);
    assert_true(doc_find(doc.root, "d")->number == -15);
    assert_string_equal(doc_find(doc.root, "d")->text, "-1.5e1");
    assert_string_equal(doc_find(doc.root, "e")->text, "x");
    assert_int_equal(doc_find(doc.root, "f")->count, 2);
    assert_null(doc_find(doc.root, "f")->first_child->key);
    assert_int_equal(doc_find(doc.root, "g")->count, 0);
    doc_release(&doc);
}

static void every_value_knows_its_place(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "{\n  \"a\": 1,\r\n\t\"b\": [2,\n3]\n}");
    const struct doc_node *a = doc_find(doc.root, "a"), *b = doc_find(doc.root, "b");
    assert_int_equal(doc.root->line, 1);
    assert_int_equal(doc.root->column, 1);
    assert_int_equal(a->line, 2);
    assert_int_equal(a->column, 8);
    assert_int_equal(b->line, 3);
    assert_int_equal(b->column, 7);
    assert_int_equal(b->first_child->next->line, 4);
    assert_int_equal(b->first_child->next->column, 1);
    doc_release(&doc);
}

static void columns_count_characters(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "[\"\xc3\xa9\xe2\x82\xac\\n\xf0\x9f\x98\x80\", 1]");
    assert_int_equal(doc.root->first_child->next->column, 11);
    doc_release(&doc);
    refuse_bytes("[\"\xc3\xa9\", x]", 9, "f.json:1:7: expected a value, found 'x'");
    refuse_bytes("[\"\xc3\xa9\\x\"]", 8, "f.json:1:5: unknown escape in a string");
    refuse_bytes("[\"\xc3\xa9\",\xff]", 7, "f.json:1:6: not UTF-8 text");
}

static void escapes_are_undone(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00z\"");
    assert_string_equal(doc.root->text, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
    assert_int_equal(doc.root->length, strlen(doc.root->text));
    doc_release(&doc);
}

static void an_escaped_nul_is_kept(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "[\"a\\u0000b\"]");
    assert_int_equal(doc.root->first_child->length, 3);
    assert_memory_equal(doc.root->first_child->text, "a\0b", 4);
    doc_release(&doc);
}

static void texts_side_by_side_do_not_touch(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "{\"\":\"\",\"k\\n\":[1,22,\"a\\tb\",-3,\"\"]}");
    assert_string_equal(doc.root->first_child->key, "");
    assert_string_equal(doc.root->first_child->text, "");
    const struct doc_node *list = doc_find(doc.root, "k\n");
    static const char *const texts[] = {"1", "22", "a\tb", "-3", ""};
    const struct doc_node *node = list->first_child;
    for (size_t i = 0; i < 5; i++, node = node->next)
        assert_string_equal(node->text, texts[i]);
    doc_release(&doc);
}

static void numbers_are_what_strtod_says(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "7",
        "0.1",
        "0.000001",
        "1e22",
        "1e23",
        "1E-22",
        "1e-23",
        "123456789012345",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "90071992547409925",
        "0.30000000000000004",
        "179769313486231570000e288",
        "1.7976931348623157e308",
        "2.2250738585072011e-308",
        "4.9406564584124654e-324",
        "2e-324",
        "1e-999999999999999999999",
        "0e999999999999999999999",
        "0.0000000000000000000000000000000000000000000000001e49",
        "1000000000000000000000000000000000000000000000000e-48",
        "8.41",
        "6.02214076e23",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double number = number_of(texts[i]), expected = strtod(texts[i], NULL);
        if (memcmp(&number, &expected, sizeof number) != 0)
            fail_msg("%s: %.17g, expected %.17g", texts[i], number, expected);
    }
}

/* Against strtod, with digits and exponents on both sides of what is read the short way. */
static void random_numbers_are_what_strtod_says(void **state)
{
    uint64_t random = 1;
    char text[64];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned digits = 1 + (unsigned)(random >> 60), exponent = (unsigned)(random >> 54) % 61;
        snprintf(text, sizeof text, "%s%.*ge%d", random & 1024 ? "-" : "", (int)digits + 1,
                 (double)(random >> 3) * 1e-12, (int)exponent - 30);
        if (strchr(text, 'e') != strrchr(text, 'e'))
            *strrchr(text, 'e') = 0;
        double number = number_of(text), expected = strtod(text, NULL);
        if (memcmp(&number, &expected, sizeof number) != 0)
            fail_msg("%s: %.17g, expected %.17g", text, number, expected);
    }
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"", "f.json:1:1: the file is empty"},
    {" \n\t\r\n", "f.json:1:1: the file is empty"},
    {"\xef\xbb\xbf", "f.json:1:1: the file is empty"},
    {"{} x", "f.json:1:4: expected the end of the file, found 'x'"},
    {"1 2", "f.json:1:3: expected the end of the file, found '2'"},
    {"[1]\n]", "f.json:2:1: expected the end of the file, found ']'"},
    {"truex", "f.json:1:5: expected the end of the file, found 'x'"},
    {"nul", "f.json:1:1: expected a value, found 'n'"},
    {"True", "f.json:1:1: expected a value, found 'T'"},
    {"'a'", "f.json:1:1: expected a value, found '''"},
    {"[\xe2\x82\xac]", "f.json:1:2: expected a value, found '\xe2\x82\xac'"},
    {"// x\n1", "f.json:1:1: expected a value, found '/'"},
    {"[", "f.json:1:2: expected a value, found the end of the file"},
    {"[1", "f.json:1:3: expected ',' or ']', found the end of the file"},
    {"[1 2]", "f.json:1:4: expected ',' or ']', found '2'"},
    {"[1,]", "f.json:1:4: expected a value, found ']'"},
    {"[,1]", "f.json:1:2: expected a value, found ','"},
    {"[1}", "f.json:1:3: expected ',' or ']', found '}'"},
    {"{", "f.json:1:2: expected a key in double quotes, found the end of the file"},
    {"{a: 1}", "f.json:1:2: expected a key in double quotes, found 'a'"},
    {"{1: 1}", "f.json:1:2: expected a key in double quotes, found '1'"},
    {"{\"a\" 1}", "f.json:1:6: expected ':' after a key, found '1'"},
    {"{\"a\": }", "f.json:1:7: expected a value, found '}'"},
    {"{\"a\": 1 \"b\": 2}", "f.json:1:9: expected ',' or '}', found '\"'"},
    {"{\"a\": 1,}", "f.json:1:9: expected a key in double quotes, found '}'"},
    {"{\"a\": 1]", "f.json:1:8: expected ',' or '}', found ']'"},
    {"{\"a\\u0000b\": 1}", "f.json:1:2: a key with a NUL in it"},
    {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "f.json:3:7: a: given twice, first in line 1"},
    {"{\"x\": {\"a\": 1, \"\\u0061\": 3}}", "f.json:1:26: x.a: given twice, first in line 1"},
    {"01", "f.json:1:1: '01' is not a number"},
    {"-01", "f.json:1:1: '-01' is not a number"},
    {"[00]", "f.json:1:2: '00' is not a number"},
    {"1.", "f.json:1:1: '1.' is not a number"},
    {"1.e5", "f.json:1:1: '1.e5' is not a number"},
    {"-.5", "f.json:1:1: '-.5' is not a number"},
    {".5", "f.json:1:1: expected a value, found '.'"},
    {"+1", "f.json:1:1: expected a value, found '+'"},
    {"-", "f.json:1:1: '-' is not a number"},
    {"1e", "f.json:1:1: '1e' is not a number"},
    {"1e+", "f.json:1:1: '1e+' is not a number"},
    {"1-2", "f.json:1:1: '1-2' is not a number"},
    {"1.2.3", "f.json:1:1: '1.2.3' is not a number"},
    {"0x10", "f.json:1:2: expected the end of the file, found 'x'"},
    {"[1, 1e999]", "f.json:1:5: '1e999' is too large a number"},
    {"-1e999", "f.json:1:1: '-1e999' is too large a number"},
    {"NaN", "f.json:1:1: NaN and Infinity are not numbers in JSON"},
    {"[Infinity]", "f.json:1:2: NaN and Infinity are not numbers in JSON"},
    {"[-Infinity]", "f.json:1:2: NaN and Infinity are not numbers in JSON"},
    {"nan", "f.json:1:1: NaN and Infinity are not numbers in JSON"},
    {"inf", "f.json:1:1: NaN and Infinity are not numbers in JSON"},
    {"\"a", "f.json:1:3: the file ends within a string"},
    {"\"a\\", "f.json:1:4: unknown escape in a string"},
    {"\"a\nb\"", "f.json:1:3: a control character within a string"},
    {"\"\\t\x01\"", "f.json:1:4: a control character within a string"},
    {"\"\\x41\"", "f.json:1:3: unknown escape in a string"},
    {"\"\\u12\"", "f.json:1:4: expected four hexadecimal digits after \\u"},
    {"\"\\u12g4\"", "f.json:1:4: expected four hexadecimal digits after \\u"},
    {"\"\\ud83d\"", "f.json:1:8: an unpaired surrogate"},
    {"\"\\ud83d\\n\"", "f.json:1:8: an unpaired surrogate"},
    {"\"\\ud83d\\ud83d\"", "f.json:1:8: an unpaired surrogate"},
    {"\"\\ude00\"", "f.json:1:8: an unpaired surrogate"},
};

static void every_mistake_has_its_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_bytes(bad[i].text, strlen(bad[i].text), bad[i].message);
}

static void long_numbers_are_cut_in_messages(void **state)
{
    char text[200], message[200];
    (void)state;
    memset(text, '9', 150);
    snprintf(text + 150, sizeof text - 150, ".");
    snprintf(message, sizeof message, "f.json:1:1: '%.60s' is not a number", text);
    refuse_bytes(text, strlen(text), message);
}

static void a_nul_in_the_file_is_refused(void **state)
{
    (void)state;
    refuse_bytes("[1,\0]", 5, "f.json:1:4: expected a value, found ''");
    refuse_bytes("\"a\0b\"", 5, "f.json:1:3: a control character within a string");
    refuse_bytes("1\0", 2, "f.json:1:2: expected the end of the file, found ''");
}

static void what_is_not_utf8_is_refused(void **state)
{
    static const char *const wrong[] = {
        "\x80",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xc3(",
        "\xe0\x80\x80",
        "\xe2\x82",
        "\xed\xa0\x80",
        "\xf0\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xfe",
        "\xff",
        "\xe2\x28\xa1",
        "\xf0\x9f\x98",
    };
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "[\n \"%s\"]", wrong[i]);
        refuse_bytes(text, strlen(text), "f.json:2:3: not UTF-8 text");
        snprintf(text, sizeof text, "[\n \"%s", wrong[i]);
        refuse_bytes(text, strlen(text), "f.json:2:3: not UTF-8 text");
    }
}

static void the_largest_characters_are_read(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4"
               "\x8f\xbf\xbf\"");
    assert_int_equal(doc.root->length, 25);
    doc_release(&doc);
}

static void a_byte_order_mark_is_skipped(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "\xef\xbb\xbf[1]");
    assert_int_equal(doc.root->column, 1);
    assert_int_equal(doc.root->count, 1);
    doc_release(&doc);
    read(&doc, "\xef\xbb\xbf"
               "12");
    assert_string_equal(doc.root->text, "12");
    doc_release(&doc);
}

static void brackets(char *text, int depth)
{
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    text[2 * depth] = 0;
}

static void depth_has_a_limit(void **state)
{
    struct doc doc;
    char text[20001];
    (void)state;
    brackets(text, DOC_MAX_DEPTH);
    read(&doc, text);
    int depth = 0;
    for (const struct doc_node *node = doc.root; node; node = node->first_child)
        depth++;
    assert_int_equal(depth, DOC_MAX_DEPTH);
    doc_release(&doc);
    brackets(text, DOC_MAX_DEPTH + 1);
    refuse_bytes(text, strlen(text), "f.json:1:65: lists and maps nested deeper than 64");
    brackets(text, 10000);
    refuse_bytes(text, strlen(text), "f.json:1:65: lists and maps nested deeper than 64");
}

/* More keys than are compared pair by pair. */
static void many_keys(struct text *text, int count, int last)
{
    text_add(text, "{");
    for (int i = 0; i < count; i++)
        text_format(text, "\"key %d\": %d,\n", i, i);
    text_format(text, "\"key %d\": 0}", last);
}

static void a_large_map_is_searched_for_duplicates(void **state)
{
    struct text text = {0};
    struct doc doc;
    (void)state;
    many_keys(&text, 1000, 1000);
    read(&doc, text.data);
    assert_int_equal(doc.root->count, 1001);
    assert_true(doc_find(doc.root, "key 777")->number == 777);
    doc_release(&doc);
    text.length = 0;
    many_keys(&text, 1000, 41);
    refuse_bytes(text.data, text.length, "f.json:1001:11: key 41: given twice, first in line 42");
    text_release(&text);
}

static void a_key_given_three_times_is_reported_the_second(void **state)
{
    struct text text = {0};
    (void)state;
    text_add(&text, "{\"x\": 1,\n\"x\": 2,\n\"x\": 3");
    for (int i = 0; i < 20; i++)
        text_format(&text, ", \"%d\": 1", i);
    text_add(&text, "}");
    refuse_bytes(text.data, text.length, "f.json:2:6: x: given twice, first in line 1");
    text_release(&text);
}

static void no_beginning_of_a_document_is_one(void **state)
{
    static const char whole[] =
        "{\"name\": \"a\\u00e9\\ud83d\\ude00\xc3\xa9\", \"list\": [1, -2.5e-3, true, false, "
        "null, {\"deep\": [[]]}], \"last\": \"\"}";
    struct doc doc;
    struct error err;
    (void)state;
    read(&doc, whole);
    doc_release(&doc);
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        char *part = malloc(length + 1); /* of this length: a look past the end is found by the sanitizer */
        assert_non_null(part);
        memcpy(part, whole, length);
        if (doc_parse(&doc, DOC_JSON, "f.json", part, length, &err))
            fail_msg("%.*s was read", (int)length, whole);
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_int_equal(strncmp(err.text, "f.json:1:", 9), 0);
        free(part);
    }
}

static void a_text_over_the_limit_is_refused(void **state)
{
    struct doc doc;
    struct error err;
    char *large = malloc(DOC_MAX_BYTES + 1);
    (void)state;
    assert_non_null(large);
    memset(large, ' ', DOC_MAX_BYTES + 1);
    large[0] = '1';
    assert_true(doc_parse(&doc, DOC_JSON, "f.json", large, DOC_MAX_BYTES, &err));
    doc_release(&doc);
    assert_false(doc_parse(&doc, DOC_JSON, "f.json", large, DOC_MAX_BYTES + 1, &err));
    assert_string_equal(err.text, "f.json: larger than the limit of 64 MiB");
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(every_value_knows_its_place),
        cmocka_unit_test(columns_count_characters),
        cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(an_escaped_nul_is_kept),
        cmocka_unit_test(texts_side_by_side_do_not_touch),
        cmocka_unit_test(numbers_are_what_strtod_says),
        cmocka_unit_test(random_numbers_are_what_strtod_says),
        cmocka_unit_test(every_mistake_has_its_message),
        cmocka_unit_test(long_numbers_are_cut_in_messages),
        cmocka_unit_test(a_nul_in_the_file_is_refused),
        cmocka_unit_test(what_is_not_utf8_is_refused),
        cmocka_unit_test(the_largest_characters_are_read),
        cmocka_unit_test(a_byte_order_mark_is_skipped),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(a_large_map_is_searched_for_duplicates),
        cmocka_unit_test(a_key_given_three_times_is_reported_the_second),
        cmocka_unit_test(no_beginning_of_a_document_is_one),
        cmocka_unit_test(a_text_over_the_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
