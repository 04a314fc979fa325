/* Shared by the importers. */
#ifndef REHEARSE_TRACE_IMPORT_INTERNAL_H
#define REHEARSE_TRACE_IMPORT_INTERNAL_H

#include "trace/import/import.h"
#include "trace/import/lines.h"

#define SECOND_NS INT64_C(1000000000)
#define DAY_S     INT64_C(86400)

struct import {
    struct trace_writer *writer;
    const struct trace_import_options *options;
    struct trace_import_report *report;
    const char *name; /* of the present file, without its folder */
    struct import_lines *lines;
    int64_t date; /* day of local time when the trace begins, since 1970; TRACE_NONE: unknown */
    bool aligned; /* the two below are known */
    int64_t reference_mono_ns, reference_utc_ns;
    int64_t last_ns;                    /* of the present file, to notice jumps of the clock */
    bool no_process;                    /* a process of the present row has an impossible number */
    const struct import_format *format; /* of the file at hand */
    void *state;                        /* of the format */
};

/* Takes one line. Returns false only if reading cannot go on (the store failed). */
typedef bool import_line(struct import *import, const char *line, struct error *err);

/* How files of one format are read. */
struct import_format {
    const char *words;  /* names the format in reports */
    import_line *take;  /* reads the file line by line; else `read` reads it as a whole */
    size_t state_bytes; /* size of import->state, which is zero before the first line */
    const char *phases; /* source of the phases in the file */
    bool monotonic;     /* times are of CLOCK_MONOTONIC, which another file converts to UTC */
    bool (*read)(struct import *import, struct error *err);
};

/* Counts a malformed line; returns true, so that an import_line can end with it. */
bool import_malformed(struct import *import, const char *line);

/* Add rows. A row with numbers that no store may hold (store.h) is a malformed line. Importers add rows
 * only with these. */
bool import_event(struct import *import, const struct trace_event *event, struct error *err);
bool import_block(struct import *import, const struct trace_block *block, struct error *err);
bool import_sample(struct import *import, const struct trace_sample *sample, struct error *err);
bool import_phase(struct import *import, const struct trace_phase *phase, struct error *err);
/* Returns the process of the row that is added next. */
int64_t import_process(struct import *import, int64_t pid, int64_t tid, const char *name, size_t length);

/* Adds a problem to the places that are shown. */
void import_note(struct import *import, const char *what);

/* Notices when time goes back by more than a second. */
void import_watch(struct import *import, int64_t time_ns);

bool import_each_line(struct import *import, import_line *take, struct error *err);

/* Converts seconds of local time (as if it were UTC) to UTC, by the zone in the options. */
int64_t import_utc(struct import *import, int64_t wall_s);

/* Checks the zone in the options; NULL is one. */
bool import_zone_check(const char *zone, struct error *err);

extern const struct import_format import_bio, import_read, import_write, import_openat, import_close,
    import_create_del, import_align, import_mpstat, import_pmon, import_iostat, import_mllog, import_dlio,
    import_pids, import_objects, import_strace, import_blkparse, import_processed_series,
    import_processed_phases, import_iolog, import_darshan, import_darshan_text;

/* Returns the format that the beginning of a file shows; NULL: unknown. */
const struct import_format *import_detect(const char *file, const char *start, size_t length);

/* The same for recorded runs of GPUs, by the room that reads them (sim/replay/load.c), which is above this one: NULL where it
 * is not built. */
extern const struct import_format *import_detect_run(const char *file, const char *start)
    __attribute__((weak));

#endif
