/* The study's bpftrace scripts: one line per call, stamped with CLOCK_MONOTONIC at its end, in columns
 * separated by blanks. The last column (the name of the file) may be empty. */
#include "core/text.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <stdio.h>
#include <string.h>

/* Returns whether a line is bpftrace's first one, the header, or an empty one at the end. */
static bool is_decoration(const char *line)
{
    line = scan_blanks(line);
    return *line == '\0' || strncmp(line, "Attaching ", 10) == 0 || strncmp(line, "TIMESTAMP", 9) == 0;
}

static int64_t utc_of(const struct import *import, int64_t mono_ns)
{
    return (int64_t)((uint64_t)import->reference_utc_ns + (uint64_t)mono_ns -
                     (uint64_t)import->reference_mono_ns);
}

static const struct trace_event unknown = {.cached = -1,
                                           .latency_ns = TRACE_NONE,
                                           .fd = TRACE_NONE,
                                           .offset = TRACE_NONE,
                                           .size = TRACE_NONE,
                                           .result = TRACE_NONE};

/* Takes a stamp, the end of the call. */
static bool take_time(struct import *import, const char **at, int64_t *end_ns)
{
    int64_t mono;
    if (!scan_number(at, &mono) || mono < 0 || mono > INT64_MAX / 2) /* the sum below has room */
        return false;
    *end_ns = utc_of(import, mono);
    return true;
}

/* Returns the end of a line without the blanks there. */
static const char *last_word_end(const char *line)
{
    const char *end = line + strlen(line);
    while (end > line && end[-1] == ' ')
        end--;
    return end;
}

/* Takes the rest of the line as the name of a file, which may hold blanks; 0: there is none. */
static int64_t take_file(struct import *import, const char *at)
{
    at = scan_blanks(at);
    const char *end = last_word_end(at);
    return end > at ? trace_file(import->writer, TRACE_NONE, TRACE_NONE, at, (size_t)(end - at)) : 0;
}

static bool add_event(struct import *import, struct trace_event *event, int64_t end_ns, struct error *err)
{
    import_watch(import, end_ns);
    event->start_ns = (int64_t)((uint64_t)end_ns - (uint64_t)event->latency_ns);
    return import_event(import, event, err);
}

/* TS PID OFFSET RET LAT [FILENAME], for reads and writes */
static bool take_transfer(struct import *import, enum trace_class class, const char *line, struct error *err)
{
    struct trace_event event = unknown;
    int64_t end_ns, pid;
    const char *at = line;
    event.class = class;
    if (!take_time(import, &at, &end_ns) || !scan_number(&at, &pid) || !scan_number(&at, &event.offset) ||
        !scan_number(&at, &event.result) || !scan_number(&at, &event.latency_ns) || event.latency_ns < 0)
        return is_decoration(line) || import_malformed(import, line);
    event.process = import_process(import, pid, TRACE_NONE, "", 0);
    event.file = take_file(import, at);
    return add_event(import, &event, end_ns, err);
}

static bool take_read(struct import *import, const char *line, struct error *err)
{
    return take_transfer(import, TRACE_READ, line, err);
}

static bool take_write(struct import *import, const char *line, struct error *err)
{
    return take_transfer(import, TRACE_WRITE, line, err);
}

/* Takes a name, then a number. A command's name may hold blanks ("memfd:sealed-91 (deleted)"), so it ends
 * at the first blank before a number. */
static bool take_name(const char **at, const char **name, size_t *length, int64_t *number)
{
    const char *first = scan_blanks(*at);
    for (const char *p = scan_word(first); *p; p = scan_word(scan_blanks(p))) {
        const char *after = p;
        if (p > first && scan_number(&after, number)) {
            *name = first;
            *length = (size_t)(p - first);
            *at = after;
            return true;
        }
    }
    return false;
}

/* Takes "PATH NAME": the requested path (cut at 64 bytes) and the name of the found file. They are stored
 * as "PATH" if NAME is its end, else as "PATH -> NAME". A path without a name was not found: the script
 * does not say why, so the result is -1. */
static int64_t take_paths(struct import *import, const char *at, int64_t *result)
{
    char both[2 * 4096];
    at = scan_blanks(at);
    const char *end = last_word_end(at), *name = end;
    while (name > at && name[-1] != ' ')
        name--;
    *result = name > at ? 0 : -1;
    if (name == at || (size_t)(end - at) > sizeof both - 8)
        return take_file(import, at);
    const char *stop = name;
    while (stop > at && stop[-1] == ' ')
        stop--;
    size_t path = (size_t)(stop - at), length = (size_t)(end - name);
    if (path > length && stop[-(ptrdiff_t)length - 1] == '/' && memcmp(stop - length, name, length) == 0)
        return trace_file(import->writer, TRACE_NONE, TRACE_NONE, at, (size_t)(stop - at));
    int size = snprintf(both, sizeof both, "%.*s -> %.*s", (int)path, at, (int)length, name);
    return trace_file(import->writer, TRACE_NONE, TRACE_NONE, both, (size_t)size);
}

/* TS PID COMM LAT FULLPATH [FILENAME] */
static bool take_openat(struct import *import, const char *line, struct error *err)
{
    struct trace_event event = unknown;
    const char *at = line, *name;
    size_t length;
    int64_t end_ns, pid;
    if (!take_time(import, &at, &end_ns) || !scan_number(&at, &pid) ||
        !take_name(&at, &name, &length, &event.latency_ns) || event.latency_ns < 0)
        return is_decoration(line) || import_malformed(import, line);
    event.class = TRACE_OPEN;
    event.process = import_process(import, pid, TRACE_NONE, name, length);
    event.file = take_paths(import, at, &event.result);
    return add_event(import, &event, end_ns, err);
}

/* TS PID FD LAT FILENAME */
static bool take_close(struct import *import, const char *line, struct error *err)
{
    struct trace_event event = unknown;
    const char *at = line;
    int64_t end_ns, pid;
    if (!take_time(import, &at, &end_ns) || !scan_number(&at, &pid) || !scan_number(&at, &event.fd) ||
        !scan_number(&at, &event.latency_ns) || event.latency_ns < 0)
        return is_decoration(line) || import_malformed(import, line);
    event.class = TRACE_CLOSE;
    event.process = import_process(import, pid, TRACE_NONE, "", 0);
    event.file = take_file(import, at);
    return add_event(import, &event, end_ns, err);
}

/* TS PID mkdir() MODE LAT PATH; TS PID rmdir() LAT PATH; TS PID unlink() LAT NAME FULLPATH; TS PID TID
 * create() MODE PATH */
static bool take_create_del(struct import *import, const char *line, struct error *err)
{
    static const struct {
        const char *call;
        enum trace_class class;
        bool mode, latency;
    } calls[] = {{"mkdir()", TRACE_MKDIR, true, true},
                 {"rmdir()", TRACE_RMDIR, false, true},
                 {"unlink()", TRACE_UNLINK, false, true},
                 {"create()", TRACE_CREATE, true, false}};
    struct trace_event event = unknown;
    const char *at = line;
    int64_t end_ns, pid, tid = TRACE_NONE, mode;
    if (!take_time(import, &at, &end_ns) || !scan_number(&at, &pid))
        return is_decoration(line) || import_malformed(import, line);
    if (!scan_number(&at, &tid))
        tid = TRACE_NONE;
    at = scan_blanks(at);
    size_t i = 0, count = sizeof calls / sizeof *calls;
    while (i < count && !text_starts_with(at, calls[i].call))
        i++;
    if (i == count)
        return import_malformed(import, line);
    at += strlen(calls[i].call);
    event.class = calls[i].class;
    event.latency_ns = 0;
    if ((calls[i].mode && !scan_number(&at, &mode)) ||
        (calls[i].latency && (!scan_number(&at, &event.latency_ns) || event.latency_ns < 0)))
        return import_malformed(import, line);
    event.process = import_process(import, pid, tid, "", 0);
    event.call = trace_call(import->writer, calls[i].call, strlen(calls[i].call) - 2);
    event.file = take_file(import, at);
    if (!calls[i].latency) {
        event.latency_ns = TRACE_NONE;
        event.start_ns = end_ns;
        return import_event(import, &event, err);
    }
    return add_event(import, &event, end_ns, err);
}

/* Takes the name of a disk, "R" or "W", and a number; they end the command's name before them. */
static bool take_disk(const char *at, const char **disk, size_t *length, bool *write, const char **after)
{
    *disk = scan_blanks(at);
    const char *end = scan_word(*disk);
    *length = (size_t)(end - *disk);
    const char *op = scan_blanks(end);
    if (*length == 0 || (*op != 'R' && *op != 'W') || !scan_is_end(op + 1))
        return false;
    *write = *op == 'W';
    *after = op + 1;
    return true;
}

/* TS PID COMM DISK R|W BYTES SECTOR LAT; the variant `explore` has the time from queueing in SECTOR's place,
 * but no header tells them apart: see docs/trace-import.md */
static bool take_bio(struct import *import, const char *line, struct error *err)
{
    struct trace_block block = {.queue_ns = TRACE_NONE};
    const char *at = line, *disk = NULL, *after = NULL;
    size_t length = 0;
    int64_t end_ns, pid;
    bool write = false;
    if (!take_time(import, &at, &end_ns) || !scan_number(&at, &pid))
        return is_decoration(line) || import_malformed(import, line);
    const char *name = scan_blanks(at), *stop = scan_word(name);
    while (*stop && !take_disk(stop, &disk, &length, &write, &after))
        stop = scan_word(scan_blanks(stop));
    if (!*stop || !scan_number(&after, &block.bytes) || !scan_number(&after, &block.sector) ||
        !scan_number(&after, &block.service_ns) || block.service_ns < 0)
        return import_malformed(import, line);
    import_watch(import, end_ns);
    block.op = write ? TRACE_OP_WRITE : TRACE_OP_READ;
    block.process = import_process(import, pid, TRACE_NONE, name, (size_t)(stop - name));
    block.disk = trace_disk(import->writer, disk, length);
    block.start_ns = (int64_t)((uint64_t)end_ns - (uint64_t)block.service_ns);
    return import_block(import, &block, err);
}

const struct import_format import_read = {.words = "bpftrace, reads", .take = take_read, .monotonic = true};
const struct import_format import_write = {
    .words = "bpftrace, writes", .take = take_write, .monotonic = true};
const struct import_format import_openat = {
    .words = "bpftrace, opens", .take = take_openat, .monotonic = true};
const struct import_format import_close = {
    .words = "bpftrace, closes", .take = take_close, .monotonic = true};
const struct import_format import_bio = {.words = "bpftrace, block I/O", .take = take_bio, .monotonic = true};
const struct import_format import_create_del = {
    .words = "bpftrace, creations and deletions", .take = take_create_del, .monotonic = true};

/* Two clocks in one file: TS HH:MM:SS. Of all changes of the second, the one with the smallest gap between
 * two stamps counts; the second begins in the middle of the gap. */
struct align {
    bool any;
    int64_t mono, second; /* of the line before */
    int64_t gap, best_mono, best_second;
    int64_t day, best_day; /* midnights passed */
};

static bool take_align(struct import *import, const char *line, struct error *err)
{
    struct align *align = import->state;
    const char *at = line;
    int64_t mono, second;
    (void)err;
    if (!scan_number(&at, &mono) || mono < 0 || (at = scan_blanks(at), !scan_clock(&at, &second)) ||
        *scan_blanks(at))
        return is_decoration(line) || import_malformed(import, line);
    int64_t step = second - align->second;
    if (align->any && step != 0 && mono >= align->mono) {
        bool midnight = step < -DAY_S / 2;
        align->day += midnight;
        if (step != 1 && !midnight && step != -1) { /* -1: a line of another processor came late */
            import->report->jumps++;
            import_note(import, "the wall clock jumps");
        } else if (step != -1 && mono - align->mono < align->gap) {
            align->gap = mono - align->mono;
            align->best_mono = mono;
            align->best_second = second;
            align->best_day = align->day;
        }
    }
    align->any = true;
    align->mono = mono;
    align->second = second;
    return true;
}

static bool read_align(struct import *import, struct error *err)
{
    struct align align = {.gap = INT64_MAX};
    import->state = &align;
    if (!import_each_line(import, take_align, err))
        return false;
    if (align.gap == INT64_MAX) {
        import_note(import, "no second begins in it to align its clock: times count from boot, not UTC");
        return true;
    }
    if (import->date == TRACE_NONE)
        return error_set(err, ERROR_INPUT, "'%s': times without a date: give the date of the trace",
                         import->name);
    int64_t wall = (import->date + align.best_day) * DAY_S + align.best_second;
    import->reference_mono_ns = align.best_mono - align.gap / 2;
    import->reference_utc_ns = import_utc(import, wall) * SECOND_NS;
    import->aligned = true;
    import->report->rows++;
    return trace_add_clock(import->writer, import->reference_mono_ns, import->reference_utc_ns, err);
}

const struct import_format import_align = {.words = "bpftrace, two clocks", .read = read_align};
