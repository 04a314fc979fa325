#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool dataset_writer_init(struct dataset_writer *writer, const struct dataset_sink *sink, struct error *err)
{
    *writer = (struct dataset_writer){.sink = sink, .err = err, .buffer = aligned_alloc(64, DATASET_BUFFER)};
    return writer->buffer ? true : error_memory(err);
}

static void flush(struct dataset_writer *writer)
{
    if (!writer->failed && writer->used > 0)
        writer->failed =
            !writer->sink->write(writer->sink->context, writer->buffer, writer->used, writer->err);
    writer->used = 0;
}

bool dataset_writer_end(struct dataset_writer *writer)
{
    flush(writer);
    free(writer->buffer);
    writer->buffer = NULL;
    return !writer->failed;
}

/* Room for at most n bytes at the end of the buffer. */
static size_t room(struct dataset_writer *writer, uint64_t n)
{
    if (writer->used == DATASET_BUFFER)
        flush(writer);
    size_t left = DATASET_BUFFER - writer->used;
    return n < left ? (size_t)n : left;
}

/* The next n bytes of the buffer were filled. */
static void took(struct dataset_writer *writer, size_t n)
{
    if (writer->sum_of)
        writer->sum = writer->sum_of(writer->sum, writer->buffer + writer->used, n);
    writer->used += n;
}

void dataset_put(struct dataset_writer *writer, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    while (n > 0 && !writer->failed) {
        size_t now = room(writer, n);
        memcpy(writer->buffer + writer->used, from, now);
        took(writer, now);
        from += now;
        n -= now;
    }
}

void dataset_put_text(struct dataset_writer *writer, const char *text)
{
    dataset_put(writer, text, strlen(text));
}

void dataset_put_zeros(struct dataset_writer *writer, int64_t n)
{
    while (n > 0 && !writer->failed) {
        size_t now = room(writer, (uint64_t)n);
        memset(writer->buffer + writer->used, 0, now);
        took(writer, now);
        n -= (int64_t)now;
    }
}

void dataset_put_content(struct dataset_writer *writer, const struct dataset_content *content, int64_t offset,
                         int64_t n)
{
    if (writer->sink->fill && !writer->sum_of && n >= DATASET_LARGE) {
        flush(writer);
        if (!writer->failed)
            writer->failed = !writer->sink->fill(writer->sink->context, content, offset, n, writer->err);
        return;
    }
    while (n > 0 && !writer->failed) {
        size_t now = room(writer, (uint64_t)n);
        content->fill(content->context, offset, writer->buffer + writer->used, now);
        took(writer, now);
        offset += (int64_t)now;
        n -= (int64_t)now;
    }
}

void dataset_put_u32(struct dataset_writer *writer, uint32_t value)
{
    unsigned char bytes[4];
    dataset_set_little(bytes, 4, value);
    dataset_put(writer, bytes, sizeof bytes);
}

void dataset_put_u64(struct dataset_writer *writer, uint64_t value)
{
    unsigned char bytes[8];
    dataset_set_little(bytes, 8, value);
    dataset_put(writer, bytes, sizeof bytes);
}

bool dataset_write(const struct dataset_file *file, int part, const struct dataset_content *content,
                   const struct dataset_sink *sink, struct error *err)
{
    struct dataset_content generated;
    struct dataset_bytes bytes;
    struct dataset_writer writer;
    struct dataset_file of = *file;
    of.part = part;
    if (!dataset_writer_init(&writer, sink, err))
        return false;
    if (!content) {
        dataset_content_init(&generated, &bytes, file);
        content = &generated;
    }
    file->layout->format->write(&of, content, &writer);
    return dataset_writer_end(&writer);
}

bool dataset_read(const struct dataset_source *source, const char *path, int64_t offset, void *to, size_t n,
                  const char *what, struct error *err)
{
    if (offset < 0 || n > (uint64_t)INT64_MAX || offset > source->size || (int64_t)n > source->size - offset)
        return error_set(err, ERROR_INPUT,
                         "%s: ends within %s (%" PRId64 " bytes, %zu expected from %" PRId64 ")", path, what,
                         source->size, n, offset);
    return source->read(source->context, offset, to, n, err);
}

unsigned char *dataset_load(const struct dataset_source *source, const char *path, int64_t offset, size_t n,
                            const char *what, struct error *err)
{
    unsigned char *bytes = malloc(n + 1);
    if (!bytes)
        error_memory(err);
    else if (dataset_read(source, path, offset, bytes, n, what, err))
        return bytes;
    free(bytes);
    return NULL;
}
