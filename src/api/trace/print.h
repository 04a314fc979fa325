/* The answers about a trace, as text and JSON. */
#ifndef REHEARSE_API_TRACE_PRINT_H
#define REHEARSE_API_TRACE_PRINT_H

#include "core/fields.h"
#include "core/json.h"
#include "core/text.h"
#include "trace/import/import.h"
#include "trace/summary.h"

extern const struct field trace_class_fields[7]; /* of struct trace_summary_class */
extern const struct field trace_phase_fields[4];

void trace_show_print(const char *path, const struct trace_reader *reader,
                      const struct trace_summary *summary, struct text *out);
void trace_show_write_json(const char *path, const struct trace_reader *reader,
                           const struct trace_summary *summary, struct json *json);

/* Print the phases found from the I/O beside those that the trace has from a log. */
void trace_phases_print(const struct trace_reader *reader, const struct trace_phase *phases, size_t count,
                        struct text *out);
void trace_phases_write_json(const char *path, const struct trace_reader *reader,
                             const struct trace_phase *phases, size_t count, struct json *json);

#endif
