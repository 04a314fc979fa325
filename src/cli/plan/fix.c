#include "cli/plan/fix.h"

#include "core/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUE 16777216

struct fixer {
    const char *option;
    struct job_range *ranges;
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
    return error_set(f->err, ERROR_USAGE,
                     "--%s: expected one of tp, pp, dp, cp, ep, mbs, vp, zero, recompute; found '%s'%s",
                     f->option, name, text_suggest(&hint, text_nearest(name, names, JOB_DIMENSIONS), ""));
}

static bool read_value(const struct fixer *f, enum job_dimension dimension, const char *text, int64_t *value)
{
    char *end;
    if (dimension == JOB_RECOMPUTE) {
        for (int i = RECOMPUTE_NONE; i <= RECOMPUTE_FULL; i++)
            if (strcmp(text, job_recompute_name((enum recompute)i)) == 0) {
                *value = i;
                return true;
            }
        return error_set(f->err, ERROR_USAGE, "--%s: expected recompute=none, selective or full; found '%s'",
                         f->option, text);
    }
    int64_t min = dimension == JOB_SHARDING ? 0 : 1, max = dimension == JOB_SHARDING ? 3 : MAX_VALUE;
    *value = strtoll(text, &end, 10);
    if (text[strspn(text, "0123456789")] == '\0' && *text && *end == '\0' && *value >= min && *value <= max)
        return true;
    return error_set(f->err, ERROR_USAGE,
                     "--%s: %s: expected a whole number from %" PRId64 " to %" PRId64 ", found '%s'",
                     f->option, job_dimension_name(dimension), min, max, text);
}

/* "tp=8" or "pp=2..16"; changes the text. */
static bool read_part(const struct fixer *f, char *part)
{
    enum job_dimension dimension;
    char *equals = strchr(part, '=');
    if (!equals)
        return error_set(f->err, ERROR_USAGE, "--%s: expected NAME=VALUE or NAME=LEAST..MOST, found '%s'",
                         f->option, part);
    *equals = '\0';
    if (!find_dimension(f, part, &dimension))
        return false;
    struct job_range *range = &f->ranges[dimension];
    if (range->given)
        return error_set(f->err, ERROR_USAGE, "--%s: %s is said twice", f->option, part);
    char *max = strstr(equals + 1, "..");
    if (max) {
        *max = '\0';
        max += 2;
    }
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

bool fix_parse(const char *option, const struct option_list *list, struct job_range ranges[JOB_DIMENSIONS],
               struct error *err)
{
    struct fixer fixer = {option, ranges, err};
    for (size_t i = 0; i < list->count; i++)
        if (!read_item(&fixer, list->items[i]))
            return false;
    return true;
}
