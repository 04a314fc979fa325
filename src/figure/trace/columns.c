#include "figure/trace/columns.h"

#include <stdlib.h>

struct trace_columns trace_columns_every(int64_t from_ns, int64_t to_ns, int64_t width_ns)
{
    int64_t length = to_ns - from_ns;
    return (struct trace_columns){.from_ns = from_ns,
                                  .to_ns = to_ns,
                                  .width_ns = width_ns,
                                  .count = (int)(length / width_ns + (length % width_ns > 0))};
}

struct trace_columns trace_columns_of(int64_t from_ns, int64_t to_ns, int max)
{
    int64_t length = to_ns - from_ns;
    return trace_columns_every(from_ns, to_ns, length / max + (length % max > 0));
}

bool trace_lane_init(struct trace_lane *lane, const struct trace_columns *columns, struct error *err)
{
    *lane = (struct trace_lane){.columns = calloc((size_t)columns->count, sizeof *lane->columns),
                                .until_ns = INT64_MIN};
    return lane->columns || error_memory(err);
}

void trace_lane_release(struct trace_lane *lane)
{
    free(lane->columns);
    *lane = (struct trace_lane){0};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds the time from start to end, which lies in the columns, as busy, or `rate` bytes for each nanosecond of it. */
static void add_time(struct trace_lane *lane, const struct trace_columns *columns, int64_t start, int64_t end,
                     bool busy, double rate)
{
    while (start < end) {
        int64_t at = (start - columns->from_ns) / columns->width_ns;
        int64_t edge = smaller(end, columns->from_ns + (at + 1) * columns->width_ns);
        lane->columns[at].busy_ns += busy ? edge - start : 0;
        lane->columns[at].bytes += rate * (double)(edge - start);
        start = edge;
    }
}

void trace_lane_add(struct trace_lane *lane, const struct trace_columns *columns,
                    const struct trace_span_of *span)
{
    bool begins = span->start_ns >= columns->from_ns && span->start_ns < columns->to_ns;
    bool lasts = span->start_ns < columns->to_ns && span->end_ns > columns->from_ns;
    if (!begins && !lasts)
        return;
    int64_t start = larger(span->start_ns, columns->from_ns), end = smaller(span->end_ns, columns->to_ns);
    struct trace_lane_column *first = &lane->columns[(start - columns->from_ns) / columns->width_ns];
    lane->total++;
    first->calls += begins;
    add_time(lane, columns, larger(start, lane->until_ns), end, true, 0);
    if (span->bytes > 0 && span->end_ns <= span->start_ns)
        first->bytes += (double)span->bytes;
    else if (span->bytes > 0)
        add_time(lane, columns, start, end, false,
                 (double)span->bytes / (double)(span->end_ns - span->start_ns));
    lane->until_ns = larger(lane->until_ns, span->end_ns);
}

void trace_lane_merge(struct trace_lane *lane, const struct trace_columns *columns,
                      const struct trace_lane *other)
{
    lane->total += other->total;
    lane->until_ns = larger(lane->until_ns, other->until_ns);
    for (int i = 0; i < columns->count; i++) {
        struct trace_lane_column *to = &lane->columns[i], *from = &other->columns[i];
        to->calls += from->calls;
        to->busy_ns = smaller(to->busy_ns + from->busy_ns, columns->width_ns);
        to->bytes += from->bytes;
    }
}
