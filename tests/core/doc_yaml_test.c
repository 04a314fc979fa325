/* YAML: the part of it that is read, and the message for the rest. */
#include "core/doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void read(struct doc *doc, const char *text)
{
    struct error err;
    if (!doc_parse(doc, DOC_YAML, "f.yaml", text, strlen(text), &err))
        fail_msg("%s: %s", text, err.text);
}

static void refuse(const char *text, const char *message)
{
    struct doc doc;
    struct error err;
    if (doc_parse(&doc, DOC_YAML, "f.yaml", text, strlen(text), &err))
        fail_msg("'%s' was read; expected: %s", text, message);
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_null(doc.root);
    assert_null(doc.arena.last);
}

static void block_and_flow_are_read(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "name: a\nlist:\n  - 1\n  - {x: 2, y: [3]}\nempty: []\n");
    const struct doc_node *list = doc_find(doc.root, "list");
    assert_int_equal(doc.root->count, 3);
    assert_string_equal(doc_find(doc.root, "name")->text, "a");
    assert_int_equal(list->count, 2);
    assert_true(list->first_child->number == 1);
    assert_int_equal(doc_find(list->first_child->next, "y")->type, DOC_LIST);
    assert_int_equal(doc_find(list->first_child->next, "x")->line, 4);
    assert_int_equal(doc_find(list->first_child->next, "x")->column, 9);
    doc_release(&doc);
}

static const struct {
    const char *text;
    enum doc_type type;
    double number;
} scalars[] = {
    {"1", DOC_NUMBER, 1},          {"-1.5e3", DOC_NUMBER, -1500},
    {"+1", DOC_NUMBER, 1},         {".5", DOC_NUMBER, 0.5},
    {"5.", DOC_NUMBER, 5},         {"012", DOC_NUMBER, 12},
    {"0x10", DOC_STRING, 0},       {"0o7", DOC_STRING, 0},
    {"1_000", DOC_STRING, 0},      {"1e999", DOC_STRING, 0},
    {".inf", DOC_STRING, 0},       {"-.Inf", DOC_STRING, 0},
    {".nan", DOC_STRING, 0},       {"inf", DOC_STRING, 0},
    {"nan", DOC_STRING, 0},        {"1 GiB", DOC_STRING, 0},
    {".", DOC_STRING, 0},          {"e5", DOC_STRING, 0},
    {"true", DOC_BOOL, 0},         {"False", DOC_BOOL, 0},
    {"TRUE", DOC_BOOL, 0},         {"yes", DOC_STRING, 0},
    {"off", DOC_STRING, 0},        {"tRUE", DOC_STRING, 0},
    {"null", DOC_NULL, 0},         {"~", DOC_NULL, 0},
    {"Null", DOC_NULL, 0},         {"nULL", DOC_STRING, 0},
    {"2026-01-01", DOC_STRING, 0},
};

static void plain_scalars_are_typed_by_the_core_schema(void **state)
{
    char text[64];
    struct doc doc;
    (void)state;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        snprintf(text, sizeof text, "a: %s\n", scalars[i].text);
        read(&doc, text);
        const struct doc_node *node = doc.root->first_child;
        if (node->type != scalars[i].type)
            fail_msg("%s: type %d, expected %d", text, (int)node->type, (int)scalars[i].type);
        assert_string_equal(node->text, scalars[i].text);
        if (node->type == DOC_NUMBER)
            assert_true(node->number == scalars[i].number);
        if (node->type == DOC_BOOL)
            assert_int_equal(node->boolean, scalars[i].text[0] == 't' || scalars[i].text[0] == 'T');
        doc_release(&doc);
    }
}

static void quoted_scalars_are_texts(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "['1', \"true\", '', \"~\", \"\\x41\\u00e9\"]");
    static const char *const texts[] = {"1", "true", "", "~", "A\xc3\xa9"};
    const struct doc_node *node = doc.root->first_child;
    for (size_t i = 0; i < 5; i++, node = node->next) {
        assert_int_equal(node->type, DOC_STRING);
        assert_string_equal(node->text, texts[i]);
    }
    doc_release(&doc);
}

static void blocks_of_text_are_texts(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "a: |\n  1\n  2\nb: >-\n  3\n  4\n");
    assert_string_equal(doc_find(doc.root, "a")->text, "1\n2\n");
    assert_string_equal(doc_find(doc.root, "b")->text, "3 4");
    doc_release(&doc);
}

static void nothing_is_null(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "a:\nb: 1\n");
    assert_int_equal(doc.root->first_child->type, DOC_NULL);
    doc_release(&doc);
    read(&doc, "---\n...\n");
    assert_int_equal(doc.root->type, DOC_NULL);
    doc_release(&doc);
}

static void keys_are_texts(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "1: a\ntrue: b\n~: c\n\"q r\": d\n? e\n: f\n");
    static const char *const keys[] = {"1", "true", "~", "q r", "e"};
    const struct doc_node *node = doc.root->first_child;
    for (size_t i = 0; i < 5; i++, node = node->next)
        assert_string_equal(node->key, keys[i]);
    doc_release(&doc);
}

static void comments_and_a_byte_order_mark_are_skipped(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "\xef\xbb\xbf# about\na: 1 # one\n");
    assert_true(doc.root->first_child->number == 1);
    assert_int_equal(doc.root->first_child->line, 2);
    doc_release(&doc);
}

static void columns_count_characters(void **state)
{
    struct doc doc;
    (void)state;
    read(&doc, "{\xc3\xa9\xe2\x82\xac: 1}");
    assert_int_equal(doc.root->first_child->column, 6);
    doc_release(&doc);
}

/* Files of other software may name values: an alias is a copy, and "<<" adds what a map lacks. */
static void aliases_of_other_software_are_copies(void **state)
{
    struct doc doc;
    struct error err;
    const char *text = "base: &b {lr: 1, size: &s 8, list: [1, 2]}\nother: &o {size: 9, depth: 3}\n"
                       "job:\n  <<: [*b, *o]\n  lr: 2\nsame: *b\nsize: *s\n";
    (void)state;
    assert_true(doc_parse_lax(&doc, DOC_YAML, "f.yaml", text, strlen(text), &err));
    const struct doc_node *job = doc_find(doc.root, "job");
    assert_int_equal(job->count, 4);
    assert_true(doc_find(job, "lr")->number == 2);
    assert_true(doc_find(job, "size")->number == 8);
    assert_true(doc_find(job, "depth")->number == 3);
    assert_int_equal(doc_find(job, "list")->count, 2);
    assert_int_equal(doc_find(job, "size")->line, 1);
    assert_null(doc_find(job, "<<"));
    assert_true(doc_find(doc_find(doc.root, "same"), "lr")->number == 1);
    assert_true(doc_find(doc.root, "size")->number == 8);
    doc_release(&doc);
}

static void aliases_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a: *x\n", "f.yaml:1:4: alias 'x' without an anchor before it"},
        {"a: &x [1, *x]\n", "f.yaml:1:11: 'x' is inside of itself"},
        {"a: &x 1\nb:\n  <<: *x\n", "f.yaml:1:4: b.<<: expected a map to merge"},
        {"&x a: 1\n", "f.yaml:1:1: anchors are not supported here"},
        {"a: &x b\n*x : 1\n", "f.yaml:2:1: aliases as keys are not supported here"},
    };
    struct doc doc;
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(doc_parse_lax(&doc, DOC_YAML, "f.yaml", cases[i].text, strlen(cases[i].text), &err));
        assert_string_equal(err.text, cases[i].message);
    }
}

/* Ten lists of ten each, nine deep: a thousand million values, of which none are made. */
static void aliases_do_not_grow_without_limit(void **state)
{
    char text[1024] = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
    struct doc doc;
    struct error err;
    (void)state;
    for (char name = 'b'; name < 'j'; name++) {
        char line[80], last = (char)(name - 1);
        snprintf(line, sizeof line, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", name,
                 name, last, last, last, last, last, last, last, last, last, last);
        strcat(text, line);
    }
    assert_false(doc_parse_lax(&doc, DOC_YAML, "f.yaml", text, strlen(text), &err));
    assert_non_null(strstr(err.text, "aliases copy more than 20000 values"));
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"", "f.yaml:1:1: the file is empty"},
    {"  \n\n", "f.yaml:1:1: the file is empty"},
    {"# only a comment\n", "f.yaml:1:1: the file is empty"},
    {"a: &x 1\n", "f.yaml:1:4: anchors are not supported here"},
    {"a: &x [1]\n", "f.yaml:1:4: anchors are not supported here"},
    {"a: &x {b: 1}\n", "f.yaml:1:4: anchors are not supported here"},
    {"a: *x\n", "f.yaml:1:4: aliases are not supported here"},
    {"a: !!str 1\n", "f.yaml:1:4: tags are not supported here"},
    {"a: !x [1]\n", "f.yaml:1:4: tags are not supported here"},
    {"!x\na: 1\n", "f.yaml:1:1: tags are not supported here"},
    {"a: 1\n---\nb: 2\n", "f.yaml:2:1: several documents in one file are not supported here"},
    {"---\n---\n", "f.yaml:2:1: several documents in one file are not supported here"},
    {"? [a]\n: 1\n", "f.yaml:1:3: a list or map cannot be a key"},
    {"{{a: 1}: 2}", "f.yaml:1:2: a list or map cannot be a key"},
    {"\"\": 1\n", "f.yaml:1:1: expected a key, found an empty one"},
    {"\"a\\0b\": 1\n", "f.yaml:1:1: expected a key without NUL characters"},
    {"a: 1\nb: 2\na: 3\n", "f.yaml:3:4: a: given twice, first in line 1"},
    {"x:\n  - {a: 1, 'a': 2}\n", "f.yaml:2:17: x[0].a: given twice, first in line 2"},
    {"a: \"\xff\"\n", "f.yaml:1:5: not UTF-8 text"},
    {"a: 1\nb: \x01\n", "f.yaml:2:4: control characters are not allowed"},
    {"a: [1\n", "f.yaml:2:1: did not find expected ',' or ']' while parsing a flow sequence"},
    {"a: b: c\n", "f.yaml:1:5: mapping values are not allowed in this context"},
};

static void every_mistake_has_its_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(bad[i].text, bad[i].message);
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
    doc_release(&doc);
    brackets(text, DOC_MAX_DEPTH + 1);
    refuse(text, "f.yaml:1:65: lists and maps nested deeper than 64");
    brackets(text, 10000);
    refuse(text, "f.yaml:1:65: lists and maps nested deeper than 64");
}

/* Where the beginning of a YAML document is a document too, it has fewer values. */
static void no_beginning_of_a_document_is_the_whole(void **state)
{
    static const char whole[] =
        "{name: \"a\\u00e9\xc3\xa9\", list: [1, -2.5e-3, true, ~, {deep: [[]]}], 'last': \"\"}";
    struct doc doc;
    struct error err;
    (void)state;
    read(&doc, whole);
    doc_release(&doc);
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        char *part = malloc(length + 1);
        assert_non_null(part);
        memcpy(part, whole, length);
        if (doc_parse(&doc, DOC_YAML, "f.yaml", part, length, &err))
            fail_msg("%.*s was read", (int)length, whole);
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_int_equal(strncmp(err.text, "f.yaml:", 7), 0);
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_and_flow_are_read),
        cmocka_unit_test(plain_scalars_are_typed_by_the_core_schema),
        cmocka_unit_test(quoted_scalars_are_texts),
        cmocka_unit_test(blocks_of_text_are_texts),
        cmocka_unit_test(nothing_is_null),
        cmocka_unit_test(keys_are_texts),
        cmocka_unit_test(comments_and_a_byte_order_mark_are_skipped),
        cmocka_unit_test(columns_count_characters),
        cmocka_unit_test(aliases_of_other_software_are_copies),
        cmocka_unit_test(aliases_that_cannot_be_are_refused),
        cmocka_unit_test(aliases_do_not_grow_without_limit),
        cmocka_unit_test(every_mistake_has_its_message),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(no_beginning_of_a_document_is_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
