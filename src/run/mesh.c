/* Stream sockets between all ranks. Each rank has a queue of messages to each other one, and one message that comes
 * from it.
 *
 * A rank whose process ends is lost at once: its sockets close. One whose cable is cut is lost when nothing has come
 * from it for `silence` seconds. */
#include "core/clock.h"
#include "core/vector.h"
#include "run/wire.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
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
};

struct mesh {
    struct wire wire;
    struct peer *peers;
    struct pollfd *polled;
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

static bool lose(struct wire *wire, int rank, const char *why, struct error *err)
{
    struct peer *peer = &((struct mesh *)wire)->peers[rank];
    if (peer->socket >= 0)
        close(peer->socket);
    peer->socket = -1;
    wire->peers[rank].lost = true;
    drop_queue(peer);
    if (!wire->receiver.lost)
        return error_set(err, ERROR_FAILED, "rank %d is lost: %s", rank, why);
    return wire->receiver.lost(wire->receiver.context, rank, why, err);
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
    if (wire->peers[head->to].lost)
        return true; /* which was told */
    if (head->kind == WIRE_BEAT && (peer->socket < 0 || peer->count > 0))
        return true; /* what is on its way tells as much */
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
    return wire->peers[head->to].cut || peer->socket < 0 || push(peer) ||
           lose(wire, head->to, "its process has ended", err);
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
            return lose(&mesh->wire, rank, "its process has ended", err);
        mesh->wire.peers[rank].heard = clock_now();
        mesh->wire.peers[rank].late = false;
        peer->here += (size_t)count;
        got += (size_t)count;
        if (in_head && peer->here == head && !place(mesh, rank, err))
            return false;
        if (peer->here >= head && peer->here == head + (size_t)peer->head.length && !take(mesh, rank, err))
            return false;
    }
    return true;
}

/* ---- both ---- */

static bool look(struct mesh *mesh, double wait, bool *came, struct error *err)
{
    int size = mesh->wire.size;
    for (int rank = 0; rank < size; rank++) {
        const struct peer *peer = &mesh->peers[rank];
        mesh->polled[rank] = (struct pollfd){.fd = mesh->wire.peers[rank].cut ? -1 : peer->socket,
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
            !lose(&mesh->wire, rank, "its process has ended", err))
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
        double wait = left > SPIN ? fmin(left - SPIN, fmin(MAX_WAIT, 0.1 * wire->silence)) : 0.0;
        if (!look(mesh, wait, &came, err) || !wire_beat(wire, lose, err))
            return false;
    } while (!came && clock_now() < until);
    return true;
}

static bool is_empty(const struct wire *wire)
{
    const struct mesh *mesh = (const struct mesh *)wire;
    for (int rank = 0; rank < wire->size; rank++) {
        const struct peer *peer = &mesh->peers[rank];
        if (peer->count > 0 && peer->socket >= 0 && !wire->peers[rank].cut && !wire->peers[rank].late)
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
        wire->peers[rank].lost = true;
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
    free(wire->peers);
    free(mesh->peers);
    free(mesh->polled);
    free(mesh);
}

static bool attach(struct wire *wire, int rank, int socket)
{
    struct peer *peer = &((struct mesh *)wire)->peers[rank];
    if (peer->socket >= 0 || wire->peers[rank].lost)
        return false;
    peer->socket = socket;
    wire->peers[rank].heard = clock_now();
    return true;
}

struct wire *wire_over_sockets(int rank, int size, const int *sockets, double silence, struct error *err)
{
    static const struct wire_calls calls = {.send = send_on_socket,
                                            .poll = poll_sockets,
                                            .is_empty = is_empty,
                                            .forget = forget,
                                            .attach = attach,
                                            .close = close_sockets};
    struct mesh *mesh = calloc(1, sizeof *mesh);
    if (!mesh)
        return error_memory_null(err);
    mesh->wire = (struct wire){.calls = &calls, .rank = rank, .size = size, .silence = silence, .wake = -1};
    mesh->peers = calloc((size_t)size, sizeof *mesh->peers);
    mesh->polled = calloc((size_t)size + 1, sizeof *mesh->polled);
    bool made = wire_add_peers(&mesh->wire, err) && mesh->peers && mesh->polled;
    for (int i = 0; mesh->peers && i < size; i++)
        mesh->peers[i].socket = i == rank ? -1 : sockets[i];
    for (int i = 0; made && i < size; i++)
        mesh->wire.peers[i].late = mesh->peers[i].socket < 0;
    if (made)
        return &mesh->wire;
    close_sockets(&mesh->wire);
    return error_memory_null(err);
}
