#include "core/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void units_are_read(void **state)
{
    static const struct {
        const char *text;
        enum unit_kind kind;
        double value;
    } cases[] = {
        {"0", UNIT_BYTES, 0},
        {"1.5", UNIT_BYTES, 1.5},
        {"7 B", UNIT_BYTES, 7},
        {"1kB", UNIT_BYTES, 1e3},
        {"1 KB", UNIT_BYTES, 1e3},
        {"2 MB", UNIT_BYTES, 2e6},
        {"2 GB", UNIT_BYTES, 2e9},
        {"2 TB", UNIT_BYTES, 2e12},
        {"2 PB", UNIT_BYTES, 2e15},
        {"1 KiB", UNIT_BYTES, 1024},
        {"16 GiB", UNIT_BYTES, 0x1p34},
        {"16G", UNIT_BYTES, 0x1p34},
        {"1 TiB", UNIT_BYTES, 0x1p40},
        {"1 PiB", UNIT_BYTES, 0x1p50},
        {"-1 B", UNIT_BYTES, -1},
        {"+1 B", UNIT_BYTES, 1},
        {"  1.5e3   MB \t", UNIT_BYTES, 1.5e9},
        {".5 kB", UNIT_BYTES, 500},
        {"25 Gb/s", UNIT_RATE, 3.125e9},
        {"100 Gbps", UNIT_RATE, 12.5e9},
        {"100 Gbit/s", UNIT_RATE, 12.5e9},
        {"8 b/s", UNIT_RATE, 1},
        {"900 GB/s", UNIT_RATE, 900e9},
        {"1 MiB/s", UNIT_RATE, 0x1p20},
        {"2 PB/s", UNIT_RATE, 2e15},
        {"1 PiB/s", UNIT_RATE, 0x1p50},
        {"1 s", UNIT_TIME, 1},
        {"5 ms", UNIT_TIME, 5e-3},
        {"5 us", UNIT_TIME, 5e-6},
        {"5 \xc2\xb5s", UNIT_TIME, 5e-6}, /* U+00B5, micro sign */
        {"5 \xce\xbcs", UNIT_TIME, 5e-6}, /* U+03BC, mu */
        {"5 ns", UNIT_TIME, 5e-9},
        {"2 min", UNIT_TIME, 120},
        {"2 h", UNIT_TIME, 7200},
        {"312 TFLOP/s", UNIT_COMPUTE, 312e12},
        {"312 TFLOPS", UNIT_COMPUTE, 312e12},
        {"1 PFLOPS", UNIT_COMPUTE, 1e15},
        {"3 kFLOPS", UNIT_COMPUTE, 3e3},
        {"3 FLOP/s", UNIT_COMPUTE, 3},
        {"30d", UNIT_TIME, 30 * 86400},
        {"2 days", UNIT_TIME, 2 * 86400},
        {"15T", UNIT_COUNT, 15e12},
        {"1.5 B", UNIT_COUNT, 1.5e9},
        {"4M", UNIT_COUNT, 4e6},
        {"8k", UNIT_COUNT, 8000},
        {"15t", UNIT_COUNT, 15e12},
        {"30d", UNIT_DURATION, 30 * 86400.0},
        {"2 w", UNIT_DURATION, 14 * 86400.0},
        {"12h", UNIT_DURATION, 12 * 3600.0},
        {"1e12", UNIT_COUNT, 1e12},
    };
    double value;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!unit_parse(cases[i].text, cases[i].kind, &value))
            fail_msg("'%s' is not read", cases[i].text);
        if (fabs(value - cases[i].value) > 1e-15 * fabs(cases[i].value))
            fail_msg("'%s' is %.17g, expected %.17g", cases[i].text, value, cases[i].value);
    }
}

static void what_is_no_quantity_is_refused_and_changes_nothing(void **state)
{
    static const struct {
        const char *text;
        enum unit_kind kind;
    } cases[] = {
        {"", UNIT_BYTES},        {" ", UNIT_BYTES},        {"GiB", UNIT_BYTES},     {"x", UNIT_BYTES},
        {"16 gib", UNIT_BYTES},  {"16 Gib", UNIT_BYTES},   {"16 GB/s", UNIT_BYTES}, {"16 GiB x", UNIT_BYTES},
        {"16 G iB", UNIT_BYTES}, {"1 2", UNIT_BYTES},      {"nan", UNIT_BYTES},     {"inf", UNIT_BYTES},
        {"-inf", UNIT_BYTES},    {"infinity", UNIT_BYTES}, {"0x10", UNIT_BYTES},    {"-0x1p3", UNIT_BYTES},
        {"1e999", UNIT_BYTES},   {"1e300 PB", UNIT_BYTES}, {"1e", UNIT_BYTES},      {".", UNIT_BYTES},
        {"-", UNIT_BYTES},       {"--1", UNIT_BYTES},      {"1,5 MB", UNIT_BYTES},  {"5 Gb", UNIT_RATE},
        {"5 GB", UNIT_RATE},     {"5 GBps", UNIT_RATE},    {"5 m", UNIT_TIME},      {"5 S", UNIT_TIME},
        {"5 bytes", UNIT_TIME},  {"5 FLOP", UNIT_COMPUTE}, {"5 s", UNIT_COMPUTE},   {"5 D", UNIT_TIME},
        {"5 m", UNIT_COUNT},     {"5 Ki", UNIT_COUNT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 42;
        if (unit_parse(cases[i].text, cases[i].kind, &value))
            fail_msg("'%s' is read as %g", cases[i].text, value);
        assert_true(value == 42);
    }
}

static void whole_numbers_end_in_powers_of_1024(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
        const char *rest;
    } cases[] = {
        {"0", 0, ""},         {"8k", 8192, ""},
        {"128K", 131072, ""}, {"4M", 4194304, ""},
        {"-2k", -2048, ""},   {"3..4k", 3, "..4k"},
        {"12x", 12, "x"},     {"1kk", 1024, "k"},
        {"7 k", 7, " k"},     {"1G", INT64_C(1) << 30, ""},
    };
    static const char *const none[] = {"", "k", "-", "+1", " 1", "99999999999999999999", "9999999999999999k"};
    int64_t value;
    char *end;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(unit_whole(cases[i].text, &end, &value));
        assert_int_equal(value, cases[i].value);
        assert_string_equal(end, cases[i].rest);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (unit_whole(none[i], &end, &value))
            fail_msg("'%s' is read", none[i]);
}

static void every_example_can_be_read(void **state)
{
    double value;
    (void)state;
    for (int kind = UNIT_BYTES; kind <= UNIT_COUNT; kind++) {
        const char *number = strstr(unit_example((enum unit_kind)kind), "such as ");
        assert_non_null(number);
        char first[40] = "";
        sscanf(number, "such as %39[^,o]", first);
        assert_true(unit_parse(first, (enum unit_kind)kind, &value));
    }
}

static void values_are_written_for_people(void **state)
{
    static const struct {
        double value;
        enum unit_kind kind;
        int digits;
        const char *text;
    } cases[] = {
        {0, UNIT_BYTES, 3, "0 B"},           {0, UNIT_TIME, 3, "0 s"},
        {0, UNIT_RATE, 3, "0 B/s"},          {0, UNIT_COMPUTE, 3, "0 FLOP/s"},
        {1.2345, UNIT_TIME, 3, "1.23 s"},    {0.456, UNIT_TIME, 3, "456 ms"},
        {5e-6, UNIT_TIME, 3, "5.00 us"},     {5e-9, UNIT_TIME, 1, "5 ns"},
        {1234, UNIT_TIME, 3, "1234 s"},      {-0.456, UNIT_TIME, 3, "-456 ms"},
        {0x1p34, UNIT_BYTES, 3, "16.0 GiB"}, {1023, UNIT_BYTES, 6, "1023 B"},
        {1, UNIT_BYTES, 6, "1 B"},           {1024, UNIT_BYTES, 3, "1.00 KiB"},
        {25e9, UNIT_RATE, 2, "25 GB/s"},     {312e12, UNIT_COMPUTE, 3, "312 TFLOP/s"},
        {INFINITY, UNIT_TIME, 3, "inf s"},   {-INFINITY, UNIT_BYTES, 3, "-inf B"},
    };
    char buffer[64];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(
            unit_format(buffer, sizeof buffer, cases[i].value, cases[i].kind, cases[i].digits),
            cases[i].text);
    unit_format(buffer, sizeof buffer, NAN, UNIT_TIME, 3);
    assert_non_null(strstr(buffer, "nan"));
}

static void a_small_buffer_is_enough(void **state)
{
    char buffer[4];
    (void)state;
    assert_string_equal(unit_format(buffer, sizeof buffer, 1e300, UNIT_TIME, 3), "100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_read),
        cmocka_unit_test(what_is_no_quantity_is_refused_and_changes_nothing),
        cmocka_unit_test(whole_numbers_end_in_powers_of_1024),
        cmocka_unit_test(every_example_can_be_read),
        cmocka_unit_test(values_are_written_for_people),
        cmocka_unit_test(a_small_buffer_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
