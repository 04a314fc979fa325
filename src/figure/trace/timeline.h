/* The timeline of a trace: processors, GPUs, disks, calls of the workers, phases, above each other. */
#ifndef REHEARSE_FIGURE_TRACE_TIMELINE_H
#define REHEARSE_FIGURE_TRACE_TIMELINE_H

#include "core/error.h"
#include "figure/style.h"
#include "figure/trace/window.h"
#include "figure/trace/workers.h"

#include <stdbool.h>

enum timeline_row {
    TIMELINE_CPU,
    TIMELINE_GPU,
    TIMELINE_DISKS,
    TIMELINE_TRACES,
    TIMELINE_PHASES,
    TIMELINE_ROWS
};
extern const char *const timeline_row_names[TIMELINE_ROWS + 1]; /* ended by NULL */

struct figure_timeline {
    const struct figure_style *style;
    const char *title; /* NULL: the command in the trace */
    struct trace_zoom zoom;
    struct trace_selection selection;
    enum trace_grouping grouping;
    bool rows[TIMELINE_ROWS]; /* to be drawn, if there is anything */
};

/* The ending of `path` (.svg, .png, .pdf) sets the format. */
bool figure_timeline(const char *path, const char *trace, const struct figure_timeline *options,
                     struct error *err);

#endif
