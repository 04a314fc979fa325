/* Numbers as JSON and YAML's core schema write them. */
#include "core/doc/reader.h"

#include "core/text.h"

#include <float.h>

#define MAX_EXACT   ((uint64_t)1 << 53) /* whole numbers up to here are doubles */
#define FAR_TOO_BIG 100000              /* an exponent that no double has */

/* Powers of ten that are doubles. */
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define LARGEST_POWER ((int64_t)(sizeof powers / sizeof *powers) - 1)

/* digits x 10^exponent, as long as the digits fit */
struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool too_long;
};

static const char *take_digits(const char *at, const char *end, struct decimal *decimal)
{
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (decimal->digits <= MAX_EXACT)
            decimal->digits = decimal->digits * 10 + (uint64_t)(*at - '0');
        else
            decimal->too_long = true;
    return at;
}

/* After the 'e'; NULL if there are no digits. */
static const char *take_exponent(const char *at, const char *end, struct decimal *decimal)
{
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    const char *start = at;
    int64_t exponent = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (exponent < FAR_TOO_BIG)
            exponent = exponent * 10 + (*at - '0');
    decimal->exponent += negative ? -exponent : exponent;
    return at > start ? at : NULL;
}

/* Two exact operands make one correctly rounded operation (W. Clinger, How to Read Floating Point Numbers
 * Accurately, PLDI 1990); FLT_EVAL_METHOD is 0 where doubles are computed as doubles. */
static bool is_easy(const struct decimal *decimal)
{
    return FLT_EVAL_METHOD == 0 && !decimal->too_long && decimal->digits <= MAX_EXACT &&
           decimal->exponent >= -LARGEST_POWER && decimal->exponent <= LARGEST_POWER;
}

bool doc_scan_number(const char *text, size_t length, double *value)
{
    const char *end = text + length, *at = text;
    struct decimal decimal = {0};
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    const char *start = at;
    at = take_digits(at, end, &decimal);
    bool any = at > start;
    if (at < end && *at == '.') {
        const char *point = at + 1;
        at = take_digits(point, end, &decimal);
        any = any || at > point;
        decimal.exponent -= at - point;
    }
    if (any && at < end && (*at == 'e' || *at == 'E'))
        at = take_exponent(at + 1, end, &decimal);
    if (!any || at != end)
        return false;
    if (!is_easy(&decimal)) {
        *value = text_number(text, NULL);
        return true;
    }
    double digits = (double)decimal.digits;
    double size =
        decimal.exponent < 0 ? digits / powers[-decimal.exponent] : digits * powers[decimal.exponent];
    *value = *text == '-' ? -size : size;
    return true;
}
