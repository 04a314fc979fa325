/* The wire of ranks that mpirun or srun has started. A message is two of MPI's: its head, for which a receive is always open, and its
 * bytes, for which one is opened when the head says how many they are. MPI keeps the order of each. */
#include "comm/group.h"
#include "core/clock.h"
#include "core/vector.h"
#include "run/wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAG_HEAD      41
#define TAG_BYTES     42
#define MIN_SLEEP     20e-6 /* seconds; doubled while nothing comes */
#define MAX_SLEEP     160e-6
#define CLOSE_SECONDS 2.0
#define SPIN          30e-6 /* before a time, in which nobody sleeps any more */

/* A message on its way out: two requests. */
struct outgoing {
    struct wire_head head;
    int *pending;
    void *own; /* a copy of the bytes */
    int left;  /* requests */
};

/* Bytes that are on their way in. */
struct incoming {
    struct wire_head head;
    void *bytes;
};

struct mpi_wire {
    struct wire wire;
    struct comm *comm;
    struct wire_head *heads; /* of each rank, that is to come */
    void **head_requests;
    bool *open; /* such a receive */
    struct incoming *ins;
    void **in_requests;
    size_t in_count, in_capacity, in_room;
    struct outgoing **outs; /* one for each request */
    void **out_requests;
    size_t out_count, out_capacity, out_room;
    double sleep;
};

static bool broken(struct error *err)
{
    return error_set(err, ERROR_FAILED, "MPI says that the connection to another rank is lost");
}

/* ---- out ---- */

/* Adds a request, for which there is room. False: MPI could not begin it. */
static bool add_out(struct mpi_wire *mpi, struct outgoing *out, void *request)
{
    if (!request)
        return false;
    mpi->out_requests[mpi->out_count] = request;
    mpi->outs[mpi->out_count++] = out;
    out->left++;
    return true;
}

static struct outgoing *outgoing_new(const struct wire_head *head, const void *bytes, int *pending)
{
    struct outgoing *out = calloc(1, sizeof *out);
    if (!out)
        return NULL;
    out->head = *head;
    out->pending = pending;
    if (pending || head->length == 0)
        return out;
    out->own = malloc((size_t)head->length);
    if (!out->own) {
        free(out);
        return NULL;
    }
    memcpy(out->own, bytes, (size_t)head->length);
    return out;
}

static bool send_by_mpi(struct wire *wire, const struct wire_head *head, const void *bytes, int *pending,
                        struct error *err)
{
    struct mpi_wire *mpi = (struct mpi_wire *)wire;
    if (!VECTOR_ROOM(mpi->out_requests, mpi->out_room, mpi->out_count + 2) ||
        !VECTOR_ROOM(mpi->outs, mpi->out_capacity, mpi->out_count + 2))
        return error_memory(err);
    struct outgoing *out = outgoing_new(head, bytes, pending);
    if (!out)
        return error_memory(err);
    if (!add_out(mpi, out, comm_send(mpi->comm, NULL, head->to, TAG_HEAD, &out->head, sizeof out->head))) {
        free(out->own);
        free(out);
        return broken(err);
    }
    if (pending)
        ++*pending;
    const void *sent = out->own ? out->own : bytes;
    return head->length == 0 ||
           add_out(mpi, out, comm_send(mpi->comm, NULL, head->to, TAG_BYTES, sent, head->length)) ||
           broken(err);
}

/* ---- in ---- */

static bool open_head(struct mpi_wire *mpi, int rank, struct error *err)
{
    mpi->head_requests[rank] =
        comm_receive(mpi->comm, NULL, rank, TAG_HEAD, &mpi->heads[rank], sizeof *mpi->heads);
    mpi->open[rank] = true;
    return mpi->head_requests[rank] || broken(err);
}

static bool give(struct mpi_wire *mpi, const struct wire_head *head, void *bytes, struct error *err)
{
    mpi->wire.received_bytes += head->length;
    mpi->wire.received_messages++;
    return mpi->wire.receiver.arrived(mpi->wire.receiver.context, head, bytes, err);
}

static bool take_head(struct mpi_wire *mpi, int rank, struct error *err)
{
    const struct wire_head head = mpi->heads[rank];
    if (!wire_head_is_right(&mpi->wire, &head, rank, err))
        return false;
    if (head.kind == WIRE_BEAT) /* the last one */
        return true;
    if (head.length == 0)
        return open_head(mpi, rank, err) && give(mpi, &head, NULL, err);
    const struct incoming in = {head, mpi->wire.receiver.place(mpi->wire.receiver.context, &head, err)};
    if (!in.bytes)
        return false;
    void *request = comm_receive(mpi->comm, NULL, rank, TAG_BYTES, in.bytes, head.length);
    size_t requests = mpi->in_count;
    if (!request)
        return broken(err);
    if (!VECTOR_ADD(mpi->in_requests, requests, mpi->in_room, request) ||
        !VECTOR_ADD(mpi->ins, mpi->in_count, mpi->in_capacity, in))
        return error_memory(err);
    return open_head(mpi, rank, err);
}

/* ---- both ---- */

/* Polls requests; *ended tells how many have ended, whose places are NULL. */
static bool look(struct mpi_wire *mpi, void **requests, size_t count, size_t *ended, struct error *err)
{
    int pending = count > 0 ? comm_poll(mpi->comm, requests, (int)count, NULL) : 0;
    *ended = count - (size_t)(pending < 0 ? 0 : pending);
    return pending >= 0 || broken(err);
}

static bool look_out(struct mpi_wire *mpi, bool *came, struct error *err)
{
    size_t ended, kept = 0;
    if (!look(mpi, mpi->out_requests, mpi->out_count, &ended, err))
        return false;
    *came |= ended > 0;
    for (size_t i = 0; ended > 0 && i < mpi->out_count; i++) {
        struct outgoing *out = mpi->outs[i];
        if (mpi->out_requests[i]) {
            mpi->out_requests[kept] = mpi->out_requests[i];
            mpi->outs[kept++] = out;
        } else if (--out->left == 0) {
            if (out->pending)
                --*out->pending;
            free(out->own);
            free(out);
        }
    }
    mpi->out_count = ended > 0 ? kept : mpi->out_count;
    return true;
}

static bool look_in(struct mpi_wire *mpi, bool *came, struct error *err)
{
    size_t ended;
    if (!look(mpi, mpi->in_requests, mpi->in_count, &ended, err))
        return false;
    *came |= ended > 0;
    for (size_t i = 0; ended > 0 && i < mpi->in_count;) {
        if (mpi->in_requests[i]) {
            i++;
            continue;
        }
        const struct incoming in = mpi->ins[i];
        mpi->in_count--; /* in order, as they were opened */
        memmove(&mpi->ins[i], &mpi->ins[i + 1], (mpi->in_count - i) * sizeof *mpi->ins);
        memmove(&mpi->in_requests[i], &mpi->in_requests[i + 1],
                (mpi->in_count - i) * sizeof *mpi->in_requests);
        if (!give(mpi, &in.head, in.bytes, err))
            return false;
    }
    if (!look(mpi, mpi->head_requests, (size_t)mpi->wire.size, &ended, err))
        return false;
    for (int rank = 0; rank < mpi->wire.size; rank++)
        if (mpi->open[rank] && !mpi->head_requests[rank]) {
            mpi->open[rank] = false;
            *came = true;
            if (!take_head(mpi, rank, err))
                return false;
        }
    return true;
}

static bool poll_mpi(struct wire *wire, double until, struct error *err)
{
    struct mpi_wire *mpi = (struct mpi_wire *)wire;
    for (;;) {
        bool came = false;
        if (!look_out(mpi, &came, err) || !look_in(mpi, &came, err))
            return false;
        double left = until - clock_now();
        if (came)
            mpi->sleep = MIN_SLEEP;
        if (came || left <= 0.0)
            return true;
        if (left > SPIN) {
            clock_sleep((int64_t)(fmin(mpi->sleep, left - SPIN) * 1e9));
            mpi->sleep = fmin(2 * mpi->sleep, MAX_SLEEP);
        }
    }
}

static bool is_empty(const struct wire *wire)
{
    return ((const struct mpi_wire *)wire)->out_count == 0;
}

/* MPI may still read what was begun: it stays until the process ends. */
static void forget(struct wire *wire)
{
    struct mpi_wire *mpi = (struct mpi_wire *)wire;
    for (size_t i = 0; i < mpi->out_count; i++)
        mpi->outs[i]->pending = NULL;
}

static void release(struct mpi_wire *mpi)
{
    free(mpi->heads);
    free(mpi->head_requests);
    free(mpi->open);
    free(mpi->ins);
    free(mpi->in_requests);
    free(mpi->outs);
    free(mpi->out_requests);
    free(mpi);
}

/* Ranks tell each other that nothing more will come: the receives that are open end by that. */
static void close_mpi(struct wire *wire)
{
    struct mpi_wire *mpi = (struct mpi_wire *)wire;
    struct error ignored;
    bool ok = true, came = false;
    for (int rank = 0; ok && rank < wire->size; rank++) {
        struct wire_head head = {.kind = WIRE_BEAT, .to = rank};
        ok = rank == wire->rank || wire_send(wire, &head, NULL, NULL, &ignored);
    }
    double end = clock_now() + CLOSE_SECONDS;
    int open = 1;
    while (ok && clock_now() < end && (mpi->out_count > 0 || open > 0)) {
        ok = look_out(mpi, &came, &ignored) && look_in(mpi, &came, &ignored);
        open = 0;
        for (int rank = 0; rank < wire->size; rank++)
            open += mpi->head_requests[rank] != NULL;
        clock_sleep(100000);
    }
    if (ok && mpi->out_count == 0 && open == 0) /* else MPI may still write there */
        release(mpi);
}

struct wire *wire_over_mpi(struct comm *comm, struct error *err)
{
    static const struct wire_calls calls = {send_by_mpi, poll_mpi, is_empty, forget, close_mpi};
    struct mpi_wire *mpi = calloc(1, sizeof *mpi);
    if (!mpi) {
        error_memory(err);
        return NULL;
    }
    int size = comm_size(comm);
    mpi->wire = (struct wire){.calls = &calls, .rank = comm_rank(comm), .size = size};
    mpi->comm = comm;
    mpi->sleep = MIN_SLEEP;
    mpi->heads = calloc((size_t)size, sizeof *mpi->heads);
    mpi->head_requests = calloc((size_t)size, sizeof *mpi->head_requests);
    mpi->open = calloc((size_t)size, sizeof *mpi->open);
    if (!mpi->heads || !mpi->head_requests || !mpi->open) {
        release(mpi);
        error_memory(err);
        return NULL;
    }
    for (int rank = 0; rank < size; rank++)
        if (rank != mpi->wire.rank && !open_head(mpi, rank, err))
            return NULL; // NOLINT(clang-analyzer-unix.Malloc): MPI may still write there
    return &mpi->wire;
}
