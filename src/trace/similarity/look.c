#include "trace/similarity/math.h"
#include "trace/similarity/similarity.h"

#include <math.h>
#include <string.h>

int similarity_parts(const struct similarity_trace *a, const struct similarity_trace *b, int *first)
{
    bool phased = a->phased && b->phased;
    *first = phased ? 1 : 0;
    return phased ? SIMILARITY_PARTS - 1 : 1;
}

static const struct similarity_values *values_of(const struct similarity_trace *trace,
                                                 const struct similarity_component *component)
{
    const struct similarity_stream *stream = component->of >= 0 ? &trace->streams[component->of] : NULL;
    switch (component->kind) {
    case SIMILARITY_SIZE:
        return &stream->size;
    case SIMILARITY_LATENCY:
        return &stream->latency;
    case SIMILARITY_GAP:
        return &stream->gap;
    case SIMILARITY_ORDER:
        return strncmp(component->name, "jumps.", 6) == 0 ? &trace->jumps : NULL;
    default:
        return NULL;
    }
}

static const double *curve_of(const struct similarity_trace *trace,
                              const struct similarity_component *component)
{
    if (component->kind == SIMILARITY_SERIES_KIND)
        return trace->series[component->of].mean;
    if (component->kind != SIMILARITY_RATE)
        return NULL;
    const struct similarity_stream *stream = &trace->streams[component->of];
    return component->of_bytes ? stream->bytes_curve : stream->ops_curve;
}

void similarity_look(const struct similarity_trace *a, const struct similarity_trace *b,
                     const struct similarity_component *component, struct similarity_look *look)
{
    const struct similarity_trace *traces[2] = {a, b};
    int first, parts = similarity_parts(a, b, &first);
    *look = (struct similarity_look){.values = {values_of(a, component), values_of(b, component)}};
    for (int part = first; curve_of(a, component) && part < first + parts; part++) {
        if (a->parts[part].length_ns == 0 && b->parts[part].length_ns == 0)
            continue;
        for (int i = 0; i < 2; i++)
            similarity_smooth(curve_of(traces[i], component) + (ptrdiff_t)part * SIMILARITY_BINS,
                              &look->curves[i][(ptrdiff_t)look->parts * SIMILARITY_BINS], 1, SIMILARITY_BINS,
                              SIMILARITY_BAND);
        look->part_names[look->parts++] = similarity_part_names[part];
    }
}

/* ---- windows of latencies ---- */

struct tenths {
    double mean[SIMILARITY_TENTHS]; /* of log10(1 + microseconds) */
    bool known;
};

/* Splits the calls into tenths by their order, not by time: a slow part holds no more of them. The calls
 * of a window are spread evenly where a tenth ends in it. */
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
