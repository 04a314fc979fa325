#include "storage/space.h"

#include "core/hash.h"
#include "core/unit.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* File systems of a network (linux/magic.h and their own headers): all hosts that mount one share its
 * room. */
static const unsigned long networks[] = {
    0x6969,     /* NFS */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x00c36400, /* Ceph */
    0x19830326, /* BeeGFS */
    0xaad7aaea, /* PanFS */
    0x20030528, /* OrangeFS */
    0x65735546, /* FUSE: sshfs, GlusterFS, DAOS and others */
    0x01021997, /* 9P */
    0xfe534d42, /* SMB */
    0xff534d42, /* CIFS */
    0x7461636f, /* OCFS2 */
    0x01161970, /* GFS2 */
    0x5346414f, /* AFS */
};

/* A network's file system has no number that all hosts agree on; that two of one kind and size are not the
 * same is unlikely, and then a run may be refused that would fit, never the other way round. */
static uint64_t identity(const struct statfs *system, dev_t device)
{
    uint64_t hash = 0;
    char host[256] = "";
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        if ((unsigned long)system->f_type != networks[i])
            continue;
        hash = hash_bytes(hash, &system->f_type, sizeof system->f_type);
        hash = hash_bytes(hash, &system->f_blocks, sizeof system->f_blocks);
        return hash_bytes(hash, &system->f_files, sizeof system->f_files);
    }
    (void)gethostname(host, sizeof host - 1);
    return hash_bytes(hash_bytes(hash, host, strlen(host)), &device, sizeof device);
}

/* Cuts the last part of a path off; false at the root, or at the working directory. */
static bool cut(char *path)
{
    size_t n = strlen(path);
    if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
        return false;
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == 0)
        path[n++] = '.';
    path[n] = '\0';
    return true;
}

/* The highest folder above that is of the same file system. */
static void find_mount(const char *path, dev_t device, char mount[PATH_MAX])
{
    struct stat info;
    char above[PATH_MAX];
    if (!realpath(path, mount)) {
        mount[0] = '\0';
        return;
    }
    memcpy(above, mount, sizeof above);
    while (cut(above) && stat(above, &info) == 0 && info.st_dev == device)
        memcpy(mount, above, sizeof above);
}

static int64_t product(uint64_t count, uint64_t size)
{
    return size > 0 && count > INT64_MAX / size ? INT64_MAX : (int64_t)(count * size);
}

bool storage_space(const char *path, struct storage_space *space, struct error *err)
{
    struct stat info;
    struct statvfs system;
    struct statfs kind;
    *space = (struct storage_space){.bytes = -1, .files = -1};
    char *there = strdup(path[0] ? path : ".");
    if (!there)
        return error_memory(err);
    bool found = stat(there, &info) == 0;
    while (!found && (errno == ENOENT || errno == ENOTDIR) && cut(there))
        found = stat(there, &info) == 0;
    found = found && statvfs(there, &system) == 0 && statfs(there, &kind) == 0;
    if (found) {
        find_mount(there, info.st_dev, space->mount);
        space->system = identity(&kind, info.st_dev);
        if (system.f_blocks > 0)
            space->bytes = product(system.f_bavail, system.f_frsize);
        if (system.f_files > 0)
            space->files = product(system.f_favail, 1);
    } else {
        error_set(err, ERROR_FAILED, "cannot stat '%s': %s", there, strerror(errno));
    }
    free(there);
    return found;
}

static bool add_entries(FTS *walk, const char *folder, const atomic_bool *stop, int64_t *bytes,
                        int64_t *files, struct error *err)
{
    for (const FTSENT *entry; (entry = fts_read(walk));) {
        if (stop && atomic_load_explicit(stop, memory_order_relaxed))
            return error_set(err, ERROR_FAILED, "stopped");
        if (entry->fts_info == FTS_F) {
            *bytes += entry->fts_statp->st_size;
            ++*files;
        }
    }
    /* fts_read has set it to 0 where that was all */
    return errno == 0 || error_set(err, ERROR_FAILED, "%s: cannot stat: %s", folder, strerror(errno));
}

bool storage_space_used(const char *folder, const atomic_bool *stop, int64_t *bytes, int64_t *files,
                        struct error *err)
{
    char *copy = strdup(folder);
    char *const roots[] = {copy, NULL};
    FTS *walk = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, NULL) : NULL;
    *bytes = *files = 0;
    bool added = walk ? add_entries(walk, folder, stop, bytes, files, err) : error_memory(err);
    if (walk)
        fts_close(walk);
    free(copy);
    return added;
}

bool storage_space_check(const struct storage_space *space, int64_t bytes, int64_t files, struct error *err)
{
    struct unit_texts texts = {0};
    const char *at = space->mount[0] ? space->mount : "its file system";
    if (space->bytes >= 0 && bytes > space->bytes)
        return error_set(err, ERROR_FAILED, "needs %s, but only %s are free on '%s' (--force writes anyway)",
                         unit_text(&texts, (double)bytes, UNIT_BYTES),
                         unit_text(&texts, (double)space->bytes, UNIT_BYTES), at);
    if (space->files >= 0 && files > space->files)
        return error_set(err, ERROR_FAILED,
                         "needs %" PRId64 " files, but only %" PRId64
                         " more fit on '%s' (--force writes anyway)",
                         files, space->files, at);
    return true;
}
