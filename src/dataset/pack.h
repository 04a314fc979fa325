/* Deflate as a stream: a sink that compresses its input into another sink. */
#ifndef REHEARSE_DATASET_PACK_H
#define REHEARSE_DATASET_PACK_H

#include "dataset/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns NULL, or the library that this build lacks. */
const char *dataset_pack_missing(void);

enum dataset_wrap { DATASET_WRAP_NONE, DATASET_WRAP_GZIP, DATASET_WRAP_ZLIB };

struct dataset_packer;

/* `level` 0 to 9. NULL on failure. The sink is valid until dataset_packer_end, which writes the rest, gets
 * the compressed bytes and always frees the packer. */
struct dataset_packer *dataset_packer_new(const struct dataset_sink *to, int level, enum dataset_wrap wrap,
                                          struct error *err);
struct dataset_sink dataset_packer_sink(struct dataset_packer *packer);
bool dataset_packer_end(struct dataset_packer *packer, int64_t *packed, struct error *err);

/* Decompresses from..from+n into `to` until it is full or the input ends; *length is the output size. With
 * `whole`, more output than fits is an error. `path` is for errors. */
bool dataset_unpack(const char *path, const unsigned char *from, size_t n, enum dataset_wrap wrap,
                    unsigned char *to, size_t capacity, bool whole, size_t *length, struct error *err);

#endif
