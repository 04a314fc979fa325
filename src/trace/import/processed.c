/* The study's folder after its processing: the same columns as before, stamped with UTC; tables of series; phases. */
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <stdio.h>
#include <stdlib.h>
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

/* The stamp is written as a number, as the scripts did, and the importers of the scripts do the rest. */
static bool take_call(struct import *import, const char *line, const char *end, struct error *err)
{
    import_line *const *take = import->state;
    const char *at = line;
    int64_t time_ns;
    char text[4096];
    if (!*scan_blanks(line))
        return true;
    if (!take_stamp(&at, &time_ns) || !scan_is_end(at) || (size_t)(end - at) > sizeof text - 32)
        return import_malformed(import, line);
    int length = snprintf(text, sizeof text, "%lld%s", (long long)time_ns, at);
    return (*take)(import, text, text + length, err);
}

bool import_processed_vfs(struct import *import, struct error *err)
{
    import_line *take = import_line_of_call(import->name);
    bool aligned = import->aligned;
    int64_t utc = import->reference_utc_ns, mono = import->reference_mono_ns;
    import->state = &take;
    import->aligned = true;
    import->reference_utc_ns = import->reference_mono_ns = 0;
    bool done = import_each_line(import, take_call, err);
    import->aligned = aligned;
    import->reference_utc_ns = utc;
    import->reference_mono_ns = mono;
    return done;
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

static bool take_row(struct import *import, const char *line, const char *end, struct error *err)
{
    struct table *table = import->state;
    struct trace_sample sample;
    const char *at = line;
    char cell[64], source[64], kind[48], *stop;
    (void)end;
    if (strncmp(line, "timestamp,", 10) == 0)
        return take_header(table, line);
    if (!*line)
        return true;
    if (!take_stamp(&at, &sample.time_ns) || !scan_char(&at, ',') ||
        (table->disks && !next_cell(&at, source, sizeof source)))
        return import_malformed(import, line);
    for (int i = 0; i < table->count; i++) {
        if (!next_cell(&at, cell, sizeof cell))
            return import_malformed(import, line);
        sample.value = text_number(cell, &stop);
        if (stop == cell)
            return import_malformed(import, line);
        snprintf(kind, sizeof kind, "%s%s", table->prefix, table->columns[i]);
        sample.series = trace_series(import->writer, kind, table->disks ? source : table->source);
        if (!import_sample(import, &sample, err))
            return false;
    }
    return true;
}

bool import_processed_series(struct import *import, struct error *err)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return error_memory(err);
    import->state = table;
    bool done = import_each_line(import, take_row, err);
    free(table);
    return done;
}

/* "start,end,EVENT" */
static bool take_phase(struct import *import, const char *line, const char *end, struct error *err)
{
    struct trace_phase phase = {.source = "processed"};
    const char *at = line;
    (void)end;
    if (!*line)
        return true;
    if (!take_stamp(&at, &phase.start_ns) || !scan_char(&at, ',') || !take_stamp(&at, &phase.end_ns) ||
        !scan_char(&at, ',') || !*at || phase.end_ns < phase.start_ns)
        return import_malformed(import, line);
    phase.name = at;
    return import_phase(import, &phase, err);
}

bool import_processed_phases(struct import *import, struct error *err)
{
    return import_each_line(import, take_phase, err);
}
