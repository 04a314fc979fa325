#include "storage/method.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A huge page of most machines, and no less than any block of O_DIRECT. */
#define HUGE_PAGE ((size_t)2 << 20)

/* Whole pages; huge ones unless that more than doubles it. */
static size_t buffer_bytes(int64_t size)
{
    size_t bytes = (size_t)(size > 0 ? size : 1);
    size_t page = bytes >= HUGE_PAGE / 2 ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

char *storage_buffer_new(int64_t size, struct error *err)
{
    if (size < 0 || size > STORAGE_MAX_BUFFER)
        return error_null(err, ERROR_FAILED, "a buffer of %" PRId64 " bytes: at most %" PRId64, size,
                          STORAGE_MAX_BUFFER);
    size_t bytes = buffer_bytes(size);
    size_t asked = bytes + HUGE_PAGE;
    char *all = mmap(NULL, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) {
        if (errno == ENOMEM)
            error_memory(err);
        else
            error_set(err, ERROR_FAILED, "cannot map a buffer of %zu bytes: %s", bytes, strerror(errno));
        return NULL;
    }
    size_t before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(all, before);
    munmap(all + before + bytes, asked - before - bytes);
    /* To a device, a huge page is one piece of memory instead of 512: docs/storage.md has what that is
     * worth. */
    if (bytes >= HUGE_PAGE)
        (void)madvise(all + before, bytes, MADV_HUGEPAGE);
    return all + before;
}

void storage_buffer_free(char *buffer, int64_t size)
{
    if (buffer)
        munmap(buffer, buffer_bytes(size));
}

struct storage_reader *storage_reader_new(struct storage *storage, struct error *err)
{
    struct storage_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return error_memory_null(err);
    reader->storage = storage;
    if (storage->method->reader_start && !storage->method->reader_start(reader, err)) {
        free(reader);
        return NULL;
    }
    return reader;
}

void storage_reader_free(struct storage_reader *reader)
{
    if (!reader)
        return;
    if (reader->storage->method->reader_stop)
        reader->storage->method->reader_stop(reader);
    for (int i = 0; i <= STORAGE_MAX_BUFFERS; i++)
        storage_buffer_free(reader->buffers[i].memory, reader->buffers[i].size);
    free(reader);
}

struct storage_counts storage_reader_counts(const struct storage_reader *reader)
{
    struct storage_counts counts = reader->counts;
    for (int i = 0; i <= STORAGE_MAX_BUFFERS; i++)
        counts.registered += reader->buffers[i].registered ? reader->buffers[i].size : 0;
    return counts;
}

static void buffer_changed(struct storage_reader *reader, int index)
{
    if (reader->storage->method->buffer_changed)
        reader->storage->method->buffer_changed(reader, index);
}

static char *buffer_of(struct storage_reader *reader, int index, int64_t size, struct error *err)
{
    struct storage_buffer *buffer = &reader->buffers[index];
    if (buffer->memory && buffer->size >= size)
        return buffer->memory;
    struct storage_buffer old = *buffer;
    *buffer = (struct storage_buffer){0};
    if (old.memory) {
        buffer_changed(reader, index);
        storage_buffer_free(old.memory, old.size);
    }
    buffer->memory = storage_buffer_new(size, err);
    if (!buffer->memory)
        return NULL;
    buffer->size = (int64_t)buffer_bytes(size);
    buffer_changed(reader, index);
    return buffer->memory;
}

char *storage_reader_buffer(struct storage_reader *reader, int index, int64_t size, struct error *err)
{
    if (index < 0 || index >= STORAGE_MAX_BUFFERS)
        return error_null(err, ERROR_FAILED, "buffer %d of a reader: at most %d", index, STORAGE_MAX_BUFFERS);
    return buffer_of(reader, index, size, err);
}

char *storage_passing(struct storage_reader *reader, int64_t size, struct error *err)
{
    return buffer_of(reader, STORAGE_PASSING, size, err);
}

/* Sums of offset and length, rounded up to a block, stay below INT64_MAX. */
static bool check_extents(const struct storage_file *file, struct storage_extent *extents, int count,
                          struct error *err)
{
    for (int i = 0; i < count; i++) {
        struct storage_extent *extent = &extents[i];
        if (extent->offset < 0 || extent->length < 0 ||
            extent->length > INT64_MAX - STORAGE_MAX_REQUEST - extent->offset)
            return error_set(err, ERROR_FAILED,
                             "%s: %" PRId64 " bytes at byte %" PRId64 ": not within a file", file->path,
                             extent->length, extent->offset);
        if (extent->room != 0 && extent->room < extent->length)
            return error_set(err, ERROR_FAILED, "%s: room for %" PRId64 " of %" PRId64 " bytes", file->path,
                             extent->room, extent->length);
        extent->at = extent->to;
    }
    return true;
}

bool storage_read(struct storage_reader *reader, struct storage_file *file, struct storage_extent *extents,
                  int count, struct error *err)
{
    if (!check_extents(file, extents, count, err) ||
        !reader->storage->method->read(reader, file, extents, count, err))
        return false;
    for (int i = 0; i < count; i++)
        reader->counts.bytes += extents[i].length;
    return true;
}

static bool read_whole(struct storage_reader *reader, struct storage_file *file, int64_t most, char **data,
                       size_t *length, struct error *err)
{
    int64_t size;
    if (!storage_file_size(reader, file, &size, err))
        return false;
    if (size > most)
        return error_set(err, ERROR_INPUT, "%s: over the limit of %" PRId64 " bytes", file->path, most);
    *data = malloc((size_t)size + 1);
    if (!*data)
        return error_memory(err);
    *length = (size_t)size;
    struct storage_extent all = {.length = size, .to = *data};
    return size == 0 || storage_read(reader, file, &all, 1, err);
}

bool storage_get(struct storage *storage, const char *name, int64_t most, char **data, size_t *length,
                 struct error *err)
{
    *data = NULL;
    struct storage_reader *reader = storage_reader_new(storage, err);
    struct storage_file *file = reader ? storage_open(reader, name, err) : NULL;
    bool ok = file && read_whole(reader, file, most, data, length, err);
    storage_close(file);
    storage_reader_free(reader);
    if (!ok)
        free(*data);
    return ok;
}
