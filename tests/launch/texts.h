/* Launch descriptions as texts: what is read from one, or why it is refused. */
#ifndef REHEARSE_TESTS_LAUNCH_TEXTS_H
#define REHEARSE_TESTS_LAUNCH_TEXTS_H

#include "launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* `given`: "NAME=VALUE"s as of --set, ended by NULL, or NULL. The caller releases what is read. */
static inline struct launch_options text_reads(const char *path, const char *text, const char *const *given)
{
    const struct launch_input input = {
        .path = path, .data = text, .length = strlen(text), .given = given, .is_alone = true};
    struct launch_options options = {0};
    struct error err;
    if (!launch_read(&options, &input, &err))
        fail_msg("%s", err.text);
    launch_complete(&options);
    return options;
}

static inline void text_refused(const char *path, const char *text, const char *message)
{
    const struct launch_input input = {.path = path, .data = text, .length = strlen(text), .is_alone = true};
    struct launch_options options = {0};
    struct error err;
    assert_false(launch_read(&options, &input, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INPUT);
}

static inline void is(struct launch_value value, int64_t expected)
{
    assert_true(value.given);
    assert_int_equal(value.value, expected);
}

#endif
