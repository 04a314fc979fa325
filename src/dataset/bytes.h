/* The bytes of a data set: every byte a function of (seed, file, offset), so that any thread or rank makes any part,
 * a killed run resumes, and content is verified without a stored copy.
 *
 * Eight bytes at a time: the mixing function of SplitMix64 over a counter, with a step of its own for every file (Steele,
 * Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). Bytes lie in little-endian order. */
#ifndef REHEARSE_DATASET_BYTES_H
#define REHEARSE_DATASET_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Compressibility c: of every unit the last c parts (to eight bytes) are zero and the rest is random, so that a
 * general compressor leaves about 1 - c, whatever block size it works on from this size up. */
#define DATASET_UNIT 4096

struct dataset_bytes {
    uint64_t start, step; /* of the counter */
    int64_t random;       /* bytes of each unit that are random */
    uint64_t keep, set;   /* every eight bytes are masked: (bytes & keep) | set */
};

/* The stream of one file; 0 <= compressibility <= 1. Nothing is masked: keep and set are the caller's to change. */
void dataset_bytes_init(struct dataset_bytes *bytes, uint64_t seed, uint64_t file, double compressibility);

/* Bytes offset … offset + n - 1 of the stream; 0 <= offset. */
void dataset_bytes_fill(const struct dataset_bytes *bytes, int64_t offset, void *to, size_t n);

/* Numbers that are drawn once per file, in streams apart from the bytes: all 64 bits; in [0, 1); from the standard
 * normal distribution (Box and Muller 1958). */
uint64_t dataset_draw_bits(uint64_t seed, uint64_t stream, uint64_t index);
double dataset_draw_unit(uint64_t seed, uint64_t stream, uint64_t index);
double dataset_draw_normal(uint64_t seed, uint64_t stream, uint64_t index);

#endif
