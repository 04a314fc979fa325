/* The recorded system calls and io_uring operations. */
#ifndef REHEARSE_TRACE_CAPTURE_CALLS_H
#define REHEARSE_TRACE_CAPTURE_CALLS_H

#include <linux/types.h>

#include "trace/capture/record.h"

#include <stddef.h>

struct capture_call {
    const char *name;
    int number;
    struct capture_shape shape; /* `lost` is the class of the call, enum trace_class */
};

/* Return the table of this processor; an opcode of io_uring is named "io_uring:read". */
const struct capture_call *capture_calls(size_t *count);
const struct capture_call *capture_opcodes(size_t *count);

#endif
