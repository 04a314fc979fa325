#include "feed/checkpoint/checkpoint.h"

#include "core/clock.h"
#include "core/vector.h"
#include "feed/checkpoint/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the bytes that the storage writes at once, so that it need not gather. */
static int64_t chunk_of(const struct storage_options *storage)
{
    int64_t chunk = larger(CHECKPOINT_BUFFER, storage->request);
    if (storage->direct)
        chunk = larger(chunk, (int64_t)8 << 20);
    if (storage->method == STORAGE_URING) {
        int64_t request = storage->request ? storage->request : (int64_t)1 << 20;
        int64_t depth = storage->queue_depth ? storage->queue_depth : 16;
        int64_t in_flight = request > STORAGE_MAX_REQUEST / depth ? STORAGE_MAX_REQUEST : request * depth;
        chunk = larger(chunk, in_flight);
    }
    return chunk;
}

static bool check(const struct checkpoint_options *options, struct error *err)
{
    if (options->count < 1 || options->first < 0 || options->first > options->shards.ranks - options->count)
        return error_set(err, ERROR_USAGE, "checkpoint: ranks %d to %d of %lld", options->first,
                         options->first + options->count - 1, (long long)options->shards.ranks);
    if (options->shift < 0)
        return error_set(err, ERROR_USAGE, "checkpoint: expected a shift of at least 0, found %lld",
                         (long long)options->shift);
    if (options->seed < 0 || options->seed > WORKLOAD_MAX_INTEGER)
        return error_set(err, ERROR_USAGE, "checkpoint: expected a seed from 0 to 2^53, found %lld",
                         (long long)options->seed);
    if (!(options->compressibility >= 0 && options->compressibility <= 1))
        return error_set(err, ERROR_USAGE, "checkpoint: expected a compressibility from 0 to 1, found %g",
                         options->compressibility);
    if (checkpoint_shards_bytes(&options->shards) > WORKLOAD_MAX_INTEGER)
        return error_set(err, ERROR_INPUT, "checkpoint: more than 2^53 bytes");
    return true;
}

static bool start(struct checkpoint *checkpoint, struct error *err)
{
    const struct checkpoint_options *options = &checkpoint->options;
    checkpoint->threads = options->count < MAX_THREADS ? options->count : MAX_THREADS;
    checkpoint->chunk = chunk_of(storage_options(options->storage));
    checkpoint->workers = calloc((size_t)checkpoint->threads, sizeof *checkpoint->workers);
    checkpoint->parts = calloc((size_t)options->count, sizeof *checkpoint->parts);
    if (!checkpoint->workers || !checkpoint->parts)
        return error_memory(err);
    checkpoint->pool = parallel_new(checkpoint->threads, err);
    if (!checkpoint->pool)
        return false;
    for (int i = 0; i < checkpoint->threads; i++)
        if (!(checkpoint->workers[i].buffer = storage_buffer_new(checkpoint->chunk, err)))
            return false;
    return true;
}

struct checkpoint *checkpoint_new(const struct checkpoint_options *options, struct error *err)
{
    if (!check(options, err))
        return NULL;
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    char *folder = strdup(options->folder);
    if (!checkpoint || !folder) {
        free(checkpoint);
        free(folder);
        return error_memory_null(err);
    }
    checkpoint->options = *options;
    checkpoint->options.folder = folder;
    if (!start(checkpoint, err)) {
        checkpoint_free(checkpoint);
        return NULL;
    }
    return checkpoint;
}

void checkpoint_free(struct checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    for (int i = 0; checkpoint->workers && i < checkpoint->threads; i++) {
        storage_buffer_free(checkpoint->workers[i].buffer, checkpoint->chunk);
        storage_reader_free(checkpoint->workers[i].reader);
    }
    parallel_free(checkpoint->pool);
    free(checkpoint->workers);
    free(checkpoint->parts);
    free((char *)checkpoint->options.folder);
    free(checkpoint);
}

char *checkpoint_folder_of(const struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                           struct error *err)
{
    char name[CHECKPOINT_FOLDER_SIZE];
    return checkpoint_name(checkpoint->options.folder,
                           checkpoint_shards_folder(name, moment->epoch, moment->step), err);
}

bool checkpoint_leads(const struct checkpoint *checkpoint)
{
    return checkpoint->options.first == 0;
}

/* Returns the part of a rank's bytes that came from the storage; -1: unknown. */
static int64_t share_of(const struct checkpoint *checkpoint, const struct checkpoint_part *part)
{
    int64_t needed = origin_needed(&checkpoint->origin), from = checkpoint->from_storage;
    if (from < 0 || needed <= 0)
        return needed <= 0 ? 0 : -1;
    return from >= needed ? part->moved.bytes
                          : (int64_t)((double)part->moved.bytes * (double)from / (double)needed);
}

static bool comm_agrees(void *comm, bool ok, const char *what, struct error *err)
{
    return comm_agree(comm, ok, what, err);
}

struct checkpoint_peers checkpoint_peers_of(struct comm *comm)
{
    return (struct checkpoint_peers){comm, comm_agrees};
}

bool checkpoint_together(const struct checkpoint *checkpoint, bool ok, const char *what, struct error *err)
{
    const struct checkpoint_peers *peers = &checkpoint->options.peers;
    return peers->agree ? peers->agree(peers->context, ok, what, err) : ok;
}

/* Returns a rank's time in fsync, close and rename. Threads overlap, so their share of all busy time is
 * taken. */
static int64_t sync_of(const struct checkpoint_part *part)
{
    double sync = part->moved.sync + part->moved.rename + part->moved.sync_folder;
    double busy = sync + part->content + part->moved.write;
    return busy > 0 ? (int64_t)(sync / busy * (double)(part->end - part->start)) : 0;
}

bool checkpoint_record(struct checkpoint *checkpoint, enum metrics_kind kind, int *number,
                       const struct checkpoint_moment *moment, struct metrics *metrics, struct error *err)
{
    for (int i = 0; metrics && i < checkpoint->options.count; i++) {
        const struct checkpoint_part *part = &checkpoint->parts[i];
        struct metrics_checkpoint metric = {
            .kind = kind,
            .rank = checkpoint->options.first + i,
            .number = *number,
            .epoch = (int)(moment->epoch - 1), /* metrics count from 0 */
            .block = moment->block,
            .start = part->start,
            .end = part->end,
            .bytes = part->moved.bytes,
            .sync = sync_of(part),
            .from_storage = kind == METRICS_LOAD ? share_of(checkpoint, part) : 0,
        };
        if (!metrics_checkpoint(metrics, &metric, err))
            return false;
    }
    ++*number;
    return true;
}

/* --- many jobs ------------------------------------------------------------------------------------------------ */

bool checkpoint_crew_add(struct checkpoint_crew *crew, struct checkpoint_job job, struct error *err)
{
    return VECTOR_ADD(crew->jobs, crew->count, crew->capacity, job) || error_memory(err);
}

bool checkpoint_crew_add_file(struct checkpoint_crew *crew, size_t file, int64_t rank, struct error *err)
{
    const struct checkpoint_file *whole = &crew->manifest->files[file];
    struct checkpoint_job job = {
        .file = file, .rank = (int)rank, .turn = whole->index, .length = whole->shard.bytes};
    return rank < 0 || rank >= crew->checkpoint->options.count || checkpoint_crew_add(crew, job, err);
}

bool checkpoint_not_stopped(struct checkpoint *checkpoint, const char *folder, struct error *err)
{
    const atomic_bool *stop = checkpoint->options.stop;
    if (!stop || !atomic_load_explicit(stop, memory_order_relaxed))
        return true;
    atomic_store(&checkpoint->stopped, true);
    return error_set(err, ERROR_FAILED, "%s: stopped", folder);
}

bool checkpoint_stopped(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->stopped);
}

bool checkpoint_crew_go_on(const struct checkpoint_crew *crew, struct error *err)
{
    if (!checkpoint_not_stopped(crew->checkpoint, crew->folder, err))
        return false;
    if (atomic_load_explicit(&crew->failed, memory_order_relaxed))
        return error_set(err, ERROR_FAILED, "%s: another thread failed", crew->folder);
    return true;
}

static void account(struct checkpoint_part *part, const struct checkpoint_part *spent)
{
    int64_t now = clock_nanoseconds();
    part->end = now > part->end ? now : part->end;
    part->content += spent->content;
    part->moved.bytes += spent->moved.bytes;
    part->moved.write += spent->moved.write;
    part->moved.sync += spent->moved.sync;
    part->moved.rename += spent->moved.rename;
    part->moved.sync_folder += spent->moved.sync_folder;
}

static void run_jobs(void *context, size_t first, size_t last, int thread)
{
    struct checkpoint_crew *crew = context;
    struct checkpoint *checkpoint = crew->checkpoint;
    for (size_t i = first; i < last; i++) {
        struct checkpoint_job *job = &crew->jobs[i];
        struct checkpoint_part spent = {0};
        struct error error;
        bool ok = checkpoint_crew_go_on(crew, &error) &&
                  crew->body(crew, job, &checkpoint->workers[thread], &spent, &error);
        pthread_mutex_lock(&crew->lock);
        job->done = ok;
        if (ok)
            account(&checkpoint->parts[job->rank], &spent);
        else if (!atomic_exchange(&crew->failed, true))
            crew->error = error;
        pthread_mutex_unlock(&crew->lock);
    }
}

static int by_turn(const void *a, const void *b)
{
    const struct checkpoint_job *x = a, *y = b;
    return x->turn != y->turn ? (x->turn > y->turn) - (x->turn < y->turn)
                              : (x->rank > y->rank) - (x->rank < y->rank);
}

bool checkpoint_crew_run(struct checkpoint_crew *crew, struct error *err)
{
    struct checkpoint *checkpoint = crew->checkpoint;
    int64_t now = clock_nanoseconds();
    for (int i = 0; i < checkpoint->options.count; i++)
        checkpoint->parts[i] = (struct checkpoint_part){.start = now, .end = now};
    if (crew->count > 0)
        qsort(crew->jobs, crew->count, sizeof *crew->jobs, by_turn);
    pthread_mutex_init(&crew->lock, NULL);
    parallel_for(checkpoint->pool, crew->count, 1, run_jobs, crew);
    pthread_mutex_destroy(&crew->lock);
    if (atomic_load(&crew->failed))
        *err = crew->error;
    return !atomic_load(&crew->failed);
}
