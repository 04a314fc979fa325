/* Random contents of arguments: numbers that are quick to compute with, as a trained model's are. */
#ifndef REHEARSE_MEASURE_LAYERS_FILL_H
#define REHEARSE_MEASURE_LAYERS_FILL_H

#include "hlo/module.h"

#include <stdint.h>

#define FILL_MAX_INDEX 1024 /* whole numbers of 16 bits or more are below */

/* Fills hlo_leaf_bytes of an array: floats are even in [-1, 1) without denormal ones, whole numbers even from 0 to
 * FILL_MAX_INDEX (to 127 in 8 bits, 0 and 1 in fewer), predicates even. Equal seeds give equal contents. */
void fill_random(void *data, const struct hlo_shape *shape, uint64_t seed);

#endif
