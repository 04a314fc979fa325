/* Sinks, sources and folders for the tests of data sets. */
#ifndef REHEARSE_TESTS_DATASET_IO_H
#define REHEARSE_TESTS_DATASET_IO_H

#include "dataset/format.h"
#include "dataset/generate.h"
#include "dataset/place.h"
#include "dataset/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes in memory; writing fails beyond `limit` where that is not 0. */
struct blob {
    unsigned char *bytes;
    size_t length, limit, capacity;
};

static inline bool blob_write(void *context, const void *from, size_t n, struct error *err)
{
    struct blob *blob = context;
    if (blob->limit && blob->length + n > blob->limit)
        return error_set(err, ERROR_FAILED, "cannot write 'blob': No space left on device");
    if (blob->length + n >= blob->capacity) {
        blob->capacity = 2 * (blob->length + n) + 1;
        blob->bytes = realloc(blob->bytes, blob->capacity);
        assert_non_null(blob->bytes);
    }
    memcpy(blob->bytes + blob->length, from, n);
    blob->length += n;
    return true;
}

static inline bool blob_read(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    const struct blob *blob = context;
    (void)err;
    assert_true(offset >= 0 && n <= blob->length && (size_t)offset <= blob->length - n);
    memcpy(to, blob->bytes + offset, n);
    return true;
}

static inline struct dataset_sink blob_sink(struct blob *blob)
{
    return (struct dataset_sink){.context = blob, .write = blob_write};
}

static inline struct dataset_source blob_source(struct blob *blob)
{
    return (struct dataset_source){.context = blob, .size = (int64_t)blob->length, .read = blob_read};
}

static inline struct blob blob_load(const char *path)
{
    struct blob blob = {0};
    char buffer[65536];
    struct error err;
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        assert_true(blob_write(&blob, buffer, n, &err));
    fclose(in);
    return blob;
}

/* Writes a part of a file; fails the test when that does. */
static inline struct blob blob_of(const struct dataset_file *file, int part,
                                  const struct dataset_content *content)
{
    struct blob blob = {0};
    struct dataset_sink sink = blob_sink(&blob);
    struct error err = {0};
    if (!dataset_write(file, part, content, &sink, &err))
        fail_msg("%s", err.text);
    return blob;
}

static inline void blob_fill(const void *context, int64_t offset, void *to, size_t n)
{
    memcpy(to, (const unsigned char *)context + offset, n);
}

/* A layout of small files, checked. */
static inline void layout_make(struct dataset_layout *layout, const char *format, double record_bytes,
                               int samples)
{
    struct error err = {0};
    dataset_layout_init(layout);
    layout->format = dataset_format_find(format);
    assert_non_null(layout->format);
    layout->record_bytes = record_bytes;
    layout->samples_per_file = samples;
    if (!dataset_layout_check(layout, &err))
        fail_msg("%s", err.text);
}

static inline int remove_one(const char *path, const struct stat *state, int type, struct FTW *walk)
{
    (void)state;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline char *folder_make(void)
{
    const char *base = getenv("TMPDIR");
    char *path;
    assert_true(asprintf(&path, "%s/rehearse-dataset-XXXXXX", base ? base : "/tmp") > 0);
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void folder_remove(char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

#endif
