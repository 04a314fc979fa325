#include "storage/facts.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SECTOR       512                /* of the kernel's counters, whatever the device has */
#define MAX_MOUNTS   ((size_t)16 << 20) /* bytes of mountinfo */
#define MAX_COUNTERS ((size_t)4096)     /* bytes of a device's stat */
#define MAP_PIECE    ((size_t)1 << 30)  /* looked at in one call of mincore */

/* Linux 6.5, which older headers do not know; the number is the same everywhere but on Alpha. */
#ifdef __alpha__
#define CACHESTAT 561
#else
#define CACHESTAT 451
#endif

/* Of the kernel's <linux/mman.h>, which Debian 12 has without them. */
struct range {
    uint64_t offset, length;
};
struct cache_counts {
    uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

static bool cannot(struct error *err, const char *path, const char *what)
{
    bool input = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    return error_set(err, input ? ERROR_INPUT : ERROR_FAILED, "%s: cannot %s: %s", path, what,
                     strerror(errno));
}

static int open_file(const char *path, int64_t *size, struct error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0)
        cannot(err, path, "open");
    else if (!S_ISREG(info.st_mode))
        error_set(err, ERROR_INPUT, "%s: expected a regular file", path);
    else {
        *size = info.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Pages in the cache, or -1. */
static int64_t ask_cachestat(int fd)
{
    struct range all = {0, 0}; /* length 0: to the end */
    struct cache_counts counts;
    if (syscall(CACHESTAT, fd, &all, &counts, 0) == 0)
        return (int64_t)counts.cached;
    return -1;
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

bool storage_resident(const char *path, int64_t *bytes, struct error *err)
{
    int64_t size;
    int fd = open_file(path, &size, err);
    if (fd < 0)
        return false;
    int64_t pages = ask_cachestat(fd);
    if (pages < 0)
        pages = ask_mincore(fd, size);
    bool ok = pages >= 0 || cannot(err, path, "see what is in the page cache");
    close(fd);
    int64_t page = sysconf(_SC_PAGESIZE);
    *bytes = !ok ? 0 : pages > size / page ? size : pages * page;
    return ok;
}

bool storage_drop_file(const char *path, struct error *err)
{
    int64_t size;
    int fd = open_file(path, &size, err);
    if (fd < 0)
        return false;
    /* Only clean pages go. A file system that is read only has no others (EROFS, EINVAL). */
    bool ok = fdatasync(fd) == 0 || errno == EROFS || errno == EINVAL || cannot(err, path, "sync");
    int result = ok ? posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) : 0;
    if (result != 0) {
        errno = result;
        ok = cannot(err, path, "drop from the page cache");
    }
    close(fd);
    return ok;
}

bool storage_drop_system(struct error *err)
{
    static const char path[] = "/proc/sys/vm/drop_caches";
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(
            err, ERROR_FAILED, "%s: cannot drop the machine's caches: %s%s", path, strerror(errno),
            errno == EACCES || errno == EPERM ? "; it takes root, dropping single files does not" : "");
    sync(); /* only clean pages go */
    bool ok = write(fd, "3", 1) == 1 || cannot(err, path, "drop the machine's caches");
    close(fd);
    return ok;
}

/* The file system's type in the line of a mount: "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS… - TYPE SOURCE …". */
static void type_of_mount(char *mounts, uint64_t id, struct storage_facts *facts)
{
    char *rest = NULL;
    for (char *line = strtok_r(mounts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *type = strtoull(line, NULL, 10) == id ? strstr(line, " - ") : NULL;
        if (type) {
            type += strlen(" - ");
            snprintf(facts->file_system, sizeof facts->file_system, "%.*s", (int)strcspn(type, " "), type);
        }
    }
}

/* No network, no file: none of these unknowns is an error. */
static void find_type(const char *path, struct storage_facts *facts)
{
#ifdef STATX_MNT_ID
    struct statx info;
    struct error ignored;
    char *mounts;
    size_t length;
    if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &info) != 0 || !(info.stx_mask & STATX_MNT_ID) ||
        !file_read("/proc/self/mountinfo", MAX_MOUNTS, &mounts, &length, &ignored))
        return;
    type_of_mount(mounts, info.stx_mnt_id, facts);
    free(mounts);
#else
    (void)path, (void)facts;
#endif
}

/* Fields of /sys/dev/block/MAJOR:MINOR/stat (kernel: Documentation/block/stat.rst): 3 sectors read, 7 written. */
static void find_device(dev_t device, struct storage_facts *facts)
{
    char path[64], link[256];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(device), minor(device));
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length <= 0)
        return;
    link[length] = 0;
    const char *slash = strrchr(link, '/');
    snprintf(facts->device, sizeof facts->device, "%.63s", slash ? slash + 1 : link);

    struct error ignored;
    char *text;
    size_t size;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    if (!file_read(path, MAX_COUNTERS, &text, &size, &ignored))
        return;
    int64_t fields[7];
    char *at = text;
    int found = 0;
    for (; found < 7; found++) {
        char *end;
        fields[found] = strtoll(at, &end, 10);
        if (end == at)
            break;
        at = end;
    }
    free(text);
    if (found < 7)
        return;
    facts->counted = true;
    facts->read_bytes = fields[2] * SECTOR;
    facts->written_bytes = fields[6] * SECTOR;
}

bool storage_facts(const char *path, struct storage_facts *facts, struct error *err)
{
    struct stat info;
    struct statvfs system;
    *facts = (struct storage_facts){.file_system = "unknown", .device = "unknown"};
    if (stat(path, &info) != 0 || statvfs(path, &system) != 0)
        return cannot(err, path, "look at");
    uint64_t blocks = system.f_bavail, size = system.f_frsize;
    facts->free = size > 0 && blocks > INT64_MAX / size ? INT64_MAX : (int64_t)(blocks * size);
    find_type(path, facts);
    find_device(info.st_dev, facts);
    return true;
}
