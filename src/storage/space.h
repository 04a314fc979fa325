/* Checks for room before writing, so that a disk is not filled in vain. */
#ifndef REHEARSE_STORAGE_SPACE_H
#define REHEARSE_STORAGE_SPACE_H

#include "core/error.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The room of a path's file system. Quotas count if statvfs reports them, as ext4 and XFS do for projects and
 * most network file systems for users. */
struct storage_space {
    uint64_t system; /* equal for all paths of one file system, on all hosts that share it */
    int64_t bytes;   /* for an ordinary user; -1: no limit, as in a pseudo file system */
    int64_t files;   /* that can still be created; -1: no limit */
    char mount[PATH_MAX];
};

/* Gets the room at a path, or at its nearest existing parent. */
bool storage_space(const char *path, struct storage_space *space, struct error *err);

/* Gets bytes and names below a folder, if it exists. Fails early once *stop (may be NULL) is set. */
bool storage_space_used(const char *folder, const atomic_bool *stop, int64_t *bytes, int64_t *files,
                        struct error *err);

/* Fails if the bytes or files do not fit: "needs 139.2 GB, 80.1 GB are free on '/data'". The caller may
 * subtract replaced or removed ones. */
bool storage_space_check(const struct storage_space *space, int64_t bytes, int64_t files, struct error *err);

#endif
