/* The part of a trace that is drawn. */
#ifndef REHEARSE_FIGURE_TRACE_WINDOW_H
#define REHEARSE_FIGURE_TRACE_WINDOW_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* At most one of: a phase; the first or last seconds; from … to, in seconds of the run. None: all. */
struct trace_zoom {
    const char *phase;  /* "EVAL": the first of this name, "EVAL:3": the third; NULL: not asked */
    double margin;      /* before and after the phase */
    double first, last; /* 0: not asked */
    double from, to;    /* NAN: not asked */
};

struct trace_window {
    int64_t zero_ns;        /* start of the run: 0 on the axis */
    int64_t from_ns, to_ns; /* [from_ns, to_ns) is drawn; it is not empty */
};

/* The run is from the first to the last event, request to a disk or phase; of a trace that has none, the samples.
 * `path` is the trace's, for messages. */
bool trace_window_find(struct trace_reader *reader, const char *path, const struct trace_zoom *zoom,
                       struct trace_window *window, struct error *err);

/* On the axis. */
double trace_window_seconds(const struct trace_window *window, int64_t time_ns);

#endif
