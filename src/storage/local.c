/* Files of the operating system, for posix, uring and mmap. */
#include "core/file_output.h"
#include "core/text.h"
#include "storage/method.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK         4096               /* where the file system does not tell */
#define LARGEST_BLOCK ((int64_t)2 << 20) /* buffers are aligned to it */

static bool cannot_open(struct error *err, const char *path)
{
    return error_set(err, error_of_input(errno), "%s: cannot open: %s", path, strerror(errno));
}

static bool no_file(struct error *err, const char *path, bool directory)
{
    return error_set(err, ERROR_INPUT, "%s: %s, expected a file", path,
                     directory ? "a directory" : "not a regular file");
}

/* Explains why O_DIRECT was refused: by the file system, or because this is no file. */
static bool not_direct(struct error *err, const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return no_file(err, path, S_ISDIR(info.st_mode));
    return error_set(err, ERROR_FAILED, "%s: the file system does not support direct reads (O_DIRECT)", path);
}

/* Sets the block size of O_DIRECT, which the file system tells since Linux 6.1. */
static bool find_alignment(struct storage_file *file, const struct statx *info, struct error *err)
{
    file->alignment = BLOCK;
#ifdef STATX_DIOALIGN
    if (info->stx_mask & STATX_DIOALIGN) {
        if (info->stx_dio_offset_align == 0)
            return error_set(err, ERROR_FAILED, "%s: this file does not support direct reads (O_DIRECT)",
                             file->path);
        file->alignment = info->stx_dio_offset_align;
        if (info->stx_dio_mem_align > info->stx_dio_offset_align)
            file->alignment = info->stx_dio_mem_align;
    }
#else
    (void)info;
#endif
    if (file->alignment > LARGEST_BLOCK)
        return error_set(err, ERROR_FAILED,
                         "%s: direct reads need blocks of %" PRId64 " bytes, at most %" PRId64
                         " are supported",
                         file->path, file->alignment, LARGEST_BLOCK);
    return true;
}

static bool look_at(struct storage_file *file, struct error *err)
{
    struct statx info;
    unsigned wanted = STATX_TYPE | STATX_SIZE;
#ifdef STATX_DIOALIGN
    if (file->storage->options.direct)
        wanted |= STATX_DIOALIGN;
#endif
    if (statx(file->fd, "", AT_EMPTY_PATH, wanted, &info) != 0)
        return error_set(err, ERROR_FAILED, "%s: cannot stat: %s", file->path, strerror(errno));
    if (!S_ISREG(info.stx_mode))
        return no_file(err, file->path, S_ISDIR(info.stx_mode));
    file->size = (int64_t)info.stx_size;
    return !file->storage->options.direct || find_alignment(file, &info, err);
}

bool storage_local_open(struct storage_reader *reader, struct storage_file *file, struct error *err)
{
    (void)reader;
    bool direct = file->storage->options.direct;
    /* O_NONBLOCK: a pipe of this name must not hold us; io_uring would take it at its word for files too. */
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (direct ? O_DIRECT : 0));
    if (file->fd < 0 && direct && errno == EINVAL)
        return not_direct(err, file->path);
    if (file->fd < 0)
        return cannot_open(err, file->path);
    if (look_at(file, err) &&
        (fcntl(file->fd, F_SETFL, direct ? O_DIRECT : 0) == 0 || cannot_open(err, file->path)))
        return true;
    close(file->fd);
    return false;
}

void storage_local_close(struct storage_file *file)
{
    close(file->fd);
}

static bool visit_entry(int fd, const char *name, storage_visit *visit, void *context, bool *ended)
{
    struct stat info;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || text_ends_with(name, FILE_PART))
        return true;
    if (fstatat(fd, name, &info, 0) != 0)
        return errno == ENOENT; /* removed meanwhile, or a link to nowhere */
    if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
        *ended = !visit(context, name, S_ISDIR(info.st_mode) ? -1 : (int64_t)info.st_size);
    return true;
}

static bool visit_all(DIR *folder, storage_visit *visit, void *context)
{
    for (bool ended = false; !ended;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry)
            return errno == 0;
        if (!visit_entry(dirfd(folder), entry->d_name, visit, context, &ended))
            return false;
    }
    return true;
}

bool storage_local_list(struct storage *storage, const char *path, storage_visit *visit, void *context,
                        struct error *err)
{
    (void)storage;
    DIR *folder = opendir(path);
    if (!folder)
        return cannot_open(err, path);
    bool ok = visit_all(folder, visit, context) ||
              error_set(err, ERROR_FAILED, "%s: cannot list: %s", path, strerror(errno));
    closedir(folder);
    return ok;
}

bool storage_local_remove(struct storage *storage, const char *path, struct error *err)
{
    (void)storage;
    if (unlink(path) == 0 || errno == ENOENT || (errno == EISDIR && rmdir(path) == 0))
        return true;
    return error_set(err, ERROR_FAILED, "%s: cannot remove: %s", path, strerror(errno));
}
