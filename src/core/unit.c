#include "core/unit.h"

#include "core/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

/* Each kind has the units first that are printed, the largest first and the base unit last. */
static const struct unit byte_units[] = {
    {"PiB", 0x1p50}, {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1},
    {"", 1},         {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
    {"PB", 1e15},    {"K", 0x1p10},   {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40},
};

/* Per second. "Gbps" is bits; "GBps" is left out: it is too often a slip. */
static const struct unit rate_units[] = {
    {"TB/s", 1e12},    {"GB/s", 1e9},     {"MB/s", 1e6},     {"kB/s", 1e3},     {"B/s", 1},
    {"", 1},           {"KB/s", 1e3},     {"KiB/s", 0x1p10}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30},
    {"TiB/s", 0x1p40}, {"PB/s", 1e15},    {"PiB/s", 0x1p50}, {"b/s", 0.125},    {"kb/s", 125},
    {"Mb/s", 125e3},   {"Gb/s", 125e6},   {"Tb/s", 125e9},   {"bit/s", 0.125},  {"kbit/s", 125},
    {"Mbit/s", 125e3}, {"Gbit/s", 125e6}, {"Tbit/s", 125e9}, {"bps", 0.125},    {"kbps", 125},
    {"Mbps", 125e3},   {"Gbps", 125e6},   {"Tbps", 125e9},
};

static const struct unit time_units[] = {
    {"s", 1},          {"ms", 1e-3},      {"us", 1e-6}, {"ns", 1e-9}, {"", 1},
    {"\u00b5s", 1e-6}, {"\u03bcs", 1e-6}, /* micro sign, mu */
    {"min", 60},       {"h", 3600},       {"sec", 1},   {"d", 86400}, {"days", 86400},
};

/* Of a whole training. */
static const struct unit duration_units[] = {
    {"d", 86400},           {"h", 3600},     {"min", 60},     {"s", 1},           {"D", 86400},
    {"day", 86400},         {"days", 86400}, {"hours", 3600}, {"w", 7 * 86400.0}, {"week", 7 * 86400.0},
    {"weeks", 7 * 86400.0},
};

/* Powers of 1000: amounts such as the tokens of a training. */
static const struct unit count_units[] = {
    {"T", 1e12}, {"B", 1e9}, {"M", 1e6},  {"k", 1e3},  {"", 1},
    {"K", 1e3},  {"G", 1e9}, {"P", 1e15}, {"t", 1e12}, {"b", 1e9},
};

static const struct unit share_units[] = {{"%", 1e-2}};

static const struct unit compute_units[] = {
    {"PFLOP/s", 1e15}, {"TFLOP/s", 1e12}, {"GFLOP/s", 1e9}, {"MFLOP/s", 1e6}, {"FLOP/s", 1},
    {"", 1},           {"kFLOP/s", 1e3},  {"FLOPS", 1},     {"kFLOPS", 1e3},  {"MFLOPS", 1e6},
    {"GFLOPS", 1e9},   {"TFLOPS", 1e12},  {"PFLOPS", 1e15},
};

#define UNITS(array) (array), sizeof(array) / sizeof *(array)

static const struct {
    const struct unit *units;
    size_t count, printed; /* `printed`: how many of them */
    const char *example;
} kinds[] = {
    [UNIT_BYTES] = {UNITS(byte_units), 6, "a size such as 16 GiB"},
    [UNIT_RATE] = {UNITS(rate_units), 5, "a rate such as 25 Gb/s or 300 GB/s"},
    [UNIT_TIME] = {UNITS(time_units), 4, "a time such as 5 us"},
    [UNIT_COMPUTE] = {UNITS(compute_units), 5, "a compute rate such as 312 TFLOP/s"},
    [UNIT_COUNT] = {UNITS(count_units), 5, "an amount such as 15T"},
    [UNIT_DURATION] = {UNITS(duration_units), 4, "a time with its unit, such as 30d, 2w or 12h"},
    [UNIT_SHARE] = {UNITS(share_units), 1, "a share such as 5 %"},
};

/* strtod also takes hexadecimal, nan and inf: a number here starts like one. */
static bool starts_number(const char *text)
{
    if (*text == '+' || *text == '-')
        text++;
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    return !hexadecimal &&
           (isdigit((unsigned char)text[0]) || (text[0] == '.' && isdigit((unsigned char)text[1])));
}

bool unit_parse(const char *text, enum unit_kind kind, double *value)
{
    while (isspace((unsigned char)*text))
        text++;
    if (!starts_number(text))
        return false;
    char *end;
    double number = text_number(text, &end);
    while (isspace((unsigned char)*end))
        end++;
    size_t length = strlen(end);
    while (length > 0 && isspace((unsigned char)end[length - 1]))
        length--;
    for (size_t i = 0; i < kinds[kind].count; i++) {
        const struct unit *unit = &kinds[kind].units[i];
        if (strlen(unit->name) == length && strncmp(end, unit->name, length) == 0) {
            number *= unit->factor;
            if (isfinite(number))
                *value = number;
            return isfinite(number);
        }
    }
    return false;
}

bool unit_whole(const char *text, char **end, int64_t *value)
{
    static const struct {
        char letter;
        int64_t factor;
    } powers[] = {{'k', 1 << 10}, {'K', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}};
    const char *digits = *text == '-' ? text + 1 : text;
    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *value = strtoll(text, end, 10);
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
        if (**end == powers[i].letter) {
            ++*end;
            return errno == 0 && !__builtin_mul_overflow(*value, powers[i].factor, value);
        }
    return errno == 0;
}

const char *unit_example(enum unit_kind kind)
{
    return kinds[kind].example;
}

char *unit_format(char *buffer, size_t size, double value, enum unit_kind kind, int digits)
{
    const struct unit *units = kinds[kind].units;
    size_t count = kinds[kind].printed;
    if (value == 0 || !isfinite(value)) { /* no prefix suits it better than none */
        snprintf(buffer, size, "%g %s", value, kind == UNIT_TIME ? "s" : units[count - 1].name);
        return buffer;
    }
    size_t i = 0;
    while (i + 1 < count && fabs(value) < units[i].factor)
        i++;
    double shown = value / units[i].factor;
    int whole = fabs(shown) < 1 ? 1 : (int)floor(log10(fabs(shown))) + 1;
    bool counted = kind == UNIT_BYTES && units[i].factor == 1; /* there are no fractions of a byte */
    snprintf(buffer, size, "%.*f %s", counted || digits < whole ? 0 : digits - whole, shown, units[i].name);
    return buffer;
}

const char *unit_text(struct unit_texts *texts, double value, enum unit_kind kind)
{
    char *text = texts->texts[texts->next++ % 8];
    return unit_format(text, sizeof texts->texts[0], value, kind, kind == UNIT_BYTES ? 3 : 4);
}
