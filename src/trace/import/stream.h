/* Objects of JSON out of a long stream: those in a list, or in the list "traceEvents" of an object. */
#ifndef REHEARSE_TRACE_IMPORT_STREAM_H
#define REHEARSE_TRACE_IMPORT_STREAM_H

#include "trace/import/lines.h"

/* Takes an object, whose text may be changed, or a `problem` in its place (text NULL). Returns false only if
 * reading cannot go on. */
typedef bool import_take_object(void *context, char *text, const char *problem, struct error *err);

/* Hands over all objects; lines->line counts the line feeds before the end of the object. */
bool import_stream(struct import_lines *lines, import_take_object *take, void *context, struct error *err);

#endif
