#include "dataset/codec.h"

#include <zstd.h>

static bool zstd_done(size_t result, size_t *length)
{
    *length = ZSTD_isError(result) ? 0 : result;
    return !ZSTD_isError(result);
}

static bool zstd_pack(const void *from, size_t n, int level, void *to, size_t *length)
{
    return zstd_done(ZSTD_compress(to, *length, from, n, level), length);
}

static bool zstd_unpack(const void *from, size_t n, void *to, size_t *length)
{
    return zstd_done(ZSTD_decompress(to, *length, from, n), length);
}

const struct dataset_codec dataset_codec_zstd = {ZSTD_compressBound, zstd_pack, zstd_unpack};
