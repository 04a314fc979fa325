/* Deflate as a stream. */
#ifndef REHEARSE_DATASET_PACK_H
#define REHEARSE_DATASET_PACK_H

#include "dataset/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns NULL, or the library that this build lacks. */
const char *dataset_pack_missing(void);

enum dataset_wrap { DATASET_WRAP_NONE, DATASET_WRAP_GZIP, DATASET_WRAP_ZLIB };

/* A writer whose bytes go compressed into another one. */
struct dataset_packing {
    struct dataset_writer writer; /* to put into */
    struct dataset_writer *to;
    struct dataset_sink sink;
    struct z_stream_s *stream;
    int64_t packed; /* bytes that came out */
};

/* Begins and ends it; `level` is 0 to 9. A failure is that of `to`. An end follows every begin, even one that
 * failed. */
bool dataset_pack_begin(struct dataset_packing *packing, struct dataset_writer *to, int level,
                        enum dataset_wrap wrap);
void dataset_pack_end(struct dataset_packing *packing);

/* Compresses n < 2^32 bytes into one gzip member; *length is the room on entry, the bytes of the result on return. */
bool dataset_pack_block(const void *from, size_t n, int level, void *to, size_t *length, struct error *err);

/* Decompresses from..from+n into `to` until it is full or the input ends; *length is the output size. With
 * `whole`, more output than fits is an error. `path` is for errors. */
bool dataset_unpack(const char *path, const unsigned char *from, size_t n, enum dataset_wrap wrap,
                    unsigned char *to, size_t capacity, bool whole, size_t *length, struct error *err);

#endif
