/* What the writers of files for other tools share. */
#ifndef REHEARSE_TRACE_EXPORT_FILE_H
#define REHEARSE_TRACE_EXPORT_FILE_H

#include "core/file_output.h"
#include "trace/export/export.h"

#include <stdio.h>

/* "2026-11-21T02:42:36.414760903": `digits` of a second (0, 3, 6, 9). */
void export_time(FILE *out, int64_t time_ns, int digits);

/* Writes a string of JSON, in quotes, with bytes that are not UTF-8 as text_utf8 has them. */
void export_string(FILE *out, const char *text);

/* The call's own name, else that of its class. */
const char *export_call_name(const struct trace_reader *reader, const struct trace_event *event);

/* The range of the options as a filter. */
struct trace_filter export_filter(const struct trace_export_options *options);

#endif
