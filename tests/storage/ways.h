/* Every way of storage that this machine has, a folder to read and write in, and files whose bytes tell where they
 * belong. A test function calls `each_way` with what must hold in each. */
#ifndef REHEARSE_TESTS_STORAGE_WAYS_H
#define REHEARSE_TESTS_STORAGE_WAYS_H

#include "storage/storage.h"

#include "model/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct folder folder;

struct way {
    const char *name;
    struct storage_options options;
};

/* Requests are small, so that small files take many; 6000 is no multiple of a block. */
static const struct way ways[] = {
    {"posix", {.method = STORAGE_POSIX}},
    {"posix, small requests", {.method = STORAGE_POSIX, .request = 6000}},
    {"posix, direct", {.method = STORAGE_POSIX, .direct = true}},
    {"posix, direct, small requests", {.method = STORAGE_POSIX, .direct = true, .request = 6000}},
    {"uring", {.method = STORAGE_URING, .request = 6000, .queue_depth = 4}},
    {"uring, one by one", {.method = STORAGE_URING, .request = 6000, .queue_depth = 1}},
    {"uring, direct", {.method = STORAGE_URING, .direct = true, .request = 6000, .queue_depth = 4}},
    {"uring, direct, large requests", {.method = STORAGE_URING, .direct = true}},
    {"mmap", {.method = STORAGE_MMAP}},
    {"mmap, small requests", {.method = STORAGE_MMAP, .request = 6000}},
};

#define WAYS ((int)(sizeof ways / sizeof *ways))

static inline int make_folder(void **state)
{
    (void)state;
    folder_make(&folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static inline char byte_at(int64_t offset)
{
    uint64_t x = (uint64_t)offset * 0x9e3779b97f4a7c15U;
    return (char)(x >> 56 ^ x >> 29);
}

static inline void path_of(char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", folder.path, name);
}

static inline void make_file(const char *name, int64_t size)
{
    char path[512];
    path_of(path, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int64_t i = 0; i < size; i++)
        putc(byte_at(i), file);
    assert_int_equal(fclose(file), 0);
}

static inline bool exists(const char *name)
{
    char path[512];
    struct stat info;
    path_of(path, name);
    return stat(path, &info) == 0;
}

/* Once for each way. */
static inline void say_without(const struct way *way, const char *reason)
{
    static bool said[sizeof ways / sizeof *ways];
    if (!said[way - ways])
        print_message("without '%s': %s\n", way->name, reason);
    said[way - ways] = true;
}

/* NULL: this machine or this build has not got it, and the reason has been printed. */
static inline struct storage *open_way(const struct way *way, const struct storage_calls *calls)
{
    struct error err;
    struct storage_options options = way->options;
    options.root = folder.path;
    options.calls = calls;
    struct storage *storage = storage_new(&options, &err);
    if (!storage) {
        if (way->options.method != STORAGE_URING)
            fail_msg("%s", err.text);
        say_without(way, err.text);
        return NULL;
    }
    if (!options.direct)
        return storage;
    make_file("direct", 1);
    struct storage_reader *reader = storage_reader_new(storage, &err);
    struct storage_file *file = reader ? storage_open(reader, "direct", &err) : NULL;
    bool ok = file != NULL;
    storage_close(file);
    storage_reader_free(reader);
    if (ok)
        return storage;
    assert_non_null(strstr(err.text, "O_DIRECT"));
    say_without(way, err.text);
    storage_free(storage);
    return NULL;
}

typedef void way_body(struct storage *storage, struct storage_reader *reader);

static inline void each_way_with(const struct storage_calls *calls, way_body *body)
{
    for (int i = 0; i < WAYS; i++) {
        struct storage *storage = open_way(&ways[i], calls);
        if (!storage)
            continue;
        struct error err;
        struct storage_reader *reader = storage_reader_new(storage, &err);
        assert_non_null(reader);
        body(storage, reader);
        storage_reader_free(reader);
        storage_free(storage);
    }
}

static inline void each_way(way_body *body)
{
    each_way_with(NULL, body);
}

static inline struct storage_file *require_open(struct storage_reader *reader, const char *name)
{
    struct error err;
    struct storage_file *file = storage_open(reader, name, &err);
    if (!file)
        fail_msg("%s", err.text);
    return file;
}

static inline void require_read(struct storage_reader *reader, struct storage_file *file,
                                struct storage_extent *extents, int count)
{
    struct error err;
    if (!storage_read(reader, file, extents, count, &err))
        fail_msg("%s", err.text);
}

static inline void require_bytes(const char *bytes, int64_t offset, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        if (bytes[i] != byte_at(offset + i))
            fail_msg("byte %lld is not what it was written as", (long long)(offset + i));
}

static inline void require_text(const struct error *err, const char *expected)
{
    if (!strstr(err->text, expected))
        fail_msg("%s; expected: %s", err->text, expected);
}

/* The whole file, read in this way, has this many of our bytes. */
static inline void require_content(struct storage_reader *reader, const char *name, int64_t size)
{
    struct error err;
    int64_t found;
    struct storage_file *file = require_open(reader, name);
    assert_true(storage_file_size(reader, file, &found, &err));
    assert_int_equal(found, size);
    char *to = storage_reader_buffer(reader, 0, size + STORAGE_SLACK, &err);
    struct storage_extent all = {.length = size, .to = to, .room = size + STORAGE_SLACK};
    require_read(reader, file, &all, 1);
    require_bytes(all.at, 0, size);
    storage_close(file);
}

#endif
