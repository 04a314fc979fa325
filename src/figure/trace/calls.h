/* Iterates over the calls and requests of a trace. */
#ifndef REHEARSE_FIGURE_TRACE_CALLS_H
#define REHEARSE_FIGURE_TRACE_CALLS_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Streams are the classes of events, then the operations of disks. */
#define FIGURE_STREAMS            (TRACE_CLASSES + TRACE_OPS)
#define FIGURE_STREAM_OF_DISK(op) ((int)TRACE_CLASSES + (int)(op))

struct figure_call {
    int stream;
    int64_t start_ns, end_ns; /* equal if the latency is unknown */
    int64_t latency_ns;       /* for a request, the time in the device; TRACE_NONE: unknown */
    int64_t bytes;            /* moved, or requested for other calls; -1: none, unknown, or the call failed */
    int64_t process;          /* id; for a request, the process it is done for, else the submitter */
};

typedef void figure_take_call(void *context, const struct figure_call *call);

/* Gets all that start before to_ns: events, then requests, each by start. `streams` NULL: all. */
bool figure_read_calls(struct trace_reader *reader, int64_t to_ns, const bool *streams,
                       figure_take_call *take, void *context, struct error *err);

#endif
