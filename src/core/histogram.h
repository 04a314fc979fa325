/* Quantiles of whole numbers in bounded memory: "high dynamic range" histograms (Gil Tene, HdrHistogram).
 *
 * A scale of b bits separates values below 2^(b + 1) and has 2^b bins per doubling above: a value is known to
 * within 1 / 2^b of itself, up to 2^63 - 1. */
#ifndef REHEARSE_CORE_HISTOGRAM_H
#define REHEARSE_CORE_HISTOGRAM_H

#include <stdint.h>

/* ---- scales ---- */

#define HISTOGRAM_SCALE_BINS(bits) (((62 - (bits)) << (bits)) + (2 << (bits)))

/* Returns the bin of a value >= 0. */
static inline int histogram_bin(int64_t value, int bits)
{
    int width = 63 - __builtin_clzll((unsigned long long)value | 1);
    int shift = width > bits ? width - bits : 0;
    return (shift << bits) + (int)(value >> shift);
}

/* Returns the minimum value of a bin; of the bin after the last: 2^63 - 1. */
int64_t histogram_min(int bin, int bits);

/* Returns the first bin that, with those before it, holds at least `rank` values (0 counts as 1); the last
 * bin if there are fewer. */
int histogram_rank_bin(const int64_t *bins, int count, int64_t rank);

/* ---- histograms ---- */

#define HISTOGRAM_BITS 7
#define HISTOGRAM_BINS HISTOGRAM_SCALE_BINS(HISTOGRAM_BITS)

/* Plain data: may be sent as bytes; zero is empty. */
struct histogram {
    int64_t count;
    int64_t min, max; /* exact; meaningless while count is 0 */
    double total;
    int64_t bins[HISTOGRAM_BINS];
};

/* A negative value counts as 0. */
void histogram_add(struct histogram *histogram, int64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* Returns the quantile of a share (0.5: median) to within 1/256: the middle of its bin, within `min` to
 * `max`. 0 if the histogram is empty. */
double histogram_quantile(const struct histogram *histogram, double share);

#endif
