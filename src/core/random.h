/* Random numbers: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA
 * 2014), a counter and a mixing function, Stafford's variant 13. Equal states give equal numbers. */
#ifndef REHEARSE_CORE_RANDOM_H
#define REHEARSE_CORE_RANDOM_H

#include <stdint.h>

#define RANDOM_GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* the counter's step: 2^64 over the golden ratio */

/* Mixes z one-to-one: every bit of the result depends on every bit of z. */
static inline __attribute__((always_inline)) uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns the next 64 bits. Any initial state will do. */
static inline uint64_t random_next(uint64_t *state)
{
    return random_mix(*state += RANDOM_GOLDEN);
}

/* Returns a number in [0, 1) from the upper 53 bits. */
static inline double random_fraction(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

static inline double random_uniform(uint64_t *state)
{
    return random_fraction(random_next(state));
}

/* Returns a normal number of mean 0 and deviation 1. */
double random_normal(uint64_t *state);

#endif
