#include "dataset/place.h"

#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH     ((int64_t)8 << 20)
#define MAX_TRIES 16

struct output {
    int fd;
    _Atomic int64_t end; /* of what was written */
    char *path;          /* at last */
    char *part;          /* until then */
};

static bool join(const struct dataset_folder *folder, const char *path, const char *suffix, char **joined,
                 struct error *err)
{
    if (asprintf(joined, "%s/%s%s", folder->root, path, suffix) >= 0)
        return true;
    *joined = NULL;
    return error_memory(err);
}

static bool cannot(const char *verb, const char *path, int code, struct error *err)
{
    return error_set(err, code == ENOENT ? ERROR_INPUT : ERROR_FAILED, "cannot %s '%s': %s", verb, path,
                     strerror(code));
}

/* All folders of a path. Another thread may make the same ones at the same time. */
static bool make_folders(const char *path, struct error *err)
{
    char *copy = strdup(path);
    bool made = copy != NULL;
    if (!copy)
        return error_memory(err);
    for (char *slash = strchr(copy + 1, '/'); slash && made; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            made = cannot("make folder", copy, errno, err);
        *slash = '/';
    }
    free(copy);
    return made;
}

static void output_free(struct output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    free(output->path);
    free(output->part);
    free(output);
}

/* Every FLUSH bytes the disk is told to begin, so that it does not stand idle until there is too much or all is to be
 * synced. What a file system cannot do here is no fault. */
static bool write_at(void *context, int64_t offset, const void *from, size_t n, struct error *err)
{
    struct output *output = context;
    const char *at = from;
    int64_t begin = offset, end = offset + (int64_t)n, last = atomic_load(&output->end);
    while (n > 0) {
        ssize_t written = pwrite(output->fd, at, n, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return cannot("write", output->path, written < 0 ? errno : EIO, err);
        at += written;
        offset += written;
        n -= (size_t)written;
    }
    while (last < end && !atomic_compare_exchange_weak(&output->end, &last, end))
        continue;
    if (end / FLUSH > begin / FLUSH)
        (void)sync_file_range(output->fd, end / FLUSH * FLUSH - FLUSH, FLUSH, SYNC_FILE_RANGE_WRITE);
    return true;
}

static bool write_all(void *context, const void *from, size_t n, struct error *err)
{
    struct output *output = context;
    return write_at(context, atomic_load(&output->end), from, n, err);
}

static bool open_part(struct output *output, struct error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    output->fd = open(output->part, flags, 0666);
    if (output->fd < 0 && errno == ENOENT) {
        if (!make_folders(output->part, err))
            return false;
        output->fd = open(output->part, flags, 0666);
    }
    return output->fd >= 0 || cannot("create", output->part, errno, err);
}

/* Is the file that we hold still the one of this name? Its writer may have ended between our open and our lock. */
static bool still_named(const struct output *output)
{
    struct stat ours, named;
    return fstat(output->fd, &ours) == 0 && stat(output->part, &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
}

/* Two writers of one file would give it its name when one of them has ended, with holes where the other still writes.
 * A killed writer's lock goes with it. */
static bool take_part(struct output *output, struct error *err)
{
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        if (!open_part(output, err))
            return false;
        if (flock(output->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) /* else it has no locks */
            break;
        if (still_named(output))
            return ftruncate(output->fd, 0) == 0 || cannot("write", output->part, errno, err);
        close(output->fd);
        output->fd = -1;
    }
    return error_set(err, ERROR_FAILED, "cannot write '%s': another program is writing it", output->path);
}

static bool posix_create(void *context, const char *path, int64_t bytes, struct dataset_sink *sink,
                         struct error *err)
{
    const struct dataset_folder *folder = context;
    struct output *output = calloc(1, sizeof *output);
    (void)bytes;
    if (!output)
        return error_memory(err);
    output->fd = -1;
    if (!join(folder, path, "", &output->path, err) || !join(folder, path, ".part", &output->part, err)) {
        output_free(output);
        return false;
    }
    if (!take_part(output, err)) {
        output_free(output);
        return false;
    }
    *sink = (struct dataset_sink){.context = output, .write = write_all, .write_at = write_at};
    return true;
}

static void posix_discard(void *context, struct dataset_sink *sink)
{
    struct output *output = sink->context;
    (void)context;
    unlink(output->part);
    output_free(output);
    *sink = (struct dataset_sink){0};
}

/* A name lasts when its folder is on the disk, too. */
static bool sync_folder(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, (size_t)(slash - path));
    if (!folder)
        return error_memory(err);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    if (!synced)
        cannot("sync", folder, errno, err);
    if (fd >= 0)
        close(fd);
    free(folder);
    return synced;
}

/* Closing a duplicate makes a network's file system report what it could not write, and keeps the lock. */
static bool flush_close(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && close(copy) == 0;
}

static bool finish(const struct dataset_folder *folder, struct output *output, struct error *err)
{
    if (folder->sync && fsync(output->fd) != 0)
        return cannot("sync", output->path, errno, err);
    if (!flush_close(output->fd))
        return cannot("close", output->path, errno, err);
    if (rename(output->part, output->path) != 0)
        return cannot("rename", output->part, errno, err);
    return folder->sync ? sync_folder(output->path, err) : true;
}

static bool posix_commit(void *context, struct dataset_sink *sink, struct error *err)
{
    struct output *output = sink->context;
    if (!finish(context, output, err)) {
        posix_discard(context, sink);
        return false;
    }
    output_free(output);
    *sink = (struct dataset_sink){0};
    return true;
}

struct input {
    int fd;
    char *path;
};

static bool read_all(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    struct input *input = context;
    char *at = to;
    while (n > 0) {
        ssize_t got = pread(input->fd, at, n, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot("read", input->path, errno, err);
        if (got == 0)
            return error_set(err, ERROR_FAILED,
                             "'%s' ends at byte %" PRId64 ", before what should be read of it", input->path,
                             offset);
        at += got;
        offset += got;
        n -= (size_t)got;
    }
    return true;
}

static bool posix_open(void *context, const char *path, struct dataset_source *source, struct error *err)
{
    struct input *input = calloc(1, sizeof *input);
    struct stat state;
    if (!input)
        return error_memory(err);
    if (!join(context, path, "", &input->path, err)) {
        free(input);
        return false;
    }
    input->fd = open(input->path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0 || fstat(input->fd, &state) != 0) {
        cannot("open", input->path, errno, err);
        if (input->fd >= 0)
            close(input->fd);
        free(input->path);
        free(input);
        return false;
    }
    *source = (struct dataset_source){.context = input, .size = state.st_size, .read = read_all};
    return true;
}

static void posix_close(void *context, struct dataset_source *source)
{
    struct input *input = source->context;
    (void)context;
    close(input->fd);
    free(input->path);
    free(input);
    *source = (struct dataset_source){0};
}

static bool posix_size(void *context, const char *path, int64_t *bytes, struct error *err)
{
    struct stat state;
    char *joined;
    if (!join(context, path, "", &joined, err))
        return false;
    bool known = true;
    *bytes = -1;
    if (stat(joined, &state) == 0) {
        if (S_ISREG(state.st_mode))
            *bytes = state.st_size;
        else
            known = error_set(err, ERROR_INPUT, "'%s' is no regular file", joined);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        known = cannot("look at", joined, errno, err);
    }
    free(joined);
    return known;
}

struct dataset_place dataset_place_posix(struct dataset_folder *folder)
{
    return (struct dataset_place){
        .context = folder,
        .name = folder->root,
        .create = posix_create,
        .commit = posix_commit,
        .discard = posix_discard,
        .open = posix_open,
        .close = posix_close,
        .size = posix_size,
    };
}
