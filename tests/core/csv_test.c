#include "core/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    refuses("a,a\n", "t.csv:1: column 'a' is listed twice");
    refuses("a\n\"1\n", "t.csv:2: an unterminated quote");
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
    assert_string_equal(err.text, "t.csv:1: no column 'time_ms', did you mean 'time_us'?");
    csv_release(&csv);
}

static void skips_a_byte_order_mark(void **state)
{
    (void)state;
    struct csv csv = parse("\xef\xbb\xbfgpu,tp\nH100,1\n");
    assert_int_equal(csv_column(&csv, "gpu"), 0);
    csv_release(&csv);
}

static void finds_columns_in_any_capitals(void **state)
{
    (void)state;
    struct csv csv = parse("TP,m,M\n1,2,3\n");
    assert_int_equal(csv_column(&csv, "tp"), 0);
    assert_int_equal(csv_column(&csv, "M"), 2); /* the very name first */
    assert_int_equal(csv_column(&csv, "m"), 1);
    csv_release(&csv);
}

/* "a,b\n1,2\n" and "3,4\n", packed apart. */
static const char first_member[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xd4\x49\xe2\x32\xd4\x31\xe2\x02\x00\x7b\x07\x97\x0a"
    "\x08\x00\x00\x00";
static const char second_member[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x33\xd6\x31\xe1\x02\x00\x3e\x2d\x72\xa9\x04\x00\x00\x00";

/* Loads a file of these bytes; false with *err set when it is refused. */
static bool load(struct csv *csv, const char *bytes, size_t length, struct error *err)
{
    char path[] = "/tmp/rehearse-csv-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, length), (ssize_t)length);
    close(file);
    bool loaded = csv_load(csv, path, err);
    unlink(path);
    if (!loaded && strstr(err->text, "built without zlib")) {
        print_message("# skipped: built without zlib\n");
        skip();
    }
    return loaded;
}

static void unpacks_every_member_of_a_gzip_file(void **state)
{
    (void)state;
    struct csv csv;
    struct error err;
    char bytes[sizeof first_member + sizeof second_member] = {0}; /* two zeros follow: padding */
    memcpy(bytes, first_member, sizeof first_member - 1);
    memcpy(bytes + sizeof first_member - 1, second_member, sizeof second_member - 1);
    if (!load(&csv, bytes, sizeof bytes, &err))
        fail_msg("%s", err.text);
    assert_int_equal(csv.row_count, 2);
    assert_string_equal(csv_cell(&csv, 1, 1), "4");
    csv_release(&csv);
}

static void refuses_damaged_gzip_files(void **state)
{
    (void)state;
    struct csv csv;
    struct error err;
    char bytes[sizeof first_member + 4];
    assert_false(load(&csv, first_member, sizeof first_member - 5, &err));
    assert_non_null(strstr(err.text, "damaged: it ends early"));
    memcpy(bytes, first_member, sizeof first_member - 1);
    memcpy(bytes + sizeof first_member - 1, "more!", 5);
    assert_false(load(&csv, bytes, sizeof bytes, &err));
    assert_non_null(strstr(err.text, "damaged: not what gzip writes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_cells_by_column),
        cmocka_unit_test(reads_quotes),
        cmocka_unit_test(refuses_what_is_no_table),
        cmocka_unit_test(checks_numbers),
        cmocka_unit_test(skips_a_byte_order_mark),
        cmocka_unit_test(finds_columns_in_any_capitals),
        cmocka_unit_test(unpacks_every_member_of_a_gzip_file),
        cmocka_unit_test(refuses_damaged_gzip_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
