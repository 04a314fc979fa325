/* Stream sockets between all ranks. Each rank has a queue of messages to each other one, and one message that comes from it.
 *
 * A rank whose process ends is lost at once: its sockets close. One whose cable is cut is lost when nothing has come from it for
 * `silence` seconds; all ranks say that they live when they have said nothing for a fifth of that. */
#include "core/clock.h"
#include "core/vector.h"
#include "run/wire.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_WAIT 0.05              /* seconds of one wait */
#define SPIN     30e-6             /* before a time, in which nobody sleeps any more */
#define AT_ONCE  ((size_t)1 << 20) /* bytes of a call, so that others have their turn */

struct outgoing {
    struct wire_head head;
    const char *bytes;
    int *pending;
    bool own; /* a copy of the bytes, to be freed */
};

struct peer {
    int socket; /* -1: none, or lost */
    struct outgoing *queue;
    size_t first, count, capacity, done; /* done: bytes of the first message, with its head */
    struct wire_head head;               /* that comes */
    size_t here;                         /* bytes of it, and of what follows */
    char *bytes;
    double heard, told; /* when something came, and when something was sent */
    bool cut;           /* nothing comes or goes any more */
    bool late;          /* it need not have begun: its silence means nothing */
    bool lost;
};

struct mesh {
    struct wire wire;
    struct peer *peers;
    struct pollfd *polled;
    double silence;
};

static void drop_queue(struct peer *peer)
{
    for (size_t i = peer->first; i < peer->first + peer->count; i++) {
        if (peer->queue[i].own)
            free((char *)peer->queue[i].bytes);
        if (peer->queue[i].pending)
            --*peer->queue[i].pending;
    }
    peer->first = peer->count = peer->done = 0;
}

static bool lose(struct mesh *mesh, int rank, const char *why, struct error *err)
{
    struct peer *peer = &mesh->peers[rank];
    if (peer->socket >= 0)
        close(peer->socket);
    peer->socket = -1;
    peer->lost = true;
    drop_queue(peer);
    if (!mesh->wire.receiver.lost)
        return error_set(err, ERROR_FAILED, "rank %d is lost: %s", rank, why);
    return mesh->wire.receiver.lost(mesh->wire.receiver.context, rank, why, err);
}

/* ---- out ---- */

/* Returns false if the peer is lost. */
static bool push(struct peer *peer)
{
    size_t sent = 0;
    while (peer->count > 0 && sent < AT_ONCE) {
        struct outgoing *out = &peer->queue[peer->first];
        size_t head = sizeof out->head, all = head + (size_t)out->head.length;
        struct iovec parts[2];
        int count = 0;
        if (peer->done < head)
            parts[count++] = (struct iovec){(char *)&out->head + peer->done, head - peer->done};
        size_t from = peer->done < head ? 0 : peer->done - head;
        size_t length = (size_t)out->head.length - from;
        if (length > 0)
            parts[count++] = (struct iovec){(char *)out->bytes + from, length < AT_ONCE ? length : AT_ONCE};
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t done = sendmsg(peer->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0)
            return errno == EAGAIN || errno == EINTR;
        peer->done += (size_t)done;
        sent += (size_t)done;
        if (peer->done < all)
            continue;
        if (out->own)
            free((char *)out->bytes);
        if (out->pending)
            --*out->pending;
        peer->first++;
        peer->count--;
        peer->done = 0;
    }
    if (peer->count == 0)
        peer->first = 0;
    return true;
}

static bool send_on_socket(struct wire *wire, const struct wire_head *head, const void *bytes, int *pending,
                           struct error *err)
{
    struct mesh *mesh = (struct mesh *)wire;
    struct peer *peer = &mesh->peers[head->to];
    if (peer->lost)
        return true; /* which was told */
    struct outgoing out = {*head, bytes, pending, false};
    if (!pending && head->length > 0) {
        char *copy = malloc((size_t)head->length);
        if (!copy)
            return error_memory(err);
        memcpy(copy, bytes, (size_t)head->length);
        out.bytes = copy;
        out.own = true;
    }
    if (peer->first > 64 && peer->first > peer->count) {
        memmove(peer->queue, &peer->queue[peer->first], peer->count * sizeof *peer->queue);
        peer->first = 0;
    }
    size_t end = peer->first + peer->count;
    if (!VECTOR_ADD(peer->queue, end, peer->capacity, out)) {
        if (out.own)
            free((char *)out.bytes);
        return error_memory(err);
    }
    peer->count++;
    if (pending)
        ++*pending;
    peer->told = clock_now();
    return peer->cut || peer->socket < 0 || push(peer) || lose(mesh, head->to, "its process has ended", err);
}

/* ---- in ---- */

static bool take(struct mesh *mesh, int rank, struct error *err)
{
    struct peer *peer = &mesh->peers[rank];
    struct wire_receiver *receiver = &mesh->wire.receiver;
    struct wire_head head = peer->head;
    char *bytes = peer->bytes;
    peer->here = 0;
    peer->bytes = NULL;
    if (head.kind == WIRE_BEAT)
        return true;
    mesh->wire.received_bytes += head.length;
    mesh->wire.received_messages++;
    return receiver->arrived(receiver->context, &head, bytes, err);
}

static bool place(struct mesh *mesh, int rank, struct error *err)
{
    struct peer *peer = &mesh->peers[rank];
    struct wire_receiver *receiver = &mesh->wire.receiver;
    if (!wire_head_is_right(&mesh->wire, &peer->head, rank, err))
        return false;
    if (peer->head.kind == WIRE_BEAT || peer->head.length == 0)
        return true;
    peer->bytes = receiver->place(receiver->context, &peer->head, err);
    return peer->bytes != NULL;
}

/* Reads what is there. */
static bool pull(struct mesh *mesh, int rank, struct error *err)
{
    struct peer *peer = &mesh->peers[rank];
    size_t got = 0;
    while (peer->socket >= 0 && got < 2 * AT_ONCE) {
        size_t head = sizeof peer->head;
        bool in_head = peer->here < head;
        char *to = in_head ? (char *)&peer->head + peer->here : peer->bytes + (peer->here - head);
        size_t wanted = in_head ? head - peer->here : head + (size_t)peer->head.length - peer->here;
        ssize_t count = recv(peer->socket, to, wanted < AT_ONCE ? wanted : AT_ONCE, MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (count <= 0)
            return lose(mesh, rank, "its process has ended", err);
        peer->heard = clock_now();
        peer->late = false;
        peer->here += (size_t)count;
        got += (size_t)count;
        if (in_head && peer->here == head && !place(mesh, rank, err))
            return false;
        if (peer->here >= head && peer->here == head + (size_t)peer->head.length && !take(mesh, rank, err))
            return false;
    }
    return true;
}

/* ---- silence ---- */

static bool beat(struct mesh *mesh, double now, struct error *err)
{
    for (int rank = 0; mesh->silence > 0.0 && rank < mesh->wire.size; rank++) {
        struct peer *peer = &mesh->peers[rank];
        if (rank == mesh->wire.rank || peer->lost)
            continue;
        if (!peer->late && now - peer->heard > mesh->silence &&
            !lose(mesh, rank, "nothing has come from it", err))
            return false;
        if (peer->socket < 0 || peer->count > 0 || now - peer->told < 0.2 * mesh->silence)
            continue;
        struct wire_head head = {.kind = WIRE_BEAT, .to = rank};
        if (!wire_send(&mesh->wire, &head, NULL, NULL, err))
            return false;
        mesh->wire.sent_messages--;
    }
    return true;
}

static bool look(struct mesh *mesh, double wait, bool *came, struct error *err)
{
    int size = mesh->wire.size;
    for (int rank = 0; rank < size; rank++) {
        const struct peer *peer = &mesh->peers[rank];
        mesh->polled[rank] = (struct pollfd){.fd = peer->cut ? -1 : peer->socket,
                                             .events = (short)(POLLIN | (peer->count > 0 ? POLLOUT : 0))};
    }
    mesh->polled[size] = (struct pollfd){.fd = mesh->wire.wake, .events = POLLIN};
    const struct timespec time = clock_timespec((int64_t)(fmax(0.0, wait) * 1e9));
    int count = ppoll(mesh->polled, (nfds_t)size + 1, &time, NULL);
    if (count < 0 && errno != EINTR)
        return error_set(err, ERROR_FAILED, "cannot wait for messages: %s", strerror(errno));
    *came = count > 0;
    for (int rank = 0; count > 0 && rank < size; rank++) {
        short events = mesh->polled[rank].revents;
        if ((events & POLLOUT) && mesh->peers[rank].socket >= 0 && !push(&mesh->peers[rank]) &&
            !lose(mesh, rank, "its process has ended", err))
            return false;
        if ((events & (POLLIN | POLLHUP | POLLERR)) && mesh->peers[rank].socket >= 0 &&
            !pull(mesh, rank, err))
            return false;
    }
    return true;
}

static bool poll_sockets(struct wire *wire, double until, struct error *err)
{
    struct mesh *mesh = (struct mesh *)wire;
    bool came = false;
    do {
        double now = clock_now(), left = until - now;
        double wait = left > SPIN ? fmin(left - SPIN, MAX_WAIT) : 0.0;
        if (mesh->silence > 0.0)
            wait = fmin(wait, 0.1 * mesh->silence);
        if (!look(mesh, wait, &came, err) || !beat(mesh, clock_now(), err))
            return false;
    } while (!came && clock_now() < until);
    return true;
}

static bool is_empty(const struct wire *wire)
{
    const struct mesh *mesh = (const struct mesh *)wire;
    for (int rank = 0; rank < wire->size; rank++) {
        const struct peer *peer = &mesh->peers[rank];
        if (peer->count > 0 && peer->socket >= 0 && !peer->cut && !peer->late)
            return false;
    }
    return true;
}

static void forget(struct wire *wire)
{
    struct mesh *mesh = (struct mesh *)wire;
    for (int rank = 0; rank < wire->size; rank++) {
        struct peer *peer = &mesh->peers[rank];
        if (peer->count > 0 && peer->socket >= 0) { /* half of a message must not be followed by others */
            close(peer->socket);
            peer->socket = -1;
        }
        drop_queue(peer);
        peer->lost = true;
    }
}

static void close_sockets(struct wire *wire)
{
    struct mesh *mesh = (struct mesh *)wire;
    for (int rank = 0; mesh->peers && rank < wire->size; rank++) {
        drop_queue(&mesh->peers[rank]);
        free(mesh->peers[rank].queue);
        if (mesh->peers[rank].socket >= 0)
            close(mesh->peers[rank].socket);
    }
    free(mesh->peers);
    free(mesh->polled);
    free(mesh);
}

static void cut_off(struct wire *wire)
{
    const struct mesh *mesh = (struct mesh *)wire;
    for (int rank = 0; rank < wire->size; rank++)
        mesh->peers[rank].cut = true;
}

static void await(struct wire *wire, int rank, bool late)
{
    struct peer *peer = &((struct mesh *)wire)->peers[rank];
    if (peer->late && !late)
        peer->heard = clock_now();
    peer->late = late;
}

static bool attach(struct wire *wire, int rank, int socket)
{
    struct peer *peer = &((struct mesh *)wire)->peers[rank];
    if (peer->socket >= 0 || peer->lost)
        return false;
    peer->socket = socket;
    peer->heard = clock_now();
    return true;
}

struct wire *wire_over_sockets(int rank, int size, const int *sockets, double silence, struct error *err)
{
    static const struct wire_calls calls = {.send = send_on_socket,
                                            .poll = poll_sockets,
                                            .is_empty = is_empty,
                                            .forget = forget,
                                            .cut = cut_off,
                                            .await = await,
                                            .attach = attach,
                                            .close = close_sockets};
    struct mesh *mesh = calloc(1, sizeof *mesh);
    if (!mesh) {
        error_memory(err);
        return NULL;
    }
    mesh->wire = (struct wire){.calls = &calls, .rank = rank, .size = size, .wake = -1};
    mesh->silence = silence;
    mesh->peers = calloc((size_t)size, sizeof *mesh->peers);
    mesh->polled = calloc((size_t)size + 1, sizeof *mesh->polled);
    for (int i = 0; mesh->peers && i < size; i++) {
        mesh->peers[i].socket = i == rank ? -1 : sockets[i];
        mesh->peers[i].heard = mesh->peers[i].told = clock_now();
        mesh->peers[i].late = mesh->peers[i].socket < 0;
    }
    if (mesh->peers && mesh->polled)
        return &mesh->wire;
    close_sockets(&mesh->wire);
    error_memory(err);
    return NULL;
}
