/* Traces of any kind as stores: what commands that read a trace take. */
#ifndef REHEARSE_TRACE_IMPORT_READER_H
#define REHEARSE_TRACE_IMPORT_READER_H

#include "trace/store/store.h"

/* Opens a store as trace_reader_of does (`selection` NULL: all rows). A file of another tool, or a folder of them, is imported
 * first, into a file of $TMPDIR that has no name any more when this returns; the caller is warned of malformed lines. */
struct trace_reader *trace_open(const char *path, const struct trace_selection *selection, struct error *err);

#endif
