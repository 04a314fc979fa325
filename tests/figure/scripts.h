/* What gnuplot is told to draw, against scripts that were read and kept in tests/figure/scripts/. In the place of gnuplot stands
 * a program that copies its script. REHEARSE_UPDATE=1 writes the scripts anew, for you to read before you commit them. */
#ifndef TESTS_FIGURE_SCRIPTS_H
#define TESTS_FIGURE_SCRIPTS_H

#include "trace/traces.h"

#include "core/file.h"
#include "core/file_output.h"
#include "figure/style.h"

#include <math.h>

static char *path_before;

static int setup(void **state)
{
    char path[4096];
    if (folder_setup(state) != 0)
        return -1;
    write_file("gnuplot", "#!/bin/sh\nexec cat\n");
    assert_int_equal(chmod(in_folder("gnuplot"), 0755), 0);
    path_before = strdup(getenv("PATH"));
    snprintf(path, sizeof path, "%s:%s", folder.path, path_before);
    return setenv("PATH", path, 1);
}

static int teardown(void **state)
{
    setenv("PATH", path_before, 1);
    free(path_before);
    return folder_teardown(state);
}

static const char *picture(void)
{
    return in_folder("picture.svg");
}

#define ROWS_KEPT 12
#define SUMS      6

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

/* Adds the rows of a data block from `at` on, which ends at `end`. Of many every so-manieth stays, and the sums of all columns,
 * each row times its number. */
static void add_rows(struct text *out, const char *at, const char *end)
{
    int rows = 0, every;
    double sums[SUMS] = {0};
    for (const char *row = at; row < end; row = next_line(row))
        rows++;
    every = (rows + ROWS_KEPT - 1) / ROWS_KEPT;
    for (int i = 0; at < end; i++, at = next_line(at)) {
        if (i % every == 0)
            text_add_bytes(out, at, (size_t)(next_line(at) - at));
        char *number = (char *)(uintptr_t)at, *after;
        for (int column = 0; column < SUMS && *number != '\n';
             column++, number = after + strspn(after, " ")) {
            double value = strtod(number, &after);
            sums[column] += isfinite(value) ? (i + 1) * value : 0.0;
            after += strcspn(after, " \n"); /* what is no number */
        }
    }
    if (every == 1)
        return;
    text_format(out, "# %d rows; sums", rows);
    for (int column = 0; column < SUMS; column++)
        text_format(out, " %.9g", sums[column]);
    text_add(out, "\n");
}

/* The script with fewer rows of data. */
static void shorten(const char *script, struct text *out)
{
    while (*script) {
        const char *line = script;
        script = next_line(script);
        text_add_bytes(out, line, (size_t)(script - line));
        if (!strstr(line, "<< EOD\n") || strstr(line, "<< EOD\n") > script)
            continue;
        const char *end = script;
        while (*end && strncmp(end, "EOD\n", 4) != 0)
            end = next_line(end);
        add_rows(out, script, end);
        script = end;
    }
}

/* The first line in which the script differs from the one that was kept. */
static void expect_script(const char *name)
{
    char kept[512], *script, *expected;
    size_t length, expected_length, line = 1;
    struct text shorter = {0};
    struct error err;
    snprintf(kept, sizeof kept, "%s/tests/figure/scripts/%s.gnuplot", getenv("REHEARSE_SOURCE_ROOT"), name);
    assert_true(file_read(picture(), 1 << 20, &script, &length, &err));
    remove(picture());
    shorten(script, &shorter);
    free(script);
    if (getenv("REHEARSE_UPDATE"))
        assert_true(file_write(kept, shorter.data, shorter.length, &err));
    if (!file_read(kept, 1 << 20, &expected, &expected_length, &err))
        fail_msg("%s", err.text);
    const char *a = shorter.data, *b = expected;
    while (*a && strcspn(a, "\n") == strcspn(b, "\n") && strncmp(a, b, strcspn(a, "\n")) == 0) {
        a = next_line(a);
        b = next_line(b);
        line++;
    }
    if (*a || *b)
        fail_msg("%s:%zu:\n%.*s\ninstead of\n%.*s", kept, line, (int)strcspn(a, "\n"), a,
                 (int)strcspn(b, "\n"), b);
    text_release(&shorter);
    free(expected);
}

static void expect_drawn(bool drawn, const struct error *err, const char *name)
{
    if (!drawn)
        fail_msg("%s: %s", name, err->text);
    expect_script(name);
}

#endif
