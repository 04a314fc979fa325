#include "core/histogram.h"

#include <math.h>

int64_t histogram_min(int bin, int bits)
{
    if (bin >= HISTOGRAM_SCALE_BINS(bits))
        return INT64_MAX;
    int shift = bin < 2 << bits ? 0 : (bin >> bits) - 1;
    return (int64_t)((uint64_t)(bin - (shift << bits)) << shift);
}

int histogram_rank_bin(const int64_t *bins, int count, int64_t rank)
{
    int bin = 0;
    rank = rank < 1 ? 1 : rank;
    for (int64_t passed = bins[0]; passed < rank && bin < count - 1; passed += bins[bin])
        bin++;
    return bin;
}

void histogram_add(struct histogram *histogram, int64_t value)
{
    value = value < 0 ? 0 : value;
    if (histogram->count == 0 || value < histogram->min)
        histogram->min = value;
    if (histogram->count == 0 || value > histogram->max)
        histogram->max = value;
    histogram->count++;
    histogram->total += (double)value;
    histogram->bins[histogram_bin(value, HISTOGRAM_BITS)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min < into->min)
        into->min = from->min;
    if (into->count == 0 || from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->total += from->total;
    for (int i = 0; i < HISTOGRAM_BINS; i++)
        into->bins[i] += from->bins[i];
}

double histogram_quantile(const struct histogram *histogram, double share)
{
    if (histogram->count == 0)
        return 0;
    int64_t rank = (int64_t)ceil(share * (double)histogram->count);
    int bin = histogram_rank_bin(histogram->bins, HISTOGRAM_BINS, rank);
    int64_t low = histogram_min(bin, HISTOGRAM_BITS), width = histogram_min(bin + 1, HISTOGRAM_BITS) - low;
    double middle = (double)low + (double)(width - 1) / 2;
    return fmin(fmax(middle, (double)histogram->min), (double)histogram->max);
}
