#include "trace/similarity/math.h"
#include "trace/similarity/similarity.h"

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
