/* Traces for other programs. */
#ifndef REHEARSE_TRACE_EXPORT_EXPORT_H
#define REHEARSE_TRACE_EXPORT_EXPORT_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>

struct trace_export_options {
    int64_t from_ns, to_ns; /* only what starts in [from, to); both 0: everything */
    /* The study's layout only: whose commands' block I/O counts, "unet3d", "bert", "dlrm", "dlio"; NULL: everyone's. */
    const char *workload;
    /* The study's layout only: also leave out what its scripts overlook, the checkpoints of DLIO's log. */
    bool overlook;
};

/* One file of Chrome's format, which Perfetto opens: calls and block I/O as spans of their threads and disks, series as
 * counters, phases as spans of their own. Microseconds with three decimals. */
bool trace_export_chrome(struct trace_reader *reader, const char *path,
                         const struct trace_export_options *options, struct error *err);

/* DFTracer's format: one event in a line, files by their hash. */
bool trace_export_pfw(struct trace_reader *reader, const char *path,
                      const struct trace_export_options *options, struct error *err);

/* One table of calls with names instead of ids; another of block I/O. */
bool trace_export_csv(struct trace_reader *reader, const char *path,
                      const struct trace_export_options *options, struct error *err);
bool trace_export_csv_blocks(struct trace_reader *reader, const char *path,
                             const struct trace_export_options *options, struct error *err);

/* The study's processed layout, as a folder that its plotting scripts read; docs/trace-store.md says where it differs
 * from what its own scripts make of the same raw texts. Makes the folder (its parent must be there). */
bool trace_export_study(struct trace_reader *reader, const char *folder,
                        const struct trace_export_options *options, struct error *err);

#endif
