/* Percentiles of durations in bounded memory.
 *
 * Counters on a scale that is linear below 2·HISTOGRAM_PER_OCTAVE and has HISTOGRAM_PER_OCTAVE steps in each octave
 * above it, as in HdrHistogram (Gil Tene): values below 128 are exact, others are known to 1/128 (0.8 %). The least and
 * the greatest value are kept exactly. Plain data: two may be added up, and sent as bytes. */
#ifndef REHEARSE_FEED_RESULT_HISTOGRAM_H
#define REHEARSE_FEED_RESULT_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PER_OCTAVE 64
#define HISTOGRAM_BUCKETS    (58 * HISTOGRAM_PER_OCTAVE) /* up to 2⁶³ - 1 */

struct histogram {
    int64_t count;
    int64_t least, most; /* of no meaning while count is 0 */
    int64_t buckets[HISTOGRAM_BUCKETS];
};

/* A histogram set to zero is empty. A negative value counts as 0. */
void histogram_add(struct histogram *histogram, int64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The least value such that at least `percent` of all are not above it (nearest rank), to within 1/128 of it; 0 of an
 * empty histogram. */
double histogram_percentile(const struct histogram *histogram, double percent);

#endif
