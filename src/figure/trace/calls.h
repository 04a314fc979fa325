/* The calls and the requests of a trace, one after the other. */
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
    int64_t start_ns, end_ns; /* the same where the latency is not known */
    int64_t latency_ns;       /* of a request the time in the device; TRACE_NONE: not known */
    int64_t bytes;            /* moved, of other calls asked for; -1: none, not known, or the call failed */
    int64_t process;          /* id; of a request for whom it is done, else who submitted it */
};

typedef void figure_take_call(void *context, const struct figure_call *call);

/* All that start before to_ns: first events, then requests, each in order of their start. `streams` NULL: all, else those
 * set. */
bool figure_read_calls(struct trace_reader *reader, int64_t to_ns, const bool *streams,
                       figure_take_call *take, void *context, struct error *err);

#endif
