#include "api/plan/range.h"

#include "core/statistics.h"
#include "core/unit.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    const char *option, *text, *at;
    int64_t min, max;
    struct range *range;
    struct error *err;
};

static bool expected(const struct reader *r, const char *what)
{
    return error_set(r->err, ERROR_USAGE,
                     "--%s: expected %s from %lld to %lld, such as 8, 2..32, 2..32+2 or 8,12; found '%s'",
                     r->option, what, (long long)r->min, (long long)r->max, r->text);
}

static bool read_whole(struct reader *r, int64_t *value)
{
    char *end = NULL;
    if (*r->at == '-' || !unit_whole(r->at, &end, value))
        return expected(r, "whole numbers");
    r->at = end;
    return true;
}

static bool add(struct reader *r, int64_t value)
{
    if (r->range->count == RANGE_MAX_VALUES)
        return error_set(r->err, ERROR_USAGE, "--%s: '%s' is more than %d values", r->option, r->text,
                         RANGE_MAX_VALUES);
    r->range->values[r->range->count++] = value;
    return true;
}

/* step 0: doubled */
static bool add_all(struct reader *r, int64_t first, int64_t last, int64_t step)
{
    int64_t value = first;
    while (value < last) {
        if (!add(r, value))
            return false;
        int64_t more = step > 0 ? step : value;
        value = more < last - value ? value + more : last;
    }
    return add(r, last);
}

static bool read_item(struct reader *r)
{
    int64_t first, last, step = 0;
    if (!read_whole(r, &first))
        return false;
    last = first;
    if (strncmp(r->at, "..", 2) == 0) {
        r->at += 2;
        if (!read_whole(r, &last))
            return false;
        if (*r->at == '+') {
            r->at++;
            if (!read_whole(r, &step))
                return false;
            if (step == 0)
                return error_set(r->err, ERROR_USAGE, "--%s: '%s' has a step of 0", r->option, r->text);
        }
    }
    if (first < r->min || last > r->max)
        return expected(r, "whole numbers");
    if (first > last)
        return error_set(r->err, ERROR_USAGE, "--%s: the end of '%s' is below its start", r->option, r->text);
    return add_all(r, first, last, step);
}

static bool read_items(struct reader *r)
{
    for (;;) {
        if (!read_item(r))
            return false;
        if (!*r->at)
            return true;
        if (*r->at++ != ',')
            return expected(r, "whole numbers");
    }
}

static void sort_once(struct range *range)
{
    int count = 0;
    qsort(range->values, (size_t)range->count, sizeof *range->values, order_int64s);
    for (int i = 0; i < range->count; i++)
        if (count == 0 || range->values[i] != range->values[count - 1])
            range->values[count++] = range->values[i];
    range->count = count;
}

/* A range with its unit behind it leaves no doubt: "4M samples". */
static bool check_dimension(const struct reader *r, enum dimension dimension)
{
    for (int i = 0; i < r->range->count; i++)
        if (!dimension_check(dimension, r->option, r->text, (double)r->range->values[i], r->err))
            return false;
    return true;
}

bool range_parse(const char *option, const char *text, enum dimension dimension, int64_t min, int64_t max,
                 struct range *range, struct error *err)
{
    const struct dimension_number number = dimension_split(dimension, text);
    struct reader r = {option, text, number.has_unit ? number.digits : text, min, max, range, err};
    *range = (struct range){.values = calloc(RANGE_MAX_VALUES, sizeof *range->values)};
    if (!range->values)
        return error_memory(err);
    if (!read_items(&r) || (!number.has_unit && !check_dimension(&r, dimension))) {
        range_release(range);
        return false;
    }
    sort_once(range);
    return true;
}

void range_release(struct range *range)
{
    free(range->values);
    *range = (struct range){.values = NULL};
}
