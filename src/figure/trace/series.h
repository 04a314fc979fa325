/* Curves of sampled series: processors, GPUs, disks. */
#ifndef REHEARSE_FIGURE_TRACE_SERIES_H
#define REHEARSE_FIGURE_TRACE_SERIES_H

#include "core/error.h"
#include "figure/trace/columns.h"
#include "trace/store/store.h"

#include <stdbool.h>

/* Means by columns; where a column has no sample it has no point. Before the first and after the last point there is
 * the nearest sample outside of the columns, so that lines reach the border. */
struct trace_curve {
    double *seconds, *values; /* times from columns.from_ns on */
    int count;
    double max; /* maximum of the values */
};

/* The series of a kind ("disk.rMB/s"), of one source or (NULL) of all: their sum, or else their mean. A curve of no
 * points where there is none. Also where it is false *curve can be released. */
bool trace_curve_read(struct trace_reader *reader, const struct trace_columns *columns, const char *kind,
                      const char *source, bool sum, struct trace_curve *curve, struct error *err);
void trace_curve_release(struct trace_curve *curve);

#endif
