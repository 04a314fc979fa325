#include "storage/facts.h"

#include "core/file.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SECTOR       512                /* of the kernel's counters, whatever the device has */
#define MAX_MOUNTS   ((size_t)16 << 20) /* bytes of mountinfo */
#define MAX_COUNTERS ((size_t)4096)     /* bytes of a device's stat, of a process's io */

/* The file system's type in the line of a mount: "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS… - TYPE SOURCE
 * …". */
static void type_of_mount(char *mounts, uint64_t id, struct storage_facts *facts)
{
    char *rest = NULL;
    for (char *line = strtok_r(mounts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        int64_t number;
        char *type = text_whole(line, " ", &number) && (uint64_t)number == id ? strstr(line, " - ") : NULL;
        if (type) {
            type += strlen(" - ");
            snprintf(facts->file_system, sizeof facts->file_system, "%.*s", (int)strcspn(type, " "), type);
        }
    }
}

/* Sets the type. It is no error if the kernel does not tell, here and below; lack of memory is one. */
static bool find_type(const char *path, struct storage_facts *facts, struct error *err)
{
#ifdef STATX_MNT_ID
    struct statx info;
    char *mounts;
    size_t length;
    if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &info) != 0 || !(info.stx_mask & STATX_MNT_ID))
        return true;
    if (!file_read("/proc/self/mountinfo", MAX_MOUNTS, &mounts, &length, err))
        return !error_is_memory(err);
    type_of_mount(mounts, info.stx_mnt_id, facts);
    free(mounts);
#else
    (void)path, (void)facts, (void)err;
#endif
    return true;
}

/* Fields of /sys/dev/block/MAJOR:MINOR/stat (kernel: Documentation/block/stat.rst): 3 sectors read, 7 written, 10
 * milliseconds with a request, 11 those of all requests. */
static bool find_device(dev_t device, struct storage_facts *facts, struct error *err)
{
    char path[64], link[256];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(device), minor(device));
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length <= 0)
        return true;
    link[length] = 0;
    snprintf(facts->device, sizeof facts->device, "%.63s", basename(link));

    char *text;
    size_t size;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    if (!file_read(path, MAX_COUNTERS, &text, &size, err))
        return !error_is_memory(err);
    int64_t fields[11];
    char *at = text;
    int found = 0;
    for (; found < 11; found++) {
        char *end;
        fields[found] = strtoll(at, &end, 10);
        if (end == at)
            break;
        at = end;
    }
    free(text);
    if (found < 11)
        return true;
    facts->counted = true;
    facts->read_bytes = fields[2] * SECTOR;
    facts->written_bytes = fields[6] * SECTOR;
    facts->busy = 1e-3 * (double)fields[9];
    facts->queued = 1e-3 * (double)fields[10];
    return true;
}

bool storage_facts(const char *path, struct storage_facts *facts, struct error *err)
{
    struct stat info;
    *facts = (struct storage_facts){.file_system = "unknown", .device = "unknown"};
    if (stat(path, &info) != 0)
        return error_set(err, error_of_input(errno), "%s: cannot stat: %s", path, strerror(errno));
    if (!find_type(path, facts, err) || !find_device(info.st_dev, facts, err))
        return false;
    facts->backing = storage_backing_of(facts->file_system, strcmp(facts->device, "unknown") != 0);
    return true;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* A device may deliver less than is read if its file system compresses; with FUSE another process reads
 * it. */
enum storage_backing storage_backing_of(const char *file_system, bool has_device)
{
    static const char *const memory[] = {"tmpfs", "ramfs", "rootfs", "hugetlbfs", "devtmpfs", NULL};
    static const char *const compressing[] = {"squashfs", "erofs",    "f2fs",  "ntfs3",
                                              "btrfs",    "bcachefs", "ubifs", NULL};
    if (is_one_of(file_system, memory))
        return STORAGE_BACKING_MEMORY;
    if (strcmp(file_system, "zfs") == 0)
        return STORAGE_BACKING_HIDDEN;
    if (!has_device || strncmp(file_system, "fuse", 4) == 0 || is_one_of(file_system, compressing))
        return STORAGE_BACKING_CACHED;
    return STORAGE_BACKING_DEVICE;
}

bool storage_process_read_of(const char *text, int64_t *bytes)
{
    static const char name[] = "read_bytes: ";
    const char *line = text_starts_with(text, name) ? text : strstr(text, "\nread_bytes: ");
    if (!line)
        return false;
    char *end;
    const char *digits = strchr(line, ' ') + 1;
    errno = 0;
    *bytes = strtoll(digits, &end, 10);
    return end > digits && errno == 0 && *bytes >= 0;
}

bool storage_process_read(int64_t *bytes)
{
    char text[MAX_COUNTERS + 1];
    int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, MAX_COUNTERS); /* in one piece: it is made for the call */
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 && storage_process_read_of(text, bytes);
}
