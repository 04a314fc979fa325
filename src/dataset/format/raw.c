/* Files of nothing but samples, and files that hold only their number. */
#include "dataset/format.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t raw_bytes(const struct dataset_file *file)
{
    return file->payload_bytes;
}

static void raw_write(const struct dataset_file *file, const struct dataset_content *content,
                      struct dataset_writer *writer)
{
    dataset_put_content(writer, content, 0, file->payload_bytes);
}

static bool raw_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->stride = index->length = file->record_bytes;
    return true;
}

/* Takes the whole file for one sample: nothing in it marks the end of one. */
static bool raw_locate(struct dataset_index *index, const char *path,
                       const struct dataset_source *const *parts, struct error *err)
{
    (void)path;
    (void)err;
    dataset_index_bytes(index, parts[0]->size);
    return true;
}

const struct dataset_format dataset_format_raw = {
    DATASET_FORMAT_OF(raw),
    .parts = 1,
    .decode = dataset_decode_copy,
    .exact = true,
};

static int64_t synthetic_bytes(const struct dataset_file *file)
{
    return snprintf(NULL, 0, "%" PRId64, file->number);
}

static void synthetic_write(const struct dataset_file *file, const struct dataset_content *content,
                            struct dataset_writer *writer)
{
    char text[32];
    (void)content;
    snprintf(text, sizeof text, "%" PRId64, file->number);
    dataset_put_text(writer, text);
}

/* A reader makes its samples up and opens no file. */
static bool synthetic_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->sample_bytes = 0;
    return true;
}

static bool synthetic_locate(struct dataset_index *index, const char *path,
                             const struct dataset_source *const *parts, struct error *err)
{
    (void)path;
    (void)err;
    dataset_index_bytes(index, parts[0]->size);
    index->length = index->sample_bytes = 0;
    return true;
}

static size_t synthetic_sample(const struct dataset_file *file, const struct dataset_content *random,
                               int64_t sample, unsigned char *to)
{
    (void)file;
    (void)random;
    (void)sample;
    (void)to;
    return 0;
}

const struct dataset_format dataset_format_synthetic = {
    DATASET_FORMAT_OF(synthetic), .parts = 1,    .decode = dataset_decode_copy,
    .sample = synthetic_sample,   .exact = true,
};
