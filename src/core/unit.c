#include "core/unit.h"

#include "core/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit byte_units[] = {
    {"", 1},         {"B", 1},      {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
    {"TB", 1e12},    {"PB", 1e15},  {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
    {"PiB", 0x1p50}, {"K", 0x1p10}, {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40},   {NULL, 0},
};

/* Per second. "Gbps" is bits; "GBps" is left out: it is too often a slip. */
static const struct unit rate_units[] = {
    {"", 1},           {"B/s", 1},        {"kB/s", 1e3},     {"KB/s", 1e3},     {"MB/s", 1e6},
    {"GB/s", 1e9},     {"TB/s", 1e12},    {"KiB/s", 0x1p10}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30},
    {"TiB/s", 0x1p40}, {"PB/s", 1e15},    {"PiB/s", 0x1p50}, {"b/s", 0.125},    {"kb/s", 125},
    {"Mb/s", 125e3},   {"Gb/s", 125e6},   {"Tb/s", 125e9},   {"bit/s", 0.125},  {"kbit/s", 125},
    {"Mbit/s", 125e3}, {"Gbit/s", 125e6}, {"Tbit/s", 125e9}, {"bps", 0.125},    {"kbps", 125},
    {"Mbps", 125e3},   {"Gbps", 125e6},   {"Tbps", 125e9},   {NULL, 0},
};

static const struct unit time_units[] = {
    {"", 1},           {"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"\u00b5s", 1e-6},
    {"\u03bcs", 1e-6}, /* micro sign, mu */
    {"ns", 1e-9},      {"min", 60}, {"h", 3600},  {"sec", 1},   {NULL, 0},
};

static const struct unit compute_units[] = {
    {"", 1},           {"FLOP/s", 1},     {"kFLOP/s", 1e3}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9},
    {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"FLOPS", 1},     {"kFLOPS", 1e3},  {"MFLOPS", 1e6},
    {"GFLOPS", 1e9},   {"TFLOPS", 1e12},  {"PFLOPS", 1e15}, {NULL, 0},
};

static const struct unit *units_of(enum unit_kind kind)
{
    switch (kind) {
    case UNIT_BYTES:
        return byte_units;
    case UNIT_RATE:
        return rate_units;
    case UNIT_TIME:
        return time_units;
    case UNIT_COMPUTE:
        return compute_units;
    }
    return time_units;
}

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
    for (const struct unit *unit = units_of(kind); unit->name; unit++)
        if (strlen(unit->name) == length && strncmp(end, unit->name, length) == 0) {
            number *= unit->factor;
            if (isfinite(number))
                *value = number;
            return isfinite(number);
        }
    return false;
}

const char *unit_example(enum unit_kind kind)
{
    switch (kind) {
    case UNIT_BYTES:
        return "a size such as 16 GiB";
    case UNIT_RATE:
        return "a rate such as 25 Gb/s or 300 GB/s";
    case UNIT_TIME:
        return "a time such as 5 us";
    case UNIT_COMPUTE:
        return "a compute rate such as 312 TFLOP/s";
    }
    return "a number with a unit";
}

/* The prefixes worth printing, largest first. */
static const struct unit shown_bytes[] = {{"PiB", 0x1p50}, {"TiB", 0x1p40}, {"GiB", 0x1p30},
                                          {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1}};
static const struct unit shown_rate[] = {
    {"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}, {"B/s", 1}};
static const struct unit shown_time[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
static const struct unit shown_compute[] = {
    {"PFLOP/s", 1e15}, {"TFLOP/s", 1e12}, {"GFLOP/s", 1e9}, {"MFLOP/s", 1e6}, {"FLOP/s", 1}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

char *unit_format(char *buffer, size_t size, double value, enum unit_kind kind, int digits)
{
    const struct unit *units = kind == UNIT_BYTES  ? shown_bytes
                               : kind == UNIT_RATE ? shown_rate
                               : kind == UNIT_TIME ? shown_time
                                                   : shown_compute;
    size_t count = kind == UNIT_BYTES  ? COUNT(shown_bytes)
                   : kind == UNIT_RATE ? COUNT(shown_rate)
                   : kind == UNIT_TIME ? COUNT(shown_time)
                                       : COUNT(shown_compute);
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
