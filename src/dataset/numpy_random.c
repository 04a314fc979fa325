#include "dataset/format/numpy.h"

#include <math.h>

#define SIZE   624
#define SHIFT  397
#define MATRIX 0x9908b0dfu

void numpy_random_init(struct numpy_random *random, uint32_t seed)
{
    *random = (struct numpy_random){.position = SIZE};
    random->state[0] = seed;
    for (int i = 1; i < SIZE; i++)
        random->state[i] = 1812433253u * (random->state[i - 1] ^ (random->state[i - 1] >> 30)) + (uint32_t)i;
}

static void twist(struct numpy_random *random)
{
    uint32_t *state = random->state;
    for (int i = 0; i < SIZE; i++) {
        uint32_t y = (state[i] & 0x80000000u) | (state[(i + 1) % SIZE] & 0x7fffffffu);
        state[i] = state[(i + SHIFT) % SIZE] ^ (y >> 1) ^ (y & 1 ? MATRIX : 0);
    }
    random->position = 0;
}

static uint32_t next_bits(struct numpy_random *random)
{
    if (random->position == SIZE)
        twist(random);
    uint32_t y = random->state[random->position++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* Returns a number in [0, 1) of 53 bits. */
static double next_unit(struct numpy_random *random)
{
    uint32_t high = next_bits(random) >> 5;
    uint32_t low = next_bits(random) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

double numpy_random_normal(struct numpy_random *random, double mean, double deviation)
{
    if (random->has_normal) {
        random->has_normal = false;
        return mean + deviation * random->normal;
    }
    double x, y, square;
    do {
        x = 2 * next_unit(random) - 1;
        y = 2 * next_unit(random) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double factor = sqrt(-2 * log(square) / square);
    random->normal = factor * x;
    random->has_normal = true;
    return mean + deviation * (factor * y);
}
