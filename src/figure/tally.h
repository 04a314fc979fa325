/* How often each value came, to within 0.1 %, in half a megabyte at most. */
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
    int64_t total, least, most;
    bool failed; /* there was no memory: check once, at the end */
};

void tally_add(struct tally *tally, int64_t value); /* below 0: passed over */
void tally_release(struct tally *tally);

/* The least value of a bin; of the bin after the last: 2^63 - 1. */
static inline int64_t tally_value(int bin)
{
    return histogram_least(bin, TALLY_BITS);
}

/* The value below or at which a share of all lies (0.5: the median; of an even number the lower one), as the least of its
 * bin, not below `least`. 0 when there is none. */
int64_t tally_quantile(const struct tally *tally, double share);

#endif
