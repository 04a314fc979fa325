/* What the tests of workloads share: reading them, and looking into messages. */
#ifndef REHEARSE_TESTS_FEED_WORKLOADS_H
#define REHEARSE_TESTS_FEED_WORKLOADS_H

#include "core/json.h"
#include "feed/workload/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static inline struct workload read_with(const char *text, const struct workload_options *options)
{
    struct workload workload;
    struct error err = {0};
    if (!workload_parse(&workload, "a.yaml", text, strlen(text), options, &err))
        fail_msg("%s", err.text);
    return workload;
}

static inline struct workload read_text(const char *text)
{
    return read_with(text, NULL);
}

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static inline struct workload open_workload(const char *name)
{
    struct workload workload;
    struct error err = {0};
    if (!workload_open(&workload, name, NULL, &err))
        fail_msg("%s: %s", name, err.text);
    return workload;
}

/* Returns true if both workloads have the same value. */
static inline bool key_equal(const struct workload *a, const struct workload *b,
                             const struct workload_key *key)
{
    struct text first = {0}, second = {0};
    struct json json_a = {.out = &first}, json_b = {.out = &second};
    workload_write_value(a, key, &json_a, NULL);
    workload_write_value(b, key, &json_b, NULL);
    bool equal = strcmp(text_within(&first, &second), second.data) == 0;
    text_release(&first);
    text_release(&second);
    return equal;
}

#endif
