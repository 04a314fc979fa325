#include "api/plan/fix.h"

#include "core/text.h"
#include "core/unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUE 16777216

struct fixer {
    const char *option;
    struct job_range *ranges;
    unsigned *choices; /* NULL: one value each */
    struct error *err;
};

static bool find_dimension(const struct fixer *f, const char *name, enum job_dimension *dimension)
{
    const char *names[JOB_DIMENSIONS];
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        names[d] = job_dimension_name((enum job_dimension)d);
        *dimension = (enum job_dimension)d;
        if (strcmp(names[d], name) == 0)
            return true;
    }
    struct text_hint hint;
    struct text list = {0};
    for (int d = 0; d < JOB_DIMENSIONS; d++)
        text_format(&list, "%s%s", d == 0 ? "" : ", ", names[d]);
    error_set(f->err, ERROR_USAGE, "--%s: expected one of %s; found '%s'%s", f->option,
              list.data ? list.data : "", name,
              text_suggest(&hint, text_nearest(name, names, JOB_DIMENSIONS), ""));
    text_release(&list);
    return false;
}

static bool read_technique(const struct fixer *f, enum technique_kind kind, const char *text, int64_t *value)
{
    struct text expected = {0};
    int chosen = 0;
    bool known = technique_read(text, kind, &chosen, &expected);
    *value = chosen;
    if (!known)
        error_set(f->err, ERROR_USAGE, "--%s: %s: expected %s; found '%s'", f->option, technique_name(kind),
                  expected.data ? expected.data : "", text);
    text_release(&expected);
    return known;
}

static bool read_value(const struct fixer *f, enum job_dimension dimension, const char *text, int64_t *value)
{
    char *end;
    if (dimension == JOB_RECOMPUTE) {
        enum recompute recompute = RECOMPUTE_NONE;
        bool known = recompute_find(text, &recompute);
        *value = recompute;
        return known ||
               error_set(f->err, ERROR_USAGE, "--%s: expected recompute=none, selective or full; found '%s'",
                         f->option, text);
    }
    if (dimension >= JOB_TECHNIQUE)
        return read_technique(f, (enum technique_kind)(dimension - JOB_TECHNIQUE), text, value);
    int64_t min = dimension == JOB_SHARDING ? 0 : 1, max = dimension == JOB_SHARDING ? 3 : MAX_VALUE;
    if (unit_whole(text, &end, value) && *end == '\0' && *value >= min && *value <= max)
        return true;
    return error_set(f->err, ERROR_USAGE,
                     "--%s: %s: expected a whole number from %" PRId64 " to %" PRId64 ", found '%s'",
                     f->option, job_dimension_name(dimension), min, max, text);
}

/* "fp32/bf16"; changes the text. */
static bool read_choices(const struct fixer *f, enum job_dimension dimension, char *text)
{
    struct job_range *range = &f->ranges[dimension];
    unsigned values = 0;
    if (!f->choices || dimension < JOB_TECHNIQUE ||
        technique_is_number((enum technique_kind)(dimension - JOB_TECHNIQUE)) ||
        dimension == JOB_TECHNIQUE + TECHNIQUE_MODULES)
        return error_set(f->err, ERROR_USAGE, "--%s: %s: expected one value%s, found '%s'", f->option,
                         job_dimension_name(dimension),
                         job_dimension_is_number(dimension) ? " or MIN..MAX" : "", text);
    for (char *word; (word = strsep(&text, "/"));) {
        if (!read_value(f, dimension, word, &range->min))
            return false;
        values |= 1u << range->min;
        range->max = range->given ? (range->max > range->min ? range->max : range->min) : range->min;
        range->given = true;
    }
    range->min = __builtin_ctz(values);
    f->choices[dimension - JOB_TECHNIQUE] = values;
    return true;
}

/* "tp=8", "pp=2..16" or "moments=fp32/bf16"; changes the text. */
static bool read_part(const struct fixer *f, char *part)
{
    enum job_dimension dimension;
    char *equals = strchr(part, '=');
    if (!equals)
        return error_set(f->err, ERROR_USAGE, "--%s: expected NAME=VALUE or NAME=MIN..MAX, found '%s'",
                         f->option, part);
    *equals = '\0';
    if (!find_dimension(f, part, &dimension))
        return false;
    struct job_range *range = &f->ranges[dimension];
    if (range->given)
        return error_set(f->err, ERROR_USAGE, "--%s: %s is given twice", f->option, part);
    if (strchr(equals + 1, '/'))
        return read_choices(f, dimension, equals + 1);
    char *max = strstr(equals + 1, "..");
    if (max) {
        *max = '\0';
        max += 2;
    }
    if (max && dimension >= JOB_TECHNIQUE &&
        !technique_is_number((enum technique_kind)(dimension - JOB_TECHNIQUE)))
        return error_set(f->err, ERROR_USAGE, "--%s: %s: expected one value, found a range", f->option, part);
    if (!read_value(f, dimension, equals + 1, &range->min) ||
        !read_value(f, dimension, max ? max : equals + 1, &range->max))
        return false;
    range->given = true;
    return range->min <= range->max ||
           error_set(f->err, ERROR_USAGE, "--%s: %s: %s is more than %s", f->option, part, equals + 1, max);
}

static bool read_item(const struct fixer *f, const char *item)
{
    char *copy = strdup(item), *rest = copy, *part;
    bool ok = copy || error_memory(f->err);
    while (ok && (part = strsep(&rest, ",")))
        ok = read_part(f, part);
    free(copy);
    return ok;
}

bool fix_parse(const char *option, const struct rh_list *list, struct job_range ranges[JOB_DIMENSIONS],
               unsigned choices[TECHNIQUE_COUNT], struct error *err)
{
    struct fixer fixer = {option, ranges, choices, err};
    for (size_t i = 0; i < list->count; i++)
        if (!read_item(&fixer, list->items[i]))
            return false;
    return true;
}
