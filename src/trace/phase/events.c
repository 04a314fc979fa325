#include "trace/phase/internal.h"

#include "core/vector.h"

#include <stdlib.h>

#define MAX_KEPT ((size_t)1 << 20) /* 56 MiB */

struct phase_event {
    int64_t start_ns, latency_ns, offset, size, result;
    int32_t process, file;
    unsigned char class;
};

void phase_events_begin(struct phase_events *events, struct error *err)
{
    events->next = 0;
    events->ended = false;
    events->cursor = events->whole ? NULL : trace_events(events->reader, &TRACE_ALL, err);
}

/* Keeps an event. A trace of too many, or names, is read anew each time. */
static void keep(struct phase_events *events, const struct trace_event *event)
{
    const struct phase_event one = {
        event->start_ns, event->latency_ns,       event->offset,        event->size,
        event->result,   (int32_t)event->process, (int32_t)event->file, (unsigned char)event->class};
    bool fits = events->count < MAX_KEPT && event->process <= INT32_MAX && event->file <= INT32_MAX;
    if (!events->too_many && fits && VECTOR_ADD(events->kept, events->count, events->capacity, one))
        return;
    events->too_many = true;
    free(events->kept);
    events->kept = NULL;
    events->count = events->capacity = 0;
}

bool phase_events_next(struct phase_events *events, struct trace_event *event)
{
    if (!events->whole) {
        events->ended = !trace_next_event(events->cursor, event);
        if (!events->ended)
            keep(events, event);
        return !events->ended;
    }
    if (events->next == events->count)
        return false;
    const struct phase_event *kept = &events->kept[events->next++];
    *event = (struct trace_event){.class = (enum trace_class)kept->class,
                                  .start_ns = kept->start_ns,
                                  .latency_ns = kept->latency_ns,
                                  .process = kept->process,
                                  .file = kept->file,
                                  .offset = kept->offset,
                                  .size = kept->size,
                                  .result = kept->result};
    return true;
}

bool phase_events_end(struct phase_events *events, struct error *err)
{
    if (events->whole)
        return true;
    bool done = trace_cursor_close(events->cursor, err);
    events->whole = done && events->ended && !events->too_many;
    events->count = events->whole ? events->count : 0;
    return done;
}
