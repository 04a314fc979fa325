#include "core/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void an_error_has_kind_and_text(void **state)
{
    struct error err;
    (void)state;
    assert_false(error_set(&err, ERROR_INFEASIBLE, "%s needs %d GiB", "layer", 7));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_string_equal(err.text, "layer needs 7 GiB");
}

static void memory_is_the_fault_of_the_machine(void **state)
{
    struct error err;
    (void)state;
    assert_false(error_memory(&err));
    assert_int_equal(err.kind, ERROR_FAILED);
    assert_string_equal(err.text, "out of memory");
}

static void control_characters_are_escaped(void **state)
{
    struct error err;
    (void)state;
    error_set(&err, ERROR_INPUT, "%s", "a\nb\tc\x1b[31md\x7f\x01\r");
    assert_string_equal(err.text, "a\\x0ab\\x09c\\x1b[31md\\x7f\\x01\\x0d");
}

static void the_control_characters_of_unicode_too(void **state)
{
    struct error err;
    (void)state;
    error_set(&err, ERROR_INPUT, "%s",
              "\xc2\x9b"
              "31m \xc2\x80 \xc2\xa0\xc3\x80");
    assert_string_equal(err.text, "\\xc2\\x9b31m \\xc2\\x80 \xc2\xa0\xc3\x80");
}

static void other_characters_stay(void **state)
{
    struct error err;
    (void)state;
    error_set(&err, ERROR_INPUT, "%s", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ~");
    assert_string_equal(err.text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ~");
}

static void bytes_that_are_not_utf8_are_escaped(void **state)
{
    struct error err;
    (void)state;
    error_set(&err, ERROR_INPUT, "'%s': %d", "a\xff\xc3\xa9\xe2\x82", 3);
    assert_string_equal(err.text, "'a\\xff\xc3\xa9\\xe2\\x82': 3");
}

/* No escape is cut in two. */
static void escapes_that_do_not_fit_are_left_out(void **state)
{
    struct error err;
    char text[sizeof err.text];
    (void)state;
    for (size_t before = 0; before < 8; before++) {
        memset(text, 'a', before);
        memset(text + before, 1, sizeof text - before);
        text[sizeof text - 1] = 0;
        error_set(&err, ERROR_INPUT, "%s", text);
        size_t length = strlen(err.text);
        assert_int_equal((length - before) % 4, 0);
        assert_true(length <= sizeof err.text - 1 && length > sizeof err.text - 6);
    }
}

static void a_long_text_is_cut(void **state)
{
    struct error err;
    char text[3000];
    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 0;
    error_set(&err, ERROR_INPUT, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

/* Every place in the character at which the room may end. */
static void a_long_text_is_cut_between_characters(void **state)
{
    struct error err;
    char text[3000];
    (void)state;
    for (size_t before = 0; before < 8; before++) {
        memset(text, 'a', sizeof text);
        for (size_t at = before; at + 4 < sizeof text; at += 4)
            memcpy(text + at, "\xf0\x9f\x98\x80", 4);
        text[before + 2000] = 0;
        error_set(&err, ERROR_INPUT, "%s", text);
        size_t length = strlen(err.text);
        assert_int_equal((length - before) % 4, 0);
        assert_true(length <= sizeof err.text - 1 && length > sizeof err.text - 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_kind_and_text),
        cmocka_unit_test(memory_is_the_fault_of_the_machine),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(the_control_characters_of_unicode_too),
        cmocka_unit_test(other_characters_stay),
        cmocka_unit_test(bytes_that_are_not_utf8_are_escaped),
        cmocka_unit_test(escapes_that_do_not_fit_are_left_out),
        cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
