#include "core/unit/dimension.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* How a number is written that has no doubt: `factor` times the number, and the unit behind it. */
struct written {
    const char *unit;
    double factor;
};

struct dimension_row {
    double low, high;    /* of a number without a unit */
    const char *reading; /* how such a number is read: "%g seconds"; NULL: as a time with its usual unit */
    struct written so, else_; /* that reading, and the other one */
    struct written own[3];    /* units of its own, with their factors into its base */
    const char *advice;       /* in the place of the other reading */
};

#define TIME(low_, high_, other)                                                                             \
    {                                                                                                        \
        .low = (low_), .high = (high_), .so = {"s", 1}, .else_ = { other, 1 }                                \
    }

static const struct dimension_row rows[DIMENSION_COUNT] = {
    [DIMENSION_NUMBER] = {.low = -INFINITY, .high = INFINITY},
    [DIMENSION_WITH_UNIT] = {.low = -INFINITY, .high = INFINITY},
    [DIMENSION_SHARE] =
        {.high = 1, .reading = "a share", .so = {"%", 100}, .else_ = {"%", 1}, .own = {{"%", 0.01}}},
    [DIMENSION_PERCENT] =
        {.low = 1, .high = 100, .reading = "percent", .so = {"%", 1}, .else_ = {"%", 100}, .own = {{"%", 1}}},
    [DIMENSION_TOKENS] = {.low = 1e6,
                          .high = 1e16,
                          .reading = "tokens",
                          .so = {" tokens", 1},
                          .else_ = {"T", 1},
                          .own = {{"tokens", 1}}},
    [DIMENSION_SAMPLES] = {.low = 1,
                           .high = 200000,
                           .reading = "samples",
                           .so = {" samples", 1},
                           .own = {{"samples", 1}},
                           .advice = "if these are tokens, divide them by the tokens of a sample"},
    [DIMENSION_LENGTH] = {.low = 1, .high = 1 << 24},
    [DIMENSION_DAYS] = {.low = 0.01,
                        .high = 3650,
                        .reading = "days",
                        .so = {"d", 1},
                        .else_ = {"h", 1},
                        .own = {{"d", 1}, {"h", 1 / 24.0}}},
    [DIMENSION_LOSSES] = {.low = 0.02,
                          .high = 2000,
                          .reading = "losses per 1000 node-days",
                          .so = {"/1000d", 1},
                          .else_ = {"/d", 1},
                          .own = {{"/1000d", 1}, {"/d", 1000}}},
    [DIMENSION_LIFE] = TIME(1e6, 1e10, "h"),
    [DIMENSION_REPAIR] = TIME(60, 30 * SECONDS_PER_DAY, "min"),
    [DIMENSION_PASS] = TIME(1e-7, 3600, "ms"),
    [DIMENSION_COST] = TIME(1e-3, 7200, "ms"),
    [DIMENSION_WAIT] = TIME(1e-3, 36000, "ms"),
    [DIMENSION_SAMPLING] = TIME(1e-3, 10, "ms"),
    [DIMENSION_LAUNCH] = TIME(1e-9, 0.1, "us"),
    [DIMENSION_MOMENT] = TIME(1e-6, 1e7, "ms"),
    [DIMENSION_DATA] =
        {.low = 1024, .high = INFINITY, .reading = "bytes", .so = {"B", 1}, .else_ = {"GB", 1}},
    [DIMENSION_BUFFER] =
        {.low = 512, .high = INFINITY, .reading = "bytes", .so = {"B", 1}, .else_ = {"MB", 1}},
    [DIMENSION_MESSAGE] = {.low = 1, .high = 0x1p40, .reading = "bytes", .so = {"B", 1}, .else_ = {"MB", 1}},
    [DIMENSION_RATE] =
        {.low = 1e5, .high = 1e15, .reading = "bytes per second", .so = {"B/s", 1}, .else_ = {"GB/s", 1}},
};

static bool ends_with(const char *text, size_t length, const char *unit)
{
    size_t own = strlen(unit);
    return length > own && strncmp(text + length - own, unit, own) == 0;
}

struct dimension_number dimension_split(enum dimension dimension, const char *text)
{
    const struct dimension_row *row = &rows[dimension];
    struct dimension_number number = {.factor = 1};
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof row->own / sizeof *row->own && row->own[i].unit && !number.has_unit; i++)
        if (ends_with(text, length, row->own[i].unit)) {
            length -= strlen(row->own[i].unit);
            number.factor = row->own[i].factor;
            number.has_unit = true;
        }
    if (!number.has_unit && dimension != DIMENSION_SAMPLES) /* 4M: as many of them */
        number.has_unit = length > 0 && !isdigit((unsigned char)text[length - 1]) && text[length - 1] != '.';
    while (number.has_unit && length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    if (length < sizeof number.digits)
        memcpy(number.digits, text, length);
    return number;
}

/* "50000h", "5%" */
static const char *write(char *out, size_t size, const char *text, double value, const struct written *as)
{
    if (as->factor == 1)
        snprintf(out, size, "%s%s", text, as->unit);
    else
        snprintf(out, size, "%.10g%s", value * as->factor, as->unit);
    return out;
}

bool dimension_check(enum dimension dimension, const char *option, const char *text, double value,
                     struct error *err)
{
    const struct dimension_row *row = &rows[dimension];
    char reading[64], so[96], other[96];
    if (dimension == DIMENSION_NONE || value <= 0 || (value >= row->low && value <= row->high))
        return true;
    if (row->reading)
        snprintf(reading, sizeof reading, "%.10g %s", value, row->reading);
    else
        snprintf(reading, sizeof reading, value < 60 ? "%.10g seconds" : "%.10g seconds, %s", value,
                 unit_format(other, sizeof other, value, UNIT_DURATION, 4));
    write(so, sizeof so, text, value, &row->so);
    if (row->advice)
        return error_set(err, ERROR_USAGE, "--%s: '%s' would be %s: write '%s' if that is meant; %s", option,
                         text, reading, so, row->advice);
    return error_set(err, ERROR_USAGE, "--%s: '%s' would be %s: write '%s' if that is meant, or '%s'", option,
                     text, reading, so, write(other, sizeof other, text, value, &row->else_));
}

bool dimension_parse(enum dimension dimension, enum unit_kind unit, const char *option, const char *text,
                     double *value, struct error *err)
{
    struct dimension_number number = dimension_split(dimension, text);
    if (!unit_parse(number.digits, unit, value))
        return error_set(err, ERROR_USAGE, "--%s: expected %s, found '%s'", option, unit_example(unit), text);
    *value *= number.factor;
    return number.has_unit || dimension_check(dimension, option, text, *value, err);
}
