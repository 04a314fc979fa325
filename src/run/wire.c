/* What all wires have in common, and the wire of a rank that is alone. */
#include "run/wire.h"

#include "core/clock.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC       UINT32_C(0x52485031) /* "RHP1" */
#define SPIN        50e-6                /* seconds before a time, in which nobody sleeps any more */
#define CLOCK_SLACK 60e-6
#define BRIEF       0.05 /* seconds: no wire waits longer at once */

_Static_assert(sizeof(struct wire_head) % sizeof(uint64_t) == 0, "a head is checked word by word");

bool wire_send(struct wire *wire, struct wire_head *head, const void *bytes, int *pending, struct error *err)
{
    head->magic = MAGIC;
    head->from = wire->rank;
    head->check = wire_check_of(head);
    if (head->length > WIRE_MAX_BYTES)
        return error_set(err, ERROR_INPUT,
                         "a message of %lld bytes exceeds the limit of %lld: --byte-share 0.1 sends a tenth",
                         (long long)head->length, (long long)WIRE_MAX_BYTES);
    wire->sent_bytes += head->length;
    if (wire->peers)
        wire->peers[head->to].told = clock_now();
    return wire->calls->send(wire, head, bytes, pending, err);
}

bool wire_add_peers(struct wire *wire, struct error *err)
{
    wire->peers = calloc((size_t)wire->size, sizeof *wire->peers);
    for (int rank = 0; wire->peers && rank < wire->size; rank++)
        wire->peers[rank].heard = wire->peers[rank].told = clock_now();
    wire->listened = clock_now();
    return wire->peers || error_memory(err);
}

bool wire_beat(struct wire *wire, wire_lose *lose, struct error *err)
{
    double now = clock_now(), away = now - wire->listened;
    wire->listened = now;
    for (int rank = 0; rank < wire->size; rank++) {
        struct wire_peer *peer = &wire->peers[rank];
        struct wire_head head = {.kind = WIRE_BEAT, .to = rank, .instance = WIRE_ALIVE};
        if (rank == wire->rank || peer->lost)
            continue;
        if (away > BRIEF + 0.15 * wire->silence)
            peer->heard = fmin(now, peer->heard + away);
        if (!peer->late && now - peer->heard > wire->silence &&
            !lose(wire, rank, "nothing has come from it", err))
            return false;
        if (!peer->lost && now - peer->told > 0.2 * wire->silence && !wire_send(wire, &head, NULL, NULL, err))
            return false;
    }
    return true;
}

bool wire_head_is_right(const struct wire *wire, const struct wire_head *head, int from, struct error *err)
{
    bool right = head->magic == MAGIC && head->check == wire_check_of(head) && head->from == from &&
                 head->to == wire->rank && head->kind > 0 && head->kind < WIRE_KINDS && head->length >= 0 &&
                 head->length <= WIRE_MAX_BYTES;
    return right ||
           error_set(err, ERROR_FAILED, "a message from rank %d is corrupted: inconsistent header", from);
}

bool wire_sleep(const struct wire *wire, double seconds)
{
    struct pollfd wake = {.fd = wire->wake, .events = POLLIN};
    const struct timespec time = clock_timespec((int64_t)(seconds * 1e9));
    return ppoll(&wake, 1, &time, NULL) > 0;
}

/* Sleeps until shortly before a time, and looks at the clock from then on. */
static void wait_until(const struct wire *wire, double until)
{
    double left = until - clock_now();
    if (left > SPIN + CLOCK_SLACK && wire_sleep(wire, left - SPIN))
        return;
    while (clock_now() < until)
        ;
}

bool wire_poll(struct wire *wire, double until, struct error *err)
{
    return wire->calls->poll(wire, until, err);
}

void wire_cut(struct wire *wire)
{
    for (int rank = 0; wire->peers && rank < wire->size; rank++)
        wire->peers[rank].cut = true;
}

void wire_await(struct wire *wire, int rank, bool late)
{
    if (!wire->calls->attach || rank == wire->rank)
        return;
    struct wire_peer *peer = &wire->peers[rank];
    if (peer->late && !late)
        peer->heard = clock_now();
    peer->late = late;
}

bool wire_attach(struct wire *wire, int rank, int socket)
{
    return wire->calls->attach && rank != wire->rank && wire->calls->attach(wire, rank, socket);
}

bool wire_is_empty(const struct wire *wire)
{
    return !wire->calls->is_empty || wire->calls->is_empty(wire);
}

void wire_forget(struct wire *wire)
{
    if (wire->calls->forget)
        wire->calls->forget(wire);
}

void wire_close(struct wire *wire)
{
    if (wire && wire->calls->close)
        wire->calls->close(wire);
    else
        free(wire);
}

/* ---- a rank alone ---- */

static bool send_to_nobody(struct wire *wire, const struct wire_head *head, const void *bytes, int *pending,
                           struct error *err)
{
    (void)wire, (void)bytes, (void)pending;
    return error_set(err, ERROR_FAILED, "a message to rank %d, which is not there", head->to);
}

static bool wait_alone(struct wire *wire, double until, struct error *err)
{
    (void)err;
    if (isfinite(until))
        wait_until(wire, until);
    else
        return error_set(err, ERROR_FAILED, "rank %d waits for nothing", wire->rank);
    return true;
}

struct wire *wire_alone(struct error *err)
{
    static const struct wire_calls calls = {.send = send_to_nobody, .poll = wait_alone};
    struct wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        return error_memory_null(err);
    wire->calls = &calls;
    wire->size = 1;
    wire->wake = -1;
    return wire;
}

void wire_leave(struct wire *wire, int status)
{
    fflush(NULL);
    wire_close(wire);
    _exit(status);
}
