/* Plays the ops of all threads, each at its time and behind what it waits for. */
#include "core/clock.h"
#include "dataset/bytes.h"
#include "feed/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NONE      UINT32_MAX
#define LEAD_NS   INT64_C(20000000)  /* from the last thread's start to the first op */
#define LOOK_NS   INT64_C(100000000) /* how often a sleep looks for a stop */
#define MAX_CHUNK ((int64_t)1 << 30) /* of one system call */

struct opened {
    struct storage_file *file; /* only read: by the engine */
    int fd;                    /* else; -1 */
};

struct copy_state {
    atomic_uint_fast64_t *done; /* steps of each thread: io_wait */
    struct opened *handles;
};

struct player {
    const struct io_plan *plan;
    const struct io_options *options;
    struct io_result *result;
    const char *folder;
    bool engine; /* the storage reads in another way than one pread a call */
    struct copy_state *copies;
    pthread_mutex_t lock; /* of all below, and of implied handles */
    pthread_cond_t change;
    int ready;
    atomic_int sleepers; /* threads that wait for others */
    atomic_bool failed;
    int64_t start_ns; /* monotonic; 0: not yet */
    struct error *err;
};

struct playing {
    struct player *player;
    struct storage_reader *reader;
    char *buffer;
    int64_t room;
    int copy;
    uint32_t thread;
    pthread_t id;
    bool runs;
};

static bool is_over(const struct player *player)
{
    return atomic_load(&player->failed) || (player->options->stop && atomic_load(player->options->stop));
}

static void fail(struct player *player, const struct error *err)
{
    pthread_mutex_lock(&player->lock);
    if (!atomic_exchange(&player->failed, true))
        *player->err = *err;
    pthread_cond_broadcast(&player->change);
    pthread_mutex_unlock(&player->lock);
}

/* ---- waiting ---- */

static bool all_done(const struct playing *playing, const struct io_op *op)
{
    const struct io_wait *waits = playing->player->plan->waits; /* NULL: nothing waits */
    const struct copy_state *copy = &playing->player->copies[playing->copy];
    bool fastest = playing->player->options->fastest; /* begins in any order */
    for (uint32_t i = op->wait; i < op->wait + op->waits; i++)
        if (atomic_load(&copy->done[waits[i].thread]) < waits[i].count &&
            !(fastest && waits[i].count % 2 == 1))
            return false;
    return true;
}

static void wait_for_others(struct playing *playing, const struct io_op *op)
{
    struct player *player = playing->player;
    if (all_done(playing, op))
        return;
    pthread_mutex_lock(&player->lock);
    atomic_fetch_add(&player->sleepers, 1);
    while (!all_done(playing, op) && !is_over(player)) {
        struct timespec until = clock_timespec(clock_read(CLOCK_REALTIME) + LOOK_NS);
        pthread_cond_timedwait(&player->change, &player->lock, &until);
    }
    atomic_fetch_sub(&player->sleepers, 1);
    pthread_mutex_unlock(&player->lock);
}

/* Counts a step, of which others are told if they may wait for it. */
static void take_step(struct playing *playing, bool tells)
{
    struct player *player = playing->player;
    atomic_fetch_add(&player->copies[playing->copy].done[playing->thread], 1);
    if (!tells || atomic_load(&player->sleepers) == 0)
        return;
    pthread_mutex_lock(&player->lock);
    pthread_cond_broadcast(&player->change);
    pthread_mutex_unlock(&player->lock);
}

static void sleep_until(const struct player *player, int64_t time_ns)
{
    for (int64_t now = clock_nanoseconds(); now < time_ns && !is_over(player); now = clock_nanoseconds()) {
        const struct timespec until = clock_timespec(time_ns - now > LOOK_NS ? now + LOOK_NS : time_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
}

/* ---- calls ---- */

static const struct io_file *file_of(const struct player *player, uint32_t file)
{
    return &player->plan->files[file];
}

/* Opens a handle: what is only read by the storage's engine, the rest by the system. Returns 0 or -errno. */
static int64_t open_handle(struct playing *playing, uint32_t which, struct error *err)
{
    struct player *player = playing->player;
    const struct io_handle *handle = &player->plan->handles[which];
    const struct io_file *file = file_of(player, handle->file);
    struct opened *opened = &player->copies[playing->copy].handles[which];
    bool whole = handle->aligned && storage_options(player->options->storage)->direct;
    char *path = io_file_path(file, player->folder, playing->copy);
    if (!path) {
        error_memory(err);
        return -ENOMEM;
    }
    if (!file->folder && file->bytes >= 0 && !handle->writes && player->engine) {
        opened->file = storage_open(playing->reader, file->name, err);
        free(path);
        return opened->file ? 0 : -EIO;
    }
    int flags = file->folder ? O_RDONLY : handle->writes ? O_RDWR | O_CREAT : O_RDONLY;
    if (!file->folder && file->changes && file->bytes < 0)
        flags |= O_CREAT | O_RDWR;
    opened->fd = open(path, flags | O_CLOEXEC | (whole && !file->folder ? O_DIRECT : 0), 0666);
    int64_t result = opened->fd < 0 ? -errno : 0;
    if (result < 0)
        error_set(err, ERROR_FAILED, "%s: cannot open: %s", path, strerror((int)-result));
    free(path);
    return result;
}

static void close_handle(struct opened *opened)
{
    if (opened->file)
        storage_close(opened->file);
    if (opened->fd >= 0)
        close(opened->fd);
    *opened = (struct opened){NULL, -1};
}

/* Returns the handle of an op; one that no op opens is opened by its first user. */
static struct opened *handle_of(struct playing *playing, const struct io_op *op, struct error *err)
{
    struct player *player = playing->player;
    struct opened *opened = &player->copies[playing->copy].handles[op->handle];
    if (!player->plan->handles[op->handle].implied)
        return opened->file || opened->fd >= 0 ? opened : NULL;
    pthread_mutex_lock(&player->lock);
    bool is_open = opened->file || opened->fd >= 0 || open_handle(playing, op->handle, err) == 0;
    pthread_mutex_unlock(&player->lock);
    return is_open ? opened : NULL;
}

/* Moves all bytes of an op. Returns those moved, or -errno. */
static int64_t move(struct playing *playing, const struct io_op *op, int fd, bool writes)
{
    int64_t moved = 0;
    do {
        size_t n = (size_t)(op->bytes - moved < MAX_CHUNK ? op->bytes - moved : MAX_CHUNK);
        ssize_t got = writes ? pwrite(fd, playing->buffer, n, op->offset + moved)
                             : pread(fd, playing->buffer, n, op->offset + moved);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        moved += got;
    } while (moved < op->bytes);
    return moved;
}

static int64_t read_bytes(struct playing *playing, const struct io_op *op, const struct opened *opened,
                          int fd, struct error *err)
{
    struct storage_extent extent = {
        .offset = op->offset, .length = op->bytes, .to = playing->buffer, .room = playing->room};
    if (op->bytes == 0 && storage_options(playing->player->options->storage)->direct)
        return 0;
    if (op->bytes == 0) { /* at the end of the file */
        int64_t size = op->event.size > 0 && op->event.size < playing->room ? op->event.size : 1;
        ssize_t got =
            op->event.class == TRACE_READ ? pread(fd, playing->buffer, (size_t)size, op->offset) : 0;
        return got < 0 ? -errno : got;
    }
    if (!opened->file)
        return move(playing, op, fd, false);
    return storage_read(playing->reader, opened->file, &extent, 1, err) ? op->bytes : -EIO;
}

static int64_t status(int code)
{
    return code < 0 ? -errno : 0;
}

/* Calls on names. */
static int64_t call_name(struct playing *playing, const struct io_op *op, struct error *err)
{
    const struct player *player = playing->player;
    struct stat info;
    int64_t result = -EINVAL;
    int fd;
    char *path = io_file_path(file_of(player, op->file), player->folder, playing->copy);
    char *second =
        op->second == 0 ? NULL : io_file_path(file_of(player, op->second), player->folder, playing->copy);
    if (!path || (op->second != 0 && !second))
        error_memory(err);
    else if (op->event.class == TRACE_STAT)
        result = status(stat(path, &info));
    else if (op->event.class == TRACE_UNLINK)
        result = status(unlink(path));
    else if (op->event.class == TRACE_MKDIR)
        result = status(mkdir(path, 0777));
    else if (op->event.class == TRACE_RMDIR)
        result = status(rmdir(path));
    else if (op->event.class == TRACE_TRUNCATE)
        result = status(truncate(path, op->bytes));
    else if (op->event.class == TRACE_RENAME)
        result = status(rename(path, second));
    else if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) /* an open that failed */
        result = close(fd);
    else
        result = -errno;
    free(path);
    free(second);
    return result;
}

/* Gives the advice that the recorded reads show: where nearly all of them jumped and missed, the kernel did not read ahead. */
static int64_t advise(const struct io_handle *handle, const struct io_op *op, int fd)
{
    int code = op->drops ? posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) : 0;
    if (code == 0 && handle->jumps > handle->reads / 2 && handle->hits < handle->reads / 10)
        code = posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    return -code;
}

static int64_t call_handle(struct playing *playing, const struct io_op *op, struct error *err)
{
    enum trace_class class = op->event.class;
    if (class == TRACE_OPEN)
        return open_handle(playing, op->handle, err);
    struct opened *opened = handle_of(playing, op, err);
    if (!opened)
        return -EBADF;
    int fd = opened->file ? storage_file_descriptor(opened->file) : opened->fd;
    if (class == TRACE_CLOSE) {
        close_handle(opened);
        return 0;
    }
    struct stat info;
    if (class == TRACE_STAT)
        return status(fstat(fd, &info));
    if (class == TRACE_SEEK)
        return lseek(fd, op->offset, SEEK_SET) < 0 ? -errno : 0; /* reads and writes tell their places */
    if (class == TRACE_OTHER)
        return advise(&playing->player->plan->handles[op->handle], op, fd);
    if (class == TRACE_SYNC)
        return status(strcmp(trace_call_name(playing->player->plan->reader, op->event.call), "fdatasync") == 0
                          ? fdatasync(fd)
                          : fsync(fd));
    return class == TRACE_WRITE ? move(playing, op, fd, true) : read_bytes(playing, op, opened, fd, err);
}

/* ---- threads ---- */

/* A write that fails ends all: what follows would not be the job's. */
static bool ends(struct playing *playing, const struct io_op *op, int64_t result, struct error *err)
{
    if (op->event.class != TRACE_WRITE || result >= op->bytes)
        return false;
    error_set(err, ERROR_FAILED, "%s/%s: cannot write %" PRId64 " bytes at byte %" PRId64 ": %s",
              playing->player->folder, file_of(playing->player, op->file)->name, op->bytes, op->offset,
              strerror(result < 0 ? (int)-result : ENOSPC));
    return true;
}

static bool is_other(const struct io_op *op, int64_t result)
{
    bool moves =
        op->event.class == TRACE_READ || op->event.class == TRACE_WRITE || op->event.class == TRACE_FAULT;
    return op->fails ? result >= 0 : moves ? result != op->bytes : result < 0;
}

static void note_other(struct player *player, const struct io_op *op, int64_t result, const struct error *err)
{
    pthread_mutex_lock(&player->lock);
    struct io_result *to = player->result;
    if (to->other++ == 0 && *err->text)
        snprintf(to->first_other, sizeof to->first_other, "%.*s", (int)sizeof to->first_other - 1, err->text);
    else if (to->other == 1)
        snprintf(to->first_other, sizeof to->first_other, "%s of %s: %s%s", trace_class_name(op->event.class),
                 file_of(player, op->file)->path,
                 result < 0  ? strerror((int)-result)
                 : op->fails ? "it failed when it was recorded"
                             : "fewer bytes",
                 op->event.class == TRACE_READ && result >= 0 ? " than recorded" : "");
    to->classes[op->event.class].other++;
    pthread_mutex_unlock(&player->lock);
}

static bool play_op(struct playing *playing, const struct io_op *op, struct io_done *done)
{
    struct player *player = playing->player;
    struct error err = {.text = ""};
    if (!player->options->fastest)
        sleep_until(player, player->start_ns + op->start_ns);
    wait_for_others(playing, op);
    if (is_over(player))
        return false;
    int64_t begin = clock_nanoseconds();
    take_step(playing, op->first);
    int64_t called = op->first ? clock_nanoseconds() : begin;
    int64_t result = op->handle != NONE ? call_handle(playing, op, &err) : call_name(playing, op, &err);
    int64_t end = clock_nanoseconds();
    *done = (struct io_done){begin - player->start_ns, end - called, result};
    if (ends(playing, op, result, &err)) {
        fail(player, &err);
        return false;
    }
    if (is_other(op, result))
        note_other(player, op, result, &err);
    take_step(playing, true);
    return true;
}

/* Returns when all threads are there; player->start_ns is set then. */
static void wait_for_start(struct player *player)
{
    pthread_mutex_lock(&player->lock);
    player->ready++;
    pthread_cond_broadcast(&player->change);
    while (player->start_ns == 0 && !atomic_load(&player->failed))
        pthread_cond_wait(&player->change, &player->lock);
    pthread_mutex_unlock(&player->lock);
}

static void *play(void *context)
{
    struct playing *playing = context;
    struct player *player = playing->player;
    const struct io_thread *thread = &player->plan->threads[playing->thread];
    struct io_done *done =
        player->result->done[(size_t)playing->copy * player->plan->thread_count + playing->thread];
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* by default sleeps end up to 50 us late */
    wait_for_start(player);
    sleep_until(player, player->start_ns);
    for (size_t i = 0; i < thread->count && !is_over(player); i++)
        if (!play_op(playing, &thread->ops[i], &done[i]))
            break;
    return NULL;
}

/* Makes a thread's reader and its buffer, with content to write. */
static bool prepare(struct playing *playing, struct error *err)
{
    const struct io_thread *thread = &playing->player->plan->threads[playing->thread];
    struct dataset_bytes content;
    int64_t largest = 0;
    bool writes = false;
    for (size_t i = 0; i < thread->count; i++) {
        const struct io_op *op = &thread->ops[i];
        bool moves =
            op->event.class == TRACE_READ || op->event.class == TRACE_WRITE || op->event.class == TRACE_FAULT;
        largest = moves && op->bytes > largest ? op->bytes : largest;
        writes |= op->event.class == TRACE_WRITE;
    }
    playing->room = largest + STORAGE_SLACK;
    playing->reader = storage_reader_new(playing->player->options->storage, err);
    playing->buffer = playing->reader ? storage_reader_buffer(playing->reader, 0, playing->room, err) : NULL;
    if (!playing->buffer)
        return false;
    dataset_bytes_init(&content, 1, playing->thread, 0.0);
    if (writes)
        dataset_bytes_fill(&content, 0, playing->buffer, (size_t)largest);
    return true;
}

/* Opens what was open before the trace. */
static bool open_implied(struct player *player, struct playing *first, struct error *err)
{
    const struct io_plan *plan = player->plan;
    for (uint32_t i = 0; i < plan->handle_count; i++)
        if (plan->handles[i].implied && plan->files[plan->handles[i].file].bytes >= 0 &&
            open_handle(first, i, err) < 0)
            return false;
    return true;
}

static bool start_all(struct player *player, struct playing *threads, size_t count, struct error *err)
{
    const struct io_plan *plan = player->plan;
    for (size_t i = 0; i < count; i++) {
        threads[i] = (struct playing){.player = player,
                                      .copy = (int)(i / plan->thread_count),
                                      .thread = (uint32_t)(i % plan->thread_count)};
        if (!prepare(&threads[i], err) || (threads[i].thread == 0 && !open_implied(player, &threads[i], err)))
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        int code = pthread_create(&threads[i].id, NULL, play, &threads[i]);
        if (code != 0)
            return error_set(err, ERROR_FAILED, "cannot start thread %zu of %zu: %s", i + 1, count,
                             strerror(code));
        threads[i].runs = true;
    }
    return true;
}

static bool play_all(struct player *player, struct playing *threads, size_t count, struct error *err)
{
    bool done = start_all(player, threads, count, err);
    if (!done)
        fail(player, err);
    pthread_mutex_lock(&player->lock);
    while (done && player->ready < (int)count)
        pthread_cond_wait(&player->change, &player->lock);
    player->start_ns =
        clock_nanoseconds() + LEAD_NS + (player->options->fastest ? 0 : player->plan->before_ns);
    player->result->start_ns = player->start_ns - clock_nanoseconds() + clock_read(CLOCK_REALTIME);
    pthread_cond_broadcast(&player->change);
    pthread_mutex_unlock(&player->lock);
    for (size_t i = 0; i < count; i++)
        if (threads[i].runs)
            pthread_join(threads[i].id, NULL);
    if (done && !player->options->fastest)
        sleep_until(player, player->start_ns + player->plan->end_ns + player->plan->after_ns);
    player->result->end_ns = clock_nanoseconds() - player->start_ns;
    return done && !atomic_load(&player->failed) &&
           (!player->options->stop || !atomic_load(player->options->stop) ||
            error_set(err, ERROR_STOPPED, "stopped: the replay was not complete"));
}

/* ---- results ---- */

static void count_op(struct io_result *result, const struct io_op *op, const struct io_done *done,
                     bool fastest)
{
    struct io_class *class = &result->classes[op->event.class];
    bool writes = op->event.class == TRACE_WRITE,
         reads = op->event.class == TRACE_READ || op->event.class == TRACE_FAULT;
    class->calls++;
    if (op->event.latency_ns >= 0)
        histogram_add(&class->recorded, op->event.latency_ns);
    histogram_add(&class->replayed, done->took_ns);
    if (!fastest)
        histogram_add(&result->late, done->start_ns - op->start_ns);
    *(writes ? &result->written : &result->read) += (writes || reads) && done->result > 0 ? done->result : 0;
}

static void sum_up(const struct io_plan *plan, const struct io_options *options, struct io_result *result)
{
    int64_t first = INT64_MAX, end = 0;
    for (size_t i = 0; i < plan->thread_count * (size_t)options->copies; i++) {
        const struct io_thread *thread = &plan->threads[i % plan->thread_count];
        for (size_t k = 0; k < thread->count; k++) {
            const struct io_done *done = &result->done[i][k];
            count_op(result, &thread->ops[k], done, options->fastest || plan->end_ns == 0);
            first = done->start_ns < first ? done->start_ns : first;
            end = done->start_ns + done->took_ns > end ? done->start_ns + done->took_ns : end;
        }
    }
    result->recorded_seconds = plan->end_ns > 0 ? (double)plan->end_ns / 1e9 : (double)NAN;
    result->seconds = (double)(end - first) / 1e9;
}

static bool allocate(struct player *player, struct io_result *result)
{
    const struct io_plan *plan = player->plan;
    size_t copies = (size_t)player->options->copies;
    player->copies = calloc(copies, sizeof *player->copies);
    result->done = calloc(plan->thread_count * copies, sizeof *result->done);
    bool done = player->copies && result->done;
    for (size_t i = 0; done && i < copies; i++) {
        struct copy_state *copy = &player->copies[i];
        copy->done = calloc(plan->thread_count, sizeof *copy->done);
        copy->handles = calloc(plan->handle_count + 1, sizeof *copy->handles);
        done = copy->done && copy->handles;
        for (size_t k = 0; done && k < plan->handle_count; k++)
            copy->handles[k].fd = -1;
    }
    for (size_t i = 0; done && i < plan->thread_count * copies; i++)
        done = (result->done[i] =
                    calloc(plan->threads[i % plan->thread_count].count, sizeof **result->done)) != NULL;
    return done;
}

static void release(struct player *player, struct playing *threads, size_t count)
{
    for (int i = 0; player->copies && i < player->options->copies; i++) {
        struct copy_state *copy = &player->copies[i];
        for (size_t k = 0; copy->handles && copy->done && k < player->plan->handle_count; k++)
            close_handle(&copy->handles[k]);
        free(copy->handles);
        free(copy->done);
    }
    free(player->copies);
    for (size_t i = 0; threads && i < count; i++)
        storage_reader_free(threads[i].reader);
    free(threads);
}

bool io_run(const struct io_plan *plan, const struct io_options *options, struct io_result *result,
            struct error *err)
{
    size_t count = plan->thread_count * (size_t)options->copies;
    struct error why = {.text = ""};
    struct player player = {.plan = plan,
                            .options = options,
                            .result = result,
                            .folder = storage_options(options->storage)->root,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .change = PTHREAD_COND_INITIALIZER,
                            .err = &why};
    const struct storage_options *how = storage_options(options->storage);
    player.engine = how->method != STORAGE_POSIX || how->direct;
    struct playing *threads = calloc(count, sizeof *threads);
    bool done = (threads && allocate(&player, result)) || error_memory(err);
    if (done && !(done = play_all(&player, threads, count, err)) && *why.text)
        *err = why;
    release(&player, threads, count);
    if (done)
        sum_up(plan, options, result);
    else if (plan->changes)
        io_files_clear(plan, player.folder, options->copies);
    return done;
}

void io_result_release(const struct io_plan *plan, const struct io_options *options, struct io_result *result)
{
    for (size_t i = 0; result->done && i < plan->thread_count * (size_t)options->copies; i++)
        free(result->done[i]);
    free(result->done);
    result->done = NULL;
}
