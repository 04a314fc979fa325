#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/html.h"

#include <math.h>
#include <string.h>

static void expect(struct text *out, const char *expected)
{
    assert_false(out->failed);
    assert_string_equal(out->data ? out->data : "", expected);
    text_release(out);
}

static void test_text_is_escaped(void **state)
{
    struct text out = {0};
    (void)state;
    html_text(&out, "<script>alert(\"1\" & '2')</script>\n\tend");
    expect(&out, "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;\n\tend");
    html_format(&out, "%s %d", "a<b", 3);
    expect(&out, "a&lt;b 3");
    html_element(&out, "p", "soft", "%s", "</p>");
    expect(&out, "<p class=\"soft\">&lt;/p&gt;</p>\n");
}

static void test_what_is_no_text_is_escaped(void **state)
{
    struct text out = {0};
    (void)state;
    html_text(&out, "a\x01"
                    "b\x7f"
                    "c\xff"
                    "d\xc0\xaf"
                    "e\xe2\x82");
    expect(&out, "a\\x01b\\x7fc\\xffd\\xc0\\xafe\\xe2\\x82");
    html_text(&out, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80");
    expect(&out, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80");
}

static void test_addresses_have_no_scheme_and_no_query(void **state)
{
    struct text out = {0};
    (void)state;
    html_address(&out, "runs/a b.json");
    expect(&out, "runs/a%20b.json");
    html_address(&out, "javascript:alert(1)//?x#y%\"\\");
    expect(&out, "javascript%3Aalert%281%29//%3Fx%23y%25%22%5C");
    html_address(&out, "\xc3\xa9");
    expect(&out, "%C3%A9");
}

static void test_images_are_base64(void **state)
{
    /* RFC 4648, section 10 */
    static const char *const vectors[][2] = {{"f", "Zg=="},         {"fo", "Zm8="},
                                             {"foo", "Zm9v"},       {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct text out = {0}, expected = {0};
        html_image(&out, "image/png", vectors[i][0], strlen(vectors[i][0]), "a \"b\"");
        text_format(&expected, "<img src=\"data:image/png;base64,%s\" alt=\"a &quot;b&quot;\">\n",
                    vectors[i][1]);
        expect(&out, expected.data);
        text_release(&expected);
    }
    struct text out = {0};
    html_image(&out, "image/png", "\xff\xfe\x00", 3, "");
    expect(&out, "<img src=\"data:image/png;base64,//4A\" alt=\"\">\n");
}

static void test_nothing_in_data_ends_their_block(void **state)
{
    struct text out = {0}, json = {0};
    (void)state;
    text_add(&json, "{\"a\":\"</script><!--\"}");
    html_data(&out, "d1", &json);
    text_release(&json);
    expect(&out, "<script type=\"application/json\" class=\"data\" id=\"d1\">"
                 "{\"a\":\"\\u003c/script>\\u003c!--\"}</script>\n");
}

static void test_whole_numbers_stand_in_groups(void **state)
{
    char buffer[48];
    (void)state;
    assert_string_equal(html_grouped(buffer, 0), "0");
    assert_string_equal(html_grouped(buffer, 999), "999");
    assert_string_equal(html_grouped(buffer, 1000), "1,000");
    assert_string_equal(html_grouped(buffer, 1203114), "1,203,114");
    assert_string_equal(html_grouped(buffer, -12345), "-12,345");
    assert_string_equal(html_grouped(buffer, 999999.6), "1,000,000");
    assert_string_equal(html_grouped(buffer, -0.4), "0");
    assert_string_equal(html_grouped(buffer, 1e300), "1,000,000,000,000,000,000");
}

static void test_numbers_that_are_none_are_a_dash(void **state)
{
    struct text out = {0};
    (void)state;
    static const enum html_kind kinds[] = {HTML_COUNT, HTML_GENERAL, HTML_SHARE, HTML_BYTES};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        html_cell(&out, cell_number(kinds[i], i == 0 ? INFINITY : NAN));
    expect(&out, "<td class=\"n\">\u2013</td><td class=\"n\">\u2013</td><td class=\"n\">\u2013</td>"
                 "<td class=\"n\">\u2013</td>");
    HTML_ROW(&out, cell_head(NULL), cell_text(NULL), cell_text("<&"));
    expect(&out, "<tr><th scope=\"row\">\u2013</th><td>\u2013</td><td>&lt;&amp;</td></tr>\n");
    html_cell(&out, cell_number(HTML_GENERAL, 1.25));
    html_cell(&out, cell_number(HTML_COUNT, -1e300));
    assert_string_equal(out.data, "<td class=\"n\">1.25</td><td class=\"n\">-1e+300</td>");
    text_release(&out);
    html_fact_share(&out, "a", NAN);
    html_fact_quantity(&out, "b", NAN, UNIT_TIME);
    expect(&out, "");
}

static void test_numbers_are_shown_as_their_kind(void **state)
{
    struct text out = {0};
    (void)state;
    HTML_ROW(&out, cell_number(HTML_COUNT, 1234567), cell_number(HTML_GENERAL, 0.25),
             cell_number(HTML_GENERAL, 1234567), cell_number(HTML_SHARE, 0.125), cell_number(HTML_SHARE, 1e9),
             cell_number(HTML_BYTES, 4096), cell_number(HTML_RATE, 2.5e9), cell_number(HTML_TIME, 0.25));
    expect(&out, "<tr><td class=\"n\">1,234,567</td><td class=\"n\">0.25</td><td class=\"n\">1,234,567</td>"
                 "<td class=\"n\">12.5 %</td><td class=\"n\">1e+11 %</td><td class=\"n\">4.00 KiB</td>"
                 "<td class=\"n\">2.500 GB/s</td><td class=\"n\">250.0 ms</td></tr>\n");
}

static void test_bars_stay_within_their_width(void **state)
{
    const struct html_part parts[] = {{"a", 3, 1}, {"none", -1, 2}, {"nan", NAN, 3}, {"b", 2, HTML_IDLE}};
    struct text out = {0};
    (void)state;
    html_bar(&out, parts, 4, 4);
    assert_non_null(strstr(out.data, "aria-label=\"a 75.0 %, b 50.0 %\""));
    assert_non_null(strstr(out.data, "x=\"0.000\" width=\"75.000\" height=\"10\" class=\"c1\""));
    assert_non_null(strstr(out.data, "x=\"75.000\" width=\"25.000\" height=\"10\" class=\"c8\""));
    assert_null(strstr(out.data, "c2"));
    assert_null(strstr(out.data, "c3"));
    text_release(&out);
    html_bar(&out, parts, 4, 0);
    html_bar(&out, parts, 4, NAN);
    expect(&out, "");
}

static void test_tables_have_heads(void **state)
{
    static const char *const titles[] = {"<file & more", ">size", NULL};
    struct text out = {0};
    (void)state;
    html_table(&out, "All <of them>", titles);
    HTML_ROW(&out, cell_head("a"), cell_number(HTML_COUNT, 1234));
    html_table_end(&out);
    expect(&out,
           "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"All &lt;of "
           "them&gt;\"><table>\n<caption>All &lt;of them&gt;</caption>\n"
           "<thead><tr><th scope=\"col\">file &amp; more</th><th scope=\"col\" "
           "class=\"n\">size</th></tr></thead>\n"
           "<tbody>\n<tr><th scope=\"row\">a</th><td class=\"n\">1,234</td></tr>\n</tbody></table></div>\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_escaped),
        cmocka_unit_test(test_what_is_no_text_is_escaped),
        cmocka_unit_test(test_addresses_have_no_scheme_and_no_query),
        cmocka_unit_test(test_images_are_base64),
        cmocka_unit_test(test_nothing_in_data_ends_their_block),
        cmocka_unit_test(test_whole_numbers_stand_in_groups),
        cmocka_unit_test(test_numbers_that_are_none_are_a_dash),
        cmocka_unit_test(test_numbers_are_shown_as_their_kind),
        cmocka_unit_test(test_bars_stay_within_their_width),
        cmocka_unit_test(test_tables_have_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
