/* Detects the format of a file from its first kilobytes. */
#include "core/text.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <string.h>

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
    if (is_strace(word))
        return &import_strace;
    if (is_blkparse(word))
        return &import_blkparse;
    return processed_format(file, word);
}
