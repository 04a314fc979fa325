/* The texts of darshan-dxt-parser, a line per call, and of darshan-parser, counters of each file.
 *
 *     # DXT, file_id: 14388265063268455899, file_name: /data/a.bin
 *     # DXT, rank: 0, hostname: node1
 *      X_POSIX       0  write        0               0         1048576      0.0029      0.0030     7
 *
 *     POSIX  0  14388265063268455899  POSIX_READS  16  /data/a.bin  /  ext4
 *
 * The texts have four decimals of a second; the log itself (darshan_log.c) has doubles. */
#include "trace/import/darshan.h"
#include "core/text.h"
#include "names.h"
#include "trace/import/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SECONDS 1e9 /* of a job */

static const char *const words[DARSHAN_KINDS][2] = {
    {"open", "fopen"}, {"read", "fread"}, {"write", "fwrite"}, {"close", "fclose"}};
static const enum trace_class classes[DARSHAN_KINDS] = {TRACE_OPEN, TRACE_READ, TRACE_WRITE, TRACE_CLOSE};

void darshan_name(struct darshan *darshan, const char *command)
{
    const char *name = scan_blanks(command), *stop = name + strcspn(name, " \t\n");
    for (const char *p = name; p < stop; p++)
        if (*p == '/')
            name = p + 1;
    snprintf(darshan->program, sizeof darshan->program, "%.*s", (int)(stop - name < 63 ? stop - name : 63),
             name);
}

static int64_t process_of(struct import *import, const struct darshan *darshan, int64_t rank, int64_t thread)
{
    return import_process(import, rank, thread, darshan->program, strlen(darshan->program));
}

static bool seconds_fit(double start, double end)
{
    return start >= 0.0 && start <= MAX_SECONDS && end >= 0.0 && end <= MAX_SECONDS; /* false for NaN */
}

bool darshan_add_segment(struct import *import, const struct darshan *darshan, int64_t file,
                         const struct darshan_segment *segment, struct error *err)
{
    static const char *const calls[2][2] = {{"read", "write"}, {"MPI-IO.read", "MPI-IO.write"}};
    const char *call = calls[segment->mpi][segment->writes];
    if (!seconds_fit(segment->start, segment->end) || segment->length < 0)
        return import_malformed(import, "an impossible time or length of a call");
    const struct trace_event event = {
        .class = segment->mpi      ? TRACE_REGION
                 : segment->writes ? TRACE_WRITE
                                   : TRACE_READ,
        .cached = -1,
        .start_ns = darshan->start_ns + (int64_t)llround(segment->start * 1e9),
        .latency_ns = (int64_t)llround((segment->end - segment->start) * 1e9),
        .process = process_of(import, darshan, segment->rank, segment->thread),
        .file = file,
        .call = trace_call(import->writer, call, strlen(call)),
        .fd = TRACE_NONE,
        .offset = segment->offset < 0 ? TRACE_NONE : segment->offset, /* old logs of MPI-IO have none */
        .size = segment->length,
        .result = segment->length,
    };
    return import_event(import, &event, err);
}

static bool add_calls(struct import *import, const struct darshan *darshan, int64_t file,
                      const struct darshan_record *record, int kind, struct error *err)
{
    const struct darshan_calls *calls = &record->calls[kind];
    const char *call = words[kind][record->stdio];
    double from = fmax(calls->from, 0.0), to = fmax(calls->to, 0.0); /* -1: it is not known */
    if (calls->count > DARSHAN_MAX_CALLS || calls->bytes < 0 || !seconds_fit(from, to) ||
        !(calls->busy <= MAX_SECONDS))
        return import_malformed(import, "an impossible counter");
    double n = (double)calls->count, each = fmax(calls->busy, 0.0) / n;
    double step = calls->count > 1 ? fmax(to - each - from, 0.0) / (n - 1.0) : 0.0;
    bool moves = kind == DARSHAN_READ || kind == DARSHAN_WRITE;
    struct trace_event event = {
        .class = classes[kind],
        .cached = -1,
        .latency_ns = (int64_t)llround(each * 1e9),
        .process = process_of(import, darshan, record->rank, TRACE_NONE),
        .file = file,
        .call = trace_call(import->writer, call, strlen(call)),
        .fd = TRACE_NONE,
        .offset = TRACE_NONE,
        .size = TRACE_NONE,
    };
    for (int64_t i = 0, at = 0; i < calls->count; i++, at += moves ? event.size : 0) {
        event.start_ns = darshan->start_ns + (int64_t)llround((from + step * (double)i) * 1e9);
        if (moves) {
            event.offset = at;
            event.result = event.size = calls->bytes / calls->count + (i < calls->bytes % calls->count);
        }
        if (!import_event(import, &event, err))
            return false;
    }
    return true;
}

bool darshan_add_record(struct import *import, const struct darshan *darshan, int64_t file,
                        const struct darshan_record *record, struct error *err)
{
    for (int kind = 0; kind < DARSHAN_KINDS; kind++)
        if (record->calls[kind].count > 0 && !add_calls(import, darshan, file, record, kind, err))
            return false;
    return true;
}

void darshan_note_counters(struct import *import)
{
    import_note(import,
                "counters without DXT: calls are spread evenly between the first and the last of each file "
                "(DXT_ENABLE_IO_TRACE=1 records each)");
}

/* ---- text ---- */

struct darshan_text {
    struct darshan darshan;
    int64_t file;
    char id[32]; /* of the record whose counters are gathered; "": none */
    int64_t counted_file;
    struct darshan_record record;
    bool counted;
};

static bool flush(struct import *import, struct darshan_text *text, struct error *err)
{
    bool done =
        !*text->id || darshan_add_record(import, &text->darshan, text->counted_file, &text->record, err);
    text->id[0] = '\0';
    return done;
}

/* Returns the text behind a word of a line, NULL: it is not there. */
static const char *after(const char *line, const char *word)
{
    const char *at = strstr(line, word);
    return at ? scan_blanks(at + strlen(word)) : NULL;
}

static bool take_head(struct import *import, struct darshan_text *text, const char *line)
{
    const char *at;
    int64_t seconds;
    if ((at = after(line, "# start_time:")) && scan_number(&at, &seconds) && seconds >= 0 &&
        seconds < (1 << 30) * 4LL)
        text->darshan.start_ns = seconds * SECOND_NS;
    else if ((at = after(line, "# exe:")))
        darshan_name(&text->darshan, at);
    else if (text_starts_with(line, "# DXT, file_id:") && (at = after(line, "file_name:")) && *at)
        text->file = trace_file(import->writer, TRACE_NONE, TRACE_NONE, at, strlen(at));
    else if (strstr(line, "*ERROR*") || strstr(line, "*WARNING*"))
        import_note(import, line);
    return true;
}

static bool take_real(const char **at, double *value)
{
    char *stop;
    *at = scan_blanks(*at);
    *value = text_number(*at, &stop);
    bool done = stop != *at && scan_is_end(stop);
    *at = stop;
    return done;
}

static bool take_segment(struct import *import, struct darshan_text *text, const char *line,
                         struct error *err)
{
    struct darshan_segment segment = {.thread = TRACE_NONE, .mpi = text_starts_with(line, "X_MPIIO")};
    int64_t number;
    const char *at = scan_word(line);
    if (text->file == 0 || !scan_number(&at, &segment.rank))
        return import_malformed(import, line);
    at = scan_blanks(at);
    segment.writes = text_starts_with(at, "write ");
    if (!segment.writes && !text_starts_with(at, "read "))
        return import_malformed(import, line);
    at = scan_word(at);
    if (!scan_number(&at, &number))
        return import_malformed(import, line);
    if (segment.mpi && text_starts_with(scan_blanks(at), "N/A")) {
        segment.offset = -1;
        at = scan_word(scan_blanks(at));
    } else if (!scan_number(&at, &segment.offset)) {
        return import_malformed(import, line);
    }
    if (!scan_number(&at, &segment.length) || !take_real(&at, &segment.start) ||
        !take_real(&at, &segment.end))
        return import_malformed(import, line);
    for (at = scan_blanks(at); *at == '['; at = scan_blanks(at)) /* targets of Lustre */
        at = strchr(at, ']') ? strchr(at, ']') + 1 : at + strlen(at);
    if (*at && scan_number(&at, &number) && trace_pid_fits(number))
        segment.thread = number;
    return darshan_add_segment(import, &text->darshan, text->file, &segment, err);
}

/* POSIX_READS, STDIO_F_READ_TIME, …: into the record. */
static bool take_value(struct darshan_record *record, const char *name, double value)
{
    static const struct {
        const char *name;
        int kind, what;
    } known[] = {ROWS_darshan_counter};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        struct darshan_calls *calls = &record->calls[known[i].kind];
        double *reals[] = {&calls->from, &calls->to, &calls->busy};
        if (known[i].what >= 2)
            *reals[known[i].what - 2] = value;
        else if (fabs(value) < 4e18)
            *(known[i].what == 0 ? &calls->count : &calls->bytes) = (int64_t)value;
        else
            return false;
        if (known[i].kind == DARSHAN_OPEN && known[i].what == 0)
            record->calls[DARSHAN_CLOSE].count = calls->count;
    }
    return true;
}

/* module, rank, record, counter, value, file, mount point, file system: by tabs */
static bool take_counter(struct import *import, struct darshan_text *text, const char *line,
                         struct error *err)
{
    const char *fields[6], *at = line;
    char id[32], name[64];
    int64_t rank;
    double value;
    for (int i = 0; i < 6; i++, at += *at == '\t') {
        fields[i] = at;
        at += strcspn(at, "\t");
    }
    const char *number = fields[1], *real = fields[4];
    size_t module = strcspn(line, "\t"), length = strcspn(fields[5], "\t");
    int id_length = (int)strcspn(fields[2], "\t"), name_length = (int)strcspn(fields[3], "\t");
    if (length == 0 || id_length == 0 || id_length > 24 || !scan_number(&number, &rank) ||
        !take_real(&real, &value) || strncmp(fields[3], line, module) != 0 || fields[3][module] != '_')
        return import_malformed(import, line);
    snprintf(id, sizeof id, "%c%.*s", *line, id_length, fields[2]);
    if (strcmp(id, text->id) != 0 || rank != text->record.rank) {
        if (!flush(import, text, err))
            return false;
        memcpy(text->id, id, sizeof id);
        text->record = (struct darshan_record){.rank = rank, .stdio = *line == 'S'};
        text->counted_file = trace_file(import->writer, TRACE_NONE, TRACE_NONE, fields[5], length);
        if (!text->counted)
            darshan_note_counters(import);
        text->counted = true;
    }
    snprintf(name, sizeof name, "%.*s", name_length, fields[3]);
    return take_value(&text->record, name + (module < sizeof name - 1 ? module + 1 : 0), value) ||
           import_malformed(import, line);
}

static bool take_line(struct import *import, const char *line, struct error *err)
{
    struct darshan_text *text = import->state;
    const char *at = scan_blanks(line);
    if (*at == '#')
        return take_head(import, text, at);
    if (text_starts_with(at, "X_POSIX ") || text_starts_with(at, "X_MPIIO "))
        return take_segment(import, text, at, err);
    if (text_starts_with(at, "POSIX\t") || text_starts_with(at, "STDIO\t"))
        return take_counter(import, text, at, err);
    /* other modules lie above these, or count no calls */
    return !*at || strchr(at, '\t') || import_malformed(import, line);
}

static bool read_text(struct import *import, struct error *err)
{
    struct darshan_text text = {.file = 0};
    import->state = &text;
    return import_each_line(import, take_line, err) && flush(import, &text, err);
}

const struct import_format import_darshan_text = {.words = "text of Darshan", .read = read_text};
