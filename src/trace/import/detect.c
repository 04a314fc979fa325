/* What a file is, from its first kilobytes. */
#include "core/text.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <string.h>

static const char *next_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

/* Is `word` in the line that begins here? */
static bool line_has(const char *line, const char *word)
{
    const char *end = strchr(line, '\n'), *found = strstr(line, word);
    return found && (!end || found < end);
}

struct kind {
    import_format *format;
    const char *words;
};

/* bpftrace says how many probes it attached, then each script prints a header. */
static struct kind bpftrace_kind(const char *start)
{
    const char *header = next_line(start);
    if (line_has(header, "OFFSET") && line_has(header, "RET"))
        return (struct kind){import_read, "bpftrace, reads"};
    if (line_has(header, "OFFSET") && line_has(header, "SIZE"))
        return (struct kind){import_write, "bpftrace, writes"};
    if (line_has(header, "DISK") && line_has(header, "BYTES"))
        return (struct kind){import_bio, "bpftrace, block I/O"};
    if (line_has(header, "FULLPATH") && line_has(header, "COMM"))
        return (struct kind){import_openat, "bpftrace, opens"};
    if (line_has(header, "FD") && line_has(header, "FILENAME"))
        return (struct kind){import_close, "bpftrace, closes"};
    if (strstr(header, "mkdir()") || strstr(header, "rmdir()") || strstr(header, "unlink()") ||
        strstr(header, "create()"))
        return (struct kind){import_create_del, "bpftrace, creations and deletions"};
    if (line_has(header, "TIMESTAMP") && line_has(header, "TIME "))
        return (struct kind){import_align, "bpftrace, two clocks"};
    return (struct kind){NULL, NULL};
}

static bool is_dlio(const char *start)
{
    for (const char *line = start; *line; line = next_line(line)) {
        int64_t days;
        const char *p = strchr(line, ']');
        if (*line == '[' && p && p - line < 12 && p[1] == ' ') {
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

static struct kind processed_kind(const char *file, const char *start)
{
    static const char *const vfs[] = {"read.out", "write.out", "openat.out", "bio.out"};
    const char *p = start;
    int64_t days, seconds;
    if (text_starts_with(start, "timestamp,"))
        return (struct kind){import_processed_series, "processed, series"};
    if (!scan_date(&p, &days) || !scan_char(&p, 'T') || !scan_clock(&p, &seconds))
        return (struct kind){NULL, NULL};
    scan_fraction(&p);
    if (*p == ',' && line_has(p + 1, ","))
        return (struct kind){strcmp(file, "timeline.csv") == 0 ? import_processed_phases : NULL,
                             "processed, phases"};
    for (size_t i = 0; i < sizeof vfs / sizeof *vfs; i++)
        if (strcmp(file, vfs[i]) == 0)
            return (struct kind){import_processed_vfs, "processed, calls"};
    return (struct kind){NULL, NULL};
}

static struct kind kind_of(const char *file, const char *start)
{
    const char *word = start + strspn(start, " \t\r\n");
    if (text_starts_with(word, "Attaching "))
        return bpftrace_kind(word);
    if (text_starts_with(word, "Linux ") && line_has(word, "CPU)"))
        return (struct kind){import_mpstat, "mpstat"};
    if (text_starts_with(word, "#Date") || text_starts_with(word, "# gpu"))
        return (struct kind){import_pmon, "nvidia-smi pmon"};
    if (text_starts_with(word, "{\"sysstat\""))
        return (struct kind){import_iostat, "iostat"};
    if (text_starts_with(word, "UID ") && line_has(word, " PPID") && line_has(word, " CMD"))
        return (struct kind){import_pids, "processes"};
    if (strstr(word, ":::MLLOG {"))
        return (struct kind){import_mllog, "log of MLPerf"};
    if (is_dlio(word))
        return (struct kind){import_dlio, "log of DLIO"};
    if ((*word == '[' || *word == '{') && (strstr(word, "\"ph\"") || strstr(word, "\"traceEvents\"")))
        return (struct kind){import_objects, "Chrome trace"};
    if (is_strace(word))
        return (struct kind){import_strace, "strace"};
    if (is_blkparse(word))
        return (struct kind){import_blkparse, "blkparse"};
    return processed_kind(file, word);
}

import_format *import_detect(const char *file, const char *start, size_t length, const char **words)
{
    if (memchr(start, '\0', length < 4096 ? length : 4096)) /* text has none */
        return NULL;
    struct kind kind = kind_of(file, start);
    *words = kind.words;
    return kind.format;
}
