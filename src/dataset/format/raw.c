/* Files that are nothing but samples, and files that hold nothing but their number. */
#include "dataset/format.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t raw_bytes(const struct dataset_file *file, int part)
{
    (void)part;
    return file->payload_bytes;
}

static bool raw_write(const struct dataset_file *file, int part, const struct dataset_content *content,
                      const struct dataset_sink *sink, struct error *err)
{
    struct dataset_writer writer;
    (void)part;
    if (!dataset_writer_init(&writer, sink, err))
        return false;
    dataset_put_content(&writer, content, 0, file->payload_bytes);
    return dataset_writer_end(&writer);
}

static bool raw_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->stride = index->length = file->record_bytes;
    return true;
}

/* Nothing in it says where one sample ends: the whole is one. */
static bool raw_locate(struct dataset_index *index, const char *path,
                       const struct dataset_source *const *parts, struct error *err)
{
    (void)path;
    (void)err;
    dataset_index_bytes(index, parts[0]->size);
    return true;
}

const struct dataset_format dataset_format_raw = {
    .name = "raw",
    .extension = "raw",
    .parts = 1,
    .bytes = raw_bytes,
    .write = raw_write,
    .expect = raw_expect,
    .locate = raw_locate,
    .decode = dataset_decode_copy,
    .exact = true,
};

static void synthetic_text(const struct dataset_file *file, char text[32])
{
    snprintf(text, 32, "%" PRId64, file->number);
}

static int64_t synthetic_bytes(const struct dataset_file *file, int part)
{
    char text[32];
    (void)part;
    synthetic_text(file, text);
    return (int64_t)strlen(text);
}

static bool synthetic_write(const struct dataset_file *file, int part, const struct dataset_content *content,
                            const struct dataset_sink *sink, struct error *err)
{
    char text[32];
    (void)part;
    (void)content;
    synthetic_text(file, text);
    return sink->write(sink->context, text, strlen(text), err);
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
    .name = "synthetic",
    .extension = "synthetic",
    .parts = 1,
    .bytes = synthetic_bytes,
    .write = synthetic_write,
    .expect = synthetic_expect,
    .locate = synthetic_locate,
    .decode = dataset_decode_copy,
    .sample = synthetic_sample,
    .exact = true,
};
