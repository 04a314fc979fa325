/* Plays a stream of requests on a storage: threads take them in the order of their arrivals. */
#include "core/clock.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/text.h"
#include "core/unit.h"
#include "core/vector.h"
#include "dataset/bytes.h"
#include "feed/requests/requests.h"
#include "storage/space.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER  "kv" /* of the entries */
#define INDEX   "index.bin"
#define CHUNK   ((int64_t)1 << 20) /* of a write */
#define LOOK_NS INT64_C(100000000) /* how often a wait looks for a stop */
#define NAME    32

struct player {
    const struct requests_workload *workload;
    const struct requests_plan *plan;
    struct storage *storage;
    bool warm;
    const atomic_bool *stop;
    struct scratch { /* of a thread */
        struct storage_reader *reader;
        struct storage_file *index;
        struct storage_extent *extents;
        char *buffer;
    } * threads;
    int64_t start_ns, end_ns; /* monotonic; end: of the duration */
    atomic_bool failed;
    atomic_size_t begun;  /* requests */
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t change;
    struct state {      /* of an entry */
        uint32_t reads; /* ops that have ended */
        bool written, removed;
    } * entries;
    int writing;
    struct requests_result *result;
    struct error *err;
};

static bool is_over(const struct player *player)
{
    return atomic_load(&player->failed) || (player->stop && atomic_load(player->stop));
}

/* No further calls: the run is over, or its duration. */
static bool ends(const struct player *player)
{
    return is_over(player) || clock_nanoseconds() >= player->end_ns;
}

static bool fail(struct player *player, const struct error *err)
{
    pthread_mutex_lock(&player->lock);
    if (!atomic_exchange(&player->failed, true))
        *player->err = *err;
    pthread_cond_broadcast(&player->change);
    pthread_mutex_unlock(&player->lock);
    return false;
}

static bool sleep_until(const struct player *player, int64_t time_ns)
{
    for (int64_t now = clock_nanoseconds(); now < time_ns && !is_over(player); now = clock_nanoseconds()) {
        const struct timespec until = clock_timespec(time_ns - now > LOOK_NS ? now + LOOK_NS : time_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return !is_over(player);
}

/* ---- files ---- */

/* Bytes of a vector's node in the index: its numbers, its neighbours and how many they are. */
static int64_t node_bytes(const struct requests_workload *workload)
{
    int64_t bytes = 4 * workload->dimensions + 4 * (1 + workload->degree);
    return (bytes + workload->align - 1) / workload->align * workload->align;
}

static void name_entry(uint32_t entry, char name[static NAME])
{
    snprintf(name, NAME, FOLDER "/%08" PRIx32 ".kv", entry);
}

static bool write_file(const struct player *player, char *buffer, const char *name, uint64_t which,
                       int64_t bytes, struct error *err)
{
    const struct storage_write_options how = {.sync = player->workload->sync, .stop = player->stop};
    struct storage_writer *writer = storage_create(player->storage, name, &how, err);
    struct dataset_bytes content;
    bool done = writer != NULL;
    dataset_bytes_init(&content, (uint64_t)player->workload->seed, which, 0.0);
    for (int64_t at = 0; done && at < bytes; at += CHUNK) {
        size_t n = (size_t)(bytes - at < CHUNK ? bytes - at : CHUNK);
        dataset_bytes_fill(&content, at, buffer, n);
        done = is_over(player) ? error_set(err, ERROR_STOPPED, "%s: stopped while it was written", name)
                               : storage_write(writer, buffer, n, err);
    }
    if (!done)
        storage_discard(writer);
    return done && storage_commit(writer, NULL, err);
}

struct look {
    struct player *player;
    const char *foreign;
    int64_t index; /* bytes; -1: none */
    bool marked, done;
    struct error *err;
};

static bool look_at(void *context, const char *name, int64_t size)
{
    struct look *look = context;
    look->marked |= strcmp(name, REQUESTS_MARK) == 0;
    look->index = strcmp(name, INDEX) == 0 ? size : look->index;
    return true;
}

static bool look_for_any(void *context, const char *name, int64_t size)
{
    (void)name;
    (void)size;
    *(bool *)context = true;
    return false;
}

static bool remove_left(void *context, const char *name, int64_t size)
{
    struct look *look = context;
    char path[NAME + 256];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    if (size >= 0 && strlen(name) == 11 && strcmp(name + 8, ".kv") == 0)
        look->done = storage_remove(look->player->storage, path, look->err);
    return look->done;
}

/* What a killed run was writing, which storage_list does not tell. */
static void remove_parts(const char *path)
{
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (strlen(entry->d_name) == 11 + strlen(FILE_PART) && text_ends_with(entry->d_name, ".kv" FILE_PART))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

/* Makes and marks the folder, or takes one that was marked, and removes what an earlier run has left there. */
static bool prepare(struct player *player, struct error *err)
{
    static const char text[] = "'rehearse feed --requests' writes and removes files here.\n";
    struct storage *storage = player->storage;
    const struct requests_workload *workload = player->workload;
    const struct storage_options *where = storage_options(storage);
    struct look look = {.player = player, .index = -1, .done = true, .err = err};
    struct storage_space space = {.bytes = -1, .files = -1};
    struct unit_texts texts = {0};
    int64_t index = workload->vectors * node_bytes(workload);
    bool local = where->method != STORAGE_S3, foreign = false;
    char *folder = local ? storage_path(storage, FOLDER, err) : NULL;
    bool done = (!local || (folder && file_make_folders(where->root, err))) &&
                storage_list(storage, "", look_at, &look, err) &&
                (look.marked || storage_list(storage, "", look_for_any, &foreign, err));
    if (done && foreign)
        done = error_set(err, ERROR_INPUT,
                         "%s: not empty, and not made by 'feed --requests': give a new folder", where->root);
    done = done && (look.marked || storage_put(storage, REQUESTS_MARK, text, sizeof text - 1, NULL, err)) &&
           (!local || file_make_folders(folder, err)) &&
           storage_list(storage, FOLDER, remove_left, &look, err) && look.done;
    if (done && local)
        remove_parts(folder);
    free(folder);
    if (!done || index == 0 || look.index == index)
        return done;
    player->result->prepared = index;
    if (local && !storage_space(where->root, &space, err))
        return false;
    if (local && space.bytes < index)
        return error_set(err, ERROR_FAILED,
                         "%s: the index needs %s, and %s are free: fewer 'vectors' need less", where->root,
                         unit_text(&texts, (double)index, UNIT_BYTES),
                         unit_text(&texts, (double)space.bytes, UNIT_BYTES));
    return write_file(player, player->threads->buffer, INDEX, 0, index, err);
}

int64_t requests_limit(const struct requests_workload *workload, const struct storage *storage,
                       struct error *err)
{
    struct storage_space space = {.bytes = -1};
    const struct storage_options *where = storage_options(storage);
    if (workload->capacity > 0)
        return workload->capacity;
    if (where->method != STORAGE_S3 && !storage_space(where->root, &space, err))
        return -1;
    return space.bytes < 0 ? INT64_MAX : (int64_t)(0.95 * (double)space.bytes);
}

static void drop(const struct player *player, const struct storage_file *file)
{
    if (!player->warm && storage_file_descriptor(file) >= 0)
        posix_fadvise(storage_file_descriptor(file), 0, 0, POSIX_FADV_DONTNEED);
}

/* ---- entries ---- */

static bool act(const struct player *player, struct scratch *scratch, const struct request_op *op,
                struct error *err)
{
    struct storage_extent all = {.length = player->plan->entries[op->entry].bytes};
    char name[NAME];
    name_entry(op->entry, name);
    if (op->action == REQUEST_REMOVE)
        return storage_remove(player->storage, name, err);
    if (op->action == REQUEST_WRITE)
        return write_file(player, scratch->buffer, name, op->entry, all.length, err);
    struct storage_file *file = storage_open(scratch->reader, name, err);
    if (!file)
        return false;
    drop(player, file);
    bool done = storage_read(scratch->reader, file, &all, 1, err);
    storage_close(file);
    return done;
}

/* Does an op wait for another one? With the lock. */
static bool waits(const struct player *player, const struct request_op *op)
{
    const struct state *state = &player->entries[op->entry];
    int writers = player->workload->writers;
    if (op->action == REQUEST_WRITE)
        return writers > 0 && player->writing >= writers;
    return !state->written ||
           (op->action == REQUEST_REMOVE && state->reads < player->plan->entries[op->entry].reads);
}

static bool begin_op(struct player *player, const struct request_op *op)
{
    pthread_mutex_lock(&player->lock);
    while (waits(player, op) && !ends(player)) {
        const struct timespec until = clock_timespec(clock_read(CLOCK_REALTIME) + LOOK_NS);
        pthread_cond_timedwait(&player->change, &player->lock, &until);
    }
    bool goes = !ends(player);
    player->writing += goes && op->action == REQUEST_WRITE;
    pthread_mutex_unlock(&player->lock);
    return goes;
}

/* Counts a call on the storage. */
static void count(struct player *player, enum request_action action, int64_t bytes, int64_t from_ns,
                  struct request_done *done)
{
    struct requests_result *result = player->result;
    int64_t took_ns = clock_nanoseconds() - from_ns;
    done->storage_ns += took_ns;
    pthread_mutex_lock(&player->lock);
    *(action == REQUEST_READ    ? &result->read
      : action == REQUEST_WRITE ? &result->written
                                : &result->removed) += action == REQUEST_REMOVE ? 1 : bytes;
    if (action != REQUEST_REMOVE)
        histogram_add(action == REQUEST_READ ? &result->reads : &result->writes, took_ns);
    pthread_mutex_unlock(&player->lock);
}

static bool end_op(struct player *player, const struct request_op *op, bool done)
{
    struct state *state = &player->entries[op->entry];
    pthread_mutex_lock(&player->lock);
    player->writing -= op->action == REQUEST_WRITE;
    state->written |= done && op->action == REQUEST_WRITE;
    state->removed |= done && op->action == REQUEST_REMOVE;
    state->reads += op->action == REQUEST_READ;
    pthread_cond_broadcast(&player->change);
    pthread_mutex_unlock(&player->lock);
    return done;
}

/* False: the run is over. */
static bool use_cache(struct player *player, struct scratch *scratch, const struct request *request,
                      struct request_done *done)
{
    struct error err;
    for (uint32_t i = request->op; i < request->op + request->ops; i++) {
        const struct request_op *op = &player->plan->ops[i];
        bool fine = begin_op(player, op);
        if (!fine)
            return false;
        for (uint32_t k = 0; fine && k < op->times; k++) {
            int64_t from = clock_nanoseconds();
            if (ends(player))
                return end_op(player, op, false);
            fine = act(player, scratch, op, &err);
            if (fine)
                count(player, op->action, player->plan->entries[op->entry].bytes, from, done);
        }
        if (!end_op(player, op, fine))
            return fail(player, &err);
    }
    return true;
}

/* ---- searches ---- */

/* A search walks a graph of which each node, a vector and its neighbours, is one place of the index: `beam` nodes
 * at once in each shard, as what is read next depends on what was read. Which nodes these are is drawn, since the
 * graph of any vectors is not known. */
static bool search(struct player *player, struct scratch *scratch, size_t which, struct request_done *done)
{
    const struct requests_workload *w = player->workload;
    uint64_t state = random_mix((uint64_t)w->seed * RANDOM_GOLDEN ^ (uint64_t)which);
    int64_t node = node_bytes(w);
    struct error err;
    for (int64_t visited = 0; visited < w->search_list; visited += w->beam) {
        int64_t wide = w->search_list - visited < w->beam ? w->search_list - visited : w->beam;
        int extents = 0;
        for (int64_t i = 0; i < w->batch * w->shards * wide; i++) {
            int64_t shard = i / wide % w->shards, first = w->vectors * shard / w->shards;
            int64_t size = w->vectors * (shard + 1) / w->shards - first;
            int64_t at = first + (int64_t)(random_uniform(&state) * (double)size);
            if (random_uniform(&state) >= w->cached)
                scratch->extents[extents++] = (struct storage_extent){.offset = at * node, .length = node};
        }
        int64_t from = clock_nanoseconds();
        if (extents == 0)
            continue;
        if (is_over(player) ||
            !storage_read(scratch->reader, scratch->index, scratch->extents, extents, &err))
            return is_over(player) ? false : fail(player, &err);
        count(player, REQUEST_READ, extents * node, from, done);
    }
    return true;
}

/* ---- requests ---- */

static bool play_request(struct player *player, struct scratch *scratch, size_t which, int64_t arrival_ns)
{
    struct requests_result *result = player->result;
    struct request_done done = {which, arrival_ns, clock_nanoseconds() - player->start_ns, 0, 0};
    struct error err;
    if (!(player->workload->vectors > 0 ? search(player, scratch, which, &done)
                                        : use_cache(player, scratch, &player->plan->requests[which], &done)))
        return false;
    done.end_ns = clock_nanoseconds() - player->start_ns;
    pthread_mutex_lock(&player->lock);
    bool added = VECTOR_ADD(result->done, result->done_count, result->done_capacity, done);
    pthread_mutex_unlock(&player->lock);
    return added || (error_memory(&err), fail(player, &err));
}

static bool goes_on(void *context)
{
    return !ends(context);
}

/* Plays the next request; of arrival closed all of a user, who waits for each answer. */
static void play_next(void *context, size_t first, size_t last, int thread)
{
    struct player *player = context;
    struct scratch *scratch = &player->threads[thread];
    const struct request *all = player->plan->requests;
    int64_t arrival_ns = 0;
    (void)last;
    if (!all) {
        play_request(player, scratch, first, clock_nanoseconds() - player->start_ns);
    } else if (player->workload->arrival != REQUESTS_CLOSED) {
        if (sleep_until(player, player->start_ns + all[first].arrival_ns))
            play_request(player, scratch, first, all[first].arrival_ns);
    } else {
        for (uint32_t at = player->plan->first[first]; at; at = all[at - 1].next) {
            arrival_ns += all[at - 1].think_ns;
            if (player->start_ns + arrival_ns >= player->end_ns ||
                !sleep_until(player, player->start_ns + arrival_ns) ||
                !play_request(player, scratch, at - 1, arrival_ns))
                return;
            arrival_ns = clock_nanoseconds() - player->start_ns;
        }
    }
}

/* ---- the run ---- */

static bool open_scratch(const struct player *player, struct scratch *scratch, struct error *err)
{
    const struct requests_workload *workload = player->workload;
    scratch->reader = storage_reader_new(player->storage, err);
    if (!scratch->reader || workload->vectors == 0)
        return scratch->reader != NULL;
    scratch->extents =
        calloc((size_t)(workload->batch * workload->shards * workload->beam), sizeof *scratch->extents);
    scratch->index = scratch->extents ? storage_open(scratch->reader, INDEX, err) : NULL;
    if (scratch->index) {
        drop(player, scratch->index);
        posix_fadvise(storage_file_descriptor(scratch->index), 0, 0, POSIX_FADV_RANDOM);
    }
    return scratch->index || (!scratch->extents && error_memory(err));
}

static bool run(struct player *player, int threads, struct error *err)
{
    const struct requests_workload *workload = player->workload;
    bool chains = player->plan->requests && workload->arrival == REQUESTS_CLOSED, done = true;
    for (int i = 0; done && i < threads; i++)
        done = (player->threads[i].buffer = storage_buffer_new(CHUNK, err)) != NULL;
    done = done && prepare(player, err);
    for (int i = 0; done && i < threads; i++)
        done = open_scratch(player, &player->threads[i], err);
    struct parallel *pool = done ? parallel_new(threads, err) : NULL;
    if (!pool)
        return false;
    struct origin_count came = {.size = 0};
    bool counts = storage_process_read(&came.read);
    player->start_ns = clock_nanoseconds();
    player->end_ns =
        workload->duration > 0.0 ? player->start_ns + (int64_t)(1e9 * workload->duration) : INT64_MAX;
    parallel_while(pool, chains ? (size_t)workload->users : player->plan->count, 1, play_next, goes_on,
                   player);
    parallel_free(pool);
    int64_t before = came.read;
    came.delivered = player->result->read;
    came.read = counts && storage_process_read(&came.read) ? came.read - before : -1;
    came.resident = -1;
    if (!origin_evidence_for(player->storage, &player->result->origin.evidence, err))
        return false;
    origin_sum(&player->result->origin, player->result->origin.evidence, &came);
    return true;
}

/* Removes the entries that are there, and what the threads used. */
static bool clear(const struct player *player, int threads, struct error *err)
{
    char name[NAME];
    bool done = true;
    for (uint32_t i = 1; i < player->plan->entry_count; i++) {
        name_entry(i, name);
        if (player->entries[i].written && !player->entries[i].removed)
            done = storage_remove(player->storage, name, err) && done;
    }
    for (int i = 0; i < threads; i++) {
        if (player->threads[i].index)
            storage_close(player->threads[i].index);
        free(player->threads[i].extents);
        storage_reader_free(player->threads[i].reader);
        if (player->threads[i].buffer)
            storage_buffer_free(player->threads[i].buffer, CHUNK);
    }
    return done;
}

static int by_request(const void *a, const void *b)
{
    size_t left = ((const struct request_done *)a)->request,
           right = ((const struct request_done *)b)->request;
    return left < right ? -1 : left > right;
}

/* The run lasts until the last end, and the duration unless all requests that were asked for have ended before. */
static void sum_up(const struct player *player)
{
    const struct request *all = player->plan->requests;
    struct requests_result *result = player->result;
    bool whole = player->end_ns == INT64_MAX || result->done_count == (size_t)player->workload->requests;
    int64_t duration = whole ? 0 : player->end_ns - player->start_ns, end = duration;
    qsort(result->done, result->done_count, sizeof *result->done, by_request);
    for (size_t i = 0; i < result->done_count; i++) {
        const struct request_done *done = &result->done[i];
        end = done->end_ns > end ? done->end_ns : end;
        histogram_add(&result->latency, done->end_ns - done->arrival_ns);
        result->in_service += (double)(done->end_ns - done->start_ns) / 1e9;
        result->in_storage += (double)done->storage_ns / 1e9;
        result->prefilled += all ? all[done->request].context : 0;
        result->answered += all ? all[done->request].answer : 0;
        result->found += all ? all[done->request].found : 0;
        result->missed += all ? all[done->request].missed : 0;
    }
    for (size_t i = 0, k = 0; all && player->workload->arrival != REQUESTS_CLOSED && i < player->plan->count;
         i++) {
        bool is_done = k < result->done_count && result->done[k].request == i;
        k += is_done;
        result->not_done += !is_done;
        if (!is_done)
            histogram_add(&result->latency, end - all[i].arrival_ns);
    }
    result->arrived = (int64_t)result->done_count + result->not_done;
    result->seconds = (double)end / 1e9;
    result->offered = (double)(whole ? end : duration) / 1e9;
}

bool requests_play(const struct requests_workload *workload, const struct requests_plan *plan,
                   struct storage *storage, bool warm, const atomic_bool *stop,
                   struct requests_result *result, struct error *err)
{
    int threads = workload->arrival == REQUESTS_CLOSED ? workload->users : workload->workers;
    struct error why = {.text = ""}, ignored;
    struct player player = {.workload = workload,
                            .plan = plan,
                            .storage = storage,
                            .warm = warm,
                            .stop = stop,
                            .result = result,
                            .err = &why,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .change = PTHREAD_COND_INITIALIZER,
                            .entries = calloc(plan->entry_count + 1, sizeof *player.entries),
                            .threads = calloc((size_t)threads, sizeof *player.threads)};
    bool allocated = player.entries && player.threads;
    bool done = allocated ? run(&player, threads, err) : error_memory(err);
    if (done && atomic_load(&player.failed)) {
        *err = why;
        done = false;
    } else if (done && is_over(&player)) {
        done = error_set(err, ERROR_STOPPED, "stopped: the requests were not all played");
    }
    if (allocated)
        done = clear(&player, threads, done ? err : &ignored) && done;
    if (done)
        sum_up(&player);
    free(player.entries);
    free(player.threads);
    return done;
}
