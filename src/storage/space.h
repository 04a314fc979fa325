/* Whether there is room for what is to be written, so that a disk is not filled to say that there is not. */
#ifndef REHEARSE_STORAGE_SPACE_H
#define REHEARSE_STORAGE_SPACE_H

#include "core/error.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What the file system of a path can still take. A quota counts where the file system says so itself (statvfs), as ext4
 * and XFS do for projects and most network file systems for users. */
struct storage_space {
    uint64_t system; /* the same for all paths of one file system, on all hosts that share it */
    int64_t bytes;   /* an ordinary user can still write; -1: no limit, as of a pseudo file system */
    int64_t files;   /* names that can still be made; -1: no limit */
    char mount[PATH_MAX];
};

/* The path need not exist yet: the nearest folder above it counts that does. */
bool storage_space(const char *path, struct storage_space *space, struct error *err);

/* Bytes and names of what lies below a folder, which need not exist. Ends early, with an error, once *stop is set; `stop` may
 * be NULL. */
bool storage_space_used(const char *folder, const atomic_bool *stop, int64_t *bytes, int64_t *files,
                        struct error *err);

/* False where more bytes or files are to be written than there is room for: "needs 139.2 GB, 80.1 GB are free on
 * '/data'". What is removed or replaced on the way may be taken off before. */
bool storage_space_check(const struct storage_space *space, int64_t bytes, int64_t files, struct error *err);

#endif
