#include "trace/similarity/math.h"
#include "trace/similarity/similarity.h"

#include <math.h>

struct tenths {
    double mean[SIMILARITY_TENTHS]; /* of log10(1 + microseconds) */
    bool known;
};

/* By the order of calls and not by time: a part that takes longer holds no more of them. Calls of one window are spread
 * evenly where a tenth ends in it. */
static struct tenths tenths_of(const struct similarity_stream *stream, int part)
{
    const double *counts = stream->timed_curve + (ptrdiff_t)part * SIMILARITY_BINS;
    const double *sums = stream->latency_curve + (ptrdiff_t)part * SIMILARITY_BINS;
    struct tenths tenths = {.known = false};
    double total = 0, before = 0;
    for (int bin = 0; bin < SIMILARITY_BINS; bin++)
        total += counts[bin];
    if (total < SIMILARITY_TENTHS * SIMILARITY_TENTH_CALLS)
        return tenths;
    double size = total / SIMILARITY_TENTHS;
    for (int bin = 0; bin < SIMILARITY_BINS; bin++) {
        double end = before + counts[bin];
        for (int tenth = 0; tenth < SIMILARITY_TENTHS && counts[bin] > 0; tenth++) {
            double shared = fmin(end, (tenth + 1) * size) - fmax(before, tenth * size);
            if (shared > 0)
                tenths.mean[tenth] += shared / size * (sums[bin] / counts[bin]);
        }
        before = end;
    }
    tenths.known = true;
    return tenths;
}

static void compare_tenths(struct similarity_window *worst, const struct tenths *a, const struct tenths *b,
                           int stream, int part)
{
    for (int tenth = 0; tenth < SIMILARITY_TENTHS; tenth++) {
        double apart = b->mean[tenth] - a->mean[tenth], value = fmax(0, 1 - fabs(apart) / SIMILARITY_RANGE);
        if (worst->stream < 0 || value < worst->value)
            *worst = (struct similarity_window){stream, part, tenth, value, pow(10, apart), NAN};
    }
}

struct similarity_window similarity_worst_window(const struct similarity_trace *a,
                                                 const struct similarity_trace *b)
{
    struct similarity_window worst = {.stream = -1, .value = 1, .ratio = 1, .floor = NAN};
    int first, parts = similarity_parts(a, b, &first);
    for (int stream = 0; stream < SIMILARITY_STREAMS; stream++)
        for (int part = first; part < first + parts; part++) {
            const struct tenths in_a = tenths_of(&a->streams[stream], part),
                                in_b = tenths_of(&b->streams[stream], part);
            if (in_a.known && in_b.known)
                compare_tenths(&worst, &in_a, &in_b, stream, part);
        }
    return worst;
}
