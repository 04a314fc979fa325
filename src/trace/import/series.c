/* Series of samples, one a second: mpstat (processors), nvidia-smi pmon (GPUs), iostat (disks). Their
 * lines have local time. */
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS 32

struct series {
    int count; /* of columns */
    char columns[COLUMNS][32];
    bool any;           /* there was a line */
    int64_t day, clock; /* of the line before */
    int64_t time_ns;    /* iostat: of the disks that follow */
};

static bool add_sample(struct import *import, const char *kind, const char *source, int64_t time_ns,
                       double value, struct error *err)
{
    struct trace_sample sample = {.time_ns = time_ns, .value = value};
    sample.series = trace_series(import->writer, kind, source);
    return import_sample(import, &sample, err);
}

/* "AM" or "PM" after a clock of 12 hours. */
static bool scan_half(const char **at, int64_t *seconds)
{
    const char *p = scan_blanks(*at);
    if ((p[0] != 'A' && p[0] != 'P') || p[1] != 'M' || !scan_is_end(p + 2))
        return false;
    *seconds = *seconds % (DAY_S / 2) + (p[0] == 'P' ? DAY_S / 2 : 0);
    *at = p + 2;
    return true;
}

/* Takes the next word, cut at `size`; false at the end of the line. */
static bool take_word(const char **at, char *to, size_t size)
{
    const char *word = scan_blanks(*at), *end = scan_word(word);
    *at = end;
    snprintf(to, size, "%.*s", (int)((size_t)(end - word) < size ? (size_t)(end - word) : size - 1), word);
    return end > word;
}

static void take_columns(struct series *series, const char *at)
{
    series->count = 0;
    while (series->count < COLUMNS &&
           take_word(&at, series->columns[series->count], sizeof series->columns[0]))
        series->count++;
}

/* "Linux 6.18 (host) 	11/20/26 …": the day, as the locale writes it */
static void take_header_date(struct import *import, const char *line)
{
    if (import->date != TRACE_NONE && import->options->date)
        return;
    for (const char *p = line; *p; p++) {
        int64_t days;
        const char *at = p;
        if (p > line && (p[-1] == ' ' || p[-1] == '\t') &&
            (scan_date(&at, &days) || scan_us_date(&at, &days))) {
            import->date = days;
            return;
        }
    }
}

/* "21:42:20 all 8.46 72.14 …" */
static bool take_mpstat(struct import *import, const char *line, struct error *err)
{
    struct series *series = import->state;
    const char *at = line;
    char cpu[32], kind[48];
    int64_t clock;
    if (strncmp(line, "Linux ", 6) == 0)
        take_header_date(import, line);
    if (strncmp(line, "Linux ", 6) == 0 || strncmp(line, "Average:", 8) == 0 || !*scan_blanks(line))
        return true;
    if (!scan_clock(&at, &clock))
        return import_malformed(import, line);
    scan_half(&at, &clock);
    if (!take_word(&at, cpu, sizeof cpu))
        return import_malformed(import, line);
    if (strcmp(cpu, "CPU") == 0) {
        take_columns(series, at);
        return true;
    }
    if (series->count == 0 || import->date == TRACE_NONE)
        return import_malformed(import, line);
    if (!series->any)
        series->day = import->date;
    else if (clock < series->clock - DAY_S / 2)
        series->day++; /* midnight */
    series->any = true;
    series->clock = clock;
    int64_t time_ns = import_utc(import, series->day * DAY_S + clock) * SECOND_NS;
    import_watch(import, time_ns);
    for (int i = 0; i < series->count; i++) {
        char word[32];
        double value;
        if (!take_word(&at, word, sizeof word) || !text_real(word, &value))
            return import_malformed(import, line);
        const char *name = series->columns[i];
        snprintf(kind, sizeof kind, "cpu.%s", *name == '%' ? name + 1 : name);
        if (!add_sample(import, kind, cpu, time_ns, value, err))
            return false;
    }
    return true;
}

const struct import_format import_mpstat = {
    .words = "mpstat", .take = take_mpstat, .state_bytes = sizeof(struct series)};

/* "20261120 21:42:19 0 2182 C 12 3 - - 800 python3"; an idle GPU has '-' for the process and all that
 * follows. */
static bool take_pmon(struct import *import, const char *line, struct error *err)
{
    struct series *series = import->state;
    const char *at = scan_blanks(line);
    char word[32], gpu[16], pid[24], source[128];
    int y, m, d;
    int64_t days, clock, number;
    if (*at == '#') {
        at++;
        if (strncmp(at, "Date", 4) == 0)
            take_columns(series, at);
        return true;
    }
    if (!*at)
        return true;
    if (!scan_fixed(&at, 4, &y) || !scan_fixed(&at, 2, &m) || !scan_fixed(&at, 2, &d) ||
        !scan_date_of(y, m, d, &days) || (at = scan_blanks(at), !scan_clock(&at, &clock)) ||
        !scan_is_end(at) || !take_word(&at, gpu, sizeof gpu) || !text_whole(gpu, "", &number) ||
        !take_word(&at, pid, sizeof pid) || (strcmp(pid, "-") != 0 && !text_whole(pid, "", &number)) ||
        !take_word(&at, word, sizeof word) || series->count < 6)
        return import_malformed(import, line);
    if (!series->any && !import->options->date)
        import->date = days;
    series->any = true;
    int64_t time_ns = import_utc(import, days * DAY_S + clock) * SECOND_NS;
    import_watch(import, time_ns);
    bool idle = strcmp(pid, "-") == 0;
    double values[COLUMNS];
    int count = 0;
    for (; count < series->count - 6; count++) { /* without Date, Time, gpu, pid, type and command */
        values[count] = 0;
        if (!take_word(&at, word, sizeof word) ||
            (strcmp(word, "-") != 0 && !text_real(word, &values[count])))
            return import_malformed(import, line);
    }
    take_word(&at, word, sizeof word);
    snprintf(source, sizeof source, idle ? "%s" : "%s %s %s", gpu, pid, word);
    for (int i = 0; i < count; i++) {
        char kind[48];
        snprintf(kind, sizeof kind, "gpu.%s", series->columns[5 + i]);
        if (!add_sample(import, kind, source, time_ns, values[i], err))
            return false;
    }
    return true;
}

const struct import_format import_pmon = {
    .words = "nvidia-smi pmon", .take = take_pmon, .state_bytes = sizeof(struct series)};

/* Takes a string in quotes. */
static bool take_string(const char **at, char *to, size_t size)
{
    size_t n = 0;
    if (!scan_char(at, '"'))
        return false;
    while (**at && **at != '"' && n + 1 < size)
        to[n++] = *(*at)++;
    to[n] = '\0';
    return scan_char(at, '"');
}

/* "2026-11-20 09:42:20 PM", "11/20/26 21:42:20", "2026-11-20T21:42:20-0500" */
static bool take_stamp(struct import *import, const char *stamp, int64_t *time_ns)
{
    int64_t days, clock, h = 0;
    const char *at = stamp;
    int hours, minutes;
    if ((!scan_date(&at, &days) && !scan_us_date(&at, &days)) || (*at != ' ' && *at != 'T'))
        return false;
    at++;
    if (!scan_clock(&at, &clock))
        return false;
    scan_half(&at, &clock);
    bool zone = *at == '+' || *at == '-';
    const char *p = at + 1;
    if (zone && scan_fixed(&p, 2, &hours) && (scan_char(&p, ':'), scan_fixed(&p, 2, &minutes))) {
        h = (*at == '-' ? INT64_C(-1) : 1) * (hours * 3600 + minutes * 60);
        *time_ns = (days * DAY_S + clock - h) * SECOND_NS;
    } else {
        *time_ns = import_utc(import, days * DAY_S + clock) * SECOND_NS;
    }
    if (import->date == TRACE_NONE)
        import->date = days;
    return true;
}

/* {"disk_device": "vda", "r/s": 322.77, …}: one line, as iostat writes it. A line that is cut off ends the
 * file. */
static bool take_disk(struct import *import, const char *at, struct error *err)
{
    struct series *series = import->state;
    char key[32], disk[64], kind[48];
    const char *line = at;
    at = scan_blanks(at);
    if (!scan_char(&at, '{') || !take_string(&at, key, sizeof key) || !scan_char(&at, ':') ||
        (at = scan_blanks(at), !take_string(&at, disk, sizeof disk)))
        return import_malformed(import, line);
    while (*at == ',') {
        char *stop;
        at = scan_blanks(at + 1);
        if (!take_string(&at, key, sizeof key) || !scan_char(&at, ':'))
            return import_malformed(import, line);
        at = scan_blanks(at);
        double value = text_number(at, &stop);
        if (stop == at)
            return import_malformed(import, line);
        at = scan_blanks(stop);
        snprintf(kind, sizeof kind, "disk.%s", key);
        if (!add_sample(import, kind, disk, series->time_ns, value, err))
            return false;
    }
    return *at == '}' || import_malformed(import, line);
}

static bool take_iostat(struct import *import, const char *line, struct error *err)
{
    struct series *series = import->state;
    const char *stamp = strstr(line, "\"timestamp\":");
    char text[48];
    if (stamp) {
        stamp = scan_blanks(stamp + strlen("\"timestamp\":"));
        series->any = take_string(&stamp, text, sizeof text) && take_stamp(import, text, &series->time_ns);
        if (!series->any)
            return import_malformed(import, line);
        import_watch(import, series->time_ns);
        return true;
    }
    if (!strstr(line, "{\"disk_device\":"))
        return true; /* brackets */
    return series->any ? take_disk(import, line, err) : import_malformed(import, line);
}

const struct import_format import_iostat = {
    .words = "iostat", .take = take_iostat, .state_bytes = sizeof(struct series)};
