/* The study's processed folder: calls in the columns of the scripts, stamped with UTC; tables of series;
 * phases. */
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <stdio.h>
#include <string.h>

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

const struct import_format *import_processed_calls(const char *file)
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
