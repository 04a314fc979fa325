/* The files that a recorded job found, made below a folder; and what a replay of it leaves there. */
#include "core/file.h"
#include "core/parallel.h"
#include "core/text.h"
#include "dataset/bytes.h"
#include "feed/replay/replay.h"
#include "storage/facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEED  UINT64_C(35)
#define CHUNK ((size_t)1 << 20)

static bool is_new(const struct io_file *file)
{
    return file->exists && file->name && file->bytes < 0;
}

static bool is_found(const struct io_file *file)
{
    return file->exists && file->name && file->bytes >= 0;
}

char *io_file_path(const struct io_file *file, const char *folder, int copy)
{
    char *path;
    int length = copy > 0 && is_new(file) ? asprintf(&path, "%s/copy-%d/%s", folder, copy, file->name)
                                          : asprintf(&path, "%s/%s", folder, file->name);
    return length < 0 ? NULL : path;
}

static bool has_mark(const char *folder)
{
    char *mark;
    struct stat info;
    bool has = asprintf(&mark, "%s/" IO_MARK, folder) >= 0;
    if (has) {
        has = stat(mark, &info) == 0;
        free(mark);
    }
    return has;
}

/* Makes a folder, or the folders of a file, in the place of a copy. */
static bool make_place(const struct io_file *file, const char *folder, int copy, struct error *err)
{
    char *path = io_file_path(file, folder, copy);
    if (!path)
        return error_memory(err);
    bool done = file->folder ? file_make_folders(path, err) : file_make_folders_of(path, err);
    free(path);
    return done;
}

/* ---- making ---- */

struct making {
    const struct io_plan *plan;
    struct storage *storage;
    const atomic_bool *stop;
    pthread_mutex_t lock; /* of the rest */
    struct io_made *made;
    struct error *err;
    atomic_bool failed;
};

static bool write_all(struct storage *storage, const char *name, uint64_t number, int64_t bytes,
                      const atomic_bool *stop, struct error *err)
{
    struct dataset_bytes content;
    const struct storage_write_options options = {.stop = stop};
    struct storage_writer *writer = storage_create(storage, name, &options, err);
    char *chunk = writer ? storage_buffer_new((int64_t)CHUNK, err) : NULL;
    bool done = chunk != NULL;
    dataset_bytes_init(&content, SEED, number, 0.0);
    for (int64_t at = 0; done && at < bytes; at += (int64_t)CHUNK) {
        size_t n = bytes - at < (int64_t)CHUNK ? (size_t)(bytes - at) : CHUNK;
        dataset_bytes_fill(&content, at, chunk, n);
        done = storage_write(writer, chunk, n, err) &&
               (!stop || !atomic_load(stop) || error_set(err, ERROR_STOPPED, "stopped"));
    }
    if (chunk)
        storage_buffer_free(chunk, (int64_t)CHUNK);
    if (done)
        return storage_commit(writer, NULL, err);
    storage_discard(writer);
    return false;
}

static bool make_file(struct making *making, size_t which, bool *kept, struct error *err)
{
    const struct io_file *file = &making->plan->files[which];
    const char *folder = storage_options(making->storage)->root;
    struct stat info;
    *kept = false;
    if (file->folder || is_new(file))
        return make_place(file, folder, 0, err);
    char *path = io_file_path(file, folder, 0);
    if (!path)
        return error_memory(err);
    *kept = stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == file->bytes;
    free(path);
    return *kept || write_all(making->storage, file->name, which, file->bytes, making->stop, err);
}

static void make_some(void *context, size_t first, size_t last, int thread)
{
    struct making *making = context;
    (void)thread;
    for (size_t i = first; i < last && !atomic_load(&making->failed); i++) {
        const struct io_file *file = &making->plan->files[i + 1];
        struct error err;
        bool kept;
        if (!file->exists || !file->name || !*file->name)
            continue;
        bool done = make_file(making, i + 1, &kept, &err);
        pthread_mutex_lock(&making->lock);
        if (!done && !atomic_exchange(&making->failed, true))
            *making->err = err;
        if (done && is_found(file) && !file->folder) {
            making->made->files += !kept;
            making->made->kept += kept;
            making->made->bytes += kept ? 0 : file->bytes;
        }
        pthread_mutex_unlock(&making->lock);
    }
}

/* Only a folder that was empty gets a mark: what lies in it is the replay's to write and to remove. */
static bool may_be_marked(const char *folder, struct error *err)
{
    const struct dirent *entry;
    DIR *open = opendir(folder);
    if (!open)
        return error_set(err, error_of_input(errno), "%s: cannot open: %s", folder, strerror(errno));
    do
        entry = readdir(open);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                     strcmp(entry->d_name, "lost+found") == 0 ||
                     strcmp(entry->d_name, IO_MARK ".part") == 0)); /* of one that was killed */
    bool empty =
        !entry || error_set(err, ERROR_INPUT,
                            "%s has '%.80s', and a replay writes and removes files in its folder: choose "
                            "an empty one, or a new one",
                            folder, entry->d_name);
    closedir(open);
    return empty;
}

bool io_files_make(const struct io_plan *plan, struct storage *storage, const char *trace,
                   const atomic_bool *stop, struct io_made *made, struct error *err)
{
    const char *folder = storage_options(storage)->root;
    struct making making = {.plan = plan,
                            .storage = storage,
                            .stop = stop,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .made = made,
                            .err = err};
    struct text mark = {0};
    *made = (struct io_made){0};
    if (!has_mark(folder) && !may_be_marked(folder, err))
        return false;
    text_format(&mark,
                "Files for the replay of %s. 'rehearse feed --replay' writes and removes files here.\n",
                trace);
    bool marked =
        mark.failed ? error_memory(err) : storage_put(storage, IO_MARK, mark.data, mark.length, NULL, err);
    text_release(&mark);
    struct parallel *pool = marked ? parallel_new(0, err) : NULL;
    if (!pool)
        return false;
    parallel_for(pool, plan->file_count, 1, make_some, &making);
    parallel_free(pool);
    return !atomic_load(&making.failed);
}

int64_t io_files_bytes(const struct io_plan *plan)
{
    int64_t bytes = 0;
    for (size_t i = 1; i <= plan->file_count; i++)
        if (is_found(&plan->files[i]) && !plan->files[i].folder && bytes < TRACE_MAX_BYTES)
            bytes += plan->files[i].bytes;
    return bytes;
}

/* ---- before a replay ---- */

static bool look(const struct io_file *file, const char *folder, const char *trace, struct error *err)
{
    struct stat info;
    char *path = io_file_path(file, folder, 0);
    if (!path)
        return error_memory(err);
    bool there = stat(path, &info) == 0, fits = there && (file->folder || info.st_size >= file->bytes);
    if (!there)
        error_set(err, ERROR_INPUT, "%s: %s; make it by 'rehearse dataset generate --replay %s -o %s'", path,
                  strerror(errno), trace, folder);
    else if (!fits)
        error_set(err, ERROR_INPUT,
                  "%s has %" PRId64 " bytes, and the job read %" PRId64
                  "; make it by 'rehearse dataset generate --replay %s -o %s'",
                  path, (int64_t)info.st_size, file->bytes, trace, folder);
    free(path);
    return fits;
}

static int by_name_backwards(const void *a, const void *b)
{
    const struct io_file *const *x = a, *const *y = b;
    return strcmp((*y)->name, (*x)->name); /* what lies in a folder comes before it */
}

void io_files_clear(const struct io_plan *plan, const char *folder, int copies)
{
    const struct io_file **files = calloc(plan->file_count + 1, sizeof *files);
    size_t count = 0;
    for (size_t i = 1; files && i <= plan->file_count; i++)
        if (is_new(&plan->files[i]) && *plan->files[i].name)
            files[count++] = &plan->files[i];
    if (count > 0)
        qsort(files, count, sizeof *files, by_name_backwards);
    for (int copy = 0; copy < copies; copy++)
        for (size_t i = 0; i < count; i++) {
            char *path = io_file_path(files[i], folder, copy);
            if (path && unlink(path) != 0 && (errno == EISDIR || errno == EPERM))
                rmdir(path); /* what others have put there stays */
            free(path);
        }
    free(files);
}

/* Makes the folders of new files, but for those that the job makes itself. */
static bool make_folders(const struct io_plan *plan, const char *folder, int copies, struct error *err)
{
    for (size_t i = 1; i <= plan->file_count; i++)
        for (int copy = 0; copy < copies && is_new(&plan->files[i]); copy++)
            if (!make_place(&(struct io_file){.name = plan->files[i].name, .bytes = -1, .exists = true},
                            folder, copy, err))
                return false;
    io_files_clear(plan, folder, copies);
    return true;
}

/* Reads a file, so that it is in the page cache. */
static bool warm_up(const char *path, struct error *err)
{
    char *chunk = malloc(CHUNK);
    int fd = chunk ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0)
        got = read(fd, chunk, CHUNK);
    bool done =
        got == 0 || (chunk ? error_set(err, ERROR_FAILED, "%s: cannot read: %s", path, strerror(errno))
                           : error_memory(err));
    if (fd >= 0)
        close(fd);
    free(chunk);
    return done;
}

bool io_files_cache(const struct io_plan *plan, const char *folder, const atomic_bool *stop,
                    struct error *err)
{
    bool done = true;
    for (size_t i = 1; done && i <= plan->file_count; i++) {
        const struct io_file *file = &plan->files[i];
        struct storage_cached left;
        if (!is_found(file) || file->folder)
            continue;
        char *path = io_file_path(file, folder, 0);
        if (!path)
            return error_memory(err);
        done = file->warm ? warm_up(path, err) : storage_drop_file(path, stop, &left, err);
        free(path);
    }
    return done;
}

bool io_files_ready(const struct io_plan *plan, struct storage *storage, int copies, const char *trace,
                    struct error *err)
{
    const char *folder = storage_options(storage)->root;
    for (size_t i = 1; i <= plan->file_count; i++)
        if (is_found(&plan->files[i]) && *plan->files[i].name && !look(&plan->files[i], folder, trace, err))
            return false;
    if (!plan->changes)
        return true;
    if (!has_mark(folder))
        return error_set(err, ERROR_INPUT,
                         "%s was not made for this: the recorded job writes or removes files; make a folder "
                         "by 'rehearse dataset "
                         "generate --replay %s -o FOLDER'",
                         folder, trace);
    io_files_clear(plan, folder, copies); /* a file left over may stand where a folder belongs */
    return make_folders(plan, folder, copies, err);
}
