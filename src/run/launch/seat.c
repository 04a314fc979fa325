/* A rank takes its seat, and the connections that the launcher hands to it. */
#include "core/child.h"
#include "core/clock.h"
#include "core/text.h"
#include "run/launch/note.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define WAIT  0.05
#define WORDS 1.0 /* seconds for the launcher to take what a rank tells */

static int control = -1;
static pid_t launcher;
static struct note note; /* the last one */

bool launch_is_rank(void)
{
    const char *text = getenv(LAUNCH_VARIABLE);
    int64_t file;
    return text && text_whole(text, "", &file) && file == LAUNCH_CONTROL;
}

/* ---- a launcher that dies ---- */

static void end_as_orphan(int signal)
{
    (void)signal;
    if (getppid() != launcher)
        (void)raise(SIGTERM);
}

/* SIGTERM does not reach a process that is stopped, SIGCONT does. Until here the system sends SIGTERM (become_rank in
 * launcher.c). */
static void follow_launcher(void)
{
    const struct sigaction action = {.sa_handler = end_as_orphan, .sa_flags = SA_RESTART};
    launcher = getppid();
    if (child_signal_of_end() == SIGTERM && sigaction(SIGCONT, &action, NULL) == 0)
        prctl(PR_SET_PDEATHSIG, SIGCONT);
}

/* ---- the seat ---- */

/* Waits for a note from the launcher; false: it has ended, or nothing comes. */
static bool await(double end, struct error *err)
{
    for (;;) {
        struct pollfd polled = {.fd = control, .events = POLLIN};
        switch (note_take(control, &note)) {
        case NOTE_THERE:
            return true;
        case NOTE_ENDED:
            return error_set(err, ERROR_FAILED, "the launcher has ended");
        case NOTE_BROKEN:
            return error_set(err, ERROR_FAILED, "cannot take what the launcher sends: %s", strerror(errno));
        case NOTE_NONE:
            break;
        }
        if (clock_now() > end)
            return error_set(err, ERROR_FAILED, "the launcher does not answer");
        (void)poll(&polled, 1, (int)(WAIT * 1e3));
    }
}

static bool take_seat(struct launch_seat *seat, bool *later, struct error *err)
{
    struct note_seat given;
    bool same = note.head.kind == NOTE_SEAT && note.length == sizeof given;
    memcpy(&given, note.bytes, sizeof given);
    given.version[sizeof given.version - 1] = 0;
    if (!same || strcmp(given.version, REHEARSE_VERSION) != 0)
        return error_set(err, ERROR_FAILED,
                         "ranks are processes of rehearse %s, and their launcher is another version or build",
                         REHEARSE_VERSION);
    if (given.size < 1 || given.size > WIRE_MAX_RANKS || given.rank < 0 || given.rank >= given.size ||
        given.note_length < 0 || given.note_length > LAUNCH_MAX_NOTE)
        return error_set(err, ERROR_FAILED, "the start data of this rank are inconsistent");
    *seat = (struct launch_seat){.rank = given.rank,
                                 .size = given.size,
                                 .number = given.number,
                                 .note_length = (size_t)given.note_length};
    memcpy(seat->note, given.note, seat->note_length);
    *later = given.later != 0;
    return true;
}

/* Takes the sockets to the others until this rank may begin. */
static bool take_sockets(struct launch_seat *seat, int *sockets, double end, struct error *err)
{
    while (await(end, err)) {
        int rank = note.head.rank;
        if (note.head.kind == NOTE_PEER && note.file >= 0 && rank >= 0 && rank < seat->size &&
            rank != seat->rank && sockets[rank] < 0) {
            sockets[rank] = note.file;
            continue;
        }
        if (note.file >= 0)
            close(note.file);
        if (note.head.kind != NOTE_GO || note.length != sizeof seat->start)
            return error_set(err, ERROR_FAILED, "the launcher sent an unexpected message");
        memcpy(&seat->start, note.bytes, sizeof seat->start);
        return true;
    }
    return false;
}

struct wire *launch_join(struct launch_seat *seat, double silence, double timeout, struct error *err)
{
    struct wire *wire = NULL;
    int *sockets = NULL;
    bool later = false;
    double end = clock_now() + timeout;
    *seat = (struct launch_seat){.rank = 0};
    unsetenv(LAUNCH_VARIABLE);
    (void)fcntl(LAUNCH_CONTROL, F_SETFD, FD_CLOEXEC);
    control = LAUNCH_CONTROL;
    follow_launcher();
    bool seated = await(end, err) && take_seat(seat, &later, err);
    if (seated)
        sockets = malloc((size_t)seat->size * sizeof *sockets);
    for (int rank = 0; sockets && rank < seat->size; rank++)
        sockets[rank] = -1;
    int why = sockets ? note_send(control, NOTE_READY, seat->rank, NULL, 0, -1, end) : 0;
    if (seated && why != 0)
        error_set(err, ERROR_FAILED, "the launcher has ended: %s", strerror(why));
    bool connected =
        seated && why == 0 && (sockets || error_memory(err)) && take_sockets(seat, sockets, end, err);
    if (connected)
        wire = wire_over_sockets(seat->rank, seat->size, sockets, silence, err);
    for (int rank = 0; wire && later && rank < seat->size; rank++)
        wire_await(wire, rank, true);
    for (int rank = 0; sockets && !connected && rank < seat->size; rank++)
        if (sockets[rank] >= 0)
            close(sockets[rank]);
    free(sockets);
    return wire;
}

/* ---- ranks that come later ---- */

void launch_attend(struct wire *wire)
{
    enum note_found found = control >= 0 ? note_take(control, &note) : NOTE_NONE;
    if (control < 0)
        return;
    for (; found == NOTE_THERE || found == NOTE_BROKEN; found = note_take(control, &note)) {
        int rank = note.head.rank;
        bool is_peer = found == NOTE_THERE && note.head.kind == NOTE_PEER && rank >= 0 && rank < wire->size;
        if (found == NOTE_THERE && note.file >= 0 && (!is_peer || !wire_attach(wire, rank, note.file)))
            close(note.file);
    }
    wire->wake = found == NOTE_ENDED ? -1 : control;
}

/* ---- the last words ---- */

bool launch_tell_result(const void *bytes, size_t length)
{
    const char *at = bytes;
    double end = clock_now() + WORDS;
    bool told = control >= 0;
    for (size_t piece; told && length > 0; at += piece, length -= piece) {
        piece = length < LAUNCH_PIECE ? length : LAUNCH_PIECE;
        told = note_send(control, NOTE_RESULT, -1, at, piece, -1, end) == 0;
    }
    return told;
}

void launch_tell_failure(const struct error *why)
{
    char bytes[sizeof(int) + sizeof why->text];
    int kind = why->kind;
    size_t length = strlen(why->text);
    memcpy(bytes, &kind, sizeof kind);
    memcpy(bytes + sizeof kind, why->text, length);
    if (control >= 0)
        (void)note_send(control, NOTE_FAILED, -1, bytes, sizeof kind + length, -1, clock_now() + WORDS);
}
