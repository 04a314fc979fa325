#include "figure/trace/calls.h"

/* TRACE_NONE and clocks that went back take no time. */
static int64_t sum(int64_t start_ns, int64_t length_ns)
{
    return length_ns > 0 ? start_ns + length_ns : start_ns;
}

static int64_t bytes_of(const struct trace_event *event)
{
    bool moves = event->class == TRACE_READ || event->class == TRACE_WRITE;
    if (moves && event->result != TRACE_NONE)
        return event->result < 0 ? -1 : event->result;
    return event->size < 0 ? -1 : event->size;
}

static bool read_events(struct trace_reader *reader, const struct trace_filter *filter, const bool *streams,
                        figure_take_call *take, void *context, struct error *err)
{
    struct trace_event event;
    struct trace_cursor *cursor = trace_events(reader, filter, err);
    if (!cursor)
        return false;
    while (trace_next_event(cursor, &event)) {
        if (streams && !streams[event.class])
            continue;
        take(context, &(struct figure_call){.stream = (int)event.class,
                                            .start_ns = event.start_ns,
                                            .end_ns = sum(event.start_ns, event.latency_ns),
                                            .latency_ns = event.latency_ns,
                                            .bytes = bytes_of(&event),
                                            .process = event.process});
    }
    return trace_cursor_close(cursor, err);
}

static bool read_blocks(struct trace_reader *reader, const struct trace_filter *filter, const bool *streams,
                        figure_take_call *take, void *context, struct error *err)
{
    struct trace_block block;
    struct trace_cursor *cursor = trace_blocks(reader, filter, err);
    if (!cursor)
        return false;
    while (trace_next_block(cursor, &block)) {
        int stream = FIGURE_STREAM_OF_DISK(block.op);
        if (streams && !streams[stream])
            continue;
        take(context,
             &(struct figure_call){.stream = stream,
                                   .start_ns = block.start_ns,
                                   .end_ns = sum(sum(block.start_ns, block.queue_ns), block.service_ns),
                                   .latency_ns = block.service_ns,
                                   .bytes = block.bytes < 0 ? -1 : block.bytes,
                                   .process = block.cause > 0 ? block.cause : block.process});
    }
    return trace_cursor_close(cursor, err);
}

static bool any(const bool *streams, int from, int to)
{
    bool found = !streams;
    for (int i = from; i < to && !found; i++)
        found = streams[i];
    return found;
}

bool figure_read_calls(struct trace_reader *reader, int64_t to_ns, const bool *streams,
                       figure_take_call *take, void *context, struct error *err)
{
    const struct trace_filter filter = {.which = -1, .from_ns = INT64_MIN, .to_ns = to_ns};
    return (!any(streams, 0, TRACE_CLASSES) || read_events(reader, &filter, streams, take, context, err)) &&
           (!any(streams, TRACE_CLASSES, FIGURE_STREAMS) ||
            read_blocks(reader, &filter, streams, take, context, err));
}
