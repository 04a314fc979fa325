/* The frame of a record in a TFRecord file (tensorflow/core/lib/io/record_writer.h): length, sum of the
 * length, data, sum of the data; sums are CRC-32C, masked. */
#ifndef REHEARSE_DATASET_FORMAT_TFRECORD_H
#define REHEARSE_DATASET_FORMAT_TFRECORD_H

#include "dataset/format.h"

/* Begin and end a record of `length` bytes, which are put between them: the frame, with its sums. */
void tfrecord_begin(struct dataset_writer *writer, uint64_t length);
void tfrecord_end(struct dataset_writer *writer);

/* Messages of protocol buffers: whole numbers with seven bits per byte; fields of a key (number × 8 + type),
 * a length and as many bytes. Those that write return the end of what they wrote. */
size_t protobuf_field_bytes(uint64_t length);
unsigned char *protobuf_put_number(unsigned char *to, uint64_t value);
unsigned char *protobuf_put_field(unsigned char *to, int field, uint64_t length);

/* A feature of a tf.train.Example: its bytes as an entry of the map of features, and all of it that comes
 * before the `values` bytes of its list. */
enum { EXAMPLE_BYTES = 1, EXAMPLE_FLOATS, EXAMPLE_NUMBERS };
size_t example_entry_bytes(const char *name, uint64_t values);
unsigned char *example_put_entry(unsigned char *to, const char *name, int list, uint64_t values);

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
