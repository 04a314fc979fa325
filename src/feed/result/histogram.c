#include "feed/result/histogram.h"

#include <math.h>

#define SHIFT 6 /* 2⁶ = HISTOGRAM_PER_OCTAVE */

static int bucket_of(uint64_t value)
{
    if (value < UINT64_C(2) * HISTOGRAM_PER_OCTAVE)
        return (int)value;
    int octave = 63 - __builtin_clzll(value) - SHIFT;
    return octave * HISTOGRAM_PER_OCTAVE + (int)(value >> octave);
}

/* The middle of a bucket. */
static double value_of(int bucket)
{
    if (bucket < 2 * HISTOGRAM_PER_OCTAVE)
        return bucket;
    int octave = bucket / HISTOGRAM_PER_OCTAVE - 1;
    int steps = bucket % HISTOGRAM_PER_OCTAVE + HISTOGRAM_PER_OCTAVE;
    return ldexp(steps + 0.5, octave);
}

void histogram_add(struct histogram *histogram, int64_t value)
{
    value = value < 0 ? 0 : value;
    if (histogram->count == 0 || value < histogram->least)
        histogram->least = value;
    if (histogram->count == 0 || value > histogram->most)
        histogram->most = value;
    histogram->count++;
    histogram->buckets[bucket_of((uint64_t)value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->count == 0)
        return;
    if (into->count == 0 || from->least < into->least)
        into->least = from->least;
    if (into->count == 0 || from->most > into->most)
        into->most = from->most;
    into->count += from->count;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

double histogram_percentile(const struct histogram *histogram, double percent)
{
    int64_t rank = (int64_t)ceil(percent / 100 * (double)histogram->count);
    int64_t passed = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        passed += histogram->buckets[i];
        if (passed > 0 && passed >= rank) {
            double value = value_of(i);
            return fmin(fmax(value, (double)histogram->least), (double)histogram->most);
        }
    }
    return 0;
}
