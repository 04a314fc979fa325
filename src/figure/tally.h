/* Counts how often each value occurs, within 0.1 %, in at most half a megabyte. */
#ifndef REHEARSE_FIGURE_TALLY_H
#define REHEARSE_FIGURE_TALLY_H

#include "core/histogram.h"

#include <stdbool.h>
#include <stdint.h>

/* Bins are of the scale of core/histogram.h with TALLY_BITS. Starts as {0}. */
#define TALLY_BITS 10
#define TALLY_BINS HISTOGRAM_SCALE_BINS(TALLY_BITS)

struct tally {
    int64_t *counts; /* TALLY_BINS, once there is a value */
    int64_t total, min, max;
    bool failed; /* out of memory: check once, at the end */
};

void tally_add(struct tally *tally, int64_t value); /* ignores negative values */
void tally_release(struct tally *tally);

/* Returns the minimum value of a bin; of the bin after the last: 2^63 - 1. */
static inline int64_t tally_value(int bin)
{
    return histogram_min(bin, TALLY_BITS);
}

/* Returns the quantile of a share (0.5: the median; the lower of two), as its bin's minimum, not below
 * `min`. 0 if empty. */
int64_t tally_quantile(const struct tally *tally, double share);

#endif
