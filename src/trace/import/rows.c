/* What importers call: lines of a file, rows of the store, problems, and the zone of local times. */
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <string.h>
#include <time.h>

void import_note(struct import *import, const char *what)
{
    import_places_add(&import->report->places, import->name, import->lines->line, what);
}

bool import_malformed(struct import *import, const char *line)
{
    import->report->malformed++;
    import_note(import, line);
    return true;
}

int64_t import_process(struct import *import, int64_t pid, int64_t tid, const char *name, size_t length)
{
    bool fits = trace_pid_fits(pid) && trace_pid_fits(tid);
    import->no_process |= !fits;
    return trace_process(import->writer, fits ? pid : TRACE_NONE, fits ? tid : TRACE_NONE, name, length);
}

/* Checks a row: its numbers must be possible, and so must those of its processes. */
static bool fits(struct import *import, bool numbers)
{
    bool process = !import->no_process;
    import->no_process = false;
    if (!numbers || !process)
        import_malformed(import,
                         numbers ? "an impossible process number" : "an impossible time, length or size");
    return numbers && process;
}

bool import_event(struct import *import, const struct trace_event *event, struct error *err)
{
    return !fits(import, trace_event_fits(event)) || trace_add_event(import->writer, event, err);
}

bool import_block(struct import *import, const struct trace_block *block, struct error *err)
{
    return !fits(import, trace_block_fits(block)) || trace_add_block(import->writer, block, err);
}

bool import_sample(struct import *import, const struct trace_sample *sample, struct error *err)
{
    return !fits(import, trace_sample_fits(sample)) || trace_add_sample(import->writer, sample, err);
}

bool import_phase(struct import *import, const struct trace_phase *phase, struct error *err)
{
    return !fits(import, trace_phase_fits(phase)) || trace_add_phase(import->writer, phase, err);
}

void import_watch(struct import *import, int64_t time_ns)
{
    if (import->last_ns != TRACE_NONE && time_ns < import->last_ns - SECOND_NS) {
        import->report->jumps++;
        import_note(import, "the clock goes back by more than a second");
    }
    import->last_ns = time_ns;
}

bool import_each_line(struct import *import, import_line *take, struct error *err)
{
    for (;;) {
        const char *line, *end;
        switch (import_lines_next(import->lines, &line, &end, err)) {
        case IMPORT_LINE:
            if (!take(import, line, err))
                return false;
            break;
        case IMPORT_LINE_TOO_LONG:
            import->report->too_long++;
            import_malformed(import, "an overlong line");
            break;
        case IMPORT_LINE_END:
            return true;
        case IMPORT_LINE_ERROR:
            return false;
        }
    }
}

/* "+05:00" in seconds. */
static bool fixed_zone(const char *zone, int64_t *seconds)
{
    int h, m;
    const char *p = zone + 1;
    *seconds = 0;
    if (strcmp(zone, "UTC") == 0)
        return true;
    if ((*zone != '+' && *zone != '-') || !scan_fixed(&p, 2, &h) || !scan_char(&p, ':') ||
        !scan_fixed(&p, 2, &m) || *p || h > 14 || m > 59)
        return false;
    *seconds = (*zone == '-' ? INT64_C(-1) : 1) * (h * 3600 + m * 60);
    return true;
}

bool import_zone_check(const char *zone, struct error *err)
{
    int64_t seconds;
    return !zone || fixed_zone(zone, &seconds) ||
           error_set(err, ERROR_USAGE, "time zone: expected UTC, +HH:MM or -HH:MM, found '%s'", zone);
}

int64_t import_utc(struct import *import, int64_t wall_s)
{
    int64_t offset;
    time_t as_utc = (time_t)wall_s;
    struct tm tm;
    if (import->options->zone)
        return fixed_zone(import->options->zone, &offset) ? wall_s - offset : wall_s;
    import->report->zone_assumed = true;
    if (!gmtime_r(&as_utc, &tm))
        return wall_s;
    tm.tm_isdst = -1;
    time_t utc = mktime(&tm);
    return utc == (time_t)-1 ? wall_s : (int64_t)utc;
}
