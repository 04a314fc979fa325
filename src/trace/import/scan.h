/* Takes numbers and words from a line. A line ends in NUL, which stops every loop. */
#ifndef REHEARSE_TRACE_IMPORT_SCAN_H
#define REHEARSE_TRACE_IMPORT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

static inline const char *scan_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static inline const char *scan_word(const char *at)
{
    while (*at && *at != ' ' && *at != '\t')
        at++;
    return at;
}

static inline bool scan_is_end(const char *at)
{
    return *at == '\0' || *at == ' ' || *at == '\t';
}

/* Takes digits, as unsigned: bpftrace prints a negative result so. Fails without a digit, and from 2^64 on. */
static inline bool scan_digits(const char **at, int64_t *value)
{
    const char *p = *at;
    uint64_t number = 0;
    for (; (unsigned)(*p - '0') < 10; p++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
            return false;
    if (p == *at)
        return false;
    *at = p;
    *value = (int64_t)number;
    return true;
}

/* Takes the next field of a line, a number that may have a sign. */
static inline bool scan_number(const char **at, int64_t *value)
{
    const char *p = scan_blanks(*at);
    bool negative = *p == '-';
    p += negative;
    if (!scan_digits(&p, value) || !scan_is_end(p))
        return false;
    if (negative)
        *value = (int64_t)(0 - (uint64_t)*value);
    *at = p;
    return true;
}

/* Exactly `count` digits. */
static inline bool scan_fixed(const char **at, int count, int *value)
{
    *value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if ((unsigned)(**at - '0') >= 10)
            return false;
        *value = *value * 10 + (**at - '0');
    }
    return true;
}

static inline bool scan_char(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* ".123456": a fraction of a second in nanoseconds; none is 0. */
static inline int64_t scan_fraction(const char **at)
{
    int64_t value = 0, unit = 100000000;
    if (**at != '.')
        return 0;
    for ((*at)++; (unsigned)(**at - '0') < 10; (*at)++, unit /= 10)
        value += unit * (**at - '0');
    return value;
}

/* "21:42:20" in seconds since midnight. */
static inline bool scan_clock(const char **at, int64_t *seconds)
{
    int h, m, s;
    const char *p = *at;
    if (!scan_fixed(&p, 2, &h) || !scan_char(&p, ':') || !scan_fixed(&p, 2, &m) || !scan_char(&p, ':') ||
        !scan_fixed(&p, 2, &s) || h > 23 || m > 59 || s > 60)
        return false;
    *seconds = h * 3600 + m * 60 + s;
    *at = p;
    return true;
}

/* Returns the days since 1970-01-01 of the Gregorian calendar (H. Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms"). */
static inline int64_t scan_days(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static inline bool scan_date_of(int year, int month, int day, int64_t *days)
{
    *days = scan_days(year, month, day);
    return year >= 1970 && year < 2200 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* "2026-11-20" as days since 1970. */
static inline bool scan_date(const char **at, int64_t *days)
{
    int y, m, d;
    const char *p = *at;
    if (!scan_fixed(&p, 4, &y) || !scan_char(&p, '-') || !scan_fixed(&p, 2, &m) || !scan_char(&p, '-') ||
        !scan_fixed(&p, 2, &d) || !scan_date_of(y, m, d, days))
        return false;
    *at = p;
    return true;
}

/* "11/20/26" or "11/20/2026". */
static inline bool scan_us_date(const char **at, int64_t *days)
{
    int y, m, d;
    const char *p = *at;
    if (!scan_fixed(&p, 2, &m) || !scan_char(&p, '/') || !scan_fixed(&p, 2, &d) || !scan_char(&p, '/') ||
        !scan_fixed(&p, 2, &y))
        return false;
    if ((unsigned)(*p - '0') < 10) {
        int rest;
        if (!scan_fixed(&p, 2, &rest))
            return false;
        y = y * 100 + rest;
    } else {
        y += 2000;
    }
    *at = p;
    return scan_date_of(y, m, d, days);
}

#endif
