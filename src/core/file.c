#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)

static bool read_all(int fd, const char *path, size_t size_hint, size_t limit, char **data, size_t *length,
                     struct error *err)
{
    size_t capacity = size_hint + CHUNK;
    char *buffer = malloc(capacity);
    *length = 0;
    while (buffer) {
        if (capacity - *length < 2) {
            char *larger = realloc(buffer, capacity *= 2);
            if (!larger)
                break;
            buffer = larger;
        }
        ssize_t got = read(fd, buffer + *length, capacity - *length - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(buffer);
            return error_set(err, ERROR_FAILED, "%s: cannot read: %s", path, strerror(errno));
        }
        *length += (size_t)got;
        if (*length > limit) {
            free(buffer);
            return error_set(err, ERROR_INPUT, "%s: larger than the %zu MiB that are read", path,
                             limit >> 20);
        }
        if (got == 0) {
            buffer[*length] = 0;
            *data = buffer;
            return true;
        }
    }
    free(buffer);
    return error_memory(err);
}

bool file_read(const char *path, size_t limit, char **data, size_t *length, struct error *err)
{
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", 0, limit, data, length, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, ERROR_INPUT, "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    bool ok;
    if (fstat(fd, &info) != 0)
        ok = error_set(err, ERROR_FAILED, "%s: cannot look at: %s", path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        ok = error_set(err, ERROR_INPUT, "%s: a directory, expected a file", path);
    else if (S_ISREG(info.st_mode) && (uintmax_t)info.st_size > limit)
        ok = error_set(err, ERROR_INPUT, "%s: larger than the %zu MiB that are read", path, limit >> 20);
    else
        ok = read_all(fd, path, S_ISREG(info.st_mode) ? (size_t)info.st_size : 0, limit, data, length, err);
    close(fd);
    return ok;
}

static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        data += written;
        length -= (size_t)written;
    }
    return true;
}

static bool cannot_write(struct error *err, const char *path)
{
    return error_set(err, ERROR_FAILED, "%s: cannot write: %s", path, strerror(errno));
}

static bool write_in_place(const char *path, const char *data, size_t length, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(err, path);
    bool ok = write_all(fd, data, length) || cannot_write(err, path);
    if (close(fd) != 0 && ok)
        ok = cannot_write(err, path);
    return ok;
}

/* Makes the rename itself last; a file system that cannot do it has no say. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(folder);
}

static bool replace(const char *path, mode_t mode, const char *data, size_t length, struct error *err)
{
    char *temporary = NULL;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return error_memory(err);
    int fd = mkstemp(temporary);
    if (fd < 0) {
        free(temporary);
        return cannot_write(err, path);
    }
    bool ok = write_all(fd, data, length) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    if (!ok)
        cannot_write(err, path);
    if (close(fd) != 0 && ok)
        ok = cannot_write(err, path);
    if (ok && rename(temporary, path) != 0)
        ok = cannot_write(err, path);
    if (ok)
        sync_folder(path);
    else
        unlink(temporary);
    free(temporary);
    return ok;
}

bool file_write(const char *path, const char *data, size_t length, struct error *err)
{
    if (strcmp(path, "-") == 0)
        return (fflush(stdout) == 0 && write_all(STDOUT_FILENO, data, length)) ||
               cannot_write(err, "standard output");
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return error_set(err, ERROR_FAILED, "%s: cannot write: it is a directory", path);
    if (exists && !S_ISREG(info.st_mode))
        return write_in_place(path, data, length, err);
    mode_t mask = umask(0);
    umask(mask);
    char *target = exists ? realpath(path, NULL) : NULL; /* a link stays a link */
    bool ok =
        replace(target ? target : path, exists ? info.st_mode & 07777 : 0666 & ~mask, data, length, err);
    free(target);
    return ok;
}

bool file_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool file_make_directory(const char *path, struct error *err)
{
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && file_is_directory(path)))
        return true;
    return error_set(err, ERROR_FAILED, "%s: cannot make a directory: %s", path, strerror(errno));
}
