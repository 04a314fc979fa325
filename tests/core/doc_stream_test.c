/* JSON piece by piece. */
#include "core/doc/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Text that is handed out in parts of `step` bytes. */
struct source {
    const char *at;
    size_t left, step;
};

static bool more(void *context, const char **bytes, size_t *length, struct error *err)
{
    struct source *source = context;
    (void)err;
    *bytes = source->at;
    *length = source->left < source->step ? source->left : source->step;
    source->at += *length;
    source->left -= *length;
    return true;
}

/* Writes the pieces one after another: "{ k:a t:x n:1 w:null }". Returns false with *err. */
static bool pieces_of(const char *text, size_t step, char *out, size_t room, struct error *err)
{
    static const char *const names[] = {"", "{ ", "[ ", "/ ", "k:", "t:", "n:", "w:"};
    struct source source = {text, strlen(text), step};
    struct json_stream stream = {.path = "a.json", .more = more, .context = &source};
    enum json_piece piece;
    bool read;
    *out = '\0';
    while ((read = json_stream_next(&stream, &piece, err)) && piece != JSON_END) {
        size_t used = strlen(out);
        snprintf(out + used, room - used, "%s%s%s", names[piece], piece >= JSON_KEY ? stream.text : "",
                 piece >= JSON_KEY ? " " : "");
    }
    json_stream_release(&stream);
    return read;
}

static void pieces_come_in_order_however_the_bytes_are_cut(void **state)
{
    static const char text[] =
        " {\"a\": [1, -2.5e+3, \"x\\n\\u00e4\\\\\", true],\n \"b\": {}, \"\": NaN, \"c\": []}\n ";
    (void)state;
    for (size_t step = 1; step <= sizeof text; step++) {
        char out[256];
        struct error err;
        assert_true(pieces_of(text, step, out, sizeof out, &err));
        assert_string_equal(out,
                            "{ k:a [ n:1 n:-2.5e+3 t:x\n\xc3\xa4\\ w:true / k:b { / k: w:NaN k:c [ / / ");
    }
}

static void faults_are_told_with_their_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "a.json:1:1: expected a value, found the end of the file"},
        {"[1,\n2", "a.json:2:2: expected ',' or ']', found the end of the file"},
        {"{\"a\"", "a.json:1:5: expected ':', found the end of the file"},
        {"{\"a", "a.json:1:4: the file ends within a string"},
        {"{\"a\": 1,}", "a.json:1:9: expected a key, found '}'"},
        {"[1,]", "a.json:1:4: expected a value, found ']'"},
        {"[1 2]", "a.json:1:4: expected ',' or ']', found '2'"},
        {"[01x]", "a.json:1:5: '01x' is not a value"},
        {"[1.]", "a.json:1:4: '1.' is not a value"},
        {"[nul]", "a.json:1:5: 'nul' is not a value"},
        {"[}", "a.json:1:2: expected a value, found '}'"},
        {"{]", "a.json:1:2: expected a key, found ']'"},
        {"{1: 2}", "a.json:1:2: expected a key, found '1'"},
        {"[\"\\x\"]", "a.json:1:4: expected a known escape, found 'x'"},
        {"[\"\\u12g4\"]", "a.json:1:7: expected a hexadecimal digit, found 'g'"},
        {"[\"\n\"]", "a.json:1:3: a control character within a string"},
        {"[] []", "a.json:1:4: expected the end of the file, found '['"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step < 12; step++) {
            char out[256];
            struct error err;
            assert_false(pieces_of(cases[i].text, step, out, sizeof out, &err));
            assert_string_equal(err.text, cases[i].message);
        }
}

/* Fails at the end, instead of telling that there is no more. */
static bool fail_at_end(void *context, const char **bytes, size_t *length, struct error *err)
{
    more(context, bytes, length, err);
    return *length > 0 || error_set(err, ERROR_INPUT, "the source failed");
}

static void a_source_that_fails_ends_the_reading(void **state)
{
    static const char text[] = "{\"abc\": [12, \"x\\u00e4\", true";
    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        struct source source = {text, length, 3};
        struct json_stream stream = {.path = "a.json", .more = fail_at_end, .context = &source};
        enum json_piece piece = JSON_OPEN_MAP;
        struct error err = {.text = ""};
        while (json_stream_next(&stream, &piece, &err))
            assert_int_not_equal(piece, JSON_END);
        assert_string_equal(err.text, "the source failed");
        json_stream_release(&stream);
    }
}

static void depth_and_length_have_limits(void **state)
{
    size_t length = JSON_STREAM_MAX_TEXT + 2;
    char *text = malloc(length + 1), out[256];
    struct error err;
    (void)state;
    assert_non_null(text);
    memset(text, '[', length);
    text[length] = '\0';
    assert_false(pieces_of(text, 4096, out, sizeof out, &err));
    assert_string_equal(err.text, "a.json:1:65: lists and maps nested deeper than 64");
    memset(text, 'a', length);
    text[0] = '"';
    assert_false(pieces_of(text, 4096, out, sizeof out, &err));
    assert_non_null(strstr(err.text, "a string of more than 1024 KiB"));
    free(text);
}

static void values_are_skipped_whole(void **state)
{
    static const char text[] = "{\"a\": {\"b\": [1, {\"c\": \"}\"}]}, \"d\": 7}";
    struct source source = {text, strlen(text), 3};
    struct json_stream stream = {.path = "a.json", .more = more, .context = &source};
    enum json_piece piece;
    struct error err;
    (void)state;
    assert_true(json_stream_next(&stream, &piece, &err) && piece == JSON_OPEN_MAP);
    assert_true(json_stream_next(&stream, &piece, &err) && piece == JSON_KEY);
    assert_true(json_stream_next(&stream, &piece, &err) && json_stream_skip(&stream, piece, &err));
    assert_true(json_stream_next(&stream, &piece, &err) && piece == JSON_KEY);
    assert_string_equal(stream.text, "d");
    assert_true(json_stream_next(&stream, &piece, &err) && json_stream_skip(&stream, piece, &err));
    assert_true(json_stream_next(&stream, &piece, &err) && piece == JSON_CLOSE);
    assert_true(json_stream_next(&stream, &piece, &err) && piece == JSON_END);
    json_stream_release(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_in_order_however_the_bytes_are_cut),
        cmocka_unit_test(faults_are_told_with_their_place),
        cmocka_unit_test(a_source_that_fails_ends_the_reading),
        cmocka_unit_test(depth_and_length_have_limits),
        cmocka_unit_test(values_are_skipped_whole),
    };
    return cmocka_run_group_tests_name("doc_stream", tests, NULL, NULL);
}
