#include "dataset/crew.h"

bool dataset_crew_stopped(const struct dataset_crew *crew)
{
    return atomic_load(&crew->failed) || (crew->work->stop && atomic_load(crew->work->stop));
}

/* The first failure counts: what others say after it is that they were stopped. */
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
    for (size_t i = first; i < last && !dataset_crew_stopped(crew); i++) {
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
    parallel_for(crew->work->pool, (size_t)mine, 1, run_piece, crew);
    pthread_mutex_destroy(&crew->lock);
    if (crew->work->stop && atomic_load(crew->work->stop))
        return error_set(err, ERROR_FAILED,
                         "stopped; what is whole is kept, the same command goes on from there");
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

static bool watched_write(void *context, const void *from, size_t n, struct error *err)
{
    struct dataset_watched *watched = context;
    if (dataset_crew_stopped(watched->crew))
        return error_set(err, ERROR_FAILED, "stopped");
    return watched->to.write(watched->to.context, from, n, err);
}

struct dataset_sink dataset_crew_watch(struct dataset_watched *watched)
{
    return (struct dataset_sink){.context = watched, .write = watched_write};
}
