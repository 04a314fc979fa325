/* The bytes of a data set: each is a function of (seed, file, offset), so that any thread or rank can make
 * any part, a killed run can resume, and content is verified without a stored copy.
 *
 * Eight bytes at a time: the mixing function of SplitMix64 over a counter, with a step of its own for every
 * file (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). Bytes lie in
 * little-endian order. */
#ifndef REHEARSE_DATASET_BYTES_H
#define REHEARSE_DATASET_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Compressibility c: the last share c of every unit (rounded to eight bytes) is zero and the rest random, so
 * that a general compressor leaves about 1 - c at any block size from this one up. */
#define DATASET_UNIT 4096

struct dataset_bytes {
    uint64_t start, step; /* of the counter */
    int64_t random;       /* bytes of each unit that are random */
    uint64_t keep, set;   /* every eight bytes are masked: (bytes & keep) | set */
};

/* Returns the stream of one file; 0 <= compressibility <= 1. keep and set start without effect. */
void dataset_bytes_init(struct dataset_bytes *bytes, uint64_t seed, uint64_t file, double compressibility);

/* Writes bytes offset … offset + n - 1 of the stream; 0 <= offset. */
void dataset_bytes_fill(const struct dataset_bytes *bytes, int64_t offset, void *to, size_t n);

/* Writes the same of a stream that is made in units of `size` bytes, at most DATASET_MAX_UNIT: `make` makes
 * units first … first + count - 1. */
#define DATASET_MAX_UNIT 512
typedef void dataset_units_fn(const void *context, int64_t first, size_t count, unsigned char *to);
void dataset_units_fill(dataset_units_fn *make, const void *context, size_t size, int64_t offset, void *to,
                        size_t n);

/* Return numbers drawn once per file, from streams separate from the bytes: all 64 bits; in [0, 1); from the
 * standard normal distribution (Box and Muller 1958). */
uint64_t dataset_draw_bits(uint64_t seed, uint64_t stream, uint64_t index);
double dataset_draw_unit(uint64_t seed, uint64_t stream, uint64_t index);
double dataset_draw_normal(uint64_t seed, uint64_t stream, uint64_t index);

#endif
