/* Shared by calls that read a trace. */
#ifndef REHEARSE_API_TRACE_FILES_H
#define REHEARSE_API_TRACE_FILES_H

#include "api/command.h"
#include "trace/store/store.h"

/* Warns the caller that a trace is incomplete. */
bool trace_warn(const char *path, const struct trace_reader *reader, struct error *err);

#endif
