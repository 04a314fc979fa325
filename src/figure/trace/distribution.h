/* Draws the distributions of calls: sizes, latencies, inter-arrival times. */
#ifndef REHEARSE_FIGURE_TRACE_DISTRIBUTION_H
#define REHEARSE_FIGURE_TRACE_DISTRIBUTION_H

#include "core/error.h"
#include "figure/style.h"
#include "figure/trace/calls.h"
#include "figure/trace/names.h"
#include "figure/trace/window.h"

#include <stdbool.h>
#include <stddef.h>

enum distribution_of { DISTRIBUTION_SIZE, DISTRIBUTION_LATENCY, DISTRIBUTION_GAP, DISTRIBUTION_KINDS };
extern const char *const distribution_names[DISTRIBUTION_KINDS + 1]; /* ended by NULL */

struct figure_distribution {
    const struct figure_style *style;
    const char *title; /* NULL: the file */
    struct trace_zoom zoom;
    struct trace_selection selection;
    bool streams[FIGURE_STREAMS]; /* a row for each that has calls */
    bool kinds[DISTRIBUTION_KINDS];
};

/* Draws histograms and, below each, the cumulative share of calls, of `count` overlaid traces. The ending of
 * `path` (.svg, .png, .pdf) sets the format. */
bool figure_distribution(const char *path, const char *const *traces, size_t count,
                         const struct figure_distribution *options, struct error *err);

#endif
