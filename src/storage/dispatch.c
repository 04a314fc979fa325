#include "storage/storage.h"

#include "core/text.h"
#include "storage/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const storage_kind_words[] = {
    [STORAGE_POSIX] = "posix", [STORAGE_URING] = "uring", [STORAGE_MMAP] = "mmap", [STORAGE_S3] = "s3", NULL,
};

/* NULL: this build has none of that kind. */
static const struct storage_method *const methods[] = {
    [STORAGE_POSIX] = &storage_posix,
#ifdef REHEARSE_HAVE_URING
    [STORAGE_URING] = &storage_uring,
#endif
    [STORAGE_MMAP] = &storage_mmap,
#ifdef REHEARSE_HAVE_CURL
    [STORAGE_S3] = &storage_s3,
#endif
};

#define KINDS ((int)(sizeof methods / sizeof *methods))

static ssize_t system_pread(void *context, int fd, void *to, size_t length, off_t offset)
{
    (void)context;
    return pread(fd, to, length, offset);
}

static ssize_t system_pwrite(void *context, int fd, const void *from, size_t length, off_t offset)
{
    (void)context;
    return pwrite(fd, from, length, offset);
}

static int system_fsync(void *context, int fd)
{
    (void)context;
    return fsync(fd);
}

static int system_result(void *context, int result)
{
    (void)context;
    return result;
}

static struct storage_calls calls_of(const struct storage_calls *given)
{
    struct storage_calls calls = given ? *given : (struct storage_calls){0};
    if (!calls.pread)
        calls.pread = system_pread;
    if (!calls.pwrite)
        calls.pwrite = system_pwrite;
    if (!calls.fsync)
        calls.fsync = system_fsync;
    if (!calls.uring_result)
        calls.uring_result = system_result;
    return calls;
}

bool storage_is_s3(const char *path)
{
    return path && text_starts_with(path, STORAGE_S3_SCHEME);
}

static bool check_options(const struct storage_options *options, struct error *err)
{
    if ((unsigned)options->method >= (unsigned)KINDS)
        return error_set(err, ERROR_USAGE, "unknown storage method %d", (int)options->method);
    const struct storage_method *method = methods[options->method];
    const char *name = storage_kind_words[options->method];
    if (!method)
        return error_set(err, ERROR_USAGE, "storage method '%s': this rehearse was built without %s", name,
                         options->method == STORAGE_URING ? "liburing" : "libcurl and libcrypto");
    if (options->direct && !method->direct)
        return error_set(err, ERROR_USAGE, "storage method '%s' always goes through %s, not direct", name,
                         options->method == STORAGE_S3 ? "the network" : "the page cache");
    if (options->method != STORAGE_S3 && storage_is_s3(options->root)) /* no folder "s3:" */
        return error_set(err, ERROR_USAGE, "%s: storage method '%s' reads folders; buckets need method s3",
                         options->root, name);
    if (options->request != 0 &&
        (options->request < STORAGE_MIN_REQUEST || options->request > STORAGE_MAX_REQUEST))
        return error_set(err, ERROR_USAGE, "request: expected %lld to %lld bytes, found %lld",
                         (long long)STORAGE_MIN_REQUEST, (long long)STORAGE_MAX_REQUEST,
                         (long long)options->request);
    if (options->queue_depth < 0 || options->queue_depth > STORAGE_MAX_QUEUE_DEPTH)
        return error_set(err, ERROR_USAGE, "queue depth: expected 1 to %d, found %d", STORAGE_MAX_QUEUE_DEPTH,
                         options->queue_depth);
    return true;
}

struct storage *storage_new(const struct storage_options *options, struct error *err)
{
    if (!check_options(options, err))
        return NULL;
    struct storage *storage = calloc(1, sizeof *storage);
    char *root = options->root && *options->root ? strdup(options->root) : NULL;
    if (!storage || (options->root && *options->root && !root)) {
        free(storage);
        free(root);
        return error_memory_null(err);
    }
    storage->options = *options;
    storage->options.root = root;
    storage->options.calls = NULL;
    storage->calls = calls_of(options->calls);
    storage->method = methods[options->method];
    if (storage->method->start && !storage->method->start(storage, err)) {
        free((char *)storage->options.root); /* which start may have made anew */
        free(storage);
        return NULL;
    }
    storage->options.s3 = NULL;
    return storage;
}

void storage_free(struct storage *storage)
{
    if (!storage)
        return;
    if (storage->method->stop)
        storage->method->stop(storage);
    free((char *)storage->options.root);
    free(storage);
}

const struct storage_options *storage_options(const struct storage *storage)
{
    return &storage->options;
}

char *storage_path(const struct storage *storage, const char *name, struct error *err)
{
    const char *root = storage->options.root;
    char *path = NULL;
    if (!root || *name == '/')
        path = strdup(*name ? name : ".");
    else if (!*name)
        path = strdup(root);
    else if (asprintf(&path, "%s%s%s", root, root[strlen(root) - 1] == '/' ? "" : "/", name) < 0)
        path = NULL;
    if (!path)
        error_memory(err);
    return path;
}

struct storage_file *storage_open(struct storage_reader *reader, const char *name, struct error *err)
{
    struct storage *storage = reader->storage;
    char *path = storage_path(storage, name, err);
    if (!path)
        return NULL;
    struct storage_file *file = calloc(1, sizeof *file);
    if (!file) {
        free(path);
        return error_memory_null(err);
    }
    *file = (struct storage_file){.storage = storage, .path = path, .fd = -1, .alignment = 1};
    if (!storage->method->open(reader, file, err)) {
        free(path);
        free(file);
        return NULL;
    }
    return file;
}

void storage_close(struct storage_file *file)
{
    if (!file)
        return;
    file->storage->method->close(file);
    free(file->path);
    free(file);
}

bool storage_file_size(struct storage_reader *reader, struct storage_file *file, int64_t *size,
                       struct error *err)
{
    *size = file->size;
    return !file->storage->method->size || file->storage->method->size(reader, file, size, err);
}

int storage_file_descriptor(const struct storage_file *file)
{
    return file->fd;
}

int64_t storage_file_alignment(const struct storage_file *file)
{
    return file->alignment;
}

static void writer_free(struct storage_writer *writer)
{
    free(writer->path);
    free(writer);
}

struct storage_writer *storage_create(struct storage *storage, const char *name,
                                      const struct storage_write_options *options, struct error *err)
{
    char *path = storage_path(storage, name, err);
    if (!path)
        return NULL;
    struct storage_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        free(path);
        return error_memory_null(err);
    }
    writer->storage = storage;
    writer->path = path;
    writer->options = options ? *options : (struct storage_write_options){0};
    if (!storage->method->create(writer, err)) {
        writer_free(writer);
        return NULL;
    }
    return writer;
}

bool storage_write(struct storage_writer *writer, const void *from, size_t length, struct error *err)
{
    if (length > (uint64_t)(INT64_MAX - STORAGE_MAX_REQUEST - writer->written.bytes))
        return error_set(err, ERROR_FAILED, "%s: too large for a file", writer->path);
    if (length > 0 && !writer->storage->method->write(writer, from, length, err))
        return false;
    writer->written.bytes += (int64_t)length;
    return true;
}

bool storage_commit(struct storage_writer *writer, struct storage_written *written, struct error *err)
{
    bool ok = writer->storage->method->commit(writer, err);
    if (ok && written)
        *written = writer->written;
    writer_free(writer);
    return ok;
}

bool storage_put(struct storage *storage, const char *name, const void *data, size_t length,
                 const struct storage_write_options *options, struct error *err)
{
    struct storage_writer *writer = storage_create(storage, name, options, err);
    if (writer && storage_write(writer, data, length, err))
        return storage_commit(writer, NULL, err);
    storage_discard(writer);
    return false;
}

void storage_discard(struct storage_writer *writer)
{
    if (!writer)
        return;
    writer->storage->method->discard(writer);
    writer_free(writer);
}

bool storage_list(struct storage *storage, const char *folder, storage_visit *visit, void *context,
                  struct error *err)
{
    char *path = storage_path(storage, folder, err);
    bool ok = path && storage->method->list(storage, path, visit, context, err);
    free(path);
    return ok;
}

bool storage_remove(struct storage *storage, const char *name, struct error *err)
{
    char *path = storage_path(storage, name, err);
    bool root = path && !*name; /* also where it is empty */
    if (root)
        error_set(err, ERROR_FAILED, "%s: cannot remove: it contains the data", path);
    bool ok = path && !root && storage->method->remove(storage, path, err);
    free(path);
    return ok;
}
