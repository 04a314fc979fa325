/* Shared by the writers of files for other tools. */
#ifndef REHEARSE_TRACE_EXPORT_FILE_H
#define REHEARSE_TRACE_EXPORT_FILE_H

#include "core/file_output.h"
#include "trace/export/export.h"

#include <stdio.h>

/* "2026-11-21T02:42:36.414760903": `digits` of a second (0, 3, 6, 9). */
void export_time(FILE *out, int64_t time_ns, int digits);

/* Writes a JSON string in quotes; text_utf8 replaces bytes that are not UTF-8. */
void export_string(FILE *out, const char *text);

/* Returns the call's own name, else its class's. */
const char *export_call_name(const struct trace_reader *reader, const struct trace_event *event);

/* Returns the options' range as a filter. */
struct trace_filter export_filter(const struct trace_export_options *options);

#endif
