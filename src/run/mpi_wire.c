/* The wire of ranks that mpirun or srun has started. A message is two of MPI's: its head, for which a receive is always
 * open, and its bytes, for which one is opened when the head says how many they are. MPI keeps the order of each. */
#include "comm/group.h"
#include "core/clock.h"
#include "core/vector.h"
#include "run/wire.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define TAG_HEAD      41
#define TAG_BYTES     42
#define MIN_SLEEP     20e-6 /* seconds; doubled while nothing comes */
#define MAX_SLEEP     160e-6
#define CLOSE_SECONDS 2.0
#define LOOK          0.01   /* seconds between two looks for ranks that are lost */
#define SPIN          30e-6  /* before a time, in which nobody sleeps any more */
#define BRIEF         200e-6 /* for so long after something came, nobody sleeps: an answer often follows */
#define MOVING        1e-3 /* the same while bytes are on their way, as they move only while MPI is called */

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
    int next;                /* the rank whose head is looked at first */
    void **head_requests;
    bool *open; /* such a receive */
    struct incoming *ins;
    void **in_requests;
    size_t in_count, in_capacity, in_room;
    struct outgoing **outs; /* one for each request */
    void **out_requests;
    size_t out_count, out_capacity, out_room;
    double sleep;
    double came;   /* when something last came or went */
    bool survives; /* lost ranks */
    enum comm_state *states;
    size_t state_room;
    double looked; /* when MPI was asked who has failed */
};

/* ---- ranks that are lost ---- */

static bool lose(struct wire *wire, int rank, const char *why, struct error *err)
{
    struct wire_receiver *receiver = &wire->receiver;
    if (wire->peers[rank].lost)
        return true;
    wire->peers[rank].lost = true;
    return receiver->lost ? receiver->lost(receiver->context, rank, why, err) : true;
}

/* A request to or from a rank has failed: the rank is lost, or the run. */
static bool break_off(struct mpi_wire *mpi, int rank, struct error *err)
{
    return lose(&mpi->wire, rank, "its process has ended", err);
}

static bool look_for_lost(struct mpi_wire *mpi, struct error *err)
{
    int failed[WIRE_MAX_RANKS];
    double now = clock_now();
    if (now - mpi->looked < LOOK)
        return true;
    mpi->looked = now;
    int count = comm_failed(mpi->comm, failed, mpi->wire.size);
    for (int i = 0; i < count; i++)
        if (failed[i] >= 0 && failed[i] < mpi->wire.size && failed[i] != mpi->wire.rank &&
            !lose(&mpi->wire, failed[i], "its process has ended", err))
            return false;
    return wire_beat(&mpi->wire, lose, err);
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
    if (wire->peers[head->to].lost || wire->peers[head->to].cut)
        return true;
    if (!VECTOR_ROOM(mpi->out_requests, mpi->out_room, mpi->out_count + 2) ||
        !VECTOR_ROOM(mpi->outs, mpi->out_capacity, mpi->out_count + 2))
        return error_memory(err);
    struct outgoing *out = outgoing_new(head, bytes, pending);
    if (!out)
        return error_memory(err);
    if (!add_out(mpi, out, comm_send(mpi->comm, NULL, head->to, TAG_HEAD, &out->head, sizeof out->head))) {
        free(out->own);
        free(out);
        return break_off(mpi, head->to, err);
    }
    if (pending)
        ++*pending;
    const void *sent = out->own ? out->own : bytes;
    return head->length == 0 ||
           add_out(mpi, out, comm_send(mpi->comm, NULL, head->to, TAG_BYTES, sent, head->length)) ||
           break_off(mpi, head->to, err);
}

/* ---- in ---- */

static bool open_head(struct mpi_wire *mpi, int rank, struct error *err)
{
    mpi->head_requests[rank] =
        comm_receive(mpi->comm, NULL, rank, TAG_HEAD, &mpi->heads[rank], sizeof *mpi->heads);
    mpi->open[rank] = true;
    return mpi->head_requests[rank] || break_off(mpi, rank, err);
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
    struct wire_peer *peer = &mpi->wire.peers[rank];
    if (!wire_head_is_right(&mpi->wire, &head, rank, err))
        return false;
    peer->heard = clock_now();
    if (peer->lost)
        return true;
    if ((head.kind == WIRE_BEAT && head.instance == WIRE_ALIVE) || peer->cut)
        return open_head(mpi, rank, err);
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
        return break_off(mpi, rank, err);
    if (!VECTOR_ADD(mpi->in_requests, requests, mpi->in_room, request) ||
        !VECTOR_ADD(mpi->ins, mpi->in_count, mpi->in_capacity, in))
        return error_memory(err);
    return open_head(mpi, rank, err);
}

/* ---- both ---- */

/* Polls requests; *ended tells how many have ended, whose places are NULL. */
static bool look(struct mpi_wire *mpi, void **requests, size_t count, size_t *ended, struct error *err)
{
    if (!VECTOR_ROOM(mpi->states, mpi->state_room, count + 1))
        return error_memory(err);
    int pending = count > 0 ? comm_poll(mpi->comm, requests, (int)count, mpi->states) : 0;
    if (pending < 0) { /* some are lost: states tell whose */
        pending = 0;
        for (size_t i = 0; i < count; i++)
            pending += requests[i] != NULL;
    }
    *ended = count - (size_t)pending;
    return true;
}

/* Returns whether the request at this place, which has ended, was one of a rank that is lost. */
static bool is_broken(const struct mpi_wire *mpi, size_t place)
{
    return mpi->states[place] == COMM_BROKEN;
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
            continue;
        }
        if (is_broken(mpi, i) && !break_off(mpi, out->head.to, err))
            return false;
        if (--out->left == 0) {
            if (out->pending)
                --*out->pending;
            free(out->own);
            free(out);
        }
    }
    mpi->out_count = ended > 0 ? kept : mpi->out_count;
    return true;
}

/* Gives the messages whose bytes are there. */
static bool look_bytes(struct mpi_wire *mpi, bool *came, struct error *err)
{
    size_t ended, passed = 0;
    if (!look(mpi, mpi->in_requests, mpi->in_count, &ended, err))
        return false;
    *came |= ended > 0;
    for (size_t i = 0; ended > 0 && i < mpi->in_count;) {
        if (mpi->in_requests[i]) {
            i++;
            continue;
        }
        const struct incoming in = mpi->ins[i];
        const bool gone = is_broken(mpi, i + passed++);
        mpi->in_count--; /* in order, as they were opened */
        memmove(&mpi->ins[i], &mpi->ins[i + 1], (mpi->in_count - i) * sizeof *mpi->ins);
        memmove(&mpi->in_requests[i], &mpi->in_requests[i + 1],
                (mpi->in_count - i) * sizeof *mpi->in_requests);
        if (gone ? !break_off(mpi, in.head.from, err) : !give(mpi, &in.head, in.bytes, err))
            return false;
    }
    return true;
}

/* Looks which heads have come. */
static bool look_heads(struct mpi_wire *mpi, bool *came, struct error *err)
{
    size_t ended;
    if (!look(mpi, mpi->head_requests, (size_t)mpi->wire.size, &ended, err))
        return false;
    for (int rank = 0; ended > 0 && rank < mpi->wire.size; rank++)
        if (mpi->open[rank] && is_broken(mpi, (size_t)rank)) {
            mpi->open[rank] = false;
            *came = true;
            if (!break_off(mpi, rank, err))
                return false;
        }
    return true;
}

/* Takes heads that have come until one has bytes, which MPI copies at once between processes of one host. Those of
 * other ranks stay until the next time, which begins with them. */
static bool take_heads(struct mpi_wire *mpi, bool *came, struct error *err)
{
    const int size = mpi->wire.size, first = mpi->next;
    const size_t opened = mpi->in_count;
    for (int i = 0; i < size && mpi->in_count == opened; i++) {
        int rank = (first + i) % size;
        if (!mpi->open[rank] || mpi->head_requests[rank])
            continue;
        mpi->open[rank] = false;
        mpi->next = rank + 1;
        *came = true;
        if (!take_head(mpi, rank, err))
            return false;
    }
    return mpi->in_count == opened || look_bytes(mpi, came, err);
}

/* Does what can be done, but no more than one copy: what came or went before it may let a device send, and that message
 * should be on its way while this rank copies. Hence heads are looked at first, and taken last: MPI works in each look,
 * and what has ended in one is seen in the next. */
static bool move(struct mpi_wire *mpi, bool *came, struct error *err)
{
    return look_heads(mpi, came, err) && look_bytes(mpi, came, err) && look_out(mpi, came, err) &&
           (*came || take_heads(mpi, came, err));
}

static bool poll_mpi(struct wire *wire, double until, struct error *err)
{
    struct mpi_wire *mpi = (struct mpi_wire *)wire;
    for (;;) {
        bool came = false;
        if (!move(mpi, &came, err) || !look_for_lost(mpi, err))
            return false;
        double now = clock_now(), left = until - now;
        if (came) {
            mpi->sleep = MIN_SLEEP;
            mpi->came = now;
        }
        if (came || left <= 0.0)
            return true;
        if (now - mpi->came < (mpi->in_count > 0 || mpi->out_count > 0 ? MOVING : BRIEF)) {
            if (wire->wake >= 0 && wire_sleep(wire, 0.0))
                return true;
            sched_yield();
        } else if (left > SPIN) {
            if (wire_sleep(wire, fmin(mpi->sleep, left - SPIN)))
                return true;
            mpi->sleep = fmin(2 * mpi->sleep, MAX_SLEEP);
        }
    }
}

static bool is_empty(const struct wire *wire)
{
    const struct mpi_wire *mpi = (const struct mpi_wire *)wire;
    for (size_t i = 0; i < mpi->out_count; i++) {
        const struct wire_peer *peer = &wire->peers[mpi->outs[i]->head.to];
        if (!peer->lost && !peer->cut)
            return false;
    }
    return true;
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
    free(mpi->wire.peers);
    free(mpi->states);
    free(mpi);
}

/* Ranks tell each other that nothing more will come: the receives that are open end by that. */
static void close_mpi(struct wire *wire)
{
    struct mpi_wire *mpi = (struct mpi_wire *)wire;
    struct error ignored;
    bool ok = true;
    if (mpi->survives) { /* the process ends now; MPI may still write there */
        comm_agree_to_leave(mpi->comm, CLOSE_SECONDS);
        return;
    }
    for (int rank = 0; ok && rank < wire->size; rank++) {
        struct wire_head head = {.kind = WIRE_BEAT, .to = rank};
        ok = rank == wire->rank || wire_send(wire, &head, NULL, NULL, &ignored);
    }
    double end = clock_now() + CLOSE_SECONDS;
    int open = 1;
    while (ok && clock_now() < end && (mpi->out_count > 0 || open > 0)) {
        bool came = false;
        ok = move(mpi, &came, &ignored);
        open = 0;
        for (int rank = 0; rank < wire->size; rank++)
            open += mpi->open[rank];
        if (!came)
            clock_sleep(100000);
    }
    if (ok && mpi->out_count == 0 && open == 0) /* else MPI may still write there */
        release(mpi);
}

struct wire *wire_over_mpi(struct comm *comm, double silence, bool survives, struct error *err)
{
    static const struct wire_calls calls = {
        .send = send_by_mpi, .poll = poll_mpi, .is_empty = is_empty, .forget = forget, .close = close_mpi};
    struct mpi_wire *mpi = calloc(1, sizeof *mpi);
    if (!mpi)
        return error_memory_null(err);
    int size = comm_size(comm);
    mpi->wire =
        (struct wire){.calls = &calls, .rank = comm_rank(comm), .size = size, .silence = silence, .wake = -1};
    mpi->comm = comm;
    mpi->sleep = MIN_SLEEP;
    mpi->heads = calloc((size_t)size, sizeof *mpi->heads);
    mpi->head_requests = calloc((size_t)size, sizeof *mpi->head_requests);
    mpi->open = calloc((size_t)size, sizeof *mpi->open);
    mpi->survives = survives;
    if (!wire_add_peers(&mpi->wire, err) || !mpi->heads || !mpi->head_requests || !mpi->open) {
        release(mpi);
        return error_memory_null(err);
    }
    for (int rank = 0; rank < size; rank++)
        if (rank != mpi->wire.rank && !open_head(mpi, rank, err))
            return NULL; // NOLINT(clang-analyzer-unix.Malloc): MPI may still write there
    return &mpi->wire;
}
