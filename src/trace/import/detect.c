/* Detects the format of a file from its first kilobytes. */
#include "core/text.h"
#include "trace/import/darshan.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <stdio.h>
#include <string.h>

/* The study's processed folder: calls in the columns of the scripts, stamped with UTC; tables of series;
 * phases. */

#define COLUMNS 48

/* "2026-11-21T02:42:36.414760903", with or without a fraction */
static bool take_stamp(const char **at, int64_t *time_ns)
{
    int64_t days, clock;
    const char *p = *at;
    if (!scan_date(&p, &days) || !scan_char(&p, 'T') || !scan_clock(&p, &clock))
        return false;
    *time_ns = (days * DAY_S + clock) * SECOND_NS + scan_fraction(&p);
    *at = p;
    return true;
}

/* The scripts whose columns the files of this folder have. */
static const struct {
    const char *file;
    const struct import_format *format;
} calls[] = {{"read.out", &import_read},
             {"write.out", &import_write},
             {"openat.out", &import_openat},
             {"bio.out", &import_bio}};

static const struct import_format *format_of_file(const char *file)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(file, calls[i].file) == 0)
            return calls[i].format;
    return NULL;
}

/* Writes the stamp as a number, as the scripts do, and hands the line to the importer of the script. */
static bool take_call(struct import *import, const char *line, struct error *err)
{
    const char *at = line;
    int64_t time_ns;
    char text[4096];
    if (!*scan_blanks(line))
        return true;
    if (!take_stamp(&at, &time_ns) || !scan_is_end(at) || strlen(at) > sizeof text - 32)
        return import_malformed(import, line);
    snprintf(text, sizeof text, "%lld%s", (long long)time_ns, at);
    return format_of_file(import->name)->take(import, text, err);
}

static bool read_calls(struct import *import, struct error *err)
{
    const struct import saved = *import;
    import->aligned = true;
    import->reference_utc_ns = import->reference_mono_ns = 0;
    bool done = import_each_line(import, take_call, err);
    import->aligned = saved.aligned;
    import->reference_utc_ns = saved.reference_utc_ns;
    import->reference_mono_ns = saved.reference_mono_ns;
    return done;
}

static const struct import_format processed_calls = {.words = "processed, calls", .read = read_calls};

/* Returns the format of a file of calls in the processed layout, given by its name; NULL: another
 * file. */
static const struct import_format *import_processed_calls(const char *file)
{
    return format_of_file(file) ? &processed_calls : NULL;
}

struct table {
    int count;
    bool disks; /* a second column names the disk */
    const char *prefix, *source;
    char columns[COLUMNS][32];
};

static bool next_cell(const char **at, char *to, size_t size)
{
    size_t n = strcspn(*at, ",");
    if (**at == '\0')
        return false;
    snprintf(to, size, "%.*s", (int)(n < size ? n : size - 1), *at);
    *at += n + ((*at)[n] == ',');
    return true;
}

static bool take_header(struct table *table, const char *at)
{
    char cell[32];
    next_cell(&at, cell, sizeof cell);
    table->disks = strncmp(at, "disk_device,", 12) == 0;
    if (table->disks)
        next_cell(&at, cell, sizeof cell);
    table->prefix = table->disks ? "disk." : *at == '%' ? "cpu." : "gpu.";
    table->source = *at == '%' ? "all" : "average";
    for (table->count = 0; table->count < COLUMNS && next_cell(&at, cell, sizeof cell); table->count++)
        snprintf(table->columns[table->count], sizeof table->columns[0], "%s",
                 !table->disks && *cell == '%' ? cell + 1 : cell);
    return true;
}

static bool take_row(struct import *import, const char *line, struct error *err)
{
    struct table *table = import->state;
    struct trace_sample sample;
    const char *at = line;
    char cell[64], source[64], kind[48];
    if (strncmp(line, "timestamp,", 10) == 0)
        return take_header(table, line);
    if (!*line)
        return true;
    if (!take_stamp(&at, &sample.time_ns) || !scan_char(&at, ',') ||
        (table->disks && !next_cell(&at, source, sizeof source)))
        return import_malformed(import, line);
    for (int i = 0; i < table->count; i++) {
        if (!next_cell(&at, cell, sizeof cell) || !text_real(cell, &sample.value))
            return import_malformed(import, line);
        snprintf(kind, sizeof kind, "%s%s", table->prefix, table->columns[i]);
        sample.series = trace_series(import->writer, kind, table->disks ? source : table->source);
        if (!import_sample(import, &sample, err))
            return false;
    }
    return true;
}

const struct import_format import_processed_series = {
    .words = "processed, series", .take = take_row, .state_bytes = sizeof(struct table)};

/* "start,end,EVENT" */
static bool take_phase(struct import *import, const char *line, struct error *err)
{
    struct trace_phase phase = {.source = "processed"};
    const char *at = line;
    if (!*line)
        return true;
    if (!take_stamp(&at, &phase.start_ns) || !scan_char(&at, ',') || !take_stamp(&at, &phase.end_ns) ||
        !scan_char(&at, ',') || !*at || phase.end_ns < phase.start_ns)
        return import_malformed(import, line);
    phase.name = at;
    return import_phase(import, &phase, err);
}

const struct import_format import_processed_phases = {.words = "processed, phases", .take = take_phase};

static const char *next_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

/* Returns whether `word` is in the line that begins here. */
static bool line_has(const char *line, const char *word)
{
    const char *end = strchr(line, '\n'), *found = strstr(line, word);
    return found && (!end || found < end);
}

/* bpftrace says how many probes it attached, then each script prints a header. */
static const struct import_format *bpftrace_format(const char *start)
{
    static const struct {
        const char *columns[2];
        const struct import_format *format;
    } scripts[] = {
        {{"OFFSET", "RET"}, &import_read},   {{"OFFSET", "SIZE"}, &import_write},
        {{"DISK", "BYTES"}, &import_bio},    {{"FULLPATH", "COMM"}, &import_openat},
        {{"FD", "FILENAME"}, &import_close},
    };
    const char *header = next_line(start);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (line_has(header, scripts[i].columns[0]) && line_has(header, scripts[i].columns[1]))
            return scripts[i].format;
    if (strstr(header, "mkdir()") || strstr(header, "rmdir()") || strstr(header, "unlink()") ||
        strstr(header, "create()"))
        return &import_create_del;
    return line_has(header, "TIMESTAMP") && line_has(header, "TIME ") ? &import_align : NULL;
}

static bool is_dlio(const char *start)
{
    for (const char *line = start; *line; line = next_line(line)) {
        int64_t days;
        const char *p = *line == '[' ? strchr(line, ']') : NULL;
        if (p && p - line < 12 && p[1] == ' ') {
            p += 2;
            if (scan_date(&p, &days) && *p == 'T')
                return true;
        }
    }
    return false;
}

/* "[pid 12] 1690000000.123456 read(3, …" , "12 21:36:39.1 read(…" */
static bool is_strace(const char *start)
{
    for (int i = 0; i < 3 && *start; i++, start = next_line(start)) {
        int64_t number;
        const char *p = start;
        if (text_starts_with(p, "[pid"))
            p += 4;
        const char *word = scan_blanks(p);
        if (scan_digits(&word, &number) && *scan_blanks(word) != '\0' && (*word == ' ' || *word == ']'))
            p = scan_blanks(word + 1);
        p = scan_blanks(p);
        const char *clock = p;
        bool time = scan_clock(&clock, &number);
        if (!time) {
            clock = p;
            time = scan_digits(&clock, &number) && *clock == '.';
        }
        const char *open = scan_blanks(scan_word(p));
        if (text_starts_with(open, "(+") && strchr(open, ')'))
            open = scan_blanks(strchr(open, ')') + 1);
        size_t name = strspn(open, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (time && name > 0 &&
            (open[name] == '(' || text_starts_with(open, "+++") || text_starts_with(open, "---")))
            return true;
    }
    return false;
}

/* "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]" */
static bool is_blkparse(const char *start)
{
    int64_t number;
    const char *p = scan_blanks(start);
    return scan_digits(&p, &number) && scan_char(&p, ',') && scan_digits(&p, &number) &&
           scan_number(&p, &number) && scan_number(&p, &number) &&
           (p = scan_blanks(p), scan_digits(&p, &number)) && *p == '.';
}

static const struct import_format *processed_format(const char *file, const char *start)
{
    const char *p = start;
    int64_t days, seconds;
    if (text_starts_with(start, "timestamp,"))
        return &import_processed_series;
    if (!scan_date(&p, &days) || !scan_char(&p, 'T') || !scan_clock(&p, &seconds))
        return NULL;
    scan_fraction(&p);
    if (*p == ',' && line_has(p + 1, ","))
        return strcmp(file, "timeline.csv") == 0 ? &import_processed_phases : NULL;
    return import_processed_calls(file);
}

const struct import_format *import_detect(const char *file, const char *start, size_t length)
{
    const char *word = start + strspn(start, " \t\r\n");
    if (import_is_darshan(start, length))
        return &import_darshan;
    if (memchr(start, '\0', length < 4096 ? length : 4096)) /* text has none */
        return NULL;
    if (text_starts_with(word, "Attaching "))
        return bpftrace_format(word);
    if (text_starts_with(word, "Linux ") && line_has(word, "CPU)"))
        return &import_mpstat;
    if (text_starts_with(word, "#Date") || text_starts_with(word, "# gpu"))
        return &import_pmon;
    if (text_starts_with(word, "{\"sysstat\""))
        return &import_iostat;
    if (text_starts_with(word, "UID ") && line_has(word, " PPID") && line_has(word, " CMD"))
        return &import_pids;
    if (strstr(word, ":::MLLOG {"))
        return &import_mllog;
    if (is_dlio(word))
        return &import_dlio;
    if ((*word == '[' || *word == '{') && (strstr(word, "\"ph\"") || strstr(word, "\"traceEvents\"")))
        return &import_objects;
    if (text_starts_with(word, "fio version ") && line_has(word, " iolog"))
        return &import_iolog;
    if (text_starts_with(word, "# darshan log version: "))
        return &import_darshan_text;
    if (is_strace(word))
        return &import_strace;
    if (is_blkparse(word))
        return &import_blkparse;
    return processed_format(file, word);
}
