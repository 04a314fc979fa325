/* What numbers in a trace can be. */
#include "trace/store/store.h"

#include <math.h>

int64_t trace_bytes_moved(const struct trace_event *event)
{
    int64_t bytes = event->class == TRACE_READ || event->class == TRACE_WRITE ? event->result
                    : event->class == TRACE_FAULT                             ? event->size
                                                                              : 0;
    return bytes > 0 ? bytes : 0;
}

/* One row may move a thousandth of what all may. */
#define MAX_BYTES_OF_ONE (TRACE_MAX_BYTES >> 10)

static bool time_fits(int64_t time_ns)
{
    return time_ns >= TRACE_MIN_TIME && time_ns <= TRACE_MAX_TIME;
}

static bool length_fits(int64_t length_ns)
{
    return length_ns == TRACE_NONE || (length_ns >= -TRACE_MAX_LENGTH && length_ns <= TRACE_MAX_LENGTH);
}

bool trace_pid_fits(int64_t pid)
{
    return pid == TRACE_NONE || (pid >= -TRACE_MAX_PID && pid <= TRACE_MAX_PID);
}

bool trace_event_fits(const struct trace_event *event)
{
    return time_fits(event->start_ns) && length_fits(event->latency_ns) &&
           trace_bytes_moved(event) <= MAX_BYTES_OF_ONE;
}

bool trace_block_fits(const struct trace_block *block)
{
    return time_fits(block->start_ns) && length_fits(block->queue_ns) && length_fits(block->service_ns) &&
           block->bytes <= MAX_BYTES_OF_ONE;
}

bool trace_sample_fits(const struct trace_sample *sample)
{
    return time_fits(sample->time_ns) && fabs(sample->value) <= TRACE_MAX_VALUE; /* false for NaN */
}

bool trace_phase_fits(const struct trace_phase *phase)
{
    return time_fits(phase->start_ns) && time_fits(phase->end_ns);
}
