/* Shared by calls that read a trace. */
#ifndef REHEARSE_API_TRACE_FILES_H
#define REHEARSE_API_TRACE_FILES_H

#include "api/command.h"
#include "trace/store/store.h"

#define OPTION_TRACE(request)                                                                                \
    OPTION_SHARED(request, trace, OPTION_FILE, "trace", .is_operand = true, .required = true)

/* Warns the caller that a trace is incomplete. */
bool trace_warn(const char *path, const struct trace_reader *reader, struct error *err);

#endif
