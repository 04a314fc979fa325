#include "core/file.h"

#include "core/stop.h"
#include "core/vector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)
#define PIECE ((size_t)4 << 20) /* read between two looks for a stop */

static bool read_all(int fd, const char *path, size_t size_hint, size_t limit, char **data, size_t *length,
                     struct error *err)
{
    size_t capacity = 0;
    char *buffer = NULL;
    *length = 0;
    while (VECTOR_ROOM(buffer, capacity, *length > size_hint ? *length + 2 : size_hint + CHUNK) && buffer) {
        size_t room = capacity - *length - 1;
        if (stop_obeyed(err)) {
            free(buffer);
            return false;
        }
        ssize_t got = read(fd, buffer + *length, room < PIECE ? room : PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(buffer);
            return error_set(err, ERROR_FAILED, "%s: cannot read: %s", path, strerror(errno));
        }
        *length += (size_t)got;
        if (*length > limit) {
            free(buffer);
            return error_set(err, ERROR_INPUT, "%s: larger than the limit of %zu MiB", path, limit >> 20);
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
        return error_set(err, error_of_input(errno), "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    bool ok;
    if (fstat(fd, &info) != 0)
        ok = error_set(err, ERROR_FAILED, "%s: cannot stat: %s", path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        ok = error_set(err, ERROR_INPUT, "%s: a directory, expected a file", path);
    else if (S_ISREG(info.st_mode) && (uintmax_t)info.st_size > limit)
        ok = error_set(err, ERROR_INPUT, "%s: larger than the limit of %zu MiB", path, limit >> 20);
    else
        ok = read_all(fd, path, S_ISREG(info.st_mode) ? (size_t)info.st_size : 0, limit, data, length, err);
    close(fd);
    return ok;
}

bool file_look(const char *path, enum file_kind *kind, struct error *err)
{
    struct stat info;
    *kind = FILE_NONE;
    if (stat(path, &info) == 0)
        *kind = S_ISDIR(info.st_mode) ? FILE_FOLDER : S_ISREG(info.st_mode) ? FILE_REGULAR : FILE_OTHER;
    else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != ENAMETOOLONG)
        return error_set(err, error_of_input(errno), "%s: cannot stat: %s", path, strerror(errno));
    return true;
}

bool file_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && S_ISREG(one.st_mode) && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static bool is_folder(const char *path)
{
    enum file_kind kind;
    struct error ignored;
    return file_look(path, &kind, &ignored) && kind == FILE_FOLDER;
}

bool file_make_directory(const char *path, struct error *err)
{
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && is_folder(path)))
        return true;
    return error_set(err, ERROR_FAILED, "%s: cannot make a directory: %s", path, strerror(errno));
}

bool file_make_folders_of(const char *path, struct error *err)
{
    char *copy = strdup(path);
    bool made = true;
    if (!copy)
        return error_memory(err);
    for (char *slash = strchr(copy + (*copy == '/'), '/'); slash && made; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int code = mkdir(copy, 0777) == 0 ? 0 : errno;
        if (code != 0 && code != EEXIST && !is_folder(copy)) /* EROFS comes before EEXIST */
            made = error_set(err, ERROR_FAILED, "%s: cannot make a directory: %s", copy, strerror(code));
        *slash = '/';
    }
    free(copy);
    return made;
}

bool file_make_folders(const char *path, struct error *err)
{
    return file_make_folders_of(path, err) && file_make_directory(path, err);
}

int file_open_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int code = folder ? errno : ENOMEM;
    free(folder);
    errno = code;
    return fd;
}
