/* Reimplements parts of numpy: the numbers of its legacy generator, the headers of its files. */
#ifndef REHEARSE_DATASET_FORMAT_NUMPY_H
#define REHEARSE_DATASET_FORMAT_NUMPY_H

#include "core/error.h"
#include "dataset/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* numpy.random.RandomState(seed): MT19937 (Matsumoto and Nishimura 1998), normal draws by the polar
 * method. */
struct numpy_random {
    uint32_t state[624];
    int position;
    bool has_normal;
    double normal; /* the second of a pair */
};

void numpy_random_init(struct numpy_random *random, uint32_t seed);
double numpy_random_normal(struct numpy_random *random, double mean, double deviation);

#define NUMPY_MAX_HEADER 512

/* An array and the header of its file: format 1.0 of numpy/lib/format.py. */
struct numpy_array {
    enum dataset_element element;
    int dims_count;
    int64_t dims[DATASET_MAX_DIMS + 1]; /* one more than a sample: of the samples */
    int64_t header_bytes;               /* before the elements */
    int64_t bytes;                      /* of the elements */
    char header[NUMPY_MAX_HEADER];      /* set by numpy_header_write */
};

/* Sets the array's header as numpy 1.23 and later write it, with its padding. */
void numpy_header_write(struct numpy_array *array);

/* Reads a header at the start of `length` bytes; `path` is for messages. Elements in the other byte order,
 * columns first, and elements that are no numbers are errors. */
bool numpy_header_read(struct numpy_array *array, const char *path, const char *bytes, size_t length,
                       struct error *err);

#endif
