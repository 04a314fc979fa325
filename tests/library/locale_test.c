/* A program whose locale has a decimal comma: the library reads and writes what it always does, and leaves the locale alone. */
#include "rehearse.h"

#include "caller.h"
#include "support/comma.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void hear(void *user, const char *what, const char *detail)
{
    bool *comma = user;
    (void)what, (void)detail;
    *comma = comma_is_set();
}

static rh_handle *sweep(bool *comma)
{
    struct rh_plan_request request = RH_INIT(request);
    struct rh_call call = {.size = sizeof call, .threads = 2, .progress = hear, .user = comma};
    struct rh_error error;
    request.model = "gpt2-xl";
    request.device = "h100";
    request.devices = "1,2";
    request.global_batch = "32";
    assert_true(rh_set("plan", &request, "headroom", "2.5", &error));
    return rh_plan_find(&request, &call, &error);
}

static rh_handle *play(void)
{
    struct rh_simulate_request request = RH_INIT(request);
    struct rh_error error;
    request.schedule = "1f1b";
    request.stages = 2;
    request.microbatches = 4;
    request.forward = "0.5";
    request.backward = "1.25";
    return rh_simulate(&request, NULL, &error);
}

static void write_all(const rh_handle *handle, struct rh_text texts[4])
{
    struct rh_error error;
    const char *form;
    assert_non_null(handle);
    for (int i = 0; (form = rh_form(handle, i)); i++) {
        assert_in_range(i, 0, 3);
        assert_true(rh_write(handle, form, &texts[i], &error));
    }
}

static void a_decimal_comma_changes_nothing(void **state)
{
    struct rh_text texts[4][4] = {0};
    bool comma = false;
    (void)state;
    for (int with_comma = 0; with_comma < 2; with_comma++) {
        if (with_comma && !comma_take()) {
            print_message("no locale with a decimal comma can be had (localedef, locales)\n");
            skip();
        }
        rh_handle *swept = sweep(&comma), *played = play();
        write_all(swept, texts[2 * with_comma]);
        write_all(played, texts[2 * with_comma + 1]);
        rh_free(swept);
        rh_free(played);
    }
    assert_true(comma); // the callback's locale was the program's
    assert_true(comma_is_set());
    setlocale(LC_ALL, "C");
    for (int i = 0; i < 2; i++)
        for (int form = 0; form < 4; form++) {
            if (texts[i][form].data)
                assert_string_equal(texts[i][form].data, texts[i + 2][form].data);
            rh_text_free(&texts[i][form]);
            rh_text_free(&texts[i + 2][form]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_decimal_comma_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
