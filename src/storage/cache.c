/* The part of a file that is in the page cache, and how to drop it. */
#include "storage/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAP_PIECE  ((size_t)1 << 30)  /* looked at in one call of mincore */
#define SYNC_PIECE ((int64_t)4 << 20) /* bytes written between two looks at `stop` */
#define SYNC_AHEAD 4                  /* pieces on their way */
#define OVERLAY    0x794c7630         /* statfs's number of overlayfs: <linux/magic.h> */

/* Linux 6.5, which older headers do not know; the number is the same everywhere but on Alpha. */
#ifdef __alpha__
#define CACHESTAT 561
#else
#define CACHESTAT 451
#endif

/* From the kernel's <linux/mman.h>; Debian 12's lacks them. */
struct range {
    uint64_t offset, length;
};
struct cache_counts {
    uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

static bool cannot(struct error *err, const char *path, const char *what)
{
    return error_set(err, error_of_input(errno), "%s: cannot %s: %s", path, what, strerror(errno));
}

static int open_file(const char *path, struct stat *info, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, info) != 0)
        cannot(err, path, "open");
    else if (!S_ISREG(info->st_mode))
        error_set(err, ERROR_INPUT, "%s: expected a regular file", path);
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Returns the pages in the cache, or -1. Files of an overlay have no pages of their own: the call would
 * answer 0 for a file that is wholly in memory. */
static int64_t ask_cachestat(int fd)
{
    struct range all = {0, 0}; /* length 0: to the end */
    struct cache_counts counts;
    struct statfs system;
    if (fstatfs(fd, &system) != 0 || system.f_type == OVERLAY)
        return -1;
    if (syscall(CACHESTAT, fd, &all, &counts, 0) == 0)
        return (int64_t)counts.cached;
    return -1;
}

/* mincore tells other users that everything is cached (Linux 5.2). */
static bool may_ask_mincore(const char *path, const struct stat *info)
{
    return geteuid() == 0 || info->st_uid == geteuid() || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static int64_t ask_mincore(int fd, int64_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *present = malloc(MAP_PIECE / page);
    int64_t pages = present ? 0 : -1;
    for (int64_t offset = 0; pages >= 0 && offset < size; offset += (int64_t)MAP_PIECE) {
        size_t length = size - offset < (int64_t)MAP_PIECE ? (size_t)(size - offset) : MAP_PIECE;
        void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, offset);
        if (map == MAP_FAILED || mincore(map, length, present) != 0)
            pages = -1;
        for (size_t i = 0; pages >= 0 && i < (length + page - 1) / page; i++)
            pages += present[i] & 1;
        if (map != MAP_FAILED)
            munmap(map, length);
    }
    free(present);
    return pages;
}

/* A page may reach beyond the file's end, and a large folio of several pages, too. */
static bool look(const char *path, int fd, const struct stat *info, struct storage_cached *cached,
                 struct error *err)
{
    int64_t page = sysconf(_SC_PAGESIZE), pages = ask_cachestat(fd);
    *cached = (struct storage_cached){info->st_size, -1};
    if (pages < 0 && !may_ask_mincore(path, info))
        return true;
    if (pages < 0)
        pages = ask_mincore(fd, info->st_size);
    if (pages < 0)
        return cannot(err, path, "read the page cache's state");
    cached->resident = pages > info->st_size / page ? info->st_size : pages * page;
    return true;
}

bool storage_resident(const char *path, struct storage_cached *cached, struct error *err)
{
    struct stat info;
    int fd = open_file(path, &info, err);
    bool ok = fd >= 0 && look(path, fd, &info, cached, err);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Keeps some pieces in flight while it waits for one. */
bool storage_write_out(int fd, int64_t size, const atomic_bool *stop)
{
    const unsigned int wait =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    for (int64_t at = 0, begun = 0; stop && at < size; at += SYNC_PIECE) {
        for (; begun < size && begun < at + SYNC_AHEAD * SYNC_PIECE; begun += SYNC_PIECE)
            if (sync_file_range(fd, begun, SYNC_PIECE, SYNC_FILE_RANGE_WRITE) != 0)
                return true; /* not of such a file */
        if (atomic_load_explicit(stop, memory_order_relaxed))
            return false;
        if (sync_file_range(fd, at, SYNC_PIECE, wait) != 0)
            return true;
    }
    return !stop || !atomic_load_explicit(stop, memory_order_relaxed);
}

/* Syncs a file, because only clean pages can be dropped. A read-only file system has no others (EROFS,
 * EINVAL). */
static bool sync_file(const char *path, int fd, int64_t size, const atomic_bool *stop, struct error *err)
{
    if (!storage_write_out(fd, size, stop))
        return error_set(err, ERROR_FAILED, "%s: stopped", path);
    return fdatasync(fd) == 0 || errno == EROFS || errno == EINVAL || cannot(err, path, "sync");
}

bool storage_drop_file(const char *path, const atomic_bool *stop, struct storage_cached *left,
                       struct error *err)
{
    struct stat info;
    int fd = open_file(path, &info, err);
    if (fd < 0)
        return false;
    bool ok = sync_file(path, fd, info.st_size, stop, err);
    int result = ok ? posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) : 0;
    if (result != 0) {
        errno = result;
        ok = cannot(err, path, "drop from the page cache");
    }
    ok = ok && look(path, fd, &info, left, err);
    close(fd);
    return ok;
}

bool storage_drop_system(struct error *err)
{
    static const char path[] = "/proc/sys/vm/drop_caches";
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(
            err, ERROR_FAILED, "%s: cannot drop the system's page cache: %s%s", path, strerror(errno),
            errno == EACCES || errno == EPERM ? "; it needs root, dropping single files does not" : "");
    sync(); /* only clean pages go */
    bool ok = write(fd, "3", 1) == 1 || cannot(err, path, "drop the system's page cache");
    close(fd);
    return ok;
}
