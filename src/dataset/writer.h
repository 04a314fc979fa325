/* Writing for formats: a buffer of bounded size in front of a sink, with a running checksum if needed. */
#ifndef REHEARSE_DATASET_WRITER_H
#define REHEARSE_DATASET_WRITER_H

#include "dataset/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small enough for the cache of a core: bytes are generated there and copied onward. */
#define DATASET_BUFFER ((size_t)256 << 10)

/* Content from this size on is left to a sink that generates it itself. */
#define DATASET_LARGE ((int64_t)16 << 20)

typedef uint32_t dataset_sum_fn(uint32_t sum, const void *bytes, size_t n);

struct dataset_writer {
    const struct dataset_sink *sink;
    struct error *err;
    unsigned char *buffer;
    size_t used;
    bool failed;            /* *err is set; later calls are ignored */
    dataset_sum_fn *sum_of; /* of all bytes after it was set; may be NULL */
    uint32_t sum;
};

bool dataset_writer_init(struct dataset_writer *writer, const struct dataset_sink *sink, struct error *err);

/* Flushes the rest and frees the writer; false if anything failed. */
bool dataset_writer_end(struct dataset_writer *writer);

void dataset_put(struct dataset_writer *writer, const void *bytes, size_t n);
void dataset_put_text(struct dataset_writer *writer, const char *text);
void dataset_put_zeros(struct dataset_writer *writer, int64_t n);
void dataset_put_content(struct dataset_writer *writer, const struct dataset_content *content, int64_t offset,
                         int64_t n);

/* Integers in file byte order. */
void dataset_put_u32(struct dataset_writer *writer, uint32_t value);
void dataset_put_u64(struct dataset_writer *writer, uint64_t value);

static inline uint64_t dataset_little(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static inline void dataset_set_little(unsigned char *bytes, int count, uint64_t value)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
}

/* Writes a part of a file in its format. `content` NULL: the generated content. */
bool dataset_write(const struct dataset_file *file, int part, const struct dataset_content *content,
                   const struct dataset_sink *sink, struct error *err);

/* Reads n bytes into new memory, which the caller frees, after checking that they are there; NULL on
 * failure. */
unsigned char *dataset_load(const struct dataset_source *source, const char *path, int64_t offset, size_t n,
                            const char *what, struct error *err);

/* Reads into `to`, after checking that the bytes are there: "PATH: ends within …". */
bool dataset_read(const struct dataset_source *source, const char *path, int64_t offset, void *to, size_t n,
                  const char *what, struct error *err);

#endif
