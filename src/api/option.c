#include "api/option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of words in a list ended by NULL. */
static size_t option_word_count(const char *const *words)
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

struct option_walk option_begin(const struct option_spec *table)
{
    return (struct option_walk){.own = table, .index = (size_t)-1};
}

static bool is_for_command_line(const struct option_spec *spec)
{
    return spec->kind != OPTION_HANDLE && !spec->is_operand && !spec->of_callers;
}

bool option_next(struct option_walk *walk)
{
    do {
        walk->of_request = walk->request && walk->request->name;
        if (!walk->of_request && !walk->own->name)
            return false;
        walk->spec = walk->of_request ? walk->request++ : walk->own++;
    } while (!is_for_command_line(walk->spec));
    walk->index++;
    return true;
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

/* Is the value in the option's limits, and beyond doubt in its dimension? */
static bool accept(const struct option_spec *spec, const char *text, const struct dimension_number *number,
                   double value, const char *what, struct error *err)
{
    if (in_range(spec, value))
        return number->has_unit || dimension_check(spec->dimension, spec->name, text, value, err);
    if (spec->dimension == DIMENSION_SHARE && !number->has_unit && value > 1 && in_range(spec, value / 100))
        return error_set(err, ERROR_USAGE, "--%s: expected a share, such as %.10g or %.10g%%; found '%s'",
                         spec->name, value / 100, value, text);
    return expected(spec, what, text, err);
}

static bool read_integer(const struct option_spec *spec, const char *value, int64_t *field, struct error *err)
{
    char *end;
    const struct dimension_number number = dimension_split(spec->dimension, value);
    if (!unit_whole(number.digits, &end, field) || *end)
        return expected(spec, "a whole number", value, err);
    return accept(spec, value, &number, (double)*field, "a whole number", err);
}

static bool read_number(const struct option_spec *spec, const char *value, double *field, struct error *err)
{
    char *end;
    const struct dimension_number number = dimension_split(spec->dimension, value);
    *field = strtod(number.digits, &end);
    if (end == number.digits || *end || !isfinite(*field))
        return expected(spec, "a number", value, err);
    *field *= number.factor;
    return accept(spec, value, &number, *field, "a number", err);
}

static bool read_quantity(const struct option_spec *spec, const char *value, double *field, struct error *err)
{
    const struct dimension_number number = dimension_split(spec->dimension, value);
    if (!unit_parse(number.digits, spec->unit, field))
        return error_set(err, ERROR_USAGE, "--%s: expected %s, found '%s'", spec->name,
                         unit_example(spec->unit), value);
    *field *= number.factor;
    return accept(spec, value, &number, *field, "a value", err);
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

bool option_is_called(const struct option_spec *spec, const char *name, size_t length)
{
    return (strlen(spec->name) == length && memcmp(spec->name, name, length) == 0) ||
           (spec->was && strlen(spec->was) == length && memcmp(spec->was, name, length) == 0);
}

bool option_tolerance(const char *text, double *share, struct error *err)
{
    char *end;
    double value = text_number(text, &end);
    bool percent = end > text && *end == '%';
    *share = percent ? value / 100.0 : value;
    return (end > text && !end[percent] && *share >= 1e-4 && *share <= 0.5) ||
           error_set(err, ERROR_USAGE,
                     "--tolerance: expected a share such as 2%%, from 0.01%% to 50%%; found '%s'", text);
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

size_t option_width(const struct option_spec *spec)
{
    return spec->repeats               ? sizeof(struct rh_list)
           : spec->kind == OPTION_FLAG ? sizeof(bool)
                                       : sizeof(int64_t);
}

void option_copy_common(void *to, const struct option_spec *to_table, const void *from,
                        const struct option_spec *from_table)
{
    for (const struct option_spec *spec = from_table; spec->name; spec++)
        for (const struct option_spec *same = to_table; same->name; same++)
            if (strcmp(same->name, spec->name) == 0 && same->kind == spec->kind &&
                same->repeats == spec->repeats)
                memcpy((char *)to + same->at, (const char *)from + spec->at, option_width(spec));
}

int option_index(const char *const *words, const char *word)
{
    int index = 0;
    while (words[index] && strcmp(words[index], word) != 0)
        index++;
    return words[index] ? index : 0;
}

/* What is kept is the table's own word, which outlives the caller's. */
static bool read_word(const struct option_spec *spec, const char *value, const char **field,
                      struct error *err)
{
    int choice;
    if (!option_choose(spec->name, spec->words, value, &choice, err))
        return false;
    *field = spec->words[choice];
    return true;
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
    case OPTION_WORD:
        return read_word(spec, value, field, err);
    case OPTION_HANDLE:
        break;
    }
    return false;
}

bool option_read_request(const struct option_spec *spec, const char *value, void *request, struct error *err)
{
    if (!option_read(spec, value, request, err))
        return false;
    void *field = (char *)request + spec->at;
    bool other_default = !spec->initial || strcmp(spec->initial, "0") != 0;
    if (other_default && spec->kind == OPTION_INTEGER && *(int64_t *)field == 0)
        *(int64_t *)field = RH_ZERO;
    else if (other_default && (spec->kind == OPTION_NUMBER || spec->kind == OPTION_QUANTITY) &&
             *(double *)field == 0.0)
        *(double *)field = (double)RH_ZERO;
    return true;
}

bool option_is_given(const struct option_spec *spec, const void *request)
{
    const void *field = (const char *)request + spec->at;
    if (spec->repeats)
        return spec->kind == OPTION_HANDLE ? ((const struct rh_handles *)field)->count > 0
                                           : ((const struct rh_list *)field)->count > 0;
    switch (spec->kind) {
    case OPTION_INTEGER:
        return *(const int64_t *)field != 0;
    case OPTION_NUMBER:
    case OPTION_QUANTITY:
        return *(const double *)field != 0.0;
    case OPTION_FLAG:
        return *(const bool *)field;
    default:
        return *(const void *const *)field;
    }
}

/* The same checks as for text, with the same messages. */
static bool check_number(const struct option_spec *spec, double value, const char *what, struct error *err)
{
    char found[32];
    snprintf(found, sizeof found, "%.15g", value);
    return (isfinite(value) && in_range(spec, value)) || expected(spec, what, found, err);
}

static bool check_list(const struct option_spec *spec, const struct rh_list *list, struct error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (!list->items || !list->items[i] || (spec->kind == OPTION_FILE && !*list->items[i]))
            return error_set(err, ERROR_USAGE, "--%s: text %zu of %zu is missing", spec->name, i + 1,
                             list->count);
    return true;
}

static bool check_handles(const struct option_spec *spec, const struct rh_handles *list, struct error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (!list->items || !list->items[i])
            return error_set(err, ERROR_USAGE, "%s: handle %zu of %zu is missing", spec->name, i + 1,
                             list->count);
    return true;
}

static bool check_field(const struct option_spec *spec, void *field, struct error *err)
{
    switch (spec->kind) {
    case OPTION_INTEGER:
        if (*(int64_t *)field == RH_ZERO)
            *(int64_t *)field = 0;
        return check_number(spec, (double)*(int64_t *)field, "a whole number", err);
    case OPTION_NUMBER:
    case OPTION_QUANTITY:
        if (*(double *)field == (double)RH_ZERO)
            *(double *)field = 0.0;
        return check_number(spec, *(double *)field, "a number", err);
    case OPTION_WORD:
        return read_word(spec, *(const char **)field, field, err);
    case OPTION_FILE:
        return **(const char **)field || error_set(err, ERROR_USAGE, "--%s: the name is empty", spec->name);
    default:
        return true;
    }
}

bool option_complete(const struct option_spec *spec, void *request, struct error *err)
{
    void *field = (char *)request + spec->at;
    if (spec->repeats && (option_is_given(spec, request) || !spec->required))
        return spec->kind == OPTION_HANDLE ? check_handles(spec, field, err) : check_list(spec, field, err);
    if (option_is_given(spec, request))
        return check_field(spec, field, err);
    if (spec->required && !spec->of_commands)
        return error_set(err, ERROR_USAGE, "'%s' is missing", spec->name);
    return !spec->initial || option_read(spec, spec->initial, request, err);
}
