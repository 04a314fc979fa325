/* Deflate, in pieces: a sink that compresses on its way to another. */
#ifndef REHEARSE_DATASET_PACK_H
#define REHEARSE_DATASET_PACK_H

#include "dataset/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL, or the library that this build is without. */
const char *dataset_pack_missing(void);

enum dataset_wrap { DATASET_WRAP_NONE, DATASET_WRAP_GZIP, DATASET_WRAP_ZLIB };

struct dataset_packer;

/* `level` 0 to 9. NULL: *err says why. The sink is good until dataset_packer_end, which writes what is left and says how
 * many bytes came out; it frees the packer in any case. */
struct dataset_packer *dataset_packer_new(const struct dataset_sink *to, int level, enum dataset_wrap wrap,
                                          struct error *err);
struct dataset_sink dataset_packer_sink(struct dataset_packer *packer);
bool dataset_packer_end(struct dataset_packer *packer, int64_t *packed, struct error *err);

/* Decompresses from..from+n into `to` until that is full or the end is reached; *length bytes came out. With `whole`,
 * it is an error when more would. `path` is for messages. */
bool dataset_unpack(const char *path, const unsigned char *from, size_t n, enum dataset_wrap wrap,
                    unsigned char *to, size_t capacity, bool whole, size_t *length, struct error *err);

#endif
