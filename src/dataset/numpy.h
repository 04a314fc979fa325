/* What numpy makes, made again: numbers of its legacy generator, headers of its files. */
#ifndef REHEARSE_DATASET_NUMPY_H
#define REHEARSE_DATASET_NUMPY_H

#include "core/text.h"
#include "dataset/layout.h"

#include <stdint.h>

/* numpy.random.RandomState(seed): MT19937 (Matsumoto and Nishimura 1998), normal draws by the polar method. */
struct numpy_random {
    uint32_t state[624];
    int position;
    bool has_normal;
    double normal; /* the second of a pair */
};

void numpy_random_init(struct numpy_random *random, uint32_t seed);
double numpy_random_normal(struct numpy_random *random, double mean, double deviation);

#endif
