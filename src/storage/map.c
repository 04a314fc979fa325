/* mmap: bytes are copied out of a mapping of the file. */
#include "storage/method.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Mapped and copied at a time: the page tables of a piece are still in the processor's cache. */
#define PIECE ((int64_t)2 << 20)

static bool map_open(struct storage_reader *reader, struct storage_file *file, struct error *err)
{
    if (!storage_local_open(reader, file, err))
        return false;
    if (file->size == 0)
        return true;
    file->map = mmap(NULL, (size_t)file->size, PROT_READ, MAP_SHARED, file->fd, 0);
    if (file->map != MAP_FAILED)
        return true;
    error_set(err, ERROR_FAILED, "%s: cannot map: %s", file->path, strerror(errno));
    storage_local_close(file);
    return false;
}

static void map_close(struct storage_file *file)
{
    if (file->map)
        munmap(file->map, (size_t)file->size);
    storage_local_close(file);
}

static bool truncated(const struct storage_file *file, int64_t offset, int64_t length, int64_t size,
                      struct error *err)
{
    int64_t found = size > offset ? size - offset : 0;
    return error_set(err, ERROR_INPUT,
                     "%s: truncated: expected %" PRId64 " bytes at byte %" PRId64 ", found %" PRId64,
                     file->path, length, offset, found);
}

/* Returns the size now, at most the size of the mapping; -1: errno says why. */
static int64_t size_now(const struct storage_file *file)
{
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return -1;
    return info.st_size < file->size ? info.st_size : file->size;
}

/* Reads pages before they are touched: a touch of one that cannot be read is a signal and not an error. */
static bool populate(const struct storage_file *file, int64_t offset, int64_t length, struct error *err)
{
#ifdef MADV_POPULATE_READ
    int64_t start = offset - offset % sysconf(_SC_PAGESIZE);
    if (madvise(file->map + start, (size_t)(offset + length - start), MADV_POPULATE_READ) == 0 ||
        errno == EINVAL) /* before Linux 5.14 */
        return true;
    int64_t size = size_now(file);
    if (size >= 0 && size < offset + length)
        return truncated(file, offset, length, size, err);
    return error_set(err, ERROR_FAILED, "%s: cannot read %" PRId64 " bytes at byte %" PRId64 ": %s",
                     file->path, length, offset,
                     strerror(errno == EFAULT || errno == EHWPOISON ? EIO : errno));
#else
    (void)file, (void)offset, (void)length, (void)err;
    return true;
#endif
}

static void touch(const char *from, int64_t length)
{
    long page = sysconf(_SC_PAGESIZE);
    for (int64_t i = 0; i < length; i += page)
        (void)*(const volatile char *)(from + i);
    (void)*(const volatile char *)(from + length - 1);
}

static bool read_extent(struct storage_reader *reader, const struct storage_file *file,
                        const struct storage_extent *extent, struct error *err)
{
    int64_t max = reader->storage->options.request ? reader->storage->options.request : PIECE;
    for (int64_t done = 0; done < extent->length;) {
        int64_t offset = extent->offset + done;
        int64_t length = extent->length - done < max ? extent->length - done : max;
        if (!populate(file, offset, length, err))
            return false;
        if (extent->to) {
            memcpy(extent->to + done, file->map + offset, (size_t)length);
            reader->counts.copied += length;
        } else {
            touch(file->map + offset, length);
        }
        reader->counts.requests++;
        reader->counts.read += length;
        done += length;
    }
    return true;
}

static bool map_read(struct storage_reader *reader, struct storage_file *file, struct storage_extent *extents,
                     int count, struct error *err)
{
    int64_t size = size_now(file);
    if (size < 0)
        return error_set(err, ERROR_FAILED, "%s: cannot stat: %s", file->path, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (extents[i].length > 0 && extents[i].offset + extents[i].length > size)
            return truncated(file, extents[i].offset, extents[i].length, size, err);
        if (!read_extent(reader, file, &extents[i], err))
            return false;
    }
    return true;
}

const struct storage_method storage_mmap = {
    STORAGE_LOCAL,
    .open = map_open,
    .read = map_read,
    .close = map_close,
};
