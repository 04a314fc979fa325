#include "dataset/place.h"

#include "core/file.h"
#include "core/file_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH ((int64_t)8 << 20)

struct output {
    struct file_part part;
    _Atomic int64_t end; /* of what was written */
};

static bool join(const struct dataset_folder *folder, const char *path, char **joined, struct error *err)
{
    if (asprintf(joined, "%s/%s", folder->root, path) >= 0)
        return true;
    *joined = NULL;
    return error_memory(err);
}

static bool cannot(const char *verb, const char *path, int code, struct error *err)
{
    bool absent = code == ENOENT || code == ENOTDIR;
    return error_set(err, absent ? ERROR_INPUT : ERROR_FAILED, "%s: cannot %s: %s", path, verb,
                     strerror(code));
}

/* Writes at an offset. Every FLUSH bytes it asks the disk to begin, so that the disk is not idle until too
 * much is dirty or all must be synced; file systems that cannot do this ignore it. */
static bool write_at(void *context, int64_t offset, const void *from, size_t n, struct error *err)
{
    struct output *output = context;
    const char *at = from;
    int64_t begin = offset, end = offset + (int64_t)n, last = atomic_load(&output->end);
    while (n > 0) {
        ssize_t written = pwrite(output->part.fd, at, n, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return cannot("write", output->part.path, written < 0 ? errno : EIO, err);
        at += written;
        offset += written;
        n -= (size_t)written;
    }
    while (last < end && !atomic_compare_exchange_weak(&output->end, &last, end))
        continue;
    if (end / FLUSH > begin / FLUSH)
        (void)sync_file_range(output->part.fd, end / FLUSH * FLUSH - FLUSH, FLUSH, SYNC_FILE_RANGE_WRITE);
    return true;
}

static bool write_all(void *context, const void *from, size_t n, struct error *err)
{
    struct output *output = context;
    return write_at(context, atomic_load(&output->end), from, n, err);
}

static bool posix_create(void *context, const char *path, int64_t bytes, struct dataset_sink *sink,
                         struct error *err)
{
    struct output *output = calloc(1, sizeof *output);
    char *joined;
    (void)bytes;
    if (!output)
        return error_memory(err);
    bool made = join(context, path, &joined, err) && file_part_open(&output->part, joined, false, err);
    free(joined);
    if (made)
        *sink = (struct dataset_sink){.context = output, .write = write_all, .write_at = write_at};
    else
        free(output);
    return made;
}

static void posix_discard(void *context, struct dataset_sink *sink)
{
    struct output *output = sink->context;
    (void)context;
    file_part_remove(&output->part);
    free(output);
    *sink = (struct dataset_sink){0};
}

/* Syncs the folder, which makes the file's name last. */
static bool sync_folder(const char *path, struct error *err)
{
    int fd = file_open_folder_of(path);
    bool synced = fd >= 0 && fsync(fd) == 0;
    if (!synced)
        cannot("sync the folder of", path, errno, err);
    if (fd >= 0)
        close(fd);
    return synced;
}

static bool finish(const struct dataset_folder *folder, struct output *output, struct error *err)
{
    if (folder->sync && fsync(output->part.fd) != 0)
        return cannot("sync", output->part.path, errno, err);
    return file_part_rename(&output->part, err) && (!folder->sync || sync_folder(output->part.path, err));
}

static bool posix_commit(void *context, struct dataset_sink *sink, struct error *err)
{
    struct output *output = sink->context;
    if (!finish(context, output, err)) {
        posix_discard(context, sink);
        return false;
    }
    file_part_close(&output->part);
    free(output);
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
            return error_set(err, ERROR_FAILED, "'%s' is truncated: it ends at byte %" PRId64, input->path,
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
    if (!join(context, path, &input->path, err)) {
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
    if (!join(context, path, &joined, err))
        return false;
    bool known = true;
    *bytes = -1;
    if (stat(joined, &state) == 0) {
        if (S_ISREG(state.st_mode))
            *bytes = state.st_size;
        else
            known = error_set(err, ERROR_INPUT, "'%s' is not a regular file", joined);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        known = cannot("stat", joined, errno, err);
    }
    free(joined);
    return known;
}

static bool posix_make_folder(void *context, const char *path, struct error *err)
{
    char *joined;
    bool made = join(context, path, &joined, err) && file_make_folders(joined, err);
    free(joined);
    return made;
}

struct dataset_place dataset_place_posix(struct dataset_folder *folder)
{
    return (struct dataset_place){
        .context = folder,
        .name = folder->root,
        .create = posix_create,
        .commit = posix_commit,
        .discard = posix_discard,
        .make_folder = posix_make_folder,
        .open = posix_open,
        .close = posix_close,
        .size = posix_size,
    };
}
