/* Reads traces of other tools into a store (trace/store.h).
 *
 * The format of a file is found from its first lines, not from its name:
 *   - the study's bpftrace texts (trace_{bio,read,write,openat,close,create_del,time_align}.out), mpstat,
 *     nvidia-smi pmon, iostat's JSON, logs of MLPerf (MLLOG) and of DLIO, `docker top` lists of processes; as a
 *     folder, which gives their clock and date, or after its processing (processed/);
 *   - DFTracer's .pfw and any Chrome trace (JSON), strace -ttt|-tt -T, blkparse, fio's iolog, the texts of darshan-parser and
 *     darshan-dxt-parser; each may be packed by gzip;
 *   - logs of Darshan.
 *
 * Files are read as streams: memory grows only with the number of different names. Malformed lines are
 * counted and skipped; the first ones are kept for display. */
#ifndef REHEARSE_TRACE_IMPORT_IMPORT_H
#define REHEARSE_TRACE_IMPORT_IMPORT_H

#include "core/error.h"
#include "core/text.h"
#include "trace/import/places.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stdint.h>

#define TRACE_IMPORT_LINE_BYTES ((size_t)1 << 20) /* longer lines are skipped, never held in memory */

struct trace_import_options {
    /* The clock on the wall in texts without a time zone: "UTC", "+HH:MM", "-HH:MM"; NULL: the zone of this
     * program (environment variable TZ, else the machine's). */
    const char *zone;
    /* The day of times without a date, "YYYY-MM-DD"; NULL: another file's of the folder, else the file's. */
    const char *date;
};

struct trace_import_report {
    int files;            /* recognised files */
    int64_t lines, bytes; /* read, of all of them (unpacked) */
    int64_t rows;         /* events, blocks, samples and phases stored, processes of lists, clocks */
    int64_t malformed;    /* malformed lines, among them… */
    int64_t too_long;     /* …those over TRACE_IMPORT_LINE_BYTES */
    int64_t jumps;        /* times that go back by more than a second, or a day that does not follow */
    int truncated;        /* files that end in the middle */
    bool zone_assumed;    /* local times were read without a zone in options->zone */
    struct import_places places;
    struct text formats; /* "read.out: study read; …" */
};

/* Imports a file or a folder. *report starts as {0}; several calls add to it. On failure earlier rows stay in
 * the writer. A file of unknown format is an error, in a folder it is skipped. A path without any row is an
 * error, too. */
bool trace_import(const char *path, struct trace_writer *writer, const struct trace_import_options *options,
                  struct trace_import_report *report, struct error *err);

/* Does the same for text in memory, as if it were a file of this name. */
bool trace_import_text(const char *name, const char *text, size_t length, struct trace_writer *writer,
                       const struct trace_import_options *options, struct trace_import_report *report,
                       struct error *err);

void trace_import_report_release(struct trace_import_report *report);

/* Adds a line of counts, one per file, and one per problem. */
void trace_import_report_print(const struct trace_import_report *report, struct text *out);

#endif
