/* Bytes and operations per second of traces, over time. */
#ifndef REHEARSE_FIGURE_TRACE_THROUGHPUT_H
#define REHEARSE_FIGURE_TRACE_THROUGHPUT_H

#include "core/error.h"
#include "figure/style.h"
#include "figure/trace/calls.h"
#include "figure/trace/names.h"
#include "figure/trace/window.h"

#include <stdbool.h>
#include <stddef.h>

struct figure_throughput {
    const struct figure_style *style;
    const char *title; /* NULL: the file */
    struct trace_zoom zoom;
    struct trace_selection selection;
    double every;                 /* averaging interval in seconds; 0: such that there are about 200 */
    bool streams[FIGURE_STREAMS]; /* drawn if they have calls */
};

/* Draws one trace as a panel of bytes and one of operations, with a line for each stream and the phases behind. Draws
 * several traces (up to FIGURE_MAX_TRACES) as two panels for each stream, with a line for each trace, and the phases of
 * each. Runs begin together, and so do the phases or ends that a zoom chooses. The ending of `path` sets the format. */
bool figure_throughput(const char *path, const char *const *traces, size_t count,
                       const struct figure_throughput *options, struct error *err);

#endif
