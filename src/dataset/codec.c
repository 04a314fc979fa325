#include "dataset/codec.h"

#include "core/features.h"
#include "dataset/pack.h"

#include <string.h>

extern const struct dataset_codec dataset_codec_snappy, dataset_codec_zstd;

static const struct dataset_codec *codec_of(enum dataset_compression compression)
{
#ifdef REHEARSE_HAVE_SNAPPY
    if (compression == DATASET_SNAPPY)
        return &dataset_codec_snappy;
#endif
#ifdef REHEARSE_HAVE_ZSTD
    if (compression == DATASET_ZSTD)
        return &dataset_codec_zstd;
#endif
    (void)compression;
    return NULL;
}

const char *dataset_codec_missing(enum dataset_compression compression)
{
    if (compression == DATASET_NONE || codec_of(compression))
        return NULL;
    if (compression == DATASET_GZIP)
        return dataset_pack_missing() ? "zlib1g-dev" : NULL;
    return compression == DATASET_SNAPPY ? "libsnappy-dev" : "libzstd-dev";
}

size_t dataset_codec_bound(enum dataset_compression compression, size_t n)
{
    const struct dataset_codec *codec = codec_of(compression);
    return codec ? codec->bound(n)
                 : n + n / 1000 + 64; /* deflate stores what it cannot shrink: 5 bytes per 16 KB */
}

static bool missing(enum dataset_compression compression, struct error *err)
{
    return error_set(err, ERROR_FAILED,
                     "compressed with %s, which this rehearse was built without: install %s and build again",
                     dataset_compression_words[compression], dataset_codec_missing(compression));
}

bool dataset_codec_pack(enum dataset_compression compression, int level, const void *from, size_t n, void *to,
                        size_t *length, struct error *err)
{
    const struct dataset_codec *codec = codec_of(compression);
    *length = dataset_codec_bound(compression, n);
    if (dataset_codec_missing(compression))
        return missing(compression, err);
    if (!codec)
        return dataset_pack_block(from, n, level, to, length, err);
    return codec->pack(from, n, level, to, length) || error_memory(err);
}

bool dataset_codec_unpack(enum dataset_compression compression, const void *from, size_t n, void *to,
                          size_t size, struct error *err)
{
    const struct dataset_codec *codec = codec_of(compression);
    size_t length = size;
    if (dataset_codec_missing(compression))
        return missing(compression, err);
    if (!codec && !dataset_unpack("gzip", from, n, DATASET_WRAP_GZIP, to, size, true, &length, err))
        return false;
    if ((codec && !codec->unpack(from, n, to, &length)) || length != size)
        return error_set(err, ERROR_INPUT, "damaged: its %s block is not one of %zu bytes",
                         dataset_compression_words[compression], size);
    return true;
}
