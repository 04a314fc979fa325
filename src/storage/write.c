/* Writing of local files: NAME.part, locked while it is written, becomes NAME when it is whole. */
#include "core/clock.h"
#include "core/file.h"
#include "core/file_output.h"
#include "storage/facts.h"
#include "storage/method.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Gathered before a write, unless options.request says otherwise. Direct writes have no queue behind them. */
#define GATHER_BUFFERED ((int64_t)1 << 20)
#define GATHER_DIRECT   ((int64_t)8 << 20)

#define FLUSH ((int64_t)8 << 20)

struct local_writer {
    struct file_part part;
    int64_t alignment;      /* of direct writes; 1: none */
    _Atomic int64_t offset; /* bytes in the file */
    char *buffer;
    int64_t capacity, filled;
};

static bool cannot_write(const struct storage_writer *writer, struct error *err)
{
    return error_set(err, ERROR_FAILED, "%s: cannot write: %s", writer->path, strerror(errno));
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
    file_part_close(&local->part);
    storage_buffer_free(local->buffer, local->capacity);
    free(local);
}

bool storage_local_create(struct storage_writer *writer, struct error *err)
{
    const struct storage_options *options = &writer->storage->options;
    struct local_writer *local = calloc(1, sizeof *local);
    if (!local)
        return error_memory(err);
    if (!file_part_open(&local->part, writer->path, options->direct, err)) {
        free(local);
        return false;
    }
    local->alignment = options->direct ? alignment_of(local->part.fd) : 1;
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
    double started = clock_now();
    while (length > 0) {
        size_t size = (size_t)(length < STORAGE_MAX_REQUEST ? length : STORAGE_MAX_REQUEST);
        ssize_t wrote = calls->pwrite(calls->context, local->part.fd, from, size, local->offset);
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
    writer->written.write += clock_now() - started;
    return true;
}

bool storage_writes_at(const struct storage *storage)
{
    return storage->options.method != STORAGE_S3 && !storage->options.direct;
}

bool storage_write_at(struct storage_writer *writer, int64_t offset, const void *from, size_t length,
                      struct error *err)
{
    struct local_writer *local = writer->state;
    const struct storage_calls *calls = &writer->storage->calls;
    int64_t last = local->offset, begin = offset < 0 ? last : offset, end = begin + (int64_t)length;
    for (int64_t at = begin; at < end;) {
        ssize_t wrote = calls->pwrite(calls->context, local->part.fd, (const char *)from + (at - begin),
                                      (size_t)(end - at), at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote == 0)
            errno = ENOSPC;
        if (wrote <= 0)
            return cannot_write(writer, err);
        at += wrote;
    }
    while (last < end && !atomic_compare_exchange_weak(&local->offset, &last, end))
        continue;
    if (end / FLUSH > begin / FLUSH) /* file systems that cannot do this ignore it */
        (void)sync_file_range(local->part.fd, end / FLUSH * FLUSH - FLUSH, FLUSH, SYNC_FILE_RANGE_WRITE);
    return true;
}

/* Returns the bytes that can be written from the caller's memory: at least a buffer full, aligned if needed;
 * else 0. */
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

/* Writes the rest of the buffer. A direct write fills its last block with zeros, which are then cut off. */
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
    return padding == 0 || ftruncate(local->part.fd, size) == 0 || cannot_write(writer, err);
}

static bool sync_file(struct storage_writer *writer, struct error *err)
{
    struct local_writer *local = writer->state;
    const struct storage_calls *calls = &writer->storage->calls;
    double started = clock_now();
    if (!storage_write_out(local->part.fd, local->offset, writer->options.stop))
        return error_set(err, ERROR_FAILED, "%s: stopped", writer->path);
    if (calls->fsync(calls->context, local->part.fd) != 0)
        return error_set(err, ERROR_FAILED, "%s: cannot sync: %s", writer->path, strerror(errno));
    writer->written.sync = clock_now() - started;
    return true;
}

static bool give_name(struct storage_writer *writer, struct error *err)
{
    struct local_writer *local = writer->state;
    double started = clock_now();
    if (!file_part_rename(&local->part, err))
        return false;
    writer->written.rename = clock_now() - started;
    return true;
}

static bool sync_folder(struct storage_writer *writer, struct error *err)
{
    const struct storage_calls *calls = &writer->storage->calls;
    double started = clock_now();
    int fd = file_open_folder_of(writer->path);
    bool ok = fd >= 0 && calls->fsync(calls->context, fd) == 0;
    if (!ok)
        error_set(err, ERROR_FAILED, "%s: cannot sync its folder: %s", writer->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    writer->written.sync_folder = clock_now() - started;
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
    file_part_remove(&local->part);
    local_free(local);
}
