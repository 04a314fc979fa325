/* Compression of whole blocks in memory, as pages of Parquet are: gzip by zlib, snappy and zstd by their libraries. */
#ifndef REHEARSE_DATASET_CODEC_H
#define REHEARSE_DATASET_CODEC_H

#include "core/error.h"
#include "dataset/types.h"

#include <stdbool.h>
#include <stddef.h>

/* One library: return false if the block is damaged or does not fit. `*length` is the room on entry, the bytes of the
 * result on return. */
struct dataset_codec {
    size_t (*bound)(size_t n);
    bool (*pack)(const void *from, size_t n, int level, void *to, size_t *length);
    bool (*unpack)(const void *from, size_t n, void *to, size_t *length);
};

/* Returns NULL, or the Debian package of the library that this build lacks. */
const char *dataset_codec_missing(enum dataset_compression compression);

/* Returns the maximum size of n bytes once compressed. */
size_t dataset_codec_bound(enum dataset_compression compression, size_t n);

/* Compresses into at least dataset_codec_bound bytes. */
bool dataset_codec_pack(enum dataset_compression compression, int level, const void *from, size_t n, void *to,
                        size_t *length, struct error *err);

/* Decompresses into exactly `size` bytes; the message does not name the place. */
bool dataset_codec_unpack(enum dataset_compression compression, const void *from, size_t n, void *to,
                          size_t size, struct error *err);

#endif
