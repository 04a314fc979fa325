/* Facts about local storage that a measurement needs: what of a file is in the page cache, what the device under a
 * path has transferred, which file system it is. Paths are paths, not names of a `struct storage`. Any thread. */
#ifndef REHEARSE_STORAGE_FACTS_H
#define REHEARSE_STORAGE_FACTS_H

#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What of a file is in the page cache. */
struct storage_cached {
    int64_t size; /* of the file */
    /* Bytes of it, in whole pages but never more than its size; -1: this user may not know. */
    int64_t resident;
};

/* From cachestat(2), Linux 6.5, else mincore(2), which the kernel answers to who owns the file or may write it. */
bool storage_resident(const char *path, struct storage_cached *cached, struct error *err);

/* Writes a file's changes to the device, a piece at a time; false once `stop` (NULL: never) is set. What it could not write, a
 * sync after it will tell: that takes no longer than what is left. */
bool storage_write_out(int fd, int64_t size, const atomic_bool *stop);

/* Writes a file's changes to the device, a piece at a time while `stop` (which may be NULL) is not set, and lets its
 * pages go. The kernel keeps those that somebody maps or locks, and all of a file system that lives in memory: *left
 * tells. */
bool storage_drop_file(const char *path, const atomic_bool *stop, struct storage_cached *left,
                       struct error *err);

/* Lets all clean pages, names and inodes of the machine go; needs root. */
bool storage_drop_system(struct error *err);

/* What can tell whether bytes of a file came from a device or from this host's memory. */
enum storage_backing {
    STORAGE_BACKING_CACHED, /* the page cache before they are read: a network's, layered or compressing file system, FUSE */
    STORAGE_BACKING_DEVICE, /* storage_process_read: what this process has made a block device read */
    STORAGE_BACKING_MEMORY, /* nothing need be asked: the file system is memory */
    STORAGE_BACKING_HIDDEN, /* nothing: the file system has a cache of its own (ZFS) */
};

struct storage_facts {
    char file_system[64]; /* "ext4", "nfs4", "fuse.sshfs"; "unknown" */
    char device[64];      /* "nvme0n1p2"; "unknown" where no single block device lies beneath */
    enum storage_backing backing;
    int64_t free;       /* bytes an ordinary user can still write */
    bool counted;       /* the two below are known: not on overlay, tmpfs, btrfs or a network's file system */
    int64_t read_bytes; /* of the device since the machine started, by everybody */
    int64_t written_bytes;
};

bool storage_facts(const char *path, struct storage_facts *facts, struct error *err);

/* Of a file system by its name, which may have a block device of its own. */
enum storage_backing storage_backing_of(const char *file_system, bool has_device);

/* Bytes that this process, all threads and those of io_uring included, has made block devices read since it began
 * (read_bytes of /proc/self/io); false where the kernel does not count them. */
bool storage_process_read(int64_t *bytes);

/* The same of the text of such a file. */
bool storage_process_read_of(const char *text, int64_t *bytes);

#endif
