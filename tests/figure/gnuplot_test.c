/* What is written into a picture is what was given, and nobody's settings are in it. */
#include "figure/gnuplot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/file.h"
#include "figure/style.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int setup(void **state)
{
    (void)state;
    const char *where = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/rehearse-gnuplot-XXXXXX", where ? where : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    remove(in_folder("a.svg"));
    remove(in_folder(".gnuplot"));
    return rmdir(folder);
}

static void need_gnuplot(void)
{
    if (system("gnuplot --version >/dev/null 2>&1") != 0)
        skip();
}

/* The SVG of a script. */
static char *draw(const struct text *commands)
{
    struct text script = {0};
    struct error err;
    char *svg;
    size_t length;
    assert_true(gnuplot_set_terminal("a.svg", 400, 300, figure_screen.points, &script, &err));
    text_add(&script, commands->data);
    if (!gnuplot_run(in_folder("a.svg"), &script, &err))
        fail_msg("%s", err.text);
    assert_true(file_read(in_folder("a.svg"), 1 << 20, &svg, &length, &err));
    text_release(&script);
    return svg;
}

/* As a text stands in XML, beside which gnuplot may put blanks. */
static void add_escaped(struct text *out, const char *string)
{
    for (; *string; string++)
        if (*string == '&')
            text_add(out, "&amp;");
        else if (*string == '<')
            text_add(out, "&lt;");
        else
            text_add_bytes(out, string, 1);
}

static void check_drawn(const char *given, const char *drawn)
{
    struct text commands = {0}, expected = {0};
    text_add(&commands, "set label ");
    gnuplot_add_string(&commands, given);
    text_add(&commands, " at 1, 1\nset key outside\nset xtics (");
    gnuplot_add_tic(&commands, given, 1);
    text_add(&commands, ")\nunset ytics\nplot [0:2] x title ");
    gnuplot_add_string(&commands, given);
    text_add(&commands, "\n");
    text_add(&expected, ">");
    add_escaped(&expected, drawn);
    char *svg = draw(&commands);
    int found = 0;
    for (const char *at = svg; (at = strstr(at, expected.data)); at++)
        found += at[expected.length] == '<' || strncmp(at + expected.length, " <", 2) == 0;
    if (found < 3)
        fail_msg("'%s' is there %d times: in a label, a mark and a title", given, found);
    free(svg);
    text_release(&commands);
    text_release(&expected);
}

static void texts_are_drawn_as_they_are(void **state)
{
    (void)state;
    need_gnuplot();
    static const char *const texts[] = {
        "it's",        "'",
        "''",          "\"",
        "a\"b'c`d",    "`date`",
        "@x @macro",   "50% of %s%d%n",
        "back\\slash", "end\\",
        "\\n",         "$1 $x",
        "{/Bold}",     "a^b_c~d",
        "# no",        "a; b, c",
        "<b> & c",     "\xc3\xa9t\xc3\xa9",
        "[1:2](3)",    "!ls",
        "%",           "%%",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_drawn(texts[i], texts[i]);
    check_drawn("a\nb\x7f", "a\\x0ab\\x7f");
    check_drawn("\xff not \xc3", "\\xff not \\xc3");
}

/* Random ones, of what means something to gnuplot. */
static void texts_of_quotes_are_drawn_as_they_are(void **state)
{
    (void)state;
    need_gnuplot();
    static const char some[] = "'\"`\\@$%{}^_#&a0";
    uint32_t random = 1;
    for (int round = 0; round < 60; round++) {
        char text[9];
        size_t length = 1 + (size_t)round % 8;
        for (size_t i = 0; i < length; i++) {
            random = random * 1664525 + 1013904223;
            text[i] = some[(random >> 16) % (sizeof some - 1)];
        }
        text[length] = '\0';
        check_drawn(text, text);
    }
}

static void the_users_settings_are_not_read(void **state)
{
    (void)state;
    need_gnuplot();
    struct text commands = {0};
    FILE *file = fopen(in_folder(".gnuplot"), "w");
    assert_non_null(file);
    fputs("exit status 3\n", file);
    assert_int_equal(fclose(file), 0);
    const char *home = getenv("HOME");
    char *before = strdup(home ? home : "/");
    assert_int_equal(setenv("HOME", folder, 1), 0);
    assert_int_equal(system("echo 'set output' | gnuplot - >/dev/null 2>&1") >> 8, 3); /* it is in force */
    text_add(&commands, "plot x\n");
    free(draw(&commands));
    text_release(&commands);
    setenv("HOME", before, 1);
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_are_drawn_as_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_of_quotes_are_drawn_as_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(the_users_settings_are_not_read, setup, teardown),
    };
    return cmocka_run_group_tests_name("gnuplot", tests, NULL, NULL);
}
