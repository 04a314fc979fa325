/* The frame of a record in a TFRecord file (tensorflow/core/lib/io/record_writer.h): length, sum of the length, data, sum
 * of the data; sums are CRC-32C, masked. */
#ifndef REHEARSE_DATASET_FORMAT_TFRECORD_H
#define REHEARSE_DATASET_FORMAT_TFRECORD_H

#include "dataset/format.h"

#define TFRECORD_HEADER 12
#define TFRECORD_FRAME  16 /* bytes beside the data */

static inline uint32_t tfrecord_mask(uint32_t sum)
{
    return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

bool tfrecord_locate(struct dataset_index *index, const char *path, const struct dataset_source *const *parts,
                     struct error *err);
bool tfrecord_decode(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                     size_t raw_length, unsigned char *to, size_t capacity, size_t *length,
                     struct error *err);

#endif
