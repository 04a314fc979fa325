/* The array of an npy or npz file: the samples of a file along its last dimension. */
#ifndef REHEARSE_DATASET_FORMAT_NPY_H
#define REHEARSE_DATASET_FORMAT_NPY_H

#include "dataset/format.h"
#include "dataset/format/numpy.h"

struct numpy_array npy_array(const struct dataset_file *file);

/* Reads the header of a file, which must have all of its array. */
bool npy_read_header(struct numpy_array *array, const char *path, const struct dataset_source *source,
                     struct error *err);

/* Makes an index of the array's samples, without places. */
bool npy_index(struct dataset_index *index, const struct numpy_array *array, const char *path,
               struct error *err);

/* Copies one sample out of the whole array. */
bool npy_pick(const struct dataset_index *index, int64_t sample, const unsigned char *array, size_t length,
              unsigned char *to, size_t capacity, size_t *picked, struct error *err);

#endif
