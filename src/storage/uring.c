/* io_uring: all requests of a list in flight, up to the queue depth. */
#include "storage/method.h"

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST ((int64_t)1 << 20)
#define DEPTH   16

/* The kernel registers buffers of at most 1 GiB. */
#define MAX_REGISTERED ((int64_t)1 << 30)

struct ring {
    struct io_uring uring;
    bool registers; /* buffers */
    bool broken;    /* the kernel takes no more requests */
    int depth;
    int64_t request;
    struct storage_request *slots; /* `depth` of them */
    int *idle;                     /* slots that no request is in */
    int idle_count;
};

static bool refused(struct error *err, int result)
{
    return error_set(err, ERROR_FAILED, "cannot make an io_uring: %s%s", strerror(-result),
                     result == -EPERM || result == -ENOSYS ? "; the kernel may forbid it" : "");
}

/* liburing maps and unmaps memory behind libc's back. The lock tells the thread sanitizer that a ring that
 * lies where another one lay comes after it. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static int ring_init(struct io_uring *uring, int depth)
{
    pthread_mutex_lock(&making);
    /* Completions wait until we look for them, instead of interrupting (Linux 5.19). */
    int result = io_uring_queue_init((unsigned)depth, uring, IORING_SETUP_COOP_TASKRUN);
    if (result == -EINVAL)
        result = io_uring_queue_init((unsigned)depth, uring, 0);
    pthread_mutex_unlock(&making);
    return result;
}

static void ring_exit(struct io_uring *uring)
{
    pthread_mutex_lock(&making);
    io_uring_queue_exit(uring);
    pthread_mutex_unlock(&making);
}

/* Reports a missing io_uring once, and not in every thread. */
static bool uring_start(struct storage *storage, struct error *err)
{
    (void)storage;
    struct io_uring uring;
    int result = ring_init(&uring, 1);
    if (result < 0)
        return refused(err, result);
    ring_exit(&uring);
    return true;
}

static bool uring_reader_start(struct storage_reader *reader, struct error *err)
{
    const struct storage_options *options = &reader->storage->options;
    struct ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return error_memory(err);
    ring->depth = options->queue_depth ? options->queue_depth : DEPTH;
    ring->request = options->request ? options->request : REQUEST;
    ring->slots = calloc((size_t)ring->depth, sizeof *ring->slots);
    ring->idle = calloc((size_t)ring->depth, sizeof *ring->idle);
    int result = ring->slots && ring->idle ? ring_init(&ring->uring, ring->depth) : -ENOMEM;
    if (result < 0) {
        free(ring->slots);
        free(ring->idle);
        free(ring);
        return refused(err, result);
    }
    for (int i = 0; i < ring->depth; i++)
        ring->idle[ring->idle_count++] = i;
    ring->registers = io_uring_register_buffers_sparse(&ring->uring, STORAGE_MAX_BUFFERS + 1) == 0;
    reader->state = ring;
    return true;
}

static void uring_reader_stop(struct storage_reader *reader)
{
    struct ring *ring = reader->state;
    ring_exit(&ring->uring);
    free(ring->slots);
    free(ring->idle);
    free(ring);
}

/* A buffer that may not be registered is read into all the same. */
static void uring_buffer_changed(struct storage_reader *reader, int index)
{
    struct ring *ring = reader->state;
    struct storage_buffer *buffer = &reader->buffers[index];
    if (!ring->registers)
        return;
    bool fits = buffer->size <= MAX_REGISTERED;
    struct iovec memory = {
        .iov_base = fits ? buffer->memory : NULL,
        .iov_len = fits ? (size_t)buffer->size : 0,
    };
    __u64 tag = 0;
    int result = io_uring_register_buffers_update_tag(&ring->uring, (unsigned)index, &memory, &tag, 1);
    buffer->registered = result == 1 && memory.iov_base;
}

/* The number of the registered buffer that holds this memory, or -1. */
static int registered(const struct storage_reader *reader, const char *memory, int64_t length)
{
    for (int i = 0; i <= STORAGE_MAX_BUFFERS; i++) {
        const struct storage_buffer *buffer = &reader->buffers[i];
        uintptr_t start = (uintptr_t)buffer->memory, at = (uintptr_t)memory;
        if (buffer->registered && at >= start && at - start <= (uintptr_t)(buffer->size - length))
            return i;
    }
    return -1;
}

static void prepare(struct storage_reader *reader, const struct storage_file *file, int slot)
{
    struct ring *ring = reader->state;
    const struct storage_request *request = &ring->slots[slot];
    char *target = request->target + request->done;
    int64_t length = request->length - request->done;
    int64_t offset = request->offset + request->done;
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring->uring); /* as many as slots */
    int buffer = registered(reader, target, length);
    if (buffer >= 0)
        io_uring_prep_read_fixed(entry, file->fd, target, (unsigned)length, (__u64)offset, buffer);
    else
        io_uring_prep_read(entry, file->fd, target, (unsigned)length, (__u64)offset);
    io_uring_sqe_set_data64(entry, (__u64)slot);
}

/* Fills idle slots with the next requests. */
static bool fill(struct storage_reader *reader, const struct storage_file *file, struct storage_cut *cut,
                 struct error *err)
{
    struct ring *ring = reader->state;
    while (ring->idle_count > 0 && storage_cut_more(cut)) {
        int slot = ring->idle[ring->idle_count - 1];
        char *memory = NULL;
        if (storage_cut_passes(cut)) {
            memory = storage_passing(reader, cut->passing * ring->depth, err);
            if (!memory)
                return false;
            memory += slot * cut->passing;
        }
        ring->slots[slot] = storage_cut_next(cut, memory);
        ring->idle_count--;
        prepare(reader, file, slot);
    }
    return true;
}

/* Takes what has completed; requests that are not whole go on, unless a failure has been met. */
static bool reap(struct storage_reader *reader, const struct storage_file *file, bool ok, struct error *err)
{
    struct ring *ring = reader->state;
    const struct storage_calls *calls = &reader->storage->calls;
    struct io_uring_cqe *entry;
    while (io_uring_peek_cqe(&ring->uring, &entry) == 0) {
        int slot = (int)io_uring_cqe_get_data64(entry);
        struct storage_request *request = &ring->slots[slot];
        int result = calls->uring_result(calls->context, entry->res);
        io_uring_cqe_seen(&ring->uring, entry);
        ok = ok && storage_request_got(request, reader, file, result, err);
        if (ok && request->done < request->need)
            prepare(reader, file, slot);
        else
            ring->idle[ring->idle_count++] = slot;
    }
    return ok;
}

/* Submits what is prepared and waits for a completion. */
static bool wait_some(struct ring *ring, const struct storage_file *file, struct error *err)
{
    struct io_uring_cqe *entry;
    int result =
        ring->broken ? io_uring_wait_cqe(&ring->uring, &entry) : io_uring_submit_and_wait(&ring->uring, 1);
    if (result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY)
        return true;
    ring->broken = true;
    return error_set(err, ERROR_FAILED, "%s: io_uring accepts no requests: %s", file->path,
                     strerror(-result));
}

/* Requests that the kernel has, and whose memory it may write to. */
static int in_flight(const struct ring *ring)
{
    return ring->depth - ring->idle_count - (ring->broken ? (int)io_uring_sq_ready(&ring->uring) : 0);
}

static bool uring_read(struct storage_reader *reader, struct storage_file *file,
                       struct storage_extent *extents, int count, struct error *err)
{
    struct ring *ring = reader->state;
    if (ring->broken)
        return error_set(err, ERROR_FAILED, "%s: io_uring accepts no requests after a failure", file->path);
    struct storage_cut cut = storage_cut_start(extents, count, file->alignment, ring->request, ring->request);
    bool ok = true;
    for (;;) {
        ok = ok && fill(reader, file, &cut, err);
        if (in_flight(ring) == 0)
            return ok;
        struct error failure;
        if (!wait_some(ring, file, ok ? err : &failure))
            ok = false;
        ok = reap(reader, file, ok, err);
    }
}

const struct storage_method storage_uring = {
    .direct = true,
    .start = uring_start,
    .reader_start = uring_reader_start,
    .reader_stop = uring_reader_stop,
    .buffer_changed = uring_buffer_changed,
    STORAGE_LOCAL,
    .open = storage_local_open,
    .read = uring_read,
    .close = storage_local_close,
};
