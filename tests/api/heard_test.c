/* What a handle has of the JSON that was written. */
#include "api/handle.h"
#include "core/fields.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static rh_handle *answer_of(void (*write)(struct json *json))
{
    struct error err;
    struct api_report *report = api_report_new(&err);
    assert_non_null(report);
    json_open_document(&report->json, "rehearse-test/1");
    write(&report->json);
    json_close(&report->json);
    return api_made(&report->base, true, &err);
}

/* The list of this name, of this type and length. */
static const void *list(const rh_handle *handle, const char *name, char type, int64_t length)
{
    struct rh_array array;
    if (!rh_get(handle, name, &array))
        fail_msg("there is no %s", name);
    assert_int_equal(array.dimensions, 1);
    assert_int_equal(array.type, type);
    assert_int_equal(array.shape[0], length);
    assert_int_equal(array.stride[0], type == '?' ? sizeof(bool) : 8);
    return array.data;
}

static void write_singles(struct json *json)
{
    json_integer(json, "count", -3);
    json_number(json, "seconds", 2);
    json_number(json, "unknown", NAN);
    json_bool(json, "fits", true);
    json_open(json, "model", '{');
    json_string(json, "name", "gpt2");
    json_string(json, "path", NULL);
    json_null(json, "layers");
    json_close(json);
}

static void single_values(void **state)
{
    (void)state;
    rh_handle *handle = answer_of(write_singles);
    struct rh_array array;
    static const struct {
        const char *name;
        char type;
    } all[] = {{"count", 'q'},      {"seconds", 'd'},    {"unknown", 'd'},     {"fits", '?'},
               {"model.name", 's'}, {"model.path", 's'}, {"model.layers", 'd'}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_string_equal(rh_name(handle, (int)i), all[i].name);
        assert_true(rh_get(handle, all[i].name, &array));
        assert_int_equal(array.type, all[i].type);
        assert_int_equal(array.dimensions, 0);
    }
    assert_null(rh_name(handle, 7)); /* the format is none */
    assert_true(rh_number(handle, "count") == -3);
    assert_true(rh_number(handle, "seconds") == 2);
    assert_true(rh_number(handle, "fits") == 1);
    assert_true(isnan(rh_number(handle, "unknown")) && isnan(rh_number(handle, "model.layers")));
    assert_string_equal(rh_string(handle, "model.name"), "gpt2");
    assert_null(rh_string(handle, "model.path"));
    rh_free(handle);
}

static void write_lists(struct json *json)
{
    json_open(json, "empty", '[');
    json_close(json);
    json_open_flat(json, "words", '[');
    json_string(json, NULL, "a");
    json_integer(json, NULL, 7);
    json_close(json);
    json_open(json, "stages", '[');
    for (int i = 0; i < 4; i++) {
        json_open(json, NULL, '{');
        json_integer(json, "place", i);
        if (i % 2 == 1)
            json_integer(json, "odd", i);
        if (i == 0)
            json_bool(json, "first", true);
        json_open(json, "inner", '{');
        json_number(json, "share", i / 4.0);
        json_close(json);
        json_close(json);
    }
    json_close(json);
}

static void lists_of_maps_are_columns(void **state)
{
    (void)state;
    rh_handle *handle = answer_of(write_lists);
    list(handle, "empty", 'd', 0);
    const char *const *words = list(handle, "words", 's', 2);
    assert_string_equal(words[0], "a");
    assert_string_equal(words[1], "7");
    const int64_t *places = list(handle, "stages.place", 'q', 4);
    const double *odd = list(handle, "stages.odd", 'd', 4), *first = list(handle, "stages.first", 'd', 4),
                 *shares = list(handle, "stages.inner.share", 'd', 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(places[i], i);
        assert_true(shares[i] == i / 4.0);
        assert_true(i % 2 == 1 ? odd[i] == i : isnan(odd[i]));
        assert_true(i == 0 ? first[i] == 1 : isnan(first[i]));
    }
    rh_free(handle);
}

static void write_numbers(struct json *json, const char *key, int first, int count)
{
    json_open_flat(json, key, '[');
    for (int i = 0; i < count; i++)
        json_integer(json, NULL, first + i);
    json_close(json);
}

static void write_lists_in_lists(struct json *json)
{
    json_open(json, "table", '[');
    write_numbers(json, NULL, 1, 3);
    write_numbers(json, NULL, 4, 3);
    json_close(json);
    json_open(json, "ragged", '[');
    write_numbers(json, NULL, 1, 1);
    write_numbers(json, NULL, 2, 0);
    write_numbers(json, NULL, 2, 2);
    json_close(json);
    json_open(json, "pipelines", '[');
    for (int i = 0; i < 4; i++) { /* the first and the last have no stages */
        json_open(json, NULL, '{');
        json_integer(json, "number", i);
        json_open(json, "stages", '[');
        for (int j = 0; i < 3 && j < i; j++) {
            json_open(json, NULL, '{');
            json_integer(json, "layer", 10 * i + j);
            json_close(json);
        }
        json_close(json);
        if (i == 1)
            write_numbers(json, "only", 5, 2);
        json_close(json);
    }
    json_close(json);
}

static void check_numbers(const rh_handle *handle, const char *name, const int64_t *numbers, int count)
{
    const int64_t *found = list(handle, name, 'q', count);
    for (int i = 0; i < count; i++)
        assert_int_equal(found[i], numbers[i]);
}

static void lists_in_lists_have_their_ends(void **state)
{
    (void)state;
    rh_handle *handle = answer_of(write_lists_in_lists);
    struct rh_array array;
    assert_true(rh_get(handle, "table", &array));
    assert_int_equal(array.dimensions, 2);
    assert_true(array.shape[0] == 2 && array.shape[1] == 3 && array.stride[0] == 24 && array.stride[1] == 8);
    for (int i = 0; i < 6; i++)
        assert_int_equal(((const int64_t *)array.data)[i], i + 1);
    check_numbers(handle, "ragged", (int64_t[]){1, 2, 3}, 3);
    check_numbers(handle, "ragged.ends", (int64_t[]){1, 1, 3}, 3);
    check_numbers(handle, "pipelines.number", (int64_t[]){0, 1, 2, 3}, 4);
    check_numbers(handle, "pipelines.stages.layer", (int64_t[]){10, 20, 21}, 3);
    check_numbers(handle, "pipelines.stages.ends", (int64_t[]){0, 1, 3, 3}, 4);
    check_numbers(handle, "pipelines.only", (int64_t[]){5, 6}, 2);
    check_numbers(handle, "pipelines.only.ends", (int64_t[]){0, 2, 2, 2}, 4);
    rh_free(handle);
}

static void a_value_of_the_maker_comes_first(void **state)
{
    (void)state;
    struct error err;
    struct api_report *report = api_report_new(&err);
    json_open_document(&report->json, "rehearse-test/1");
    write_singles(&report->json);
    json_close(&report->json);
    struct texts {
        const char *name, *other;
    };
    static const struct field names[] = {FIELD_OUT(struct texts, "count", name, FIELD_TEXT)};
    API_VALUES(&report->base, &((struct texts){"three", NULL}), names);
    rh_handle *handle = api_made(&report->base, true, &err);
    assert_string_equal(rh_string(handle, "count"), "three");
    assert_true(rh_number(handle, "seconds") == 2);
    rh_free(handle);
}

struct told {
    const char *name;
    double seconds;
    int64_t bytes;
};

static const struct field told_fields[] = {
    FIELD_OUT(struct told, "name", name, FIELD_SOME_TEXT),    FIELD_OPEN("inner", FIELD_FLAT_MAP),
    FIELD_OUT(struct told, "seconds", seconds, FIELD_DOUBLE), FIELD_CLOSE,
    FIELD_OUT(struct told, "bytes", bytes, FIELD_SOME_INT64),
};

static void write_told(struct json *json)
{
    static const struct told all[] = {{NULL, 1.5, 7}, {NULL, 2.5, -1}};
    FIELDS_LIST(all, 0, told_fields, json, "none");
    FIELDS_LIST(all, 2, told_fields, json, "two");
    json_integer(json, "count", 3);
}

static void an_empty_list_has_its_columns(void **state)
{
    (void)state;
    rh_handle *handle = answer_of(write_told);
    list(handle, "none.name", 's', 0);
    list(handle, "none.inner.seconds", 'd', 0);
    list(handle, "none.bytes", 'q', 0);
    assert_false(rh_get(handle, "none", NULL));
    const char *const *names = list(handle, "two.name", 's', 2);
    const double *seconds = list(handle, "two.inner.seconds", 'd', 2),
                 *bytes = list(handle, "two.bytes", 'd', 2);
    assert_true(!names[0] && !names[1] && seconds[0] == 1.5 && seconds[1] == 2.5);
    assert_true(bytes[0] == 7 && isnan(bytes[1]));
    assert_true(rh_number(handle, "count") == 3);
    rh_free(handle);
}

static void second_names_are_of_their_document(void **state)
{
    (void)state;
    for (int is_run = 0; is_run <= 1; is_run++) {
        struct error err;
        struct api_report *report = api_report_new(&err);
        assert_non_null(report);
        json_open_document(&report->json, is_run ? "rehearse-run/1" : "rehearse-test/1");
        json_integer(&report->json, "planned", 7);
        json_open(&report->json, "seconds", '{');
        json_number(&report->json, "planned", 1.5);
        json_number(&report->json, "played", 2.5);
        json_close(&report->json);
        json_close(&report->json);
        rh_handle *handle = api_made(&report->base, true, &err);
        assert_true(rh_number(handle, "seconds.played") == 2.5);
        assert_true(rh_number(handle, "planned") == 7);
        assert_int_equal(rh_get(handle, "played", NULL), is_run);
        if (is_run)
            assert_true(rh_number(handle, "played") == 2.5);
        rh_free(handle);
    }
}

static void fields_are_columns(void **state)
{
    struct part {
        int count;
        int64_t bytes;
        bool fits;
        double seconds;
        const char *name;
    } parts[] = {{1, 2, true, 0.5, "a"}, {3, 4, false, 1.5, NULL}};
    static const struct field fields[] = {
        FIELD_OUT(struct part, "count", count, FIELD_INT),
        FIELD_OUT(struct part, "bytes", bytes, FIELD_INT64),
        FIELD_OUT(struct part, "fits", fits, FIELD_FLAG),
        FIELD_OUT(struct part, "seconds", seconds, FIELD_DOUBLE),
        FIELD_OUT(struct part, "name", name, FIELD_TEXT),
    };
    static const char names[][16] = {"parts.count", "parts.bytes", "parts.fits", "parts.seconds",
                                     "parts.name"};
    struct error err;
    struct api_report *report = api_report_new(&err);
    (void)state;
    assert_non_null(report);
    API_FIELDS(&report->base, "parts", parts, 2, fields);
    API_FIELDS(&report->base, "none", parts, 0, fields);
    for (size_t i = 0; i < 5; i++) {
        const struct api_value *value = api_find(&report->base, names[i]);
        assert_non_null(value);
        assert_int_equal(value->array.type, "iq?ds"[i]);
        assert_int_equal(value->array.shape[0], 2);
        assert_int_equal(value->array.stride[0], sizeof *parts);
        assert_ptr_equal(value->array.data, (char *)parts + fields[i].offset);
    }
    assert_int_equal(api_find(&report->base, "none.name")->array.shape[0], 0);
    rh_free(&report->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_values),
        cmocka_unit_test(lists_of_maps_are_columns),
        cmocka_unit_test(lists_in_lists_have_their_ends),
        cmocka_unit_test(a_value_of_the_maker_comes_first),
        cmocka_unit_test(an_empty_list_has_its_columns),
        cmocka_unit_test(second_names_are_of_their_document),
        cmocka_unit_test(fields_are_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
