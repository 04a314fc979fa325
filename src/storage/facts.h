/* Facts about local storage for measurements: a file's pages in the page cache, the transfers of the device
 * under a path, the file system. Paths are not names of a `struct storage`. Callable from any thread. */
#ifndef REHEARSE_STORAGE_FACTS_H
#define REHEARSE_STORAGE_FACTS_H

#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The page-cache state of a file. */
struct storage_cached {
    int64_t size; /* of the file */
    /* Bytes in the page cache, in whole pages, at most the size; -1: this user may not know. */
    int64_t resident;
};

/* Uses cachestat(2), Linux 6.5, else mincore(2), which answers only owners and writers of the file. */
bool storage_resident(const char *path, struct storage_cached *cached, struct error *err);

/* Writes a file's changes to the device piece by piece; false once `stop` (may be NULL) is set. A later sync
 * reports write errors, and takes no longer than the rest needs. */
bool storage_write_out(int fd, int64_t size, const atomic_bool *stop);

/* Writes a file's changes to the device piece by piece while `stop` (may be NULL) is not set, and drops its
 * pages. The kernel keeps mapped or locked pages, and all pages of memory file systems: see *left. */
bool storage_drop_file(const char *path, const atomic_bool *stop, struct storage_cached *left,
                       struct error *err);

/* Drops all clean pages, names and inodes of the machine; needs root. */
bool storage_drop_system(struct error *err);

/* The evidence that can tell whether a file's bytes came from a device or from this host's memory. */
enum storage_backing {
    STORAGE_BACKING_CACHED, /* the page cache before the read: network, layered, compressing or FUSE */
    STORAGE_BACKING_DEVICE, /* storage_process_read: this process's reads of block devices */
    STORAGE_BACKING_MEMORY, /* none needed: the file system is memory */
    STORAGE_BACKING_HIDDEN, /* none: the file system has a cache of its own (ZFS) */
};

struct storage_facts {
    char file_system[64]; /* "ext4", "nfs4", "fuse.sshfs"; "unknown" */
    char device[64];      /* "nvme0n1p2"; "unknown" without a single block device */
    enum storage_backing backing;
    bool counted;       /* all below are known: not on overlay, tmpfs, btrfs or network file systems */
    int64_t read_bytes; /* of the device since the machine started, by all processes */
    int64_t written_bytes;
    double busy;   /* seconds in which it had a request */
    double queued; /* seconds, summed over all requests under way */
};

bool storage_facts(const char *path, struct storage_facts *facts, struct error *err);

/* Returns the backing of a file system by its name; it may have a block device of its own. */
enum storage_backing storage_backing_of(const char *file_system, bool has_device);

/* Gets the bytes that this process, including all threads and io_uring's, has read from block devices
 * (read_bytes of /proc/self/io); false if the kernel does not count them. */
bool storage_process_read(int64_t *bytes);

/* Parses the same from the text of such a file. */
bool storage_process_read_of(const char *text, int64_t *bytes);

#endif
