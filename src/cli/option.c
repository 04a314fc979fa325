#include "cli/option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t option_word_count(const char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

void option_write_words(const char *const *words, const char *separator, struct text *out)
{
    for (size_t i = 0; words[i]; i++) {
        text_add(out, i ? separator : "");
        text_add(out, words[i]);
    }
}

static bool in_range(const struct option_spec *spec, double value)
{
    return value >= spec->min && (spec->max == 0 || value <= spec->max);
}

/* "--threads: expected a whole number from 0 to 1024, found 'many'" */
static bool expected(const struct option_spec *spec, const char *what, const char *value, struct error *err)
{
    char range[96] = "";
    if (spec->min == OPTION_POSITIVE && spec->max == 0)
        snprintf(range, sizeof range, " above 0");
    else if (spec->min == OPTION_POSITIVE)
        snprintf(range, sizeof range, " above 0 and up to %.15g", spec->max);
    else if (spec->max == 0)
        snprintf(range, sizeof range, " of at least %.15g", spec->min);
    else
        snprintf(range, sizeof range, " from %.15g to %.15g", spec->min, spec->max);
    return error_set(err, ERROR_USAGE, "--%s: expected %s%s, found '%s'", spec->name, what, range, value);
}

static bool read_integer(const struct option_spec *spec, const char *value, int64_t *field, struct error *err)
{
    char *end;
    if (!unit_whole(value, &end, field) || *end || !in_range(spec, (double)*field))
        return expected(spec, "a whole number", value, err);
    return true;
}

static bool read_number(const struct option_spec *spec, const char *value, double *field, struct error *err)
{
    char *end;
    *field = strtod(value, &end);
    if (*end == '%' && spec->argument && strcmp(spec->argument, "PERCENT") == 0)
        end++;
    if (end == value || *end || !isfinite(*field) || !in_range(spec, *field))
        return expected(spec, "a number", value, err);
    return true;
}

static bool read_quantity(const struct option_spec *spec, const char *value, double *field, struct error *err)
{
    if (!unit_parse(value, spec->unit, field))
        return error_set(err, ERROR_USAGE, "--%s: expected %s, found '%s'", spec->name,
                         unit_example(spec->unit), value);
    if (!in_range(spec, *field))
        return expected(spec, "a value", value, err);
    return true;
}

static bool read_range(const struct option_spec *spec, const char *value, struct option_range *field,
                       struct error *err)
{
    char *end;
    bool well_formed = unit_whole(value, &end, &field->first);
    field->last = field->first;
    if (well_formed && text_starts_with(end, ".."))
        well_formed = unit_whole(end + 2, &end, &field->last);
    if (!well_formed || *end || field->first > field->last || !in_range(spec, (double)field->first) ||
        !in_range(spec, (double)field->last))
        return expected(spec, "a range such as 3..8 of whole numbers", value, err);
    return true;
}

bool option_choose(const char *option, const char *const *words, const char *value, int *choice,
                   struct error *err)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], value) == 0) {
            *choice = i;
            return true;
        }
    struct text list = {0};
    struct text_hint hint;
    option_write_words(words, ", ", &list);
    error_set(err, ERROR_USAGE, "--%s: expected one of %s; found '%s'%s", option,
              list.failed ? "its words" : list.data, value,
              text_suggest(&hint, text_nearest(value, words, option_word_count(words)), ""));
    text_release(&list);
    return false;
}

bool option_read(const struct option_spec *spec, const char *value, void *options, struct error *err)
{
    void *field = (char *)options + spec->at;
    switch (spec->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return true;
    case OPTION_FILE:
        if (!*value)
            return error_set(err, ERROR_USAGE, "--%s: the name is empty", spec->name);
        *(const char **)field = value;
        return true;
    case OPTION_TEXT:
        *(const char **)field = value;
        return true;
    case OPTION_INTEGER:
        return read_integer(spec, value, field, err);
    case OPTION_NUMBER:
        return read_number(spec, value, field, err);
    case OPTION_QUANTITY:
        return read_quantity(spec, value, field, err);
    case OPTION_RANGE:
        return read_range(spec, value, field, err);
    case OPTION_CHOICE:
        return option_choose(spec->name, spec->words, value, field, err);
    }
    return false;
}
