#include "dataset/crew.h"

#include "dataset/layout.h"
#include "dataset/writer.h"

#include <stdlib.h>

#define GRAIN 16 /* pieces that a thread takes at once */

bool dataset_crew_stopped(const struct dataset_crew *crew)
{
    return atomic_load(&crew->failed) || (crew->work->stop && atomic_load(crew->work->stop));
}

static bool go_on(void *crew)
{
    return !dataset_crew_stopped(crew);
}

/* Notes a failure. The first one counts: others only say that they were stopped. */
static void fail(struct dataset_crew *crew, const struct error *err)
{
    pthread_mutex_lock(&crew->lock);
    if (!atomic_load(&crew->failed))
        crew->error = *err;
    atomic_store(&crew->failed, true);
    pthread_mutex_unlock(&crew->lock);
}

static void run_piece(void *context, size_t first, size_t last, int thread)
{
    struct dataset_crew *crew = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        struct error err = {0};
        int64_t number = crew->work->rank + (int64_t)i * crew->work->ranks;
        if (!crew->body(crew, number, &err))
            fail(crew, &err);
    }
}

bool dataset_crew_run(struct dataset_crew *crew, int64_t count, struct error *err)
{
    int64_t rank = crew->work->rank, ranks = crew->work->ranks;
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return error_set(err, ERROR_USAGE, "there is no rank %lld of %lld", (long long)rank,
                         (long long)ranks);
    int64_t mine = count > rank ? (count - rank + ranks - 1) / ranks : 0;
    atomic_store(&crew->failed, false);
    pthread_mutex_init(&crew->lock, NULL);
    crew->inner = mine < parallel_threads(crew->work->pool) ? crew->work->pool : NULL;
    parallel_while(crew->inner ? NULL : crew->work->pool, (size_t)mine, 1, run_piece, go_on, crew);
    pthread_mutex_destroy(&crew->lock);
    if (crew->work->stop && atomic_load(crew->work->stop))
        return error_set(err, ERROR_FAILED,
                         "stopped: complete files are kept; run the same command again to continue");
    if (atomic_load(&crew->failed)) {
        *err = crew->error;
        return false;
    }
    return true;
}

void dataset_crew_done(struct dataset_crew *crew, int64_t files, int64_t bytes)
{
    pthread_mutex_lock(&crew->lock);
    crew->files += files;
    crew->bytes += bytes;
    if (crew->work->progress)
        crew->work->progress(crew->work->progress_context, crew->files, crew->bytes);
    pthread_mutex_unlock(&crew->lock);
}

struct pieces {
    const struct dataset_crew *crew;
    int64_t bytes;
    dataset_piece_fn *body;
    void *context;
    pthread_mutex_t lock;
    atomic_bool failed;
    struct error error;
};

static bool pieces_go_on(void *context)
{
    const struct pieces *pieces = context;
    return !atomic_load(&pieces->failed);
}

static bool run_pieces(struct pieces *pieces, size_t first, size_t last, struct error *err)
{
    unsigned char *buffer = aligned_alloc(64, DATASET_BUFFER);
    bool done = buffer != NULL || error_memory(err);
    for (size_t i = first; done && i < last && !atomic_load(&pieces->failed); i++) {
        int64_t at = (int64_t)(i * DATASET_BUFFER), left = pieces->bytes - at;
        size_t n = left < (int64_t)DATASET_BUFFER ? (size_t)left : DATASET_BUFFER;
        done = dataset_crew_stopped(pieces->crew) ? error_set(err, ERROR_FAILED, "stopped")
                                                  : pieces->body(pieces->context, at, n, buffer, err);
    }
    free(buffer);
    return done;
}

static void try_pieces(void *context, size_t first, size_t last, int thread)
{
    struct pieces *pieces = context;
    struct error err = {0};
    (void)thread;
    if (run_pieces(pieces, first, last, &err))
        return;
    pthread_mutex_lock(&pieces->lock);
    if (!atomic_load(&pieces->failed))
        pieces->error = err;
    atomic_store(&pieces->failed, true);
    pthread_mutex_unlock(&pieces->lock);
}

static bool dataset_crew_pieces(const struct dataset_crew *crew, int64_t bytes, dataset_piece_fn *body,
                                void *context, struct error *err)
{
    struct pieces pieces = {.crew = crew, .bytes = bytes, .body = body, .context = context};
    size_t count = ((size_t)bytes + DATASET_BUFFER - 1) / DATASET_BUFFER;
    pthread_mutex_init(&pieces.lock, NULL);
    parallel_while(crew->inner, count, GRAIN, try_pieces, pieces_go_on, &pieces);
    pthread_mutex_destroy(&pieces.lock);
    if (atomic_load(&pieces.failed))
        *err = pieces.error;
    return !atomic_load(&pieces.failed);
}

bool dataset_crew_go_on(const struct dataset_crew *crew, struct error *err)
{
    return !dataset_crew_stopped(crew) || error_set(err, ERROR_FAILED, "stopped");
}

static bool watched_go_on(void *context, struct error *err)
{
    const struct dataset_watched *watched = context;
    return dataset_crew_go_on(watched->crew, err);
}

static bool watched_write(void *context, const void *from, size_t n, struct error *err)
{
    struct dataset_watched *watched = context;
    watched->bytes += (int64_t)n;
    return dataset_crew_go_on(watched->crew, err) && watched->to.write(watched->to.context, from, n, err);
}

/* A large run of content, whose pieces go to their places. */
struct fill_job {
    const struct dataset_watched *watched;
    const struct dataset_content *content;
    int64_t offset;
};

static bool fill_piece(void *context, int64_t at, size_t n, unsigned char *buffer, struct error *err)
{
    const struct fill_job *filling = context;
    const struct dataset_watched *watched = filling->watched;
    filling->content->fill(filling->content->context, filling->offset + at, buffer, n);
    return watched->to.write_at(watched->to.context, watched->bytes + at, buffer, n, err);
}

static bool watched_fill(void *context, const struct dataset_content *content, int64_t offset, int64_t n,
                         struct error *err)
{
    struct dataset_watched *watched = context;
    struct fill_job filling = {watched, content, offset};
    bool filled = dataset_crew_pieces(watched->crew, n, fill_piece, &filling, err);
    watched->bytes += n;
    return filled;
}

struct dataset_sink dataset_crew_watch(struct dataset_watched *watched)
{
    bool fills = watched->crew->inner && watched->to.write_at;
    return (struct dataset_sink){.context = watched,
                                 .write = watched_write,
                                 .go_on = watched_go_on,
                                 .fill = fills ? watched_fill : NULL};
}

bool dataset_crew_parts(struct dataset_crew *crew, const struct dataset_layout *layout, int64_t number,
                        dataset_part_fn *body, struct error *err)
{
    struct dataset_file file;
    struct text path = {0};
    bool done = true;
    dataset_file_init(&file, layout, number);
    for (int part = 0; part < dataset_file_parts(&file) && done; part++)
        done = dataset_file_path(&file, part, &path) ? body(crew, &file, part, path.data, err)
                                                     : error_memory(err);
    text_release(&path);
    return done;
}
