/* Every option with a dimension has a range in which its plain numbers are beyond doubt, and a way to say all others. */
#include "cli/command.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct command *command;
static char field_bytes[4096];

/* Calls `visit` for all options of all commands. */
static void each(void (*visit)(const struct option_spec *spec))
{
    int count = 0;
    for (int i = 0; commands[i]; i++) {
        command = commands[i];
        for (struct option_walk walk = command_options(commands[i]); option_next(&walk); count++)
            visit(walk.spec);
    }
    assert_in_range(count, 300, 3000);
}

static bool is_word(const char *word, const char *const *words)
{
    for (; word && *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* Returns whether the option's numbers have a dimension, as its table or its help says. */
static bool has_dimension(const struct option_spec *spec)
{
    static const char *const arguments[] = {"TIME",    "SECONDS", "BYTES",     "RATE", "SHARE",
                                            "PERCENT", "PRICE",   "NODE@TIME", NULL};
    static const char *const names[] = {"rate", "global-batch", "batch", NULL};
    static const char *const units[] = {"tokens of", "samples of a micro", "samples in a micro",
                                        "samples that", "samples of an iteration"};
    if (spec->kind == OPTION_NUMBER || spec->kind == OPTION_QUANTITY)
        return true;
    if (spec->kind != OPTION_INTEGER && spec->kind != OPTION_TEXT)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strstr(spec->help, units[i]))
            return true;
    return is_word(spec->argument, arguments) || is_word(spec->name, names);
}

static void check_range(const struct option_spec *spec)
{
    if (has_dimension(spec) && spec->dimension == DIMENSION_NONE)
        fail_msg("%s --%s: no dimension", command->name, spec->name);
}

static void every_dimension_has_a_range(void **state)
{
    (void)state;
    each(check_range);
}

static bool reads(const struct option_spec *spec, const char *text, double *value, struct error *err)
{
    bool done = option_read(spec, text, field_bytes, err);
    const void *field = field_bytes + spec->at;
    *value = spec->kind == OPTION_INTEGER ? (double)*(const int64_t *)field : *(const double *)field;
    return done;
}

static void check_default(const struct option_spec *spec)
{
    struct error err;
    double value;
    bool number =
        spec->kind == OPTION_INTEGER || spec->kind == OPTION_NUMBER || spec->kind == OPTION_QUANTITY;
    if (number && spec->initial && !reads(spec, spec->initial, &value, &err))
        fail_msg("%s --%s: default: %s", command->name, spec->name, err.text);
}

static void defaults_are_beyond_doubt(void **state)
{
    (void)state;
    each(check_default);
}

static int asked;

/* A value that is asked about is taken as the error says that it be written. */
static void try_value(const struct option_spec *spec, double value)
{
    struct error err;
    char text[64], so[64], other[64];
    double again;
    snprintf(text, sizeof text, spec->kind == OPTION_INTEGER ? "%.0f" : "%.17g", value);
    if (value < spec->min || (spec->max > 0 && value > spec->max))
        return;
    if (reads(spec, text, &again, &err)) {
        if (!(again == value))
            fail_msg("%s --%s %s: read as %g", command->name, spec->name, text, again);
        return;
    }
    asked++;
    const char *at = strstr(err.text, ": write '");
    if (!at || sscanf(at, ": write '%63[^']'", so) != 1)
        fail_msg("%s --%s %s: %s", command->name, spec->name, text, err.text);
    if (!reads(spec, so, &again, &err) || fabs(again - value) > 1e-9 * value)
        fail_msg("%s --%s %s: '%s' is not taken as %g: %s", command->name, spec->name, text, so, value,
                 err.text);
    if (sscanf(at, ": write '%*[^']' if that is meant, or '%63[^']'", other) != 1)
        return;
    bool taken = reads(spec, other, &again, &err);
    bool limited = again < spec->min || (spec->max > 0 && again > spec->max);
    if (!taken && !limited)
        fail_msg("%s --%s %s: '%s' is not taken: %s", command->name, spec->name, text, other, err.text);
    if (taken && fabs(again - value) <= 1e-9 * value)
        fail_msg("%s --%s %s: '%s' and '%s' are the same", command->name, spec->name, text, so, other);
}

static void try_values(const struct option_spec *spec)
{
    if (spec->kind != OPTION_INTEGER && spec->kind != OPTION_NUMBER && spec->kind != OPTION_QUANTITY)
        return;
    if (spec->dimension == DIMENSION_WITH_UNIT || spec->dimension == DIMENSION_NONE)
        return;
    for (int power = -30; power <= 60; power++)
        if (spec->kind != OPTION_INTEGER || (power >= 0 && power < 50))
            try_value(spec, ldexp(1, power));
}

static void what_is_asked_about_can_be_said(void **state)
{
    (void)state;
    each(try_values);
    assert_true(asked > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dimension_has_a_range),
        cmocka_unit_test(defaults_are_beyond_doubt),
        cmocka_unit_test(what_is_asked_about_can_be_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
