#include "core/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct csv parse(const char *text)
{
    struct csv csv;
    struct error err;
    if (!csv_parse(&csv, "t.csv", text, strlen(text), &err))
        fail_msg("%s", err.text);
    return csv;
}

static void refuses(const char *text, const char *message)
{
    struct csv csv;
    struct error err;
    assert_false(csv_parse(&csv, "t.csv", text, strlen(text), &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INPUT);
}

static void reads_cells_by_column(void **state)
{
    (void)state;
    struct csv csv = parse("m,n,time_us\n1,2,3.5\r\n\n4,,6\n");
    assert_int_equal(csv.row_count, 2);
    assert_string_equal(csv_cell(&csv, 0, csv_column(&csv, "time_us")), "3.5");
    assert_string_equal(csv_cell(&csv, 1, csv_column(&csv, "n")), "");
    assert_string_equal(csv_cell(&csv, 1, -1), "");
    assert_int_equal(csv.lines[1], 4);
    csv_release(&csv);
}

static void reads_quotes(void **state)
{
    (void)state;
    struct csv csv = parse("a,b\n\"x, \"\"y\"\"\nz\",2\n3,4");
    assert_string_equal(csv_cell(&csv, 0, 0), "x, \"y\"\nz");
    assert_string_equal(csv_cell(&csv, 1, 1), "4");
    assert_int_equal(csv.lines[1], 4);
    csv_release(&csv);
}

static void refuses_what_is_no_table(void **state)
{
    (void)state;
    refuses("", "t.csv: expected a line of column names, found an empty file");
    refuses("a,b\n1\n", "t.csv:2: expected 2 cells as in the header, found 1");
    refuses("a,b\n1,2,3\n", "t.csv:2: expected 2 cells as in the header, found 3");
    refuses("a,a\n", "t.csv:1: column 'a' is there twice");
    refuses("a\n\"1\n", "t.csv:2: a quote that does not end");
    refuses("a\n\"1\"2\n", "t.csv:2: expected a comma or the end of the line after a quote");
}

static void checks_numbers(void **state)
{
    (void)state;
    struct csv csv = parse("time_us\n1e3\nfast\n-1\n\n");
    struct error err;
    double value;
    int column;
    assert_true(csv_need(&csv, "time_us", &column, &err));
    assert_true(csv_number(&csv, 0, column, 0, 1e6, &value, &err));
    assert_true(value == 1000.0);
    assert_false(csv_number(&csv, 1, column, 0, 1e6, &value, &err));
    assert_string_equal(err.text, "t.csv:3: time_us: expected a number from 0 to 1e+06, found 'fast'");
    assert_false(csv_number(&csv, 2, column, 0, 1e6, &value, &err));
    assert_false(csv_need(&csv, "time_ms", &column, &err));
    assert_string_equal(err.text, "t.csv:1: no column 'time_ms'; did you mean 'time_us'");
    csv_release(&csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_cells_by_column),
        cmocka_unit_test(reads_quotes),
        cmocka_unit_test(refuses_what_is_no_table),
        cmocka_unit_test(checks_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
