/* Exports traces for other programs. */
#ifndef REHEARSE_TRACE_EXPORT_EXPORT_H
#define REHEARSE_TRACE_EXPORT_EXPORT_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>

struct trace_export_options {
    int64_t from_ns, to_ns; /* only rows that start in [from, to); both 0: all */
    /* The study's layout only: the workload whose commands' block I/O counts, "unet3d", "bert", "dlrm",
     * "dlio"; NULL: all. */
    const char *workload;
    /* The study's layout only: also omit data that its scripts overlook, the checkpoints of DLIO's log. */
    bool overlook;
};

/* Writes one file in Chrome's format, which Perfetto opens: calls and block I/O as spans of their threads and
 * disks, series as counters, phases as separate spans. Microseconds with three decimals. */
bool trace_export_chrome(struct trace_reader *reader, const char *path,
                         const struct trace_export_options *options, struct error *err);

/* Writes DFTracer's format: one event per line, files by their hash. */
bool trace_export_pfw(struct trace_reader *reader, const char *path,
                      const struct trace_export_options *options, struct error *err);

/* Write a table of calls with names instead of ids, and a table of block I/O. */
bool trace_export_csv(struct trace_reader *reader, const char *path,
                      const struct trace_export_options *options, struct error *err);
bool trace_export_csv_blocks(struct trace_reader *reader, const char *path,
                             const struct trace_export_options *options, struct error *err);

/* Writes the iolog of version 2 or 3 that fio replays: calls on files that moved bytes, opens, closes and syncs, in one line. */
bool trace_export_iolog(struct trace_reader *reader, const char *path, int version,
                        const struct trace_export_options *options, struct error *err);

/* Writes the study's processed layout, a folder for its plotting scripts; docs/trace-export.md lists the
 * differences from its own scripts' output. Makes the folder (its parent must exist). */
bool trace_export_study(struct trace_reader *reader, const char *folder,
                        const struct trace_export_options *options, struct error *err);

#endif
