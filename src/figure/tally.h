/* How often each value came, to within 0.1 %, in half a megabyte at most. */
#ifndef REHEARSE_FIGURE_TALLY_H
#define REHEARSE_FIGURE_TALLY_H

#include <stdbool.h>
#include <stdint.h>

/* Values below 2^(TALLY_BITS + 1) are told apart, of larger ones the first TALLY_BITS + 1 bits: the bins of a "high dynamic
 * range" histogram (Tene). Starts as {0}. */
#define TALLY_BITS 10
#define TALLY_BINS (((62 - TALLY_BITS) << TALLY_BITS) + (2 << TALLY_BITS))

struct tally {
    int64_t *counts; /* TALLY_BINS, once there is a value */
    int64_t total, least, most;
    bool failed; /* there was no memory: check once, at the end */
};

void tally_add(struct tally *tally, int64_t value); /* below 0: passed over */
void tally_release(struct tally *tally);

/* The least value of a bin; of the bin after the last: 2^63 - 1. */
int64_t tally_value(int bin);
int tally_bin(int64_t value);

/* The value below or at which a share of all lies (0.5: the median; of an even number the lower one), as the least of its
 * bin, not below `least`. 0 when there is none. */
int64_t tally_quantile(const struct tally *tally, double share);

#endif
