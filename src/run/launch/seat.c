/* A rank takes its seat: it connects to all lower ranks, and the higher ones connect to it. */
#include "core/clock.h"
#include "core/text.h"
#include "core/vector.h"
#include "run/launch/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC         UINT32_C(0x52485331) /* "RHS1" */
#define MAX_STRANGERS 256                  /* who have connected and not yet said who they are */
#define PATIENCE      5.0                  /* seconds for that */
#define WAIT          0.05
#define AGAIN         0.05 /* seconds after which a rank whose call was lost calls again */

struct hello {
    uint32_t magic;
    int32_t from;
    unsigned char key[LAUNCH_KEY];
};

/* One that has connected and says hello; or one whose answer is awaited. */
struct caller {
    int file; /* -1: none */
    double since;
    bool lost;  /* of such a one: its call got no place, and another one may */
    bool asked; /* of a rank that this one connects to: hello is said */
    size_t count;
    unsigned char bytes[sizeof(struct hello)];
};

struct seating {
    struct launch_seat *seat;
    struct seat_other *others;
    int *sockets;         /* -1: not yet */
    struct caller *calls; /* of each lower rank */
    struct caller strangers[MAX_STRANGERS];
    struct pollfd *polled;
    int left;
    bool later; /* this rank calls nobody */
};

static struct channel node = {.in = -1, .out = -1};

/* Ranks that have come later, and to which this one connects in between. */
struct comer {
    struct seat_comer card;
    struct caller caller;
};
static struct {
    struct comer *comers;
    size_t count, capacity;
    int self;
} attended;

bool launch_is_rank(void)
{
    const char *text = getenv(LAUNCH_VARIABLE);
    int64_t control;
    return text && text_whole(text, "", &control) && control == LAUNCH_CONTROL;
}

/* In the same time for all keys. */
static bool is_same(const unsigned char *a, const unsigned char *b)
{
    unsigned char other = 0;
    for (int i = 0; i < LAUNCH_KEY; i++)
        other |= a[i] ^ b[i];
    return other == 0;
}

static void hang_up(struct caller *caller)
{
    if (caller->file >= 0)
        close(caller->file);
    caller->file = -1;
}

/* Of TCP what is sent goes at once; between ranks of one host much of it, as the system allows. */
static void set_pace(int file)
{
    int now = 1, size = 1 << 20;
    if (setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &now, sizeof now) != 0)
        (void)setsockopt(file, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static void take(struct seating *seating, int rank, struct caller *caller)
{
    set_pace(caller->file);
    seating->sockets[rank] = caller->file;
    caller->file = -1;
    seating->left--;
}

/* Is the other end of a socket of this host a process of this user, or of root? Others say the key in vain. */
static bool is_own(int file)
{
    struct sockaddr_storage own;
    struct ucred peer;
    socklen_t own_length = sizeof own, length = sizeof peer;
    if (getsockname(file, (struct sockaddr *)&own, &own_length) != 0 || own.ss_family != AF_UNIX)
        return true;
    return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* Reads up to `wanted` bytes; false: it has hung up. */
static bool read_some(struct caller *caller, size_t wanted)
{
    ssize_t count = recv(caller->file, caller->bytes + caller->count, wanted - caller->count, MSG_DONTWAIT);
    if (count > 0)
        caller->count += (size_t)count;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

/* ---- lower ranks, and those that come later ---- */

/* The queue of the other rank was full, or strangers took the place before the hello was read. */
static bool may_call_again(int why)
{
    return why == EAGAIN || why == ECONNRESET || why == EPIPE || why == ETIMEDOUT;
}

static bool unreachable(struct caller *caller, int self, int rank, int why, struct error *err)
{
    caller->lost = may_call_again(why);
    return error_set(err, ERROR_FAILED, "rank %d cannot connect to rank %d: %s", self, rank, strerror(why));
}

static bool call(struct caller *caller, int self, int rank, const struct launch_address *to,
                 struct error *err)
{
    *caller =
        (struct caller){.file = socket(to->as.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                        .since = clock_now()};
    if (caller->file < 0 || (connect(caller->file, &to->as.any, launch_address_length(to)) != 0 &&
                             errno != EINPROGRESS && errno != EINTR))
        return unreachable(caller, self, rank, errno, err);
    return true;
}

/* Says hello, and then reads the answer, which sets *answered. */
static bool go_on(struct caller *caller, int self, int rank, const struct seat_key *key, bool *answered,
                  struct error *err)
{
    *answered = false;
    if (!caller->asked) {
        struct hello hello = {.magic = MAGIC, .from = self};
        int why = 0;
        socklen_t length = sizeof why;
        memcpy(hello.key, key->hello, LAUNCH_KEY);
        if (getsockopt(caller->file, SOL_SOCKET, SO_ERROR, &why, &length) != 0 || why != 0)
            return unreachable(caller, self, rank, why, err);
        caller->asked = true;
        return send(caller->file, &hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello ||
               unreachable(caller, self, rank, errno, err);
    }
    if (!read_some(caller, LAUNCH_KEY))
        return unreachable(caller, self, rank, ECONNRESET, err);
    if (caller->count < LAUNCH_KEY)
        return true;
    *answered = is_same(caller->bytes, key->answer);
    return *answered ||
           error_set(err, ERROR_FAILED, "a process of another run answers at the address of rank %d", rank);
}

/* ---- higher ranks, and strangers ---- */

static void listen_to(struct seating *seating, struct caller *caller)
{
    struct hello hello;
    if (!read_some(caller, sizeof hello)) {
        hang_up(caller);
        return;
    }
    if (caller->count < sizeof hello)
        return;
    memcpy(&hello, caller->bytes, sizeof hello);
    int from = hello.from;
    bool expected = from >= 0 && from < seating->seat->size && from != seating->seat->rank &&
                    seating->others[from].there && (from > seating->seat->rank || seating->later);
    bool right = hello.magic == MAGIC && expected && seating->sockets[from] < 0 &&
                 is_same(hello.key, seating->others[from].key.hello) &&
                 send(caller->file, seating->others[from].key.answer, LAUNCH_KEY, MSG_NOSIGNAL) == LAUNCH_KEY;
    if (right)
        take(seating, from, caller);
    else
        hang_up(caller);
}

/* Who has connected is heard at once; of those that say nothing yet the longest silent gives its place away. */
static void accept_all(struct seating *seating)
{
    for (int i = 0; i < MAX_STRANGERS; i++) { /* then the others are looked at, too */
        int file = accept4(LAUNCH_LISTENING, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (file < 0)
            return;
        struct caller *oldest = &seating->strangers[0];
        for (int j = 0; j < MAX_STRANGERS && oldest->file >= 0; j++)
            if (seating->strangers[j].file < 0 || seating->strangers[j].since < oldest->since)
                oldest = &seating->strangers[j];
        if (oldest->file >= 0)
            listen_to(seating, oldest);
        hang_up(oldest);
        *oldest = (struct caller){.file = is_own(file) ? file : -1, .since = clock_now()};
        if (oldest->file < 0)
            close(file);
        else
            listen_to(seating, oldest);
    }
}

/* ---- all ---- */

/* Ends a call; one that was lost is made again. Returns false. */
static bool give_up(struct caller *caller)
{
    hang_up(caller);
    caller->since = clock_now();
    return false;
}

static bool look(struct seating *seating, struct error *err)
{
    int lower = seating->seat->rank;
    struct pollfd *polled = seating->polled;
    for (int i = 0; i < lower; i++)
        polled[i] = (struct pollfd){.fd = seating->calls[i].file,
                                    .events = seating->calls[i].asked ? POLLIN : POLLOUT};
    for (int i = 0; i < MAX_STRANGERS; i++)
        polled[lower + i] = (struct pollfd){.fd = seating->strangers[i].file, .events = POLLIN};
    polled[lower + MAX_STRANGERS] = (struct pollfd){.fd = LAUNCH_LISTENING, .events = POLLIN};
    polled[lower + MAX_STRANGERS + 1] = (struct pollfd){.fd = node.in, .events = POLLIN};
    if (poll(polled, (nfds_t)lower + MAX_STRANGERS + 2, (int)(WAIT * 1e3)) < 0 && errno != EINTR)
        return error_set(err, ERROR_FAILED, "cannot wait for other ranks: %s", strerror(errno));
    double now = clock_now();
    for (int i = 0; i < lower; i++) {
        bool answered;
        struct caller *caller = &seating->calls[i];
        if (caller->lost && now - caller->since > AGAIN)
            (void)(call(caller, lower, i, &seating->others[i].address, err) || give_up(caller));
        else if (polled[i].fd < 0 || !polled[i].revents)
            continue;
        else if (!go_on(caller, lower, i, &seating->others[i].key, &answered, err))
            (void)give_up(caller);
        else if (answered)
            take(seating, i, caller);
        if (caller->file < 0 && !caller->lost && seating->sockets[i] < 0)
            return false;
    }
    for (int i = 0; i < MAX_STRANGERS; i++) {
        if (polled[lower + i].fd >= 0 && polled[lower + i].revents)
            listen_to(seating, &seating->strangers[i]);
        if (seating->strangers[i].file >= 0 && now - seating->strangers[i].since > PATIENCE)
            hang_up(&seating->strangers[i]);
    }
    if (polled[lower + MAX_STRANGERS].revents)
        accept_all(seating);
    if (polled[lower + MAX_STRANGERS + 1].revents & (POLLHUP | POLLERR))
        return error_set(err, ERROR_FAILED, "the node process of this host has ended");
    return true;
}

/* A rank that comes later waits for the others no longer than `silence`: who does not come is lost. */
static bool connect_all(struct seating *seating, double silence, double timeout, struct error *err)
{
    double begin = clock_now();
    const int self = seating->seat->rank;
    for (int rank = 0; rank < seating->seat->size; rank++) {
        const struct seat_other *other = &seating->others[rank];
        if (rank == self || !other->there)
            continue;
        seating->left++;
        struct caller *caller = &seating->calls[rank];
        if (rank < self && !seating->later && !call(caller, self, rank, &other->address, err) &&
            !give_up(caller) && !caller->lost)
            return false;
    }
    while (seating->left > 0) {
        if (!look(seating, err))
            return false;
        if (seating->later && clock_now() - begin > silence)
            return true;
        for (int rank = 0; clock_now() - begin > timeout && rank < seating->seat->size; rank++)
            if (rank != self && seating->others[rank].there && seating->sockets[rank] < 0)
                return error_set(err, ERROR_FAILED, "rank %d and rank %d were not connected within %g s",
                                 self, rank, timeout);
    }
    return true;
}

/* Notes a rank that has come later. */
static bool note_comer(const struct frame *frame, struct error *err)
{
    struct comer comer = {.caller = {.file = -1}};
    if (frame->length != sizeof comer.card)
        return error_set(err, ERROR_FAILED, "the launcher's data about a rank are inconsistent");
    memcpy(&comer.card, frame->bytes, sizeof comer.card);
    return VECTOR_ADD(attended.comers, attended.count, attended.capacity, comer) || error_memory(err);
}

/* Waits for a frame of this kind from the node. */
static bool await(enum frame_kind kind, double timeout, struct frame *frame, struct error *err)
{
    double end = clock_now() + timeout;
    for (bool there = false;;) {
        if (!channel_next(&node, frame, &there, err))
            return false;
        if (there && frame->kind == kind)
            return true;
        if (there && frame->kind == FRAME_COMER && !note_comer(frame, err))
            return false;
        if (there)
            continue;
        struct pollfd polled = {.fd = node.in, .events = POLLIN};
        if (poll(&polled, 1, (int)(WAIT * 1e3)) > 0 && !channel_pull(&node, err))
            return false;
        if (node.ended || clock_now() > end)
            return error_set(err, ERROR_FAILED, "the node of this host %s",
                             node.ended ? "has ended" : "does not answer");
    }
}

static bool take_card(struct seating *seating, const struct frame *frame, struct error *err)
{
    struct seat_card card;
    struct launch_seat *seat = seating->seat;
    bool ok = frame->length >= sizeof card;
    if (ok)
        memcpy(&card, frame->bytes, sizeof card);
    ok = ok && card.size >= 1 && card.size <= WIRE_MAX_RANKS && card.rank >= 0 && card.rank < card.size &&
         card.hosts >= 1 && card.hosts <= LAUNCH_MAX_HOSTS && card.note >= 0 &&
         card.note <= LAUNCH_MAX_NOTE &&
         frame->length == sizeof card + (size_t)card.size * sizeof *seating->others +
                              (size_t)card.hosts * LAUNCH_NAME + (size_t)card.note;
    if (!ok)
        return error_set(err, ERROR_FAILED, "the start data of this rank are inconsistent");
    size_t size = (size_t)card.size;
    *seat = (struct launch_seat){
        .rank = card.rank, .size = card.size, .number = card.number, .note_length = (size_t)card.note};
    seating->later = card.later != 0;
    seating->others = malloc(size * sizeof *seating->others);
    seating->sockets = malloc(size * sizeof *seating->sockets);
    seating->calls = malloc(size * sizeof *seating->calls);
    seating->polled = malloc((size + MAX_STRANGERS + 2) * sizeof *seating->polled);
    seat->hosts.hosts = calloc((size_t)card.hosts, sizeof *seat->hosts.hosts);
    for (size_t i = 0; seating->sockets && seating->calls && i < size; i++) {
        seating->sockets[i] = -1; /* before anything fails: release closes them */
        seating->calls[i] = (struct caller){.file = -1};
    }
    if (!seating->others || !seating->sockets || !seating->calls || !seating->polled || !seat->hosts.hosts)
        return error_memory(err);
    memcpy(seating->others, frame->bytes + sizeof card, size * sizeof *seating->others);
    const char *names = frame->bytes + sizeof card + size * sizeof *seating->others;
    for (; seat->hosts.count < (size_t)card.hosts; names += LAUNCH_NAME) {
        char *name = seat->hosts.hosts[seat->hosts.count++].name;
        memcpy(name, names, LAUNCH_NAME);
        name[LAUNCH_NAME - 1] = 0;
    }
    memcpy(seat->note, names, seat->note_length);
    for (size_t i = 0; i < size; i++)
        seat->host_of[i] = seating->others[i].host;
    return true;
}

static void release(struct seating *seating, bool connected)
{
    for (int i = 0; i < MAX_STRANGERS; i++)
        hang_up(&seating->strangers[i]);
    for (int i = 0; seating->calls && seating->sockets && i < seating->seat->size; i++) {
        hang_up(&seating->calls[i]);
        if (!connected && seating->sockets[i] >= 0)
            close(seating->sockets[i]);
    }
    if (seating->others)
        explicit_bzero(seating->others, (size_t)seating->seat->size * sizeof *seating->others);
    free(seating->others);
    free(seating->sockets);
    free(seating->calls);
    free(seating->polled);
    free(seating);
    close(LAUNCH_LISTENING);
}

struct wire *launch_join(struct launch_seat *seat, double silence, double timeout, struct error *err)
{
    struct seating *seating = calloc(1, sizeof *seating);
    struct frame frame;
    struct wire *wire = NULL;
    *seat = (struct launch_seat){.rank = 0}; /* its caller releases it whatever comes */
    if (!seating) {
        error_memory(err);
        return NULL;
    }
    unsetenv(LAUNCH_VARIABLE);
    (void)fcntl(LAUNCH_CONTROL, F_SETFD, FD_CLOEXEC);
    channel_init(&node, LAUNCH_CONTROL, LAUNCH_CONTROL);
    seating->seat = seat;
    for (int i = 0; i < MAX_STRANGERS; i++)
        seating->strangers[i].file = -1;
    bool connected = await(FRAME_SEAT, timeout, &frame, err) && take_card(seating, &frame, err) &&
                     connect_all(seating, silence, timeout, err);
    double age;
    if (connected && channel_send(&node, FRAME_READY, seat->rank, NULL, 0, err) &&
        await(FRAME_GO, timeout, &frame, err) && frame.length == sizeof age) {
        memcpy(&age, frame.bytes, sizeof age);
        seat->start = clock_now() - age;
        attended.self = seat->rank;
        wire = wire_over_sockets(seat->rank, seat->size, seating->sockets, silence, err);
        for (int rank = 0; wire && seating->later && rank < seat->size; rank++)
            wire_await(wire, rank, true);
    } else {
        connected = false;
    }
    release(seating, connected);
    return wire;
}

/* ---- in between ---- */

/* Returns whether there is no more to do for a rank that has come. */
static bool attend(struct comer *comer, struct wire *wire)
{
    struct error ignored;
    struct caller *caller = &comer->caller;
    int rank = comer->card.rank;
    bool answered = false;
    if (rank < 0 || rank >= wire->size || rank == wire->rank)
        return true;
    if (caller->file < 0 && !call(caller, attended.self, rank, &comer->card.address, &ignored)) {
        hang_up(caller);
        return true;
    }
    struct pollfd polled = {.fd = caller->file, .events = caller->asked ? POLLIN : POLLOUT};
    if (poll(&polled, 1, 0) <= 0 && clock_now() - caller->since < PATIENCE)
        return false;
    if (!polled.revents || !go_on(caller, attended.self, rank, &comer->card.key, &answered, &ignored)) {
        hang_up(caller);
        return true;
    }
    if (!answered)
        return false;
    set_pace(caller->file);
    if (!wire_attach(wire, rank, caller->file))
        hang_up(caller);
    return true;
}

void launch_attend(struct wire *wire)
{
    struct error ignored;
    struct frame frame;
    struct pollfd polled = {.fd = node.in, .events = POLLIN};
    if (node.in < 0)
        return;
    if (!node.ended && poll(&polled, 1, 0) > 0)
        (void)channel_pull(&node, &ignored);
    for (bool there = true; there && channel_next(&node, &frame, &there, &ignored);)
        if (there && frame.kind == FRAME_COMER)
            (void)note_comer(&frame, &ignored);
    wire->wake = node.ended ? -1 : node.in;
    size_t kept = 0;
    for (size_t i = 0; i < attended.count; i++) {
        struct comer comer = attended.comers[i];
        if (attend(&comer, wire))
            explicit_bzero(&attended.comers[i], sizeof comer);
        else
            attended.comers[kept++] = comer;
    }
    attended.count = kept;
}

/* ---- the last words ---- */

static void push_all(void)
{
    struct error ignored;
    double end = clock_now() + 1.0;
    while (node.queue_count > 0 && clock_now() < end) {
        clock_sleep(CLOCK_SECOND / 1000);
        (void)channel_push(&node, &ignored);
    }
}

bool launch_tell_result(const void *bytes, size_t length)
{
    struct error ignored;
    bool ok = channel_send(&node, FRAME_RESULT, -1, bytes, length, &ignored);
    push_all();
    return ok && node.queue_count == 0;
}

void launch_tell_failure(const struct error *why)
{
    struct error ignored;
    if (node.out < 0)
        return;
    channel_tell_failure(&node, why, &ignored);
    push_all();
}
