#include "figure/trace/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over `count` samples of a series, or over the means of `count` series. There is one for each column of the
 * picture, 1 to its count, and at both ends one for the nearest sample outside. */
struct bin {
    double seconds, value;
    int64_t count;
};

static void add_sample(struct bin *bins, const struct trace_columns *columns,
                       const struct trace_sample *sample)
{
    double seconds = trace_seconds(columns->from_ns, sample->time_ns);
    if (!isfinite(sample->value))
        return;
    if (sample->time_ns < columns->from_ns) {
        bins[0] = (struct bin){seconds, sample->value, 1};
    } else if (sample->time_ns >= columns->to_ns) {
        if (bins[columns->count + 1].count == 0)
            bins[columns->count + 1] = (struct bin){seconds, sample->value, 1};
    } else {
        struct bin *bin = &bins[1 + (sample->time_ns - columns->from_ns) / columns->width_ns];
        bin->seconds += seconds;
        bin->value += sample->value;
        bin->count++;
    }
}

static bool read_one(struct trace_reader *reader, int64_t series, const struct trace_columns *columns,
                     struct bin *bins, struct bin *totals, struct error *err)
{
    const struct trace_filter filter = {.which = series, .from_ns = INT64_MIN, .to_ns = INT64_MAX};
    struct trace_sample sample;
    struct trace_cursor *cursor = trace_samples(reader, &filter, err);
    if (!cursor)
        return false;
    memset(bins, 0, (size_t)(columns->count + 2) * sizeof *bins);
    while (trace_next_sample(cursor, &sample))
        add_sample(bins, columns, &sample);
    for (int i = 0; i < columns->count + 2; i++)
        if (bins[i].count > 0) {
            totals[i].seconds += bins[i].seconds / (double)bins[i].count;
            totals[i].value += bins[i].value / (double)bins[i].count;
            totals[i].count++;
        }
    return trace_cursor_close(cursor, err);
}

static bool read_all(struct trace_reader *reader, const struct trace_columns *columns, const char *kind,
                     const char *source, struct bin *bins, struct bin *totals, struct error *err)
{
    for (int64_t id = 1; id <= trace_series_count(reader); id++) {
        const struct trace_series_info *info = trace_series_info(reader, id);
        if (strcmp(info->kind, kind) == 0 && (!source || strcmp(info->source, source) == 0) &&
            !read_one(reader, id, columns, bins, totals, err))
            return false;
    }
    return true;
}

static void keep_points(struct trace_curve *curve, const struct bin *totals, int count, bool sum)
{
    for (int i = 0; i < count; i++) {
        if (totals[i].count == 0)
            continue;
        double sources = (double)totals[i].count, value = totals[i].value / (sum ? 1 : sources);
        curve->seconds[curve->count] = totals[i].seconds / sources;
        curve->values[curve->count++] = value;
        if (value > curve->max)
            curve->max = value;
    }
}

bool trace_curve_read(struct trace_reader *reader, const struct trace_columns *columns, const char *kind,
                      const char *source, bool sum, struct trace_curve *curve, struct error *err)
{
    size_t count = (size_t)columns->count + 2;
    *curve = (struct trace_curve){.seconds = calloc(count, sizeof(double)),
                                  .values = calloc(count, sizeof(double))};
    struct bin *bins = calloc(count, sizeof *bins);
    struct bin *totals = calloc(count, sizeof *totals);
    bool done = curve->seconds && curve->values && bins && totals ? true : error_memory(err);
    done = done && read_all(reader, columns, kind, source, bins, totals, err);
    if (done)
        keep_points(curve, totals, (int)count, sum);
    free(bins);
    free(totals);
    return done;
}

void trace_curve_release(struct trace_curve *curve)
{
    free(curve->seconds);
    free(curve->values);
    *curve = (struct trace_curve){0};
}
