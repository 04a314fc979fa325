/* Colours, panels and axes as the commands that gnuplot gets. */
#include "figure/style.h"

/* cmocka wants these first */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void begin(struct figure_page *page)
{
    struct error err;
    assert_true(figure_page_begin(page, "x.svg", &figure_screen, 400, &err));
}

static void colours_are_mixed_with_white(void **state)
{
    (void)state;
    assert_string_equal(figure_tint("#1e90ff", 1).text, "#1e90ff");
    assert_string_equal(figure_tint("#1e90ff", 0).text, "#ffffff");
    assert_string_equal(figure_tint("#000000", 0.5).text, "#808080");
    assert_string_equal(figure_tint(figure_colour_of("TRAINING"), 0.5).text, "#ffeb80");
}

/* CIE L*a*b*, D65, of a colour as readers without a kind of cones see it (Machado et al., 2009). */
static void see(const char *colour, const double sight[3][3], double lab[3])
{
    static const double xyz[3][3] = {{0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047},
                                     {0.2126729, 0.7151522, 0.0721750},
                                     {0.0193339 / 1.08883, 0.1191920 / 1.08883, 0.9503041 / 1.08883}};
    double linear[3], seen[3], f[3];
    unsigned long rgb = strtoul(colour + 1, NULL, 16);
    for (int i = 0; i < 3; i++) {
        double part = (double)(rgb >> (16 - 8 * i) & 255) / 255;
        linear[i] = part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
    }
    for (int i = 0; i < 3; i++)
        seen[i] =
            fmin(1, fmax(0, sight[i][0] * linear[0] + sight[i][1] * linear[1] + sight[i][2] * linear[2]));
    for (int i = 0; i < 3; i++) {
        double part = xyz[i][0] * seen[0] + xyz[i][1] * seen[1] + xyz[i][2] * seen[2];
        f[i] = part > 0.008856 ? cbrt(part) : 7.787 * part + 16.0 / 116;
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

/* Calls and requests to disks lie in one row: 10 is a difference that is seen side by side, 40 one that is seen apart. */
static void readers_of_any_sight_tell_calls_and_requests_apart(void **state)
{
    (void)state;
    static const char *const names[] = {"read", "write", "block.read", "block.write"};
    static const double sights[4][3][3] = {
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
        {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
        {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
    for (int sight = 0; sight < 4; sight++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < i; j++) {
                double a[3], b[3];
                see(figure_colour_of(names[i]), sights[sight], a);
                see(figure_colour_of(names[j]), sights[sight], b);
                double apart = hypot(a[0] - b[0], hypot(a[1] - b[1], a[2] - b[2]));
                if (apart < 40)
                    fail_msg("%s and %s are %.0f apart in sight %d", names[i], names[j], apart, sight);
            }
}

static void every_choice_of_style_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(figure_style_names[0], "screen");
    assert_ptr_equal(figure_style_at(0), &figure_screen);
    assert_string_equal(figure_style_names[1], "paper");
    assert_ptr_equal(figure_style_at(1), &figure_paper);
    assert_null(figure_style_names[2]);
}

static void panels_lie_where_they_are_put(void **state)
{
    (void)state;
    struct figure_page page;
    begin(&page);
    figure_panel(&page, &(struct figure_box){100, 40, 500, 160});
    assert_non_null(strstr(page.script.data,
                           "set lmargin at screen 0.100000\nset rmargin at screen 0.600000\n"
                           "set tmargin at screen 0.900000\nset bmargin at screen 0.500000\n"));
    figure_page_drop(&page);
}

static void expect_time_axis(double from, double to, const char *first, const char *last)
{
    struct figure_page page;
    begin(&page);
    size_t before = page.script.length;
    figure_time_axis(&page, from, to, true);
    const char *marks = strstr(page.script.data + before, "set xtics (");
    assert_non_null(marks);
    marks += strlen("set xtics (");
    assert_memory_equal(marks, first, strlen(first));
    const char *end = page.script.data + page.script.length - strlen(last) - 2;
    assert_memory_equal(end, last, strlen(last));
    assert_string_equal(end + strlen(last), ")\n");
    figure_page_drop(&page);
}

static void time_has_marks_that_people_use(void **state)
{
    (void)state;
    expect_time_axis(0, 10, "\"0 s\" 0, \"1 s\" 1,", "\"10 s\" 10");
    expect_time_axis(1.03, 1.07, "\"1.03 s\" 1.03, \"1.035 s\" 1.035,", "\"1.07 s\" 1.07");
    expect_time_axis(0, 300, "\"0:00\" 0, \"0:30\" 30,", "\"5:00\" 300");
    expect_time_axis(590, 602, "\"9:50\" 590, \"9:52\" 592", "\"10:02\" 602");
    expect_time_axis(590, 590.5, "\"590 s\" 590, \"590.05 s\"", "\"590.5 s\" 590.5");
    expect_time_axis(0, 7200, "\"0:00:00\" 0, \"0:15:00\" 900,", "\"2:00:00\" 7200");
    expect_time_axis(0, 100, "\"0 s\" 0, \"10 s\" 10,", "\"100 s\" 100");
    expect_time_axis(0, 20000, "\"0:00:00\" 0, \"1:00:00\" 3600,", "\"5:00:00\" 18000");
    expect_time_axis(0, 2000000, "\"0:00:00\" 0, \"120:00:00\" 432000,", "\"480:00:00\" 1728000");
    expect_time_axis(-5, 5, "\"-5 s\" -5, \"-4 s\" -4,", "\"5 s\" 5");
}

/* Eleven marks have room on a page. */
static void every_natural_step_of_time_is_used(void **state)
{
    static const double steps[] = {15,   30,   60,   120,   300,   600,   900,
                                   1800, 3600, 7200, 10800, 21600, 43200, 86400};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct figure_page page;
        char marks[64];
        begin(&page);
        snprintf(marks, sizeof marks, "set xtics (\"\" 0, \"\" %.12g, \"\" %.12g,", steps[i], 2 * steps[i]);
        figure_time_axis(&page, 0, 11 * steps[i], false);
        assert_non_null(strstr(page.script.data, marks));
        figure_page_drop(&page);
    }
}

static void expect_marks(void (*add)(struct figure_page *), const char *expected)
{
    struct figure_page page;
    begin(&page);
    size_t before = page.script.length;
    add(&page);
    assert_string_equal(page.script.data + before, expected);
    figure_page_drop(&page);
}

static void sizes(struct figure_page *page)
{
    figure_log_axis(page, 'x', FIGURE_BYTES, 4096, 16384, true);
}

static void latencies(struct figure_page *page)
{
    figure_log_axis(page, 'x', FIGURE_SECONDS, 2e-6, 5e-4, true);
}

static void rates(struct figure_page *page)
{
    figure_even_axis(page, FIGURE_RATE, 2.3e9, 4);
}

static void counts(struct figure_page *page)
{
    figure_even_axis(page, FIGURE_COUNT, 35000, 4);
}

static void nothing(struct figure_page *page)
{
    figure_even_axis(page, FIGURE_COUNT, 0, 2);
}

static void values_have_units_at_their_marks(void **state)
{
    (void)state;
    expect_marks(sizes, "set logscale x 2\nset xrange [4096:16384]\n"
                        "set xtics (\"4 KiB\" 4096, \"8 KiB\" 8192, \"16 KiB\" 16384)\n");
    expect_marks(latencies,
                 "set logscale x 10\nset xrange [1e-06:0.001]\n"
                 "set xtics (\"1 us\" 1e-06, \"10 us\" 1e-05, \"100 us\" 0.0001, \"1 ms\" 0.001)\n");
    expect_marks(
        rates, "set yrange [0:3000000000]\n"
               "set ytics (\"0\" 0, \"1 GB/s\" 1000000000, \"2 GB/s\" 2000000000, \"3 GB/s\" 3000000000)\n");
    expect_marks(counts, "set yrange [0:40000]\nset ytics (\"0\" 0, \"10 k\" 10000, \"20 k\" 20000, \"30 k\" "
                         "30000, \"40 k\" 40000)\n");
    expect_marks(nothing, "set yrange [0:1]\nset ytics (\"0\" 0, \"0.5\" 0.5, \"1\" 1)\n");
}

static void values_have_the_digits_that_say_something(void **state)
{
    (void)state;
    static const struct {
        double value;
        enum figure_unit unit;
        const char *text;
    } cases[] = {{4096, FIGURE_BYTES, "4 KiB"},    {5.013e-6, FIGURE_SECONDS, "5.01 us"},
                 {0.05, FIGURE_SECONDS, "50 ms"},  {100, FIGURE_SECONDS, "100 s"},
                 {1.5e9, FIGURE_RATE, "1.5 GB/s"}, {0, FIGURE_BYTES, "0 B"}};
    char text[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        figure_value(text, sizeof text, cases[i].value, cases[i].unit);
        assert_string_equal(text, cases[i].text);
    }
}

static void another_ending_is_wrong_usage(void **state)
{
    (void)state;
    struct figure_page page;
    struct error err;
    assert_false(figure_page_begin(&page, "x.jpg", &figure_screen, 400, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_string_equal(err.text, "'x.jpg': a figure is a .svg, .png or .pdf file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_are_mixed_with_white),
        cmocka_unit_test(readers_of_any_sight_tell_calls_and_requests_apart),
        cmocka_unit_test(every_choice_of_style_has_a_name),
        cmocka_unit_test(panels_lie_where_they_are_put),
        cmocka_unit_test(time_has_marks_that_people_use),
        cmocka_unit_test(every_natural_step_of_time_is_used),
        cmocka_unit_test(values_have_units_at_their_marks),
        cmocka_unit_test(values_have_the_digits_that_say_something),
        cmocka_unit_test(another_ending_is_wrong_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
