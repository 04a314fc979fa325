#include "dataset/codec.h"

#include <snappy-c.h>

static bool snappy_pack(const void *from, size_t n, int level, void *to, size_t *length)
{
    (void)level; /* it has none */
    return snappy_compress(from, n, to, length) == SNAPPY_OK;
}

static bool snappy_unpack(const void *from, size_t n, void *to, size_t *length)
{
    size_t stated;
    return snappy_uncompressed_length(from, n, &stated) == SNAPPY_OK && stated <= *length &&
           snappy_uncompress(from, n, to, length) == SNAPPY_OK;
}

const struct dataset_codec dataset_codec_snappy = {snappy_max_compressed_length, snappy_pack, snappy_unpack};
