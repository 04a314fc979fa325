/* What the tests of S3 share: a storage of one bucket, objects of our bytes. */
#ifndef REHEARSE_TESTS_STORAGE_S3_WAYS_H
#define REHEARSE_TESTS_STORAGE_S3_WAYS_H

#include "storage/ways.h"

#include <stdlib.h>

static inline struct storage *require_s3(const struct storage_options *options)
{
    struct error err;
    struct storage *storage = storage_new(options, &err);
    if (!storage)
        fail_msg("%s", err.text);
    return storage;
}

static inline struct storage_reader *require_reader(struct storage *storage)
{
    struct error err;
    struct storage_reader *reader = storage_reader_new(storage, &err);
    if (!reader)
        fail_msg("%s", err.text);
    return reader;
}

/* The size, and all bytes by one extent that is let go or not. False with *err. */
static inline bool read_object(struct storage *storage, const char *name, int64_t size, struct error *err)
{
    struct storage_reader *reader = require_reader(storage);
    struct storage_file *file = require_open(reader, name);
    struct storage_extent all = {.length = size, .to = storage_reader_buffer(reader, 0, size, err)};
    bool ok = storage_read(reader, file, &all, 1, err);
    if (ok)
        require_bytes(all.at, 0, size);
    storage_close(file);
    storage_reader_free(reader);
    return ok;
}

/* Writes our bytes in pieces that divide nothing. */
static inline bool write_object(struct storage *storage, const char *name, int64_t size, struct error *err)
{
    static _Thread_local char piece[1000003];
    struct storage_writer *writer = storage_create(storage, name, NULL, err);
    if (!writer)
        return false;
    for (int64_t at = 0, n; at < size; at += n) {
        n = size - at < (int64_t)sizeof piece ? size - at : (int64_t)sizeof piece;
        for (int64_t i = 0; i < n; i++)
            piece[i] = byte_at(at + i);
        if (!storage_write(writer, piece, (size_t)n, err)) {
            storage_discard(writer);
            return false;
        }
    }
    return storage_commit(writer, NULL, err);
}

static inline void require_written(struct storage *storage, const char *name, int64_t size)
{
    struct error err;
    if (!write_object(storage, name, size, &err))
        fail_msg("%s", err.text);
}

#endif
