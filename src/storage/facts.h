/* Facts about local storage that a measurement needs: what of a file is in the page cache, what the device under a
 * path has transferred, which file system it is. Paths are paths, not names of a `struct storage`. Any thread. */
#ifndef REHEARSE_STORAGE_FACTS_H
#define REHEARSE_STORAGE_FACTS_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a file that are in the page cache, in whole pages but never more than its size. From cachestat(2),
 * Linux 6.5, else mincore(2). */
bool storage_resident(const char *path, int64_t *bytes, struct error *err);

/* Writes a file's changes to the device and lets its pages go. The kernel keeps those that somebody maps or locks,
 * and all of a file system that lives in memory: storage_resident tells. */
bool storage_drop_file(const char *path, struct error *err);

/* Lets all clean pages, names and inodes of the machine go; needs root. */
bool storage_drop_system(struct error *err);

struct storage_facts {
    char file_system[64]; /* "ext4", "nfs4", "fuse.sshfs"; "unknown" */
    char device[64];      /* "nvme0n1p2"; "unknown" where no single block device lies beneath */
    int64_t free;         /* bytes an ordinary user can still write */
    bool counted;       /* the two below are known: not on overlay, tmpfs, btrfs or a network's file system */
    int64_t read_bytes; /* of the device since the machine started, by everybody */
    int64_t written_bytes;
};

bool storage_facts(const char *path, struct storage_facts *facts, struct error *err);

#endif
