/* Files of which NAME.part, locked while it is written, becomes NAME when it is whole. */
#include "core/file.h"
#include "core/file_keep.h"
#include "core/file_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TRIES 16

static bool cannot_write(const struct file_part *part, int code, struct error *err)
{
    return error_set(err, ERROR_FAILED, "%s: cannot write: %s", part->path, strerror(code));
}

static bool not_opened(const struct file_part *part, bool direct, int code, struct error *err)
{
    if (code == EINVAL && direct)
        return error_set(err, ERROR_FAILED, "%s: the file system cannot write directly (O_DIRECT)",
                         part->path);
    if (code == ELOOP)
        return error_set(err, ERROR_FAILED, "%s: cannot write: it is a symbolic link (not followed)",
                         part->name);
    if (code == ENXIO)
        return error_set(err, ERROR_FAILED, "%s: cannot write: it is not a regular file", part->name);
    return cannot_write(part, code, err);
}

/* O_NONBLOCK: a pipe of this name must not hold us. */
static bool open_part(struct file_part *part, bool direct, struct error *err)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (direct ? O_DIRECT : 0);
    part->fd = open(part->name, flags, 0666);
    if (part->fd < 0 && errno == ENOENT) {
        if (!file_make_folders_of(part->path, err))
            return false;
        part->fd = open(part->name, flags, 0666);
    }
    return part->fd >= 0 || not_opened(part, direct, errno, err);
}

/* Has the file that we hold still this name? Another program may have finished it between our open and our
 * lock. */
static bool still_named(const struct file_part *part, const struct stat *ours)
{
    struct stat named;
    return lstat(part->name, &named) == 0 && ours->st_dev == named.st_dev && ours->st_ino == named.st_ino;
}

/* Empties a file that a killed program has left; what has another name as well was never one. */
static bool empty(const struct file_part *part, const struct stat *ours, struct error *err)
{
    if (!S_ISREG(ours->st_mode) || ours->st_nlink > 1)
        return error_set(err, ERROR_FAILED, "%s: cannot write: it is %s", part->name,
                         S_ISREG(ours->st_mode) ? "also another file (a hard link)" : "not a regular file");
    /* of a new file it would make ext4 write it out when it is closed */
    return ours->st_size == 0 || ftruncate(part->fd, 0) == 0 || cannot_write(part, errno, err);
}

/* Two writers of one file would give it its name when one of them has ended, with holes where the other still
 * writes. A killed writer's lock goes with it. */
static bool take_part(struct file_part *part, bool direct, struct error *err)
{
    struct stat ours;
    for (int i = 0; i < MAX_TRIES; i++) {
        if (!open_part(part, direct, err))
            return false;
        bool locked =
            flock(part->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; /* or it has no locks */
        if (fstat(part->fd, &ours) != 0)
            return cannot_write(part, errno, err);
        if (locked && still_named(part, &ours))
            return empty(part, &ours, err);
        close(part->fd);
        part->fd = -1;
        if (!locked)
            break;
    }
    return error_set(err, ERROR_FAILED, "%s: cannot write: another program is writing it", part->path);
}

/* A name that a file of ours may take. */
static bool may_replace(const struct file_part *part, struct error *err)
{
    struct stat old;
    if (lstat(part->path, &old) != 0 || S_ISREG(old.st_mode) || S_ISLNK(old.st_mode))
        return true; /* what cannot be looked at cannot be opened either, which says it better */
    return error_set(err, ERROR_FAILED, "%s: cannot write: it is %s", part->path,
                     S_ISDIR(old.st_mode) ? "a directory" : "not a regular file");
}

bool file_part_open(struct file_part *part, const char *path, bool direct, struct error *err)
{
    *part = (struct file_part){.fd = -1, .path = strdup(path)};
    if (!part->path || asprintf(&part->name, "%s" FILE_PART, path) < 0) {
        free(part->path);
        return error_memory(err);
    }
    if (may_replace(part, err) && take_part(part, direct, err))
        return true;
    file_part_close(part);
    return false;
}

/* Closing a duplicate makes a network's file system report what it could not write, and keeps the lock. */
static bool flush_close(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && close(copy) == 0;
}

bool file_part_rename(struct file_part *part, struct error *err)
{
    struct stat old;
    if (lstat(part->path, &old) == 0 && S_ISREG(old.st_mode))
        file_keep(part->fd, part->path, &old);
    if (!flush_close(part->fd) || rename(part->name, part->path) != 0)
        return cannot_write(part, errno, err);
    free(part->name); /* no longer ours to remove */
    part->name = NULL;
    return true;
}

void file_part_close(struct file_part *part)
{
    if (part->fd >= 0)
        close(part->fd);
    free(part->path);
    free(part->name);
    *part = (struct file_part){.fd = -1};
}

/* Emptied first: what is not on the device yet need not go there, which of ext4's files that were emptied
 * before takes as long as a sync. */
void file_part_remove(struct file_part *part)
{
    if (part->name && unlink(part->name) == 0 && part->fd >= 0 && ftruncate(part->fd, 0) != 0)
        errno = 0; /* then it takes longer */
    file_part_close(part);
}
