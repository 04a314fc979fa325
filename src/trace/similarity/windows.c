/* Tenths of the calls: docs/compare-definition.md. */
#include "core/vector.h"
#include "trace/similarity/math.h"
#include "trace/similarity/similarity.h"

#include <math.h>
#include <stdio.h>

struct tenths {
    double calls, total;
    double squares;               /* of the sizes */
    double at[SIMILARITY_TENTHS]; /* bytes, ns, or the mean of log10(1 + latency in microseconds) */
};

/* Splits the calls into tenths by their order, not by time: a slow part holds no more of them. The calls
 * of a window are spread evenly where a tenth ends in it. */
static struct tenths tenths_of(const struct similarity_trace *trace, int which, int part,
                               enum similarity_kind kind)
{
    const struct similarity_stream *stream = &trace->streams[which];
    bool timed = kind == SIMILARITY_LATENCY, lasts = kind == SIMILARITY_DURATION;
    const ptrdiff_t from = (ptrdiff_t)part * SIMILARITY_BINS;
    const double *counts = (timed ? stream->timed_curve : stream->ops_curve) + from;
    const double *sums = (timed ? stream->latency_curve : stream->bytes_curve) + from;
    const double bin_ns = (double)trace->parts[part].length_ns / SIMILARITY_BINS;
    struct tenths tenths = {0};
    double before = 0, idle = 0;
    for (int bin = 0; bin < SIMILARITY_BINS; bin++)
        tenths.calls += counts[bin];
    double size = tenths.calls / SIMILARITY_TENTHS;
    for (int bin = 0; bin < SIMILARITY_BINS; bin++) {
        double end = before + counts[bin], amount = lasts   ? bin_ns + idle
                                                    : timed ? sums[bin] / size
                                                            : sums[bin];
        for (int tenth = 0; tenth < SIMILARITY_TENTHS && counts[bin] > 0; tenth++)
            tenths.at[tenth] +=
                amount * fmax(0, fmin(end, (tenth + 1) * size) - fmax(before, tenth * size)) / counts[bin];
        idle = counts[bin] > 0 ? 0 : idle + bin_ns; /* time without a call belongs to the call after it */
        tenths.total += sums[bin];
        tenths.squares += stream->squares_curve[from + bin];
        before = end;
    }
    tenths.total = lasts ? (double)trace->parts[part].length_ns : tenths.total;
    return tenths;
}

static bool add_tenths(struct similarity *result, const struct similarity_trace *a,
                       const struct similarity_trace *b, int stream, int part, enum similarity_kind kind,
                       double weight)
{
    const struct tenths in_a = tenths_of(a, stream, part, kind), in_b = tenths_of(b, stream, part, kind);
    double calls = fmin(in_a.calls, in_b.calls), total = fmax(in_a.total, in_b.total);
    bool timed = kind == SIMILARITY_LATENCY;
    if (calls < SIMILARITY_TENTHS * SIMILARITY_TENTH_CALLS || total <= 0)
        return true;
    if (kind == SIMILARITY_SIZE) /* as many as move the same if all are large ones */
        calls = fmin(in_a.total * in_a.total / in_a.squares, in_b.total * in_b.total / in_b.squares);
    for (int tenth = 0; tenth < SIMILARITY_TENTHS; tenth++) {
        double x = in_a.at[tenth], y = in_b.at[tenth];
        struct similarity_component window = {
            .kind = kind,
            .of = stream,
            .part = part,
            .tenth = tenth,
            .weight = weight,
            .calls = calls,
            .ratio = timed   ? pow(10, y - x)
                     : x > 0 ? y / x
                             : NAN,
            .value = fmax(0, 1 - fabs(y - x) / (timed ? SIMILARITY_RANGE : total)),
            .floor = NAN,
            .p = NAN};
        snprintf(window.name, sizeof window.name, "%s", similarity_stream_name(stream));
        if (!VECTOR_ADD(result->windows, result->window_count, result->window_capacity, window))
            return false;
    }
    return true;
}

/* Sizes of other classes, of faults or maps, are no load. */
static bool moves(int stream)
{
    return stream == TRACE_READ || stream == TRACE_WRITE || stream == TRACE_CLASSES + (int)TRACE_OP_READ ||
           stream == TRACE_CLASSES + (int)TRACE_OP_WRITE;
}

bool similarity_add_windows(struct similarity *result, const struct similarity_trace *a,
                            const struct similarity_trace *b, const double *weights)
{
    static const enum similarity_kind kinds[] = {SIMILARITY_SIZE, SIMILARITY_LATENCY, SIMILARITY_DURATION};
    int first, parts = similarity_parts(a, b, &first);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (int stream = 0; stream < SIMILARITY_STREAMS; stream++)
            for (int part = first; part < first + parts; part++)
                if ((kinds[kind] != SIMILARITY_SIZE || moves(stream)) &&
                    !add_tenths(result, a, b, stream, part, kinds[kind], weights[kinds[kind]]))
                    return false;
    return true;
}
