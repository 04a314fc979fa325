#include "storage/s3/xml.h"

#include "core/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool note(void *context, const char *path, const char *text, struct error *err)
{
    (void)err;
    text_format(context, "%s=%s;", path, text);
    return true;
}

static bool read_text(const char *xml, struct text *seen, struct error *err)
{
    size_t length = strlen(xml);
    char *copy = malloc(length ? length : 1); /* without a NUL: what is read beyond it is found */
    assert_non_null(copy);
    memcpy(copy, xml, length);
    bool ok = s3_xml_read(copy, length, note, seen, err);
    free(copy);
    return ok;
}

static void require_seen(const char *xml, const char *expected)
{
    struct text seen = {0};
    struct error err;
    if (!read_text(xml, &seen, &err))
        fail_msg("%s: %s", xml, err.text);
    assert_string_equal(seen.data, expected);
    text_release(&seen);
}

static void require_refused(const char *xml, const char *why)
{
    struct text seen = {0};
    struct error err;
    if (read_text(xml, &seen, &err))
        fail_msg("%s: read as %s", xml, seen.data);
    if (!strstr(err.text, why))
        fail_msg("%s; expected: %s", err.text, why);
    text_release(&seen);
}

static void test_elements_are_seen_with_their_paths(void **state)
{
    (void)state;
    require_seen("<?xml version=\"1.0\"?>\n<A xmlns='x>y'><B>1</B> <C><D>2</D></C><E/></A>\n",
                 "A/B=1;A/C/D=2;A/C=;A/E=;A=;");
}

static void test_entities_are_characters(void **state)
{
    (void)state;
    require_seen("<A>&lt;&gt;&amp;&quot;&apos;&#65;&#xe9;&#x1F600;</A>",
                 "A=<>&\"'A\xc3\xa9\xf0\x9f\x98\x80;");
}

static void test_cdata_is_text_and_comments_are_nothing(void **state)
{
    (void)state;
    require_seen("<A>a<!-- <B> --><![CDATA[<&]]>b</A>", "A=a<&b;");
}

static void test_entities_that_are_no_characters_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "&b;",  "&#0;", "&#xd800;", "&#x110000;", "&#;", "&", "&#99999999999999999999;",
        "&#65", "&#x;", "&#6a;"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char xml[100];
        snprintf(xml, sizeof xml, "<A>%s</A>", wrong[i]);
        require_refused(xml, "an unknown entity");
    }
}

static void test_document_types_are_refused(void **state)
{
    (void)state;
    require_refused("<!DOCTYPE a [<!ENTITY b \"c\">]><A>&b;</A>", "a document type");
}

static void test_what_is_not_closed_is_refused(void **state)
{
    (void)state;
    require_refused("<A><B></B>", "it is truncated");
    require_refused("<A><B></A>", "a closing tag without its opening tag");
    require_refused("<A></A></A>", "a closing tag without its opening tag");
    require_refused("<A b='>", "an unterminated tag");
    require_refused("<A><!-- ", "an unterminated comment");
    require_refused("<A><![CDATA[", "an unterminated CDATA section");
    require_refused("<?xml", "an unterminated processing instruction");
    require_refused("", "it is empty");
    struct error err;
    assert_false(s3_xml_read(NULL, 0, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "it is empty"));
    require_refused(" ", "it is truncated");
}

static void test_one_element_is_outermost(void **state)
{
    (void)state;
    require_refused("<A/><B/>", "more than one outermost element");
    require_refused("<A/>text", "text outside of elements");
    require_refused("no XML", "text outside of elements");
}

static void test_depth_is_limited(void **state)
{
    (void)state;
    struct text xml = {0};
    for (int i = 0; i < S3_XML_MAX_PATH; i++)
        text_add(&xml, "<A>");
    require_refused(xml.data, "elements too deep");
    text_release(&xml);
}

static void test_bytes_that_are_no_text_are_refused(void **state)
{
    (void)state;
    struct error err;
    require_refused("<A>\xff</A>", "bytes that are not text");
    assert_false(s3_xml_read("<A>\0</A>", 8, note, NULL, &err));
}

static bool refuse(void *context, const char *path, const char *text, struct error *err)
{
    (void)context;
    return error_set(err, ERROR_FAILED, "not %s %s", path, text);
}

static void test_a_visitor_can_give_up(void **state)
{
    (void)state;
    struct error err;
    assert_false(s3_xml_read("<A>b</A><", 9, refuse, NULL, &err));
    assert_string_equal(err.text, "not A b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_are_seen_with_their_paths),
        cmocka_unit_test(test_entities_are_characters),
        cmocka_unit_test(test_cdata_is_text_and_comments_are_nothing),
        cmocka_unit_test(test_entities_that_are_no_characters_are_refused),
        cmocka_unit_test(test_document_types_are_refused),
        cmocka_unit_test(test_what_is_not_closed_is_refused),
        cmocka_unit_test(test_one_element_is_outermost),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_bytes_that_are_no_text_are_refused),
        cmocka_unit_test(test_a_visitor_can_give_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
