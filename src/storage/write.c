/* Writing of local files: NAME.part, locked while it is written, becomes NAME when it is whole. */
#include "core/file.h"
#include "storage/method.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Gathered before a write, unless options.request says otherwise. Direct writes have no queue behind them. */
#define GATHER_BUFFERED ((int64_t)1 << 20)
#define GATHER_DIRECT   ((int64_t)8 << 20)
#define MAX_TRIES       16

struct local_writer {
    int fd;
    char *part;
    int64_t alignment; /* of direct writes; 1: none */
    int64_t offset;    /* bytes in the file */
    char *buffer;
    int64_t capacity, filled;
};

static bool cannot_write(const struct storage_writer *writer, struct error *err)
{
    return error_set(err, ERROR_FAILED, "%s: cannot write: %s", writer->path, strerror(errno));
}

/* Makes the folders that a path lies in. */
static bool make_folders(const char *path)
{
    char *folder = strdup(path);
    if (!folder)
        return false;
    bool ok = true;
    for (char *at = strchr(folder + 1, '/'); ok && at; at = strchr(at + 1, '/')) {
        *at = 0;
        ok = mkdir(folder, 0777) == 0 || errno == EEXIST;
        *at = '/';
    }
    free(folder);
    return ok;
}

static int open_part(const char *part, bool direct)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (direct ? O_DIRECT : 0);
    int fd = open(part, flags, 0666);
    if (fd < 0 && errno == ENOENT && make_folders(part))
        fd = open(part, flags, 0666);
    return fd;
}

/* Has the file that we hold still this name? Another program may have finished it between our open and our lock. */
static bool still_named(int fd, const char *part)
{
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && stat(part, &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
}

static bool take_part(struct storage_writer *writer, struct local_writer *local, bool direct,
                      struct error *err)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        local->fd = open_part(local->part, direct);
        if (local->fd < 0 && direct && errno == EINVAL)
            return error_set(err, ERROR_FAILED, "%s: the file system cannot write directly (O_DIRECT)",
                             writer->path);
        if (local->fd < 0)
            return cannot_write(writer, err);
        bool locked =
            flock(local->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; /* or it has no locks */
        if (locked && still_named(local->fd, local->part))
            return ftruncate(local->fd, 0) == 0 || cannot_write(writer, err);
        close(local->fd);
        local->fd = -1;
        if (!locked)
            break;
    }
    return error_set(err, ERROR_FAILED, "%s: cannot write: another program is writing it", writer->path);
}

static int64_t alignment_of(int fd)
{
#ifdef STATX_DIOALIGN
    struct statx info;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 && (info.stx_mask & STATX_DIOALIGN) &&
        info.stx_dio_offset_align > 0)
        return info.stx_dio_offset_align > info.stx_dio_mem_align ? info.stx_dio_offset_align
                                                                  : info.stx_dio_mem_align;
#else
    (void)fd;
#endif
    return 4096;
}

static void local_free(struct local_writer *local)
{
    if (local->fd >= 0)
        close(local->fd);
    storage_buffer_free(local->buffer, local->capacity);
    free(local->part);
    free(local);
}

bool storage_local_create(struct storage_writer *writer, struct error *err)
{
    const struct storage_options *options = &writer->storage->options;
    if (file_is_directory(writer->path))
        return error_set(err, ERROR_FAILED, "%s: cannot write: it is a directory", writer->path);
    struct local_writer *local = calloc(1, sizeof *local);
    if (!local)
        return error_memory(err);
    local->fd = -1;
    if (asprintf(&local->part, "%s" STORAGE_PART, writer->path) < 0) {
        free(local);
        return error_memory(err);
    }
    if (!take_part(writer, local, options->direct, err)) {
        local_free(local);
        return false;
    }
    local->alignment = options->direct ? alignment_of(local->fd) : 1;
    local->capacity = options->request ? options->request : options->direct ? GATHER_DIRECT : GATHER_BUFFERED;
    local->capacity += (local->alignment - local->capacity % local->alignment) % local->alignment;
    writer->state = local;
    return true;
}

/* `length` is a multiple of the alignment, and so is the offset. */
static bool put(struct storage_writer *writer, const char *from, int64_t length, struct error *err)
{
    struct local_writer *local = writer->state;
    const struct storage_calls *calls = &writer->storage->calls;
    double started = storage_now();
    while (length > 0) {
        size_t size = (size_t)(length < STORAGE_MAX_REQUEST ? length : STORAGE_MAX_REQUEST);
        ssize_t wrote = calls->pwrite(calls->context, local->fd, from, size, local->offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return cannot_write(writer, err);
        wrote -= wrote % local->alignment;
        if (wrote == 0) { /* a device that takes no whole block and gives no reason */
            errno = ENOSPC;
            return cannot_write(writer, err);
        }
        from += wrote;
        length -= wrote;
        local->offset += wrote;
    }
    writer->written.write += storage_now() - started;
    return true;
}

/* What can be written from where it is: no less than a buffer full, aligned if it must be. */
static int64_t straight(const struct local_writer *local, const char *from, size_t length)
{
    if (local->filled > 0 || length < (size_t)local->capacity ||
        (uintptr_t)from % (uintptr_t)local->alignment != 0)
        return 0;
    return (int64_t)length - (int64_t)length % local->alignment;
}

bool storage_local_write(struct storage_writer *writer, const void *data, size_t length, struct error *err)
{
    struct local_writer *local = writer->state;
    const char *from = data;
    while (length > 0) {
        int64_t part = straight(local, from, length);
        if (part > 0) {
            if (!put(writer, from, part, err))
                return false;
        } else {
            if (!local->buffer && !(local->buffer = storage_buffer_new(local->capacity, err)))
                return false;
            part = local->capacity - local->filled;
            if (part > (int64_t)length)
                part = (int64_t)length;
            memcpy(local->buffer + local->filled, from, (size_t)part);
            local->filled += part;
            if (local->filled == local->capacity) {
                if (!put(writer, local->buffer, local->capacity, err))
                    return false;
                local->filled = 0;
            }
        }
        from += part;
        length -= (size_t)part;
    }
    return true;
}

/* The rest of the buffer; a direct write fills its last block with zeros, which are then cut off. */
static bool put_rest(struct storage_writer *writer, struct error *err)
{
    struct local_writer *local = writer->state;
    if (local->filled == 0)
        return true;
    int64_t size = local->offset + local->filled;
    int64_t padding = (local->alignment - local->filled % local->alignment) % local->alignment;
    memset(local->buffer + local->filled, 0, (size_t)padding);
    if (!put(writer, local->buffer, local->filled + padding, err))
        return false;
    return padding == 0 || ftruncate(local->fd, size) == 0 || cannot_write(writer, err);
}

static bool sync_file(struct storage_writer *writer, struct error *err)
{
    struct local_writer *local = writer->state;
    const struct storage_calls *calls = &writer->storage->calls;
    double started = storage_now();
    if (calls->fsync(calls->context, local->fd) != 0)
        return error_set(err, ERROR_FAILED, "%s: cannot sync: %s", writer->path, strerror(errno));
    writer->written.sync = storage_now() - started;
    return true;
}

/* Closing a duplicate makes a network's file system report what it could not write, and keeps the lock. */
static bool flush_close(const struct local_writer *local)
{
    int copy = fcntl(local->fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && close(copy) == 0;
}

static bool give_name(struct storage_writer *writer, struct error *err)
{
    struct local_writer *local = writer->state;
    double started = storage_now();
    if (!flush_close(local) || rename(local->part, writer->path) != 0)
        return cannot_write(writer, err);
    writer->written.rename = storage_now() - started;
    return true;
}

static bool sync_folder(struct storage_writer *writer, struct error *err)
{
    const struct storage_calls *calls = &writer->storage->calls;
    const char *slash = strrchr(writer->path, '/');
    char *folder = !slash                  ? strdup(".")
                   : slash == writer->path ? strdup("/")
                                           : strndup(writer->path, (size_t)(slash - writer->path));
    if (!folder)
        return error_memory(err);
    double started = storage_now();
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && calls->fsync(calls->context, fd) == 0;
    if (!ok)
        error_set(err, ERROR_FAILED, "%s: cannot sync: %s", folder, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(folder);
    writer->written.sync_folder = storage_now() - started;
    return ok;
}

bool storage_local_commit(struct storage_writer *writer, struct error *err)
{
    bool ok =
        put_rest(writer, err) && (!writer->options.sync || sync_file(writer, err)) && give_name(writer, err);
    if (!ok) {
        storage_local_discard(writer);
        return false;
    }
    ok = !writer->options.sync_folder || sync_folder(writer, err);
    local_free(writer->state);
    return ok;
}

void storage_local_discard(struct storage_writer *writer)
{
    struct local_writer *local = writer->state;
    unlink(local->part);
    local_free(local);
}
