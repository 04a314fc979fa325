/* The parts of the study's processed layout. Private to the export. */
#ifndef REHEARSE_TRACE_EXPORT_STUDY_H
#define REHEARSE_TRACE_EXPORT_STUDY_H

#include "core/file_output.h"
#include "trace/export/file.h"

struct study {
    struct trace_reader *reader;
    const struct trace_export_options *options;
    const char *folder;
    int64_t init_ns; /* earlier rows are omitted */
};

/* One file of the folder. */
bool study_open(const struct study *study, struct file_output *file, const char *name, struct error *err);

/* Return whether the tables contain it. */
bool study_keeps_event(const struct study *study, const struct trace_event *event);
bool study_keeps_block(const struct study *study, const struct trace_block *block);

/* Return the end of a call; a request's submission to its disk, and its completion. */
int64_t study_event_end(const struct trace_event *event);
int64_t study_issued(const struct trace_block *block);
int64_t study_block_end(const struct trace_block *block);

/* timeline/pid: each worker's activity over time, in one file, in a file each, and with its loaders apart. */
bool study_write_workers(const struct study *study, struct error *err);

#endif
