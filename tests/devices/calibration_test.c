/* Calibrations of generations: what is written reads back, what is wrong is said with its place. */
#include "devices/calibration.h"
#include "devices/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATH "calibration_test.yaml"

static bool load(struct table *table, const char *text, struct error *err)
{
    FILE *file = fopen(PATH, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    bool loaded = tables_read(table, TABLE_CALIBRATIONS, PATH, err);
    remove(PATH);
    return loaded;
}

static void what_is_written_reads_back(void **state)
{
    struct table first, second;
    struct text text = {0};
    struct error err;
    (void)state;
    if (!load(&first,
              "format: rehearse-calibration/1\ngenerations:\n- {name: hopper, gemm: 0.75, jitter: 0.03}\n",
              &err))
        fail_msg("%s", err.text);
    first.generations[0].fitted = "12 runs of we\"ird\\.csv; median error 1 %";
    text_add(&text, "format: rehearse-calibration/1\ngenerations:\n");
    calibration_write(&first.generations[0], &text);
    assert_false(text.failed);
    if (!load(&second, text.data, &err))
        fail_msg("%s", err.text);
    const struct calibration *read = table_find(&second, "hopper");
    assert_non_null(read);
    assert_string_equal(read->fitted, first.generations[0].fitted);
    assert_true(read->gemm == 0.75 && read->jitter == 0.03);
    assert_true(read->stream == first.generations[0].stream);
    table_release(&second);
    table_release(&first);
    text_release(&text);
}

/* Files that were written when one number was for both still mean it. */
static void gradients_are_as_all_else_inside_unless_said(void **state)
{
    struct table table;
    struct error err;
    (void)state;
    if (!load(&table,
              "format: rehearse-calibration/1\ngenerations:\n- {name: hopper, inside: 0.5}\n"
              "- {name: ampere, inside: 0.5, gradients: 0.75}\n",
              &err))
        fail_msg("%s", err.text);
    assert_true(table.generations[0].gradients == 0.5 && table.generations[1].gradients == 0.75);
    table_release(&table);
}

static void refused(const char *text, const char *message)
{
    struct table table;
    struct error err;
    assert_false(load(&table, text, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(table.count, 0);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    refused("format: rehearse-banana/7\ngenerations: []\n",
            PATH ":1:9: format: expected 'rehearse-calibration/1', found 'rehearse-banana/7'");
    refused("generations:\n- {name: hoper}\n",
            PATH ":2:10: generations[0].name: unknown generation 'hoper', did you mean 'hopper'?");
    refused("generations:\n- {name: neolithic-age}\n",
            PATH ":2:10: generations[0].name: unknown generation 'neolithic-age', no device has it");
    refused("generations:\n- {name: hopper}\n- {name: ada}\n- {name: hopper}\n",
            PATH ":4:10: generations[2].name: 'hopper' is the name of another generation above");
    refused("generations:\n- {name: hopper, gem: 1}\n",
            PATH ":2:23: generations[0].gem: unknown key, did you mean 'gemm'?");
}

/* Those without runs of their own, too. */
static void every_generation_can_be_given(void **state)
{
    static const char *const names[] = {"pascal", "volta", "turing",    "ampere", "ada", "hopper",
                                        "cdna2",  "cdna3", "blackwell", "gaudi",  "xe2"};
    struct text text = {0};
    struct table table;
    struct error err;
    (void)state;
    text_add(&text, "generations:\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        text_format(&text, "- {name: %s}\n", names[i]);
    if (!load(&table, text.data, &err))
        fail_msg("%s", err.text);
    assert_int_equal(table.count, sizeof names / sizeof *names);
    table_release(&table);
    text_release(&text);
}

/* A generation without runs has the numbers of the one that it is like, but none of its errors; a device is none. */
static void a_generation_may_be_like_another(void **state)
{
    const struct table *known = tables_known(TABLE_CALIBRATIONS);
    const struct calibration *ampere = table_find(known, "ampere"), *ada = table_find(known, "ada");
    struct table table;
    struct error err;
    (void)state;
    assert_true(ada->stream == ampere->stream && ada->gradients == ampere->gradients &&
                ampere->stream != calibration_default.stream);
    assert_null(ada->fitted);
    assert_string_equal(ada->like, "ampere");
    for (int i = 0; i < tables_known(TABLE_DEVICES)->count; i++)
        assert_non_null(table_find(known, tables_known(TABLE_DEVICES)->devices[i].generation));
    assert_true(load(&table,
                     "generations:\n- {name: hopper, inside: 0.5, gradients: 0.75}\n"
                     "- {name: gaudi, like: hopper, send: 0.1}\n",
                     &err));
    assert_true(table.generations[1].inside == 0.5 && table.generations[1].gradients == 0.75);
    assert_true(table.generations[1].send == 0.1);
    table_release(&table);
    refused("generations:\n- {name: gaudi, like: a100-80gb}\n",
            PATH ":2:23: generations[0].like: unknown generation 'a100-80gb'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(gradients_are_as_all_else_inside_unless_said),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(every_generation_can_be_given),
        cmocka_unit_test(a_generation_may_be_like_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
