/* The library as another program uses it: through its header alone. */
#include "rehearse.h"

#include "caller.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static rh_handle *cost_of(const char *model, const char *devices)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    request.model = model;
    request.devices = devices;
    rh_handle *made = rh_cost(&request, NULL, &error);
    if (!made)
        fail_msg("%s", error.text);
    return made;
}

static void a_profile_is_loaded_and_read(void **state)
{
    (void)state;
    struct rh_profile_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array array;
    request.path = caller_write("profile.json", caller_profile);
    rh_profile *profile = rh_profile_load(&request, NULL, &error);
    assert_non_null(profile);
    assert_string_equal(rh_kind(profile), "profile");
    assert_true(rh_number(profile, "layers") == 3.0);
    assert_string_equal(rh_string(profile, "model"), "toy");
    assert_null(rh_string(profile, "source"));
    assert_true(isnan(rh_number(profile, "model")));
    assert_null(rh_string(profile, "layers"));
    assert_true(rh_get(profile, "layers.parameters", &array));
    assert_int_equal(array.type, 'q');
    assert_int_equal(array.dimensions, 1);
    assert_int_equal(array.shape[0], 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(*(const int64_t *)((const char *)array.data + i * array.stride[0]), 10 * (i + 1));
    assert_true(rh_get(profile, "layers.name", &array));
    assert_string_equal(*(const char *const *)array.data, "first");
    assert_null(*(const char *const *)((const char *)array.data + array.stride[0]));
    assert_true(rh_get(profile, "backward", &array));
    assert_int_equal(array.dimensions, 2);
    assert_int_equal(array.shape[0], 1);
    assert_int_equal(array.shape[1], 3);
    assert_true(*(const double *)((const char *)array.data + 2 * array.stride[1]) == 4.0);
    assert_false(rh_get(profile, "layers.colour", &array));
    for (int i = 0; rh_name(profile, i); i++)
        assert_true(rh_get(profile, rh_name(profile, i), &array));
    rh_free(profile);
}

static void a_model_is_priced(void **state)
{
    (void)state;
    struct rh_text json, text;
    struct rh_array names;
    rh_profile *profile = cost_of("gpt2-xl", "a100-80gb,h100");
    assert_true(rh_number(profile, "devices") == 2.0);
    assert_true(rh_get(profile, "devices.name", &names));
    assert_string_equal(*(const char *const *)((const char *)names.data + names.stride[0]), "h100-sxm");
    assert_true(rh_write(profile, "json", &json, NULL));
    assert_true(rh_write(profile, "text", &text, NULL));
    assert_int_equal(strlen(json.data), json.length);
    assert_non_null(strstr(json.data, "\"rehearse-profile/1\""));
    assert_non_null(strstr(text.data, "h100-sxm"));
    rh_text_free(&json);
    rh_text_free(&text);
    assert_null(json.data);
    rh_free(profile);
}

static void files_are_counted_and_explained(void **state)
{
    (void)state;
    const char *const files[] = {caller_file("examples/gpt-block.mlir")};
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_text json;
    request.files = (struct rh_list){files, 1};
    rh_report *report = rh_cost(&request, NULL, &error);
    assert_non_null(report);
    assert_string_equal(rh_kind(report), "report");
    rh_free(report);
    request.explain = true;
    report = rh_cost(&request, NULL, &error);
    assert_true(rh_write(report, "json", &json, &error));
    assert_non_null(strstr(json.data, "\"kernels\""));
    rh_text_free(&json);
    assert_false(rh_write(report, "oobleck", &json, &error));
    assert_int_equal(error.code, RH_USAGE);
    assert_string_equal(error.text, "a report has no format 'oobleck'; it has text, json, page");
    rh_free(report);
}

static void a_profile_is_saved_and_read_again(void **state)
{
    (void)state;
    const char *path = caller_write("saved.json", "");
    struct rh_profile_request request = RH_INIT(request);
    struct rh_error error;
    rh_profile *profile = cost_of("gpt2-xl", "v100-16gb");
    assert_true(rh_save(profile, "json", path, &error));
    request.path = path;
    rh_profile *again = rh_profile_load(&request, NULL, &error);
    assert_non_null(again);
    assert_true(rh_number(again, "layers") == rh_number(profile, "layers"));
    assert_false(rh_save(profile, "json", "/no/such/folder/profile.json", &error));
    assert_int_equal(error.code, RH_FAILED);
    assert_false(rh_save(profile, "json", "", &error));
    rh_free(again);
    rh_free(profile);
}

static void assert_refused(const struct rh_cost_request *request, int code, const char *text)
{
    struct rh_error error;
    assert_null(rh_cost(request, NULL, &error));
    assert_int_equal(error.code, code);
    assert_string_equal(error.text, text);
    assert_null(rh_cost(request, NULL, NULL)); /* nobody wants to know */
}

static void errors_are_those_of_the_command_line(void **state)
{
    (void)state;
    const struct rh_cost_request start = {.size = sizeof start, .model = "gpt2-xl", .devices = "h100"};
    struct rh_cost_request request = start;
    request.devices = "abacus";
    assert_refused(&request, RH_USAGE, "unknown device 'abacus', see 'rehearse cost --list'");
    request = start;
    request.precision = "half";
    assert_refused(&request, RH_USAGE,
                   "--precision: expected one of mixed, fp32, fp8, fp4, bf16, fp16, tf32; found 'half'");
    request = start;
    request.tensor = -1;
    assert_refused(&request, RH_USAGE, "--tensor: expected a whole number from 1 to 1024, found '-1'");
    request = start;
    request.tensor = RH_ZERO;
    assert_refused(&request, RH_USAGE, "--tensor: expected a whole number from 1 to 1024, found '0'");
    request = start;
    request.links = "";
    assert_refused(&request, RH_USAGE, "--links: the name is empty");
    request = start;
    request.dims = (struct rh_list){NULL, 2};
    assert_refused(&request, RH_USAGE, "--dim: text 1 of 2 is missing");
    request.size = sizeof request;
    struct rh_error error;
    struct rh_profile_request missing = RH_INIT(missing);
    assert_null(rh_profile_load(&missing, NULL, &error));
    assert_string_equal(error.text, "'profile' is missing");
    missing.path = "/no/such/profile.json";
    assert_null(rh_profile_load(&missing, NULL, &error));
    assert_int_equal(error.code, RH_INPUT);
    assert_non_null(strstr(error.text, "/no/such/profile.json"));
}

/* A 0 of a number whose default is another one. */
static void a_zero_can_be_meant(void **state)
{
    (void)state;
    struct rh_cost_request request = RH_INIT(request);
    struct rh_text with, without;
    request.model = "gpt2-xl";
    request.devices = "h100";
    rh_profile *eight = rh_cost(&request, NULL, NULL);
    request.devices_per_node = RH_ZERO;
    request.nodes = RH_ZERO;
    rh_profile *none = rh_cost(&request, NULL, NULL);
    assert_true(rh_write(eight, "json", &with, NULL));
    assert_true(rh_write(none, "json", &without, NULL));
    assert_non_null(strstr(with.data, "allreduce"));
    assert_null(strstr(without.data, "\"devices\": 8"));
    assert_true(without.length < with.length);
    rh_text_free(&with);
    rh_text_free(&without);
    rh_free(eight);
    rh_free(none);
}

/* ---- structs that grow ---- */

static void an_older_caller_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    request.model = "gpt2-xl";
    request.devices = "h100";
    request.precision = "nonsense"; /* beyond the end of the old struct: never looked at */
    request.explain = true;
    request.size = offsetof(struct rh_cost_request, software);
    rh_profile *profile = rh_cost(&request, NULL, &error);
    assert_non_null(profile);
    rh_free(profile);
    /* its call, likewise */
    struct rh_call call = RH_INIT(call);
    call.size = offsetof(struct rh_call, time_limit);
    call.time_limit = NAN;
    profile = rh_cost(&request, &call, &error);
    assert_non_null(profile);
    rh_free(profile);
}

static void a_newer_caller_may_not_ask_what_is_unknown(void **state)
{
    (void)state;
    struct {
        struct rh_cost_request request;
        char more[16];
    } newer = {.request = {.size = sizeof newer, .model = "gpt2-xl", .devices = "h100"}};
    struct rh_error error;
    rh_profile *profile = rh_cost(&newer.request, NULL, &error);
    assert_non_null(profile);
    rh_free(profile);
    newer.more[15] = 1;
    assert_null(rh_cost(&newer.request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    assert_non_null(strstr(error.text, "version"));
}

static void wrong_sizes_are_refused(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 1 << 20, SIZE_MAX};
    struct rh_error error;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rh_cost_request request = {.size = sizes[i], .model = "gpt2-xl", .devices = "h100"};
        struct rh_call call = {.size = sizes[i]};
        assert_refused(&request, RH_USAGE,
                       (snprintf(error.text, sizeof error.text,
                                 "cost: the request's size is %zu: initialise it with RH_INIT", sizes[i]),
                        error.text));
        request.size = sizeof request;
        assert_null(rh_cost(&request, &call, &error));
        assert_int_equal(error.code, RH_USAGE);
    }
    const struct rh_call bad[] = {{.size = sizeof *bad, .threads = -1},
                                  {.size = sizeof *bad, .threads = 5000},
                                  {.size = sizeof *bad, .time_limit = -1.0},
                                  {.size = sizeof *bad, .time_limit = NAN}};
    struct rh_cost_request request = RH_INIT(request);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(rh_cost(&request, &bad[i], &error));
        assert_int_equal(error.code, RH_USAGE);
    }
}

/* A request that asks for nothing is an error or the default, whatever the release of its caller: what may ask for years of
 * work, or for this machine, is left out. */
static bool asks_nothing(const char *command)
{
    return strncmp(command, "measure", 7) != 0;
}

/* The default of validate is a table of many hundred runs: few of its sizes are tried. */
static size_t step_of(const char *command)
{
    return strcmp(command, "validate") == 0 ? 64 : 8;
}

static void every_command_reads_old_and_refuses_new_requests(void **state)
{
    (void)state;
    struct rh_error error;
    for (int i = 0; rh_command(i); i++) {
        const char *command = rh_command(i);
        size_t full = rh_request_size(command);
        char *request = calloc(1, full + 16);
        assert_non_null(request);
        for (size_t size = sizeof size; asks_nothing(command) && size <= full; size += step_of(command)) {
            memcpy(request, &size, sizeof size);
            rh_handle *made = rh_run(command, request, NULL, &error);
            if (!made && (error.code < RH_FAILED || error.code > RH_INFEASIBLE || !*error.text))
                fail_msg("%s of %zu bytes: code %d, '%s'", command, size, error.code, error.text);
            rh_free(made);
        }
        const size_t wrong[] = {0, sizeof(size_t) - 1, 1 << 20, full + 16};
        request[full + 15] = 1;
        for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
            memcpy(request, &wrong[at], sizeof wrong[at]);
            assert_null(rh_run(command, request, NULL, &error));
            assert_int_equal(error.code, RH_USAGE);
        }
        assert_null(rh_run(command, NULL, NULL, &error));
        assert_int_equal(error.code, RH_USAGE);
        free(request);
    }
}

/* ---- NULLs ---- */

static void nulls_do_no_harm(void **state)
{
    (void)state;
    struct rh_error error;
    struct rh_text text;
    struct rh_option option = RH_INIT(option);
    struct rh_cost_request request = RH_INIT(request);
    rh_profile *profile = cost_of("gpt2-xl", "h100");
    assert_null(rh_cost(NULL, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    assert_null(rh_profile_load(NULL, NULL, NULL));
    assert_null(rh_run(NULL, &request, NULL, &error));
    assert_null(rh_run("cost", NULL, NULL, &error));
    assert_null(rh_run("cook", &request, NULL, &error));
    assert_non_null(strstr(error.text, "no command 'cook'; there are plan, "));
    assert_int_equal(rh_request_size(NULL), 0);
    assert_int_equal(rh_request_size("cook"), 0);
    assert_false(rh_option(NULL, 0, &option));
    assert_false(rh_option("cost", 0, NULL));
    assert_false(rh_option("cost", -1, &option));
    assert_false(rh_set(NULL, &request, "tensor", "2", &error));
    assert_false(rh_set("cost", NULL, "tensor", "2", &error));
    assert_false(rh_set("cost", &request, NULL, "2", &error));
    assert_false(rh_set("cost", &request, "tensor", NULL, NULL));
    assert_null(rh_kind(NULL));
    assert_null(rh_name(NULL, 0));
    assert_null(rh_name(profile, -1));
    assert_null(rh_form(NULL, 0));
    assert_null(rh_form(profile, -1));
    assert_false(rh_get(NULL, "layers", NULL));
    assert_false(rh_get(profile, NULL, NULL));
    assert_true(rh_get(profile, "layers", NULL));
    assert_true(isnan(rh_number(NULL, "layers")));
    assert_null(rh_string(profile, NULL));
    assert_false(rh_write(NULL, "json", &text, &error));
    assert_false(rh_write(profile, NULL, &text, &error));
    assert_false(rh_write(profile, "json", NULL, &error));
    assert_false(rh_save(NULL, "json", "/tmp/x", &error));
    assert_false(rh_save(profile, "json", NULL, &error));
    rh_text_free(NULL);
    rh_free(NULL);
    rh_stop_free(NULL);
    rh_stop_request(NULL);
    assert_null(rh_command(-1));
    rh_free(profile);
}

/* ---- every command ---- */

/* Of every size that a caller may have been compiled with: the fields behind its end are never looked at. */
static void every_command_reads_old_requests(void **state)
{
    (void)state;
    const char *command;
    for (int i = 0; (command = rh_command(i)) != NULL; i++) {
        struct rh_option option = RH_INIT(option);
        struct rh_error error = {0};
        char request[1024];
        assert_true(rh_request_size(command) <= sizeof request);
        for (int j = 0; rh_option(command, j, &option); j++) {
            /* all that lies behind would crash who reads it, and the first field makes a call end early */
            size_t size = sizeof(size_t);
            memset(request, 0xff, sizeof request);
            memcpy(request, &size, sizeof size);
            rh_free(rh_run(command, request, NULL, &error));
            size = option.offset;
            memset(request, 0, size);
            memcpy(request, &size, sizeof size);
            if (size >= sizeof size && (j == 0 || size % step_of(command) == 0))
                rh_free(rh_run(command, request, NULL, &error));
        }
    }
}

static void every_command_refuses_wrong_sizes(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 1 << 20, SIZE_MAX};
    const char *command;
    for (int i = 0; (command = rh_command(i)) != NULL; i++) {
        struct rh_error error;
        char request[1024] = {0};
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            memcpy(request, &sizes[j], sizeof *sizes);
            assert_null(rh_run(command, request, NULL, &error));
            assert_int_equal(error.code, RH_USAGE);
            assert_non_null(strstr(error.text, "RH_INIT"));
        }
        size_t size = rh_request_size(command) + 8;
        memcpy(request, &size, sizeof size);
        request[size - 1] = 1; /* what only a newer library knows */
        assert_null(rh_run(command, request, NULL, &error));
        assert_int_equal(error.code, RH_USAGE);
        assert_non_null(strstr(error.text, "version"));
        assert_null(rh_run(command, NULL, NULL, &error));
        assert_int_equal(error.code, RH_USAGE);
    }
}

/* ---- commands by name ---- */

static void options_describe_every_field(void **state)
{
    (void)state;
    int commands = 0;
    for (const char *command; (command = rh_command(commands)) != NULL; commands++) {
        struct rh_option option = RH_INIT(option);
        size_t size = rh_request_size(command), words = (size + 7) / 8, covered = 1;
        bool counted[128] = {true}; /* of words of 8 bytes: padding after a flag stands beside the flag */
        assert_true(words <= 128);
        int count = 0;
        for (; rh_option(command, count, &option); count++) {
            assert_non_null(option.name);
            assert_non_null(option.field);
            assert_non_null(option.help);
            assert_non_null(strchr("qd?slhH", option.type));
            size_t bytes = option.type == 'l' || option.type == 'H' ? sizeof(struct rh_list)
                           : option.type == '?'                     ? sizeof(bool)
                                                                    : 8;
            assert_true(option.offset + bytes <= size);
            for (size_t word = option.offset / 8; word <= (option.offset + bytes - 1) / 8; word++) {
                covered += !counted[word];
                counted[word] = true;
            }
        }
        assert_true(count > 0);
        /* hosts, hostfile, agent, program, network and connect have no option any more */
        covered += strcmp(command, "run") == 0 ? 6 : 0;
        /* nor layers and setup of validate */
        covered += strcmp(command, "validate") == 0 ? 2 : 0;
        assert_int_equal(covered, words);
    }
    assert_true(commands >= 2);
}

static void a_text_that_may_be_in_another_unit_is_asked_about(void **state)
{
    (void)state;
    struct rh_elastic_request request = RH_INIT(request);
    struct rh_error error;
    assert_false(rh_set("elastic", &request, "mtbf", "50000", &error));
    assert_int_equal(error.code, 2);
    assert_string_equal(
        error.text,
        "--mtbf: '50000' would be 50000 seconds, 13.89 h: write '50000s' if that is meant, or '50000h'");
    assert_true(rh_set("elastic", &request, "mtbf", "50000h", &error));
    assert_true(request.mtbf == 50000 * 3600.0);
    assert_true(rh_set("elastic", &request, "mtbf", "50000s", &error));
    assert_true(request.mtbf == 50000);
}

static void fields_are_set_from_text(void **state)
{
    (void)state;
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    assert_true(rh_set("cost", &request, "model", "gpt2-xl", &error));
    assert_true(rh_set("cost", &request, "device", "h100", &error));
    assert_true(rh_set("cost", &request, "tensor", "5", &error));
    assert_true(rh_set("cost", &request, "nodes", "0", &error));
    assert_true(rh_set("cost", &request, "precision", "fp8", &error));
    assert_int_equal(request.tensor, 5);
    assert_true(request.nodes == RH_ZERO);
    assert_true(rh_set("cost", &request, "wide", "true", &error) && request.wide);
    assert_true(rh_set("cost", &request, "wide", "false", &error) && !request.wide);
    assert_false(rh_set("cost", &request, "wide", "maybe", &error));
    assert_string_equal(error.text, "--wide: expected true or false, found 'maybe'");
    assert_false(rh_set("cost", &request, "tensor", "many", &error));
    assert_string_equal(error.text, "--tensor: expected a whole number from 1 to 1024, found 'many'");
    assert_false(rh_set("cost", &request, "backward", "file", &error));
    assert_false(rh_set("cost", &request, "colour", "red", &error));
    rh_profile *profile = rh_run("cost", &request, NULL, &error);
    assert_non_null(profile);
    rh_free(profile);
    assert_true(rh_set("cost", &request, "microbatch_size", "4", &error) && request.microbatch_size == 4);
    for (size_t part = 0; part < sizeof request.tensor; part += 4) {
        request.size = offsetof(struct rh_cost_request, tensor) + part;
        assert_false(rh_set("cost", &request, "tensor", "5", &error));
    }
}

static void a_call_that_is_stopped_does_nothing(void **state)
{
    (void)state;
    struct rh_cost_request request = RH_INIT(request);
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    call.stop = rh_stop_new();
    request.model = "gpt2-xl";
    request.devices = "h100";
    rh_profile *profile = rh_cost(&request, &call, &error);
    assert_non_null(profile);
    rh_free(profile);
    rh_stop_request(call.stop);
    assert_null(rh_cost(&request, &call, &error));
    assert_int_equal(error.code, RH_STOPPED);
    assert_string_equal(error.text, "stopped");
    rh_stop_free(call.stop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_is_loaded_and_read),
        cmocka_unit_test(a_model_is_priced),
        cmocka_unit_test(files_are_counted_and_explained),
        cmocka_unit_test(a_profile_is_saved_and_read_again),
        cmocka_unit_test(errors_are_those_of_the_command_line),
        cmocka_unit_test(a_zero_can_be_meant),
        cmocka_unit_test(an_older_caller_is_read_as_far_as_it_goes),
        cmocka_unit_test(a_newer_caller_may_not_ask_what_is_unknown),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(every_command_reads_old_and_refuses_new_requests),
        cmocka_unit_test(nulls_do_no_harm),
        cmocka_unit_test(every_command_reads_old_requests),
        cmocka_unit_test(every_command_refuses_wrong_sizes),
        cmocka_unit_test(options_describe_every_field),
        cmocka_unit_test(fields_are_set_from_text),
        cmocka_unit_test(a_text_that_may_be_in_another_unit_is_asked_about),
        cmocka_unit_test(a_call_that_is_stopped_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
