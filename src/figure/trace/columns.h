/* Sums a trace's calls into columns of time, in memory that depends only on the number of columns. */
#ifndef REHEARSE_FIGURE_TRACE_COLUMNS_H
#define REHEARSE_FIGURE_TRACE_COLUMNS_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Columns of equal width from from_ns on; the last may reach beyond to_ns. */
struct trace_columns {
    int64_t from_ns, to_ns, width_ns;
    int count;
};

/* Returns up to `max` columns over [from_ns, to_ns), from_ns < to_ns. */
struct trace_columns trace_columns_of(int64_t from_ns, int64_t to_ns, int max);

/* Columns of this width. */
struct trace_columns trace_columns_every(int64_t from_ns, int64_t to_ns, int64_t width_ns);

/* One call or request. */
struct trace_span_of {
    int64_t start_ns, end_ns;
    int64_t bytes; /* moved; not above 0: none, or not known */
};

/* Calls of one kind. */
struct trace_lane {
    struct trace_lane_column {
        int64_t calls;   /* that begin in the column */
        int64_t busy_ns; /* time in which at least one call was in progress */
        double bytes;    /* moved; the bytes of a call are spread evenly over its time */
    } * columns;         /* NULL: not in use */
    int64_t until_ns;    /* the latest end so far */
    int64_t total;       /* calls that touch the columns */
};

bool trace_lane_init(struct trace_lane *lane, const struct trace_columns *columns, struct error *err);
void trace_lane_release(struct trace_lane *lane);

/* Adds a call. Calls come in order of their start; a call that does not touch the columns is ignored. */
void trace_lane_add(struct trace_lane *lane, const struct trace_columns *columns,
                    const struct trace_span_of *span);

/* Adds another lane; busy times in a column add up, to at most the width. */
void trace_lane_merge(struct trace_lane *lane, const struct trace_columns *columns,
                      const struct trace_lane *other);

#endif
