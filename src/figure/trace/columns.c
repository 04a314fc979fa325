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

struct trace_columns trace_columns_of(int64_t from_ns, int64_t to_ns, int most)
{
    int64_t length = to_ns - from_ns;
    return trace_columns_every(from_ns, to_ns, length / most + (length % most > 0));
}

bool trace_lane_init(struct trace_lane *lane, const struct trace_columns *columns, struct error *err)
{
    size_t count = (size_t)columns->count;
    *lane = (struct trace_lane){.calls = calloc(count, sizeof *lane->calls),
                                .busy_ns = calloc(count, sizeof *lane->busy_ns),
                                .bytes = calloc(count, sizeof *lane->bytes),
                                .until_ns = INT64_MIN};
    if (lane->calls && lane->busy_ns && lane->bytes)
        return true;
    trace_lane_release(lane);
    return error_memory(err);
}

void trace_lane_release(struct trace_lane *lane)
{
    free(lane->calls);
    free(lane->busy_ns);
    free(lane->bytes);
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

/* [start, end) lies in the columns. */
static void add_busy(struct trace_lane *lane, const struct trace_columns *columns, int64_t start, int64_t end)
{
    while (start < end) {
        int64_t at = (start - columns->from_ns) / columns->width_ns;
        int64_t edge = smaller(end, columns->from_ns + (at + 1) * columns->width_ns);
        lane->busy_ns[at] += edge - start;
        start = edge;
    }
}

static void add_bytes(struct trace_lane *lane, const struct trace_columns *columns,
                      const struct trace_span_of *span, int64_t start, int64_t end)
{
    if (span->end_ns <= span->start_ns) {
        lane->bytes[(start - columns->from_ns) / columns->width_ns] += (double)span->bytes;
        return;
    }
    double rate = (double)span->bytes / (double)(span->end_ns - span->start_ns);
    while (start < end) {
        int64_t at = (start - columns->from_ns) / columns->width_ns;
        int64_t edge = smaller(end, columns->from_ns + (at + 1) * columns->width_ns);
        lane->bytes[at] += rate * (double)(edge - start);
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
    lane->total++;
    if (begins)
        lane->calls[(start - columns->from_ns) / columns->width_ns]++;
    add_busy(lane, columns, larger(start, lane->until_ns), end);
    if (span->bytes > 0)
        add_bytes(lane, columns, span, start, end);
    lane->until_ns = larger(lane->until_ns, span->end_ns);
}

void trace_lane_merge(struct trace_lane *lane, const struct trace_columns *columns,
                      const struct trace_lane *other)
{
    lane->total += other->total;
    lane->until_ns = larger(lane->until_ns, other->until_ns);
    for (int i = 0; i < columns->count; i++) {
        lane->calls[i] += other->calls[i];
        lane->busy_ns[i] = smaller(lane->busy_ns[i] + other->busy_ns[i], columns->width_ns);
        lane->bytes[i] += other->bytes[i];
    }
}
