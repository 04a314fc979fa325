#include "core/doc.h"
#include "core/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

static void a_text_grows(void **state)
{
    struct text text = {0};
    (void)state;
    for (int i = 0; i < 10000; i++) {
        text_add(&text, "abc");
        text_add_bytes(&text, "d\0e", 3);
        text_format(&text, "%04d", i);
        assert_int_equal(text.data[text.length], 0);
    }
    assert_false(text.failed);
    assert_int_equal(text.length, 100000);
    for (int i = 0; i < 10000; i++) {
        const char *part = text.data + (size_t)i * 10;
        assert_memory_equal(part, "abcd\0e", 6);
        assert_int_equal(
            (part[6] - '0') * 1000 + (part[7] - '0') * 100 + (part[8] - '0') * 10 + part[9] - '0', i);
    }
    text_release(&text);
    assert_null(text.data);
    assert_int_equal(text.length, 0);
}

/* Around the sizes at which memory doubles. */
static void every_length_ends_in_a_nul(void **state)
{
    char filler[1030];
    (void)state;
    memset(filler, 'x', sizeof filler);
    for (size_t length = 0; length < sizeof filler; length++) {
        struct text text = {0};
        text_add_bytes(&text, filler, length);
        assert_int_equal(strlen(text.data), length);
        text_format(&text, "%s", "yz");
        assert_string_equal(text.data + length, "yz");
        text_release(&text);
    }
}

static void a_text_that_cannot_grow_says_so(void **state)
{
    struct text text = {0};
    (void)state;
    text_add(&text, "kept");
    text_add_bytes(&text, "", SIZE_MAX / 2);
    assert_true(text.failed);
    text_add(&text, "lost");
    text_format(&text, "%d", 1);
    assert_string_equal(text.data, "kept");
    text_release(&text);
    assert_false(text.failed);
}

static void the_nearest_word_is_found(void **state)
{
    static const char *const words[] = {"plan", "profile", "templates", "check-plan", "cost"};
    static const char *const cases[][2] = {
        {"plan", "plan"},
        {"paln", "plan"},
        {"plam", "plan"},
        {"pla", "plan"},
        {"PLAN", "plan"},
        {"profiel", "profile"},
        {"template", "templates"},
        {"check_plan", "check-plan"},
        {"checkplan", "check-plan"},
        {"costs", "cost"},
        {"prof", "profile"},
        {"temp", "templates"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = text_nearest(cases[i][0], words, 5);
        if (!found || strcmp(found, cases[i][1]) != 0)
            fail_msg("'%s': %s, expected %s", cases[i][0], found ? found : "nothing", cases[i][1]);
    }
}

static void a_word_that_is_far_from_all_is_not_guessed(void **state)
{
    static const char *const words[] = {"plan", "profile", "templates"};
    static const char *const strange[] = {"", "x", "zzzz", "simulate", "unrelated-word"};
    (void)state;
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        assert_null(text_nearest(strange[i], words, 3));
    assert_null(text_nearest("plan", words, 0));
}

static void words_of_any_length_are_compared(void **state)
{
    char word[200];
    const char *const words[] = {word};
    (void)state;
    memset(word, 'a', sizeof word);
    word[64] = 0;
    assert_ptr_equal(text_nearest(word, words, 1), word);
    word[64] = 'a';
    word[199] = 0;
    assert_null(text_nearest(word, words, 1));
    assert_null(text_nearest("aaaa", words, 1));
}

static void the_first_of_equally_near_words_is_taken(void **state)
{
    static const char *const words[] = {"modes", "nodes"};
    (void)state;
    assert_string_equal(text_nearest("lodes", words, 2), "modes");
}

static void a_message_ends_with_the_nearest_word_or_with_other_advice(void **state)
{
    struct text_hint hint;
    (void)state;
    assert_string_equal(text_suggest(&hint, "nodes", ", see help"), ", did you mean 'nodes'?");
    assert_string_equal(text_suggest(&hint, NULL, ", see help"), ", see help");
}

static void prefixes_are_known(void **state)
{
    (void)state;
    assert_true(text_starts_with("plan", ""));
    assert_true(text_starts_with("plan", "pl"));
    assert_true(text_starts_with("plan", "plan"));
    assert_false(text_starts_with("plan", "plans"));
    assert_false(text_starts_with("", "p"));
}

static void the_first_byte_that_is_not_utf8_is_found(void **state)
{
    static const char text[] = "0123456789\xc3\xa9 abcdefgh\xff";
    (void)state;
    assert_int_equal(text_valid_utf8(text, sizeof text - 1), 21);
    assert_int_equal(text_valid_utf8(text, 21), 21);
    assert_int_equal(text_valid_utf8(text, 11), 10); /* half a character */
    assert_int_equal(text_valid_utf8(text, 0), 0);
}

static void numbers_end_where_they_end(void **state)
{
    char *end;
    (void)state;
    assert_true(text_number("-1.5e3 MB", &end) == -1500);
    assert_string_equal(end, " MB");
    assert_true(text_number("0.30000000000000004", NULL) == 0.30000000000000004);
}

static void reads_back(const char *value, const char *expected)
{
    struct text text = {0};
    struct doc doc;
    struct error err;
    const char *read;
    text_add(&text, "a: ");
    text_add_quoted(&text, value);
    text_add(&text, "\n");
    assert_false(text.failed);
    if (!doc_parse(&doc, DOC_YAML, "quoted.yaml", text.data, text.length, &err) ||
        !doc_string(&doc, doc_find(doc.root, "a"), &read, &err))
        fail_msg("%s: %s", text.data, err.text);
    assert_string_equal(read, expected);
    doc_release(&doc);
    text_release(&text);
}

static void what_is_quoted_reads_back(void **state)
{
    char all[256];
    (void)state;
    reads_back("we\"ird\\n.csv", "we\"ird\\n.csv");
    for (int i = 0; i < 127; i++)
        all[i] = (char)(i + 1);
    all[127] = '\0';
    reads_back(all, all);
    /* of two, three and four bytes; breaks of lines and a byte order mark among them */
    reads_back(
        "\xc2\x80\xc2\x85\xc2\x9f\xc3\xa9\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xef\xbf\xbf\xe4\xb8\xad",
        "\xc2\x80\xc2\x85\xc2\x9f\xc3\xa9\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xef\xbf\xbf\xe4\xb8\xad");
    reads_back("\xf0\x9f\x9a\x80  \t. ", "\xf0\x9f\x9a\x80  \t. ");
}

static void bytes_that_are_no_text_are_quoted_as_such(void **state)
{
    (void)state;
    reads_back("a\xff\xfe z\xc3", "a\\xff\\xfe z\\xc3");
}

/* Of short words over two letters in both capitals, each against each. */
static void beginnings_and_endings(void **state)
{
    char words[85][4] = {""};
    size_t count = 1;
    (void)state;
    for (size_t from = 0; strlen(words[from]) < 3; from++)
        for (const char *letter = "aAbB"; *letter; letter++, count++)
            sprintf(words[count], "%s%c", words[from], *letter);
    assert_int_equal(count, 85);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            bool starts = false, ends = false, like = false;
            for (size_t cut = 0; cut <= strlen(words[i]); cut++) {
                char head[4] = "";
                memcpy(head, words[i], cut);
                starts |= strcmp(head, words[j]) == 0;
                ends |= strcmp(words[i] + cut, words[j]) == 0;
                like |= strcasecmp(words[i] + cut, words[j]) == 0;
            }
            assert_int_equal(text_starts_with(words[i], words[j]), starts);
            assert_int_equal(text_ends_with(words[i], words[j]), ends);
            assert_int_equal(text_ends_like(words[i], words[j]), like);
        }
}

static void numbers_are_all_of_their_text(void **state)
{
    static const char *const wholes[] = {"7", "-7", "9223372036854775807", NULL};
    static const char *const others[] = {"",     "x", "1x2z", "7 ", "1.5", "80O", "9223372036854775808",
                                         "0x10", NULL};
    static const char *const reals[] = {"7", "-1.5", "1e3", NULL};
    static const char *const unreal[] = {"", "abc", "1.5x", "1,5", "nan", "inf", "1e999", "3 4", NULL};
    int64_t whole = 3;
    double real = 3;
    (void)state;
    for (int i = 0; wholes[i]; i++)
        assert_true(text_whole(wholes[i], "", &whole));
    assert_true(whole == INT64_MAX);
    for (int i = 0; others[i]; i++)
        assert_false(text_whole(others[i], "", &whole));
    assert_true(whole == INT64_MAX);
    assert_true(text_whole("12 kB", " ", &whole));
    assert_int_equal(whole, 12);
    assert_false(text_whole("12kB", " ", &whole));
    for (int i = 0; reals[i]; i++)
        assert_true(text_real(reals[i], &real));
    for (int i = 0; unreal[i]; i++)
        assert_false(text_real(unreal[i], &real));
    assert_true(real == 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_grows),
        cmocka_unit_test(every_length_ends_in_a_nul),
        cmocka_unit_test(a_text_that_cannot_grow_says_so),
        cmocka_unit_test(the_nearest_word_is_found),
        cmocka_unit_test(a_word_that_is_far_from_all_is_not_guessed),
        cmocka_unit_test(words_of_any_length_are_compared),
        cmocka_unit_test(the_first_of_equally_near_words_is_taken),
        cmocka_unit_test(a_message_ends_with_the_nearest_word_or_with_other_advice),
        cmocka_unit_test(prefixes_are_known),
        cmocka_unit_test(the_first_byte_that_is_not_utf8_is_found),
        cmocka_unit_test(numbers_end_where_they_end),
        cmocka_unit_test(what_is_quoted_reads_back),
        cmocka_unit_test(bytes_that_are_no_text_are_quoted_as_such),
        cmocka_unit_test(beginnings_and_endings),
        cmocka_unit_test(numbers_are_all_of_their_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
