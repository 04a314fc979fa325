#include "feed/place.h"

#include "core/file.h"
#include "feed/space.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- writing ---- */

static bool append(void *context, const void *from, size_t n, struct error *err)
{
    return storage_write(context, from, n, err);
}

static bool append_at(void *context, const void *from, size_t n, struct error *err)
{
    return storage_write_at(context, -1, from, n, err);
}

static bool write_at(void *context, int64_t offset, const void *from, size_t n, struct error *err)
{
    return storage_write_at(context, offset, from, n, err);
}

static bool create(void *context, const char *path, int64_t bytes, struct dataset_sink *sink,
                   struct error *err)
{
    const struct feed_place *place = context;
    const struct storage_write_options options = {.sync = place->sync, .sync_folder = place->sync};
    struct storage_writer *writer = storage_create(place->storage, path, &options, err);
    bool anywhere = storage_writes_at(place->storage);
    (void)bytes;
    *sink = (struct dataset_sink){
        .context = writer, .write = anywhere ? append_at : append, .write_at = anywhere ? write_at : NULL};
    return writer != NULL;
}

static bool make_folder(void *context, const char *path, struct error *err)
{
    const struct feed_place *place = context;
    char *full = storage_path(place->storage, path, err);
    bool made = full && file_make_folders(full, err);
    free(full);
    return made;
}

static bool commit(void *context, struct dataset_sink *sink, struct error *err)
{
    (void)context;
    return storage_commit(sink->context, NULL, err);
}

static void discard(void *context, struct dataset_sink *sink)
{
    (void)context;
    storage_discard(sink->context);
}

/* ---- reading ---- */

/* A reader serves one thread at a time: the one that opened it, or where they cost nothing, another for each read. */
struct opened {
    struct storage *storage; /* NULL: all reads are the first reader's */
    pthread_mutex_t lock;
    struct storage_reader *reader;
    struct storage_file *file;
};

static bool read_at(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    struct opened *opened = context;
    struct storage_extent extent = {.offset = offset, .length = (int64_t)n, .to = to};
    struct storage_reader *own = opened->storage ? storage_reader_new(opened->storage, err) : NULL;
    if (opened->storage && !own)
        return false;
    if (!own)
        pthread_mutex_lock(&opened->lock);
    bool done = storage_read(own ? own : opened->reader, opened->file, &extent, 1, err);
    if (!own)
        pthread_mutex_unlock(&opened->lock);
    storage_reader_free(own);
    if (done && extent.at != to)
        memmove(to, extent.at, n);
    return done;
}

static void close_opened(struct opened *opened)
{
    if (opened->file)
        storage_close(opened->file);
    if (opened->reader)
        storage_reader_free(opened->reader);
    pthread_mutex_destroy(&opened->lock);
    free(opened);
}

static bool open_source(void *context, const char *path, struct dataset_source *source, struct error *err)
{
    const struct feed_place *place = context;
    const struct storage_options *options = storage_options(place->storage);
    struct opened *opened = calloc(1, sizeof *opened);
    if (!opened)
        return error_memory(err);
    pthread_mutex_init(&opened->lock, NULL);
    opened->storage = options->method == STORAGE_POSIX && !options->direct ? place->storage : NULL;
    *source = (struct dataset_source){.context = opened, .read = read_at};
    opened->reader = storage_reader_new(place->storage, err);
    opened->file = opened->reader ? storage_open(opened->reader, path, err) : NULL;
    if (opened->file && storage_file_size(opened->reader, opened->file, &source->size, err))
        return true;
    close_opened(opened);
    return false;
}

static void close_source(void *context, struct dataset_source *source)
{
    (void)context;
    close_opened(source->context);
}

static bool size_of_file(const struct feed_place *place, const char *name, int64_t *bytes, struct error *err)
{
    struct stat state;
    char *path = storage_path(place->storage, name, err);
    bool known = path != NULL;
    if (path && stat(path, &state) == 0)
        known = S_ISREG(state.st_mode) ? (*bytes = state.st_size, true)
                                       : error_set(err, ERROR_INPUT, "'%s' is not a regular file", path);
    else if (path && errno != ENOENT && errno != ENOTDIR)
        known = error_set(err, ERROR_FAILED, "%s: cannot stat: %s", path, strerror(errno));
    free(path);
    return known;
}

/* An object that is not there is an input that is missing; every other failure is one. */
static bool size_of(void *context, const char *path, int64_t *bytes, struct error *err)
{
    const struct feed_place *place = context;
    struct dataset_source source;
    *bytes = -1;
    if (storage_options(place->storage)->method != STORAGE_S3)
        return size_of_file(place, path, bytes, err);
    if (!open_source(context, path, &source, err))
        return err->kind == ERROR_INPUT;
    *bytes = source.size;
    close_source(context, &source);
    return true;
}

struct dataset_place feed_place_of(struct feed_place *place)
{
    bool folders = storage_options(place->storage)->method != STORAGE_S3;
    return (struct dataset_place){
        .context = place,
        .name = storage_options(place->storage)->root,
        .create = create,
        .make_folder = folders ? make_folder : NULL,
        .commit = commit,
        .discard = discard,
        .open = open_source,
        .close = close_source,
        .size = size_of,
    };
}

/* ---- together ---- */

bool feed_generate(const struct dataset_layout *layout, const struct dataset_place *place,
                   const struct dataset_work *work, struct comm *comm, bool force,
                   struct dataset_generated *made, struct error *err)
{
    *made = (struct dataset_generated){0};
    if (!force && !space_for_layout(comm, layout, place->name ? place->name : ".", work, err))
        return false;
    bool begun = work->rank > 0 || dataset_manifest_write(layout, place, err);
    return comm_agree(comm, begun, "the data set's manifest", err) &&
           comm_agree(comm, dataset_generate(layout, place, work, made, err), "the end of generating", err);
}

bool feed_same_layout(struct comm *comm, const struct dataset_layout *layout, bool ok, struct error *err)
{
    struct text text = {0};
    bool same = comm_agree(comm, ok && dataset_layout_write(layout, &text, err), "the data set", err) &&
                comm_same(comm, text.data, text.length, "the data set", err);
    text_release(&text);
    return same;
}
