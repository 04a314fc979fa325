/* Documents whatever their syntax: the getters and their messages, files. */
#include "core/doc.h"
#include "model/folder.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void read(struct doc *doc, const char *text)
{
    struct error err;
    if (!doc_parse(doc, DOC_JSON, "f.json", text, strlen(text), &err))
        fail_msg("%s: %s", text, err.text);
}

static const char values[] =
    "{\"null\": null, \"true\": true, \"text\": \"x\", \"empty\": \"\", \"nul\": \"a\\u0000\",\n"
    " \"list\": [1, {\"deep\": \"y\"}], \"map\": {}, \"half\": 0.5, \"three\": 3.0,\n"
    " \"minus\": -1, \"zero\": 0, \"huge\": 1e300, \"quoted\": \"3\", \"size\": \"16 GiB\",\n"
    " \"rate\": \"25 Gb/s\", \"none\": \"0 s\"}";

static void require_message(const struct error *err, const char *message)
{
    assert_int_equal(err->kind, ERROR_INPUT);
    assert_string_equal(err->text, message);
}

static void find_is_quiet(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, values);
    assert_non_null(doc_find(doc.root, "map"));
    assert_null(doc_find(doc.root, "mop"));
    assert_null(doc_find(doc_find(doc.root, "list"), "x"));
    assert_null(doc_find(NULL, "x"));
    doc_release(&doc);
}

static void need_says_what_is_missing(void **state)
{
    struct doc doc;
    struct error err;
    (void)state;
    read(&doc, values);
    const struct doc_node *list = doc_find(doc.root, "list");
    assert_ptr_equal(doc_need(&doc, doc.root, "list", &err), list);
    assert_null(doc_need(&doc, doc.root, "lost", &err));
    require_message(&err, "f.json:1:1: 'lost' is missing");
    assert_null(doc_need(&doc, list->first_child->next, "x", &err));
    require_message(&err, "f.json:2:14: list[1]: 'x' is missing");
    assert_null(doc_need(&doc, list, "x", &err));
    require_message(&err, "f.json:2:10: list: expected a map, found a list");
    doc_release(&doc);
}

static void lists_and_maps_are_told_apart(void **state)
{
    struct doc doc;
    struct error err;
    (void)state;
    read(&doc, values);
    const struct doc_node *list = doc_find(doc.root, "list"), *map = doc_find(doc.root, "map");
    assert_true(doc_is_list(&doc, list, &err));
    assert_true(doc_is_map(&doc, map, &err));
    assert_false(doc_is_map(&doc, list, &err));
    require_message(&err, "f.json:2:10: list: expected a map, found a list");
    assert_false(doc_is_list(&doc, map, &err));
    require_message(&err, "f.json:2:37: map: expected a list, found a map");
    assert_false(doc_is_list(&doc, doc_find(doc.root, "null"), &err));
    require_message(&err, "f.json:1:10: null: expected a list, found null");
    assert_false(doc_is_map(&doc, doc_find(doc.root, "text"), &err));
    require_message(&err, "f.json:1:38: text: expected a map, found 'x'");
    doc_release(&doc);
}

static void every_scalar_is_a_text(void **state)
{
    static const char *const keys[] = {"true", "text", "half", "minus", "size"};
    static const char *const texts[] = {"true", "x", "0.5", "-1", "16 GiB"};
    struct doc doc;
    struct error err;
    const char *text;
    (void)state;
    read(&doc, values);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_true(doc_string(&doc, doc_find(doc.root, keys[i]), &text, &err));
        assert_string_equal(text, texts[i]);
    }
    doc_release(&doc);
}

static void what_is_no_text_is_refused(void **state)
{
    static const char *const keys[] = {"null", "empty", "nul", "list", "map"};
    static const char *const messages[] = {
        "f.json:1:10: null: expected a string, found null",
        "f.json:1:52: empty: expected a non-empty string",
        "f.json:1:63: nul: expected a string without NUL characters",
        "f.json:2:10: list: expected a string, found a list",
        "f.json:2:37: map: expected a string, found a map",
    };
    struct doc doc;
    struct error err;
    const char *text;
    (void)state;
    read(&doc, values);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_false(doc_string(&doc, doc_find(doc.root, keys[i]), &text, &err));
        require_message(&err, messages[i]);
    }
    doc_release(&doc);
}

static void numbers_keep_to_their_range(void **state)
{
    static const struct {
        const char *key;
        double min, max;
        const char *message; /* NULL: fine */
    } cases[] = {
        {"half", 0.5, 0.5, NULL},
        {"half", DOC_POSITIVE, DBL_MAX, NULL},
        {"zero", 0, INFINITY, NULL},
        {"minus", -INFINITY, INFINITY, NULL},
        {"huge", DOC_POSITIVE, INFINITY, NULL},
        {"zero", DOC_POSITIVE, INFINITY, "f.json:3:23: zero: expected a positive number, found '0'"},
        {"minus", DOC_POSITIVE, 8, "f.json:3:11: minus: expected a positive number up to 8, found '-1'"},
        {"minus", 0, INFINITY, "f.json:3:11: minus: expected a number of at least 0, found '-1'"},
        {"three", -INFINITY, 2.5, "f.json:2:63: three: expected a number of at most 2.5, found '3.0'"},
        {"half", 1, 8, "f.json:2:49: half: expected a number from 1 to 8, found '0.5'"},
        {"quoted", -INFINITY, INFINITY, "f.json:3:51: quoted: expected a number, found '3'"},
        {"true", 0, 1, "f.json:1:24: true: expected a number from 0 to 1, found 'true'"},
        {"null", 0, 1, "f.json:1:10: null: expected a number from 0 to 1, found null"},
        {"list", 0, 1, "f.json:2:10: list: expected a number from 0 to 1, found a list"},
    };
    struct doc doc;
    struct error err;
    double value;
    (void)state;
    read(&doc, values);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct doc_node *node = doc_find(doc.root, cases[i].key);
        bool ok = doc_number(&doc, node, cases[i].min, cases[i].max, &value, &err);
        assert_int_equal(ok, !cases[i].message);
        if (ok)
            assert_true(value == node->number);
        else
            require_message(&err, cases[i].message);
    }
    doc_release(&doc);
}

static void whole_numbers_are_whole(void **state)
{
    static const struct {
        const char *key;
        int64_t min, max;
        const char *message;
    } cases[] = {
        {"three", 3, 3, NULL},
        {"minus", INT64_MIN, INT64_MAX, NULL},
        {"half", 0, 9, "f.json:2:49: half: expected a whole number from 0 to 9, found '0.5'"},
        {"three", 4, 9, "f.json:2:63: three: expected a whole number from 4 to 9, found '3.0'"},
        {"three", 0, 2, "f.json:2:63: three: expected a whole number from 0 to 2, found '3.0'"},
        {"huge", 1, INT64_MAX, "f.json:3:34: huge: expected a whole number of at least 1, found '1e300'"},
        {"minus", 0, INT64_MAX, "f.json:3:11: minus: expected a whole number of at least 0, found '-1'"},
        {"huge", INT64_MIN, INT64_MAX, "f.json:3:34: huge: expected a whole number, found '1e300'"},
        {"quoted", 0, 9, "f.json:3:51: quoted: expected a whole number from 0 to 9, found '3'"},
    };
    struct doc doc;
    struct error err;
    int64_t value;
    (void)state;
    read(&doc, values);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct doc_node *node = doc_find(doc.root, cases[i].key);
        bool ok = doc_integer(&doc, node, cases[i].min, cases[i].max, &value, &err);
        assert_int_equal(ok, !cases[i].message);
        if (ok)
            assert_true((double)value == node->number);
        else
            require_message(&err, cases[i].message);
    }
    doc_release(&doc);
}

static void quantities_have_units(void **state)
{
    struct doc doc;
    struct error err;
    double value;
    (void)state;
    read(&doc, values);
    assert_true(doc_quantity(&doc, doc_find(doc.root, "size"), UNIT_BYTES, false, &value, &err));
    assert_true(value == 0x1p34);
    assert_true(doc_quantity(&doc, doc_find(doc.root, "rate"), UNIT_RATE, false, &value, &err));
    assert_true(value == 3.125e9);
    assert_true(doc_quantity(&doc, doc_find(doc.root, "half"), UNIT_TIME, false, &value, &err));
    assert_true(value == 0.5);
    assert_true(doc_quantity(&doc, doc_find(doc.root, "none"), UNIT_TIME, true, &value, &err));
    assert_true(value == 0);
    doc_release(&doc);
}

static void quantities_of_another_kind_are_refused(void **state)
{
    static const struct {
        const char *key;
        enum unit_kind kind;
        bool zero_allowed;
        const char *message;
    } cases[] = {
        {"none", UNIT_TIME, false,
         "f.json:4:29: none: expected a time such as 5 us (more than 0), found '0 s'"},
        {"minus", UNIT_TIME, true, "f.json:3:11: minus: expected a time such as 5 us, found '-1'"},
        {"size", UNIT_RATE, true,
         "f.json:3:64: size: expected a rate such as 25 Gb/s or 300 GB/s, found '16 GiB'"},
        {"rate", UNIT_BYTES, false,
         "f.json:4:10: rate: expected a size such as 16 GiB (more than 0), found '25 Gb/s'"},
        {"true", UNIT_COMPUTE, true,
         "f.json:1:24: true: expected a compute rate such as 312 TFLOP/s, found 'true'"},
        {"list", UNIT_BYTES, true, "f.json:2:10: list: expected a size such as 16 GiB, found a list"},
        {"empty", UNIT_BYTES, true, "f.json:1:52: empty: expected a size such as 16 GiB, found ''"},
    };
    struct doc doc;
    struct error err;
    double value;
    (void)state;
    read(&doc, values);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(doc_quantity(&doc, doc_find(doc.root, cases[i].key), cases[i].kind,
                                  cases[i].zero_allowed, &value, &err));
        require_message(&err, cases[i].message);
    }
    doc_release(&doc);
}

static void unknown_keys_are_named_with_the_nearest(void **state)
{
    static const char *const known[] = {"device", "memory", "speed"};
    struct doc doc;
    struct error err;
    (void)state;
    read(&doc, "[{\"speed\": 1, \"memory\": 2}, {\"speed\": 1, \"memroy\": 2}, {\"colour\": 1}, {}]");
    const struct doc_node *first = doc.root->first_child;
    assert_true(doc_only_keys(&doc, first, known, 3, &err));
    assert_false(doc_only_keys(&doc, first->next, known, 3, &err));
    require_message(&err, "f.json:1:52: [1].memroy: unknown key, did you mean 'memory'?");
    assert_false(doc_only_keys(&doc, first->next->next, known, 3, &err));
    require_message(&err, "f.json:1:67: [2].colour: unknown key");
    assert_true(doc_only_keys(&doc, first->next->next->next, known, 0, &err));
    doc_release(&doc);
}

/* 2-byte characters, so that a cut after 60 bytes is one in the middle of a character for one of both. */
static void long_keys_and_values_are_cut_at_a_character(void **state)
{
    char text[2000] = "{\"", message[2000] = "f.json:1:305: ";
    struct doc doc;
    struct error err;
    double value;
    (void)state;
    for (int i = 0; i < 300; i++)
        strcat(text, i == 0 ? "x" : "\xc3\xa9");
    strcat(text, "\":\"");
    for (int i = 0; i < 300; i++)
        strcat(text, "\xc3\xa9");
    strcat(text, "\"}");
    strcat(message, "x");
    for (int i = 0; i < 29; i++)
        strcat(message, "\xc3\xa9");
    strcat(message, "\xe2\x80\xa6: expected a number, found '");
    for (int i = 0; i < 30; i++)
        strcat(message, "\xc3\xa9");
    strcat(message, "\xe2\x80\xa6'");
    read(&doc, text);
    assert_false(doc_number(&doc, doc.root->first_child, -INFINITY, INFINITY, &value, &err));
    require_message(&err, message);
    doc_release(&doc);
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    struct doc doc;
    struct error err;
    double value;
    (void)state;
    read(&doc, "{\"a\\u001b[2J\": \"\\r\\u009b31m\"}");
    assert_false(doc_number(&doc, doc.root->first_child, -INFINITY, INFINITY, &value, &err));
    require_message(&err, "f.json:1:16: a\\x1b[2J: expected a number, found '\\x0d\\xc2\\x9b31m'");
    doc_release(&doc);
}

static void the_ending_tells_the_syntax(void **state)
{
    static const char *const yaml[] = {"a.yaml", "a.yml"}, *const json[] = {"a.json", "a", "yaml",
                                                                            "a.yaml.json"};
    struct folder folder;
    struct doc doc;
    struct error err;
    char path[300];
    (void)state;
    folder_make(&folder);
    for (size_t i = 0; i < sizeof yaml / sizeof *yaml; i++) {
        folder_write(&folder, yaml[i], "a: 1\n");
        snprintf(path, sizeof path, "%s/%s", folder.path, yaml[i]);
        assert_true(doc_load(&doc, path, &err));
        assert_string_equal(doc.path, path);
        doc_release(&doc);
    }
    for (size_t i = 0; i < sizeof json / sizeof *json; i++) {
        folder_write(&folder, json[i], "a: 1\n");
        snprintf(path, sizeof path, "%s/%s", folder.path, json[i]);
        assert_false(doc_load(&doc, path, &err));
        assert_non_null(strstr(err.text, ":1:1: expected a value, found 'a'"));
    }
    folder_remove(&folder);
}

static void a_missing_file_is_an_error(void **state)
{
    struct doc doc = {0};
    struct error err;
    (void)state;
    assert_false(doc_load(&doc, "no/such/file.yaml", &err));
    require_message(&err, "no/such/file.yaml: cannot open: No such file or directory");
}

static void released_twice_is_released(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, values);
    doc_release(&doc);
    assert_null(doc.root);
    doc_release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_is_quiet),
        cmocka_unit_test(need_says_what_is_missing),
        cmocka_unit_test(lists_and_maps_are_told_apart),
        cmocka_unit_test(every_scalar_is_a_text),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(numbers_keep_to_their_range),
        cmocka_unit_test(whole_numbers_are_whole),
        cmocka_unit_test(quantities_have_units),
        cmocka_unit_test(quantities_of_another_kind_are_refused),
        cmocka_unit_test(unknown_keys_are_named_with_the_nearest),
        cmocka_unit_test(long_keys_and_values_are_cut_at_a_character),
        cmocka_unit_test(control_characters_do_not_reach_the_terminal),
        cmocka_unit_test(the_ending_tells_the_syntax),
        cmocka_unit_test(a_missing_file_is_an_error),
        cmocka_unit_test(released_twice_is_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
