#include "storage/method.h"

#include <errno.h>

/* Blocks that only pass through: the most that takes no huge page (smaller ones cost up to half more
 * processor time per byte, bench/bench_feed.c), or one huge page, which keeps a device busy. */
#define PASSING_BUFFERED (((int64_t)1 << 20) - 4096)
#define PASSING_DIRECT   ((int64_t)2 << 20)

static bool read_request(struct storage_reader *reader, const struct storage_file *file,
                         struct storage_request *request, struct error *err)
{
    const struct storage_calls *calls = &reader->storage->calls;
    while (request->done < request->need) {
        ssize_t got =
            calls->pread(calls->context, file->fd, request->target + request->done,
                         (size_t)(request->length - request->done), request->offset + request->done);
        if (!storage_request_got(request, reader, file, got < 0 ? -errno : got, err))
            return false;
    }
    return true;
}

static bool posix_read(struct storage_reader *reader, struct storage_file *file,
                       struct storage_extent *extents, int count, struct error *err)
{
    const struct storage_options *options = &reader->storage->options;
    int64_t passing = options->direct ? PASSING_DIRECT : PASSING_BUFFERED;
    struct storage_cut cut = storage_cut_start(extents, count, file->alignment,
                                               options->request ? options->request : STORAGE_MAX_REQUEST,
                                               options->request ? options->request : passing);
    while (storage_cut_more(&cut)) {
        char *memory = NULL;
        if (storage_cut_passes(&cut) && !(memory = storage_passing(reader, cut.passing, err)))
            return false;
        struct storage_request request = storage_cut_next(&cut, memory);
        if (!read_request(reader, file, &request, err))
            return false;
    }
    return true;
}

const struct storage_method storage_posix = {
    .direct = true,
    STORAGE_LOCAL,
    .open = storage_local_open,
    .read = posix_read,
    .close = storage_local_close,
};
